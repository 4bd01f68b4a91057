"""Errors for code that is not traced: raised at the user's line, with a remedy."""

import contextlib
import difflib
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from morello.errors import MorelloError

_E = TypeVar("_E", bound=BaseException)

_CLOSEST, _LIKENESS = 3, 0.7
"""Names that a refusal proposes at most, and how like they are at least, of 1."""


class _Traces(threading.local):
    """The errors that each trace of a thread has met, the innermost last."""

    def __init__(self) -> None:
        self.errors: list[list[BaseException]] = []


_TRACES = _Traces()


def noted(error: _E) -> _E:
    """An error that ends the trace in the end, though the function may catch it.

    NumPy would not raise there: what the function does next is not what it does with
    arrays.
    """
    if _TRACES.errors:
        _TRACES.errors[-1].append(error)
    return error


@contextlib.contextmanager
def trace_of_one_function() -> Iterator[None]:
    """A trace, which raises the first error that was noted in it."""
    errors: list[BaseException] = []
    _TRACES.errors.append(errors)
    try:
        yield
    except Exception:
        if not errors:
            raise
    finally:
        _TRACES.errors.pop()
    if errors:
        raise errors[0]


def refusal(what: str, remedy: str = "") -> MorelloError:
    """An error at the line of the function that is being traced."""
    package = Path(__file__).parent.parent
    numpy = Path(np.__file__).parent
    frame = sys._getframe(1)
    while frame is not None and any(
        Path(frame.f_code.co_filename).is_relative_to(root) for root in (package, numpy)
    ):
        frame = frame.f_back  # type: ignore[assignment]
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}: " if frame else ""
    return noted(MorelloError(f"{place}{what}", remedy))


def not_traced(name: str, known: Iterable[str]) -> MorelloError:
    """A refusal that says what to write instead, or what is traced of a like name."""
    last = name.rpartition(".")[2]
    close = difflib.get_close_matches(last, sorted(known), _CLOSEST, _LIKENESS)
    like = f"{' or '.join(close)}, or " if close else ""
    remedy = f"use {like}what docs/guide/jit.md lists under 'What is traced'"
    return refusal(f"{name} is not traced", remedy)


def called(
    function: Callable[..., Any], name: str, args: Any, kwargs: dict[str, Any]
) -> Any:
    """Calls a function after checking that it takes the arguments.

    Raises:
        MorelloError: it does not take these options.
    """
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise refusal(f"{name}: {error}", "leave the option out") from None
    try:
        return function(*bound.args, **bound.kwargs)
    except Exception as error:
        noted(error)
        raise
