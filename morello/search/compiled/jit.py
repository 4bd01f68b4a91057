"""The one way in which functions of the search are compiled."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

Given = ParamSpec("Given")
Result = TypeVar("Result")


def jit(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function as machine code, kept on disk, that runs without Python's lock."""
    made = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return cast(Callable[Given, Result], made)
