"""Calls of native functions by machine code: checked ones, bound ones, bare ones.

`call_code` returns the code for a number of arrays, compiled once a process. Python
reaches it through built-in functions that hold their data in a tuple, which the garbage
collector sees: a reference to the function keeps the code and its arrays alive.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.machine.architectures import HOST
from morello.python_api import python_function
from morello.runtime.call_code import call_module
from morello.runtime.call_table import CallTable
from morello.runtime.engine import compile_llvm

_NOARGS = 0x0004
_FASTCALL_WITH_KEYWORDS = 0x0080 | 0x0002
"""How a built-in function is called (METH_…), part of Python's C interface."""


class Method(ctypes.Structure):
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

keep = python_function("Py_IncRef", None, ctypes.py_object)


class CallCode:
    """Machine code that calls native functions of so many arrays.

    Args:
        arrays: at least 1; the last is the output.
        has_workspace: the native functions take a workspace after the arrays.
        has_threads: they may use several threads.
        rows: the arrays whose elements from row to row they take, after all else.
    """

    def __init__(
        self,
        arrays: int,
        has_workspace: bool,
        has_threads: bool,
        rows: tuple[int, ...] = (),
    ) -> None:
        # Unoptimised it is compiled in 4 ms instead of 30, and costs 20 ns a call.
        text = call_module(arrays, has_workspace, has_threads, rows)
        engine = compile_llvm(text, cpu=HOST.base_cpu, opt=0)
        # Built-in functions may be called and freed until the process ends.
        keep(engine)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self._run = kind(engine.address("run"))
        self._call = method(b"kernel", engine.address("call"), _FASTCALL_WITH_KEYWORDS)
        self._bound = method(b"bound_kernel", engine.address("bound"), _NOARGS)

    def checked(self, table: CallTable, slow: Callable[..., Any]) -> Callable[..., Any]:
        """A function that checks its arguments by machine code.

        Args:
            table: of the native function, all of whose parameters it describes.
            slow: is called with the same arguments where they do not fit at once.
        """
        return builtin(self._call, (table.words, slow, table))

    def bound(
        self, table: CallTable, addresses: list[int], result: Any, kept: object
    ) -> Callable[[], Any]:
        """A function without arguments that runs on arrays at these addresses.

        Args:
            table: of the native function.
            addresses: of the arrays, which were checked; then elements from row to row.
            result: the object that a call returns.
            kept: is kept alive as long as the function, as the arrays must be.
        """
        words = np.array(addresses, np.int64)
        return builtin(self._bound, (table.words, words, result, table, kept))

    def run(self, table: CallTable, addresses: list[int]) -> None:
        """Run a native function on arrays at these addresses, without Python's lock.

        After the addresses are the elements from row to row of those that need it.

        Raises:
            MemoryError: for the workspace.
        """
        words = (ctypes.c_int64 * len(addresses))(*addresses)
        if self._run(table.address, ctypes.addressof(words)):
            raise MemoryError("no memory for the workspace of a kernel")


def builtin(method: Method, held: tuple[Any, ...]) -> Callable[..., Any]:
    """A built-in function, whose code finds ``held`` in its first argument."""
    made: Callable[..., Any] = _new_builtin(ctypes.addressof(method), held, None)
    return made


def method(name: bytes, address: int, flags: int) -> Method:
    """A description of a built-in function that is never freed."""
    made = Method(name, address, flags, None)
    keep(made)
    return made


@functools.cache
def call_code(
    arrays: int, has_workspace: bool, has_threads: bool, rows: tuple[int, ...] = ()
) -> CallCode:
    """The code for native functions of one form; compiled once."""
    return CallCode(arrays, has_workspace, has_threads, rows)
