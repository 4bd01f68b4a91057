"""The one way in which functions of the search are compiled."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

OPTIONS = {"nogil": True, "error_model": "numpy"}


def inner(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A function that others of this package call, or that has an entry
    (`entries.py`): its code is in theirs.

    It must not raise, and not make arrays: its machine code outlives numba.
    """
    compile: Any = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)
    return cast(Callable[Parameters, Result], compile(function))
