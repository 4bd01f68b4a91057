"""Functions of Python's C API, with types that no other library can change."""

import ctypes
from collections.abc import Callable
from typing import Any


def python_function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """A function of Python's C API.

    The attributes of `ctypes.pythonapi` belong to the whole process: whoever sets their
    ``argtypes`` or ``restype`` does so for every caller, and an address may lose half
    of its bits. This function object has no other owner.

    Args:
        name: of the function in C.
        result: the type of the result for `ctypes`; None for ``void``.
        arguments: the types of the arguments.
    """
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))
