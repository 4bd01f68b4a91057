"""Ctrl-C that is delivered at a point where nothing is half done.

Python calls the handler of SIGINT between any two steps of the main thread, even after
a lock was taken and before the code that releases it is in place; the lock then stays
taken, and the next thread that needs it waits for ever. Code that takes locks or begins
transactions runs under `defer_sigint`; long computations call `check_sigint` where they
may be stopped.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_Handler = Callable[[int, FrameType | None], object]


class _Gate:
    """The handler to call later, and the signal if one arrived."""

    def __init__(self) -> None:
        self.handler: _Handler | None = None
        self.waiting: tuple[int, FrameType | None] | None = None


_gate = _Gate()


def _wait(number: int, frame: FrameType | None) -> None:
    _gate.waiting = number, frame


@contextmanager
def defer_sigint() -> Iterator[None]:
    """Defer Ctrl-C until `check_sigint` is called or the block ends.

    The block has no effect outside the main thread, which alone receives signals;
    inside another such block; and where Ctrl-C is ignored or ends the process.

    Raises:
        KeyboardInterrupt: at the end of the block, if SIGINT arrived; a handler of the
            program may raise another exception.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not _is_main() or not callable(handler) or handler is _wait:
        yield
        return
    _gate.handler = handler
    signal.signal(signal.SIGINT, _wait)
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


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
