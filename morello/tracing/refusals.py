"""What is not traced: an error at the line of the function, with a way on."""

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from morello.errors import MorelloError

INSTEAD: dict[str, str] = {}
"""What to write in the place of what is not traced, by name."""


def refusal(what: str, remedy: str = "") -> MorelloError:
    """An error at the line of the function that is being traced."""
    own = Path(__file__).parent.parent
    numpy = Path(np.__file__).parent
    frame = sys._getframe(1)
    while frame is not None and any(
        Path(frame.f_code.co_filename).is_relative_to(root) for root in (own, numpy)
    ):
        frame = frame.f_back  # type: ignore[assignment]
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}: " if frame else ""
    return MorelloError(f"{place}{what}", remedy)


def not_traced(name: str, known: Sequence[str]) -> MorelloError:
    """A refusal that says what to write instead, or what there is."""
    remedy = INSTEAD.get(name.rpartition(".")[2], f"use {', '.join(known)}")
    return refusal(f"{name} is not traced", remedy)


def called(
    function: Callable[..., Any], name: str, args: Any, kwargs: dict[str, Any]
) -> Any:
    """What a function gives.

    Raises:
        MorelloError: it has not these options.
    """
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise refusal(f"{name}: {error}", "leave the option out") from None
    return function(*bound.args, **bound.kwargs)
