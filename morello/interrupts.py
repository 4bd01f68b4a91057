"""Ctrl-C that waits for a moment at which nothing is half done.

Python calls the handler of SIGINT between any two steps of the main thread, also while
a lock has been taken and what gives it back is not in place yet; the lock then stays
taken, and the next thread that asks for it waits for ever. What takes locks or begins
transactions runs under `held`; what takes long calls `answer` where it may be stopped.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_Handler = Callable[[int, FrameType | None], object]


class _Gate:
    """The handler that a held signal has, and the signal if one came."""

    def __init__(self) -> None:
        self.handler: _Handler | None = None
        self.waiting: tuple[int, FrameType | None] | None = None


_gate = _Gate()


def _wait(number: int, frame: FrameType | None) -> None:
    _gate.waiting = number, frame


@contextmanager
def held() -> Iterator[None]:
    """Let Ctrl-C wait until `answer` is called or the block ends.

    Nothing changes in a thread other than the main one, which is never interrupted;
    inside another such block; and where Ctrl-C is ignored or ends the process.

    Raises:
        KeyboardInterrupt: at the end, if there was one; or what else the handler of the
            signal raises.
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
        answer()


def answer() -> None:
    """Give a signal that waits to the handler that it has outside of `held`.

    Raises:
        KeyboardInterrupt: there was one; or what else the handler raises.
    """
    if _gate.waiting is None or _gate.handler is None or not _is_main():
        return
    number, frame = _gate.waiting
    _gate.waiting = None
    _gate.handler(number, frame)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
