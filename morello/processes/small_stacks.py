"""Threads whose stacks are too small for LLVM and MLIR: `on_large_stack`.

These take some 300 KiB, which threads do not have that a program gives less
(``threading.stack_size(262144)``), nor those of musl. The process would crash.
"""

import ctypes
import functools
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_LEAST = 1 << 20
"""Bytes of stack with which a thread makes calls itself."""

_LARGE = 8 << 20
"""Bytes of the stack of a thread that makes calls for others, as Linux gives."""

_libc = ctypes.CDLL(None)
_libc.pthread_self.restype = ctypes.c_void_p
_starting = threading.Lock()


def stack_bytes() -> int:
    """The size of this thread's stack; 0 where it is not known."""
    attributes = ctypes.create_string_buffer(128)
    address, size = ctypes.c_void_p(), ctypes.c_size_t()
    thread = ctypes.c_void_p(_libc.pthread_self())
    if _libc.pthread_getattr_np(thread, attributes):
        return 0
    _libc.pthread_attr_getstack(attributes, ctypes.byref(address), ctypes.byref(size))
    _libc.pthread_attr_destroy(attributes)
    return size.value


def on_large_stack(
    function: Callable[Parameters, Result],
) -> Callable[Parameters, Result]:
    """The function, run by a thread with a large stack where this one's is small."""

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if not 0 < stack_bytes() < _LEAST:
            return function(*args, **kwargs)
        answer: Future[Result] = Future()

        def run() -> None:
            try:
                answer.set_result(function(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 (the caller's)
                answer.set_exception(error)

        _start(threading.Thread(target=run, name="morello-stack"))
        return answer.result()

    return call


def _start(thread: threading.Thread) -> None:
    """Start a thread with a large stack; others keep the size that the program set."""
    with _starting:
        before = threading.stack_size(_LARGE)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
