"""Ctrl-C that is delivered at a point where nothing is half done.

Python calls the handler of SIGINT between any two steps of the main thread, even after
a lock was taken and before the code that releases it is in place; the lock then stays
taken, and the next thread that needs it waits for ever. Code that takes locks or begins
transactions runs under `defer_sigint`; long computations call `check_sigint` where they
may be stopped.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

_Result = TypeVar("_Result")

_Handler = Callable[[int, FrameType | None], object]


class _Gate:
    """The handler to call later, and the signal if one arrived."""

    def __init__(self) -> None:
        self.handler: _Handler | None = None
        self.thread = 0
        """The thread that defers signals."""
        self.waiting: tuple[int, FrameType | None] | None = None


_gate = _Gate()


def _wait(number: int, frame: FrameType | None) -> None:
    _gate.waiting = number, frame


@contextmanager
def defer_sigint() -> Iterator[None]:
    """Defer Ctrl-C until `check_sigint` is called or the block ends.

    The block has no effect outside the main thread of the main interpreter, which
    alone receives signals; inside another such block; and where Ctrl-C is ignored or
    ends the process.

    Raises:
        KeyboardInterrupt: at the end of the block, if SIGINT arrived; a handler of the
            program may raise another exception.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not _is_main() or not callable(handler) or handler is _wait:
        yield
        return
    _gate.handler = handler
    _gate.thread = threading.get_ident()
    try:
        signal.signal(signal.SIGINT, _wait)
    except ValueError:  # what Python's `threading` takes for the main thread is not
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        check_sigint()


def check_sigint() -> None:
    """Deliver a deferred signal to the handler that it has outside of `defer_sigint`.

    Raises:
        KeyboardInterrupt: SIGINT was deferred; a handler of the program may raise
            another exception.
    """
    if _gate.waiting is None or _gate.handler is None or not _is_main():
        return
    number, frame = _gate.waiting
    _gate.waiting = None
    _gate.handler(number, frame)


def interruptible(call: Callable[[], _Result]) -> _Result:
    """The result of a call of a library that takes long without Python's lock.

    Python calls no handler until such a call returns, so another thread makes it. At
    Ctrl-C the wait ends; the call goes on to its end, and what it gives is dropped.

    Raises:
        KeyboardInterrupt: SIGINT arrived; a handler of the program may raise another
            exception. Beside it whatever the call raises.
    """
    if not _is_main() or not callable(signal.getsignal(signal.SIGINT)):
        return call()
    threads = ThreadPoolExecutor(1, "morello-library")
    try:
        answer = threads.submit(call)
    except RuntimeError:  # no more threads can be made
        return call()
    try:
        return answer.result()
    finally:
        threads.shutdown(wait=False)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _deliver_again() -> None:
    """In a child whose parent's main thread deferred SIGINT: it is not here to end."""
    if _gate.handler is None or _gate.thread == threading.get_ident():
        return
    if signal.getsignal(signal.SIGINT) is _wait:
        signal.signal(signal.SIGINT, _gate.handler)
        _gate.waiting = None


os.register_at_fork(after_in_child=_deliver_again)
