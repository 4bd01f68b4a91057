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


def jit(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function as machine code, kept on disk, that runs without Python's lock."""
    made: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    made._cache._cache_file._source_stamp = STAMP
    return cast(Callable[Given, Result], made)
