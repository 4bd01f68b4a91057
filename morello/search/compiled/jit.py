"""The one way in which functions of the search are compiled."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _stamp() -> tuple[tuple[str, int, int], ...]:
    """The state of all sources of this package: numba itself looks at the file of a
    function alone, not at those of the functions that it calls."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*.py")):
        status = path.stat()
        found.append((path.name, status.st_mtime_ns, status.st_size))
    return tuple(found)


STAMP = _stamp()

_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def jit(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function as machine code, kept on disk, that runs without Python's lock.

    Where no folder can be written to, it is compiled in each process.
    """
    try:
        made: Any = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # "no locator available"
        made = numba.njit(**_OPTIONS)(function)
    else:
        made._cache._cache_file._source_stamp = STAMP
    return cast(Callable[Given, Result], made)


def inner(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """A function that only others of this package call: its code is in theirs."""
    made = numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)
    return cast(Callable[Given, Result], made)
