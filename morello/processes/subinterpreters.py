"""Bindings of MLIR and numba in interpreters that are not the process's main one.

Both take Python's lock by ``PyGILState_Ensure``, which looks up the state of the thread
in a slot of the thread. Up to Python 3.11 that slot keeps the state of the first
interpreter that the thread was in; in a subinterpreter (as servers embed them) the call
then waits for ever for the lock that the thread itself holds. From 3.12 on, Python sets
the slot when a thread changes interpreters. `thread_state` does so for a block.
"""

import ctypes
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from morello.errors import MorelloError
from morello.python_api import python_function

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_KEYS = 1024
"""Slots that a thread of Linux has (PTHREAD_KEYS_MAX)."""

_current = python_function("PyThreadState_Get", ctypes.c_void_p)
_noted = python_function("PyGILState_GetThisThreadState", ctypes.c_void_p)
_libc = ctypes.PyDLL(None)  # keeps Python's lock
_libc.pthread_getspecific.restype = ctypes.c_void_p
_libc.pthread_getspecific.argtypes = [ctypes.c_uint]
_libc.pthread_setspecific.argtypes = [ctypes.c_uint, ctypes.c_void_p]


@contextmanager
def thread_state() -> Iterator[None]:
    """Note the interpreter that this thread is in where libraries look for it.

    Raises:
        MorelloError: it cannot be noted; going on would wait for ever.
    """
    before = _noted()
    if before == _current():
        yield
        return
    slot = _note(before)
    try:
        yield
    finally:
        _libc.pthread_setspecific(slot, before)


def in_any_interpreter(
    function: Callable[Parameters, Result],
) -> Callable[Parameters, Result]:
    """The function, which may be called in a subinterpreter."""

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with thread_state():
            return function(*args, **kwargs)

    return call


def _note(before: int | None) -> int:
    """Put the current state into Python's slot, and answer which that is.

    Another library may have put the old state into a slot of its own.

    Raises:
        MorelloError: no slot is Python's.
    """
    if before is not None:
        for slot in range(_KEYS):
            if _libc.pthread_getspecific(slot) != before:
                continue
            _libc.pthread_setspecific(slot, _current())
            if _noted() == _current():
                return slot
            _libc.pthread_setspecific(slot, before)
    raise MorelloError(
        "this thread runs a subinterpreter of Python, where the bindings of MLIR would "
        "wait for ever",
        "compile in the main interpreter, or with Python 3.12",
    )
