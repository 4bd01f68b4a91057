"""Calls of native functions by machine code: checked ones, bound ones, bare ones.

Python reaches the C code (`glue`) through built-in functions that hold their data in a
tuple, which the garbage collector sees: a reference to the function keeps the code and
its arrays alive.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.python_api import python_function
from morello.runtime.calls.call_table import CallTable
from morello.runtime.calls.glue import call_code, keep_for_ever, process

_NOARGS = 0x0004
_FASTCALL = 0x0080
_KEYWORDS = 0x0002
"""How a built-in function is called (METH_…), part of Python's C interface."""


class _Method(ctypes.Structure):
    """Python's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_new_builtin = python_function(
    "PyCFunction_NewEx",
    ctypes.py_object,
    ctypes.c_void_p,
    ctypes.py_object,
    ctypes.c_void_p,
)


def checked(table: CallTable, slow: Callable[..., Any]) -> Callable[..., Any]:
    """A function that checks its arguments by machine code.

    Args:
        table: of the native function, all of whose parameters it describes; the last
            is the output, which is returned.
        slow: is called with the same arguments where they do not fit at once.
    """
    return _builtin("call", _FASTCALL | _KEYWORDS, (table.words, slow, table))


def bound(
    table: CallTable, addresses: list[int], result: Any, keep_alive: object
) -> Callable[[], Any]:
    """A function without arguments that runs on arrays at these addresses.

    Args:
        table: of the native function.
        addresses: of the arrays, which were checked; then elements from row to row.
        result: the object that a call returns.
        keep_alive: is kept alive as long as the function, as the arrays must be.
    """
    words = np.array([table.address, id(result), *table.arguments(addresses)], np.int64)
    return _builtin("bound", _NOARGS, (words, result, table, keep_alive))


def on_addresses(table: CallTable) -> Callable[..., None]:
    """A function of a Python number for each array, and then of the size that the call
    says, if it says one: nothing is checked. Its arrays may not have rows any distance
    apart.

    Args:
        table: of the native function.

    Raises:
        MemoryError: of the function, for the workspace.
    """
    return _builtin("call_on_addresses", _FASTCALL, (table.words, table))


def run(table: CallTable, addresses: list[int]) -> None:
    """Run a native function on arrays at these addresses, without Python's lock.

    After the addresses are the elements from row to row of those that need it.

    Raises:
        MemoryError: for the workspace.
    """
    words = table.arguments(addresses)
    memory = (ctypes.c_int64 * len(words))(*words)
    if _run()(table.address, ctypes.addressof(memory)):
        raise MemoryError("no memory for the workspace of a kernel")


@functools.cache
def _run() -> Callable[[int, int], int]:
    process()
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    return kind(call_code().address("run"))


@functools.cache
def _method(name: str, flags: int) -> _Method:
    """A description of a built-in function; functions may outlive this module."""
    process()
    method = _Method(f"{name}_kernel".encode(), call_code().address(name), flags, None)
    keep_for_ever(method)
    return method


def _builtin(name: str, flags: int, held: tuple[Any, ...]) -> Callable[..., Any]:
    """A built-in function, whose code finds ``held`` in its first argument."""
    method = ctypes.addressof(_method(name, flags))
    function: Callable[..., Any] = _new_builtin(method, held, None)
    return function
