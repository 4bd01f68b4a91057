"""A line on the standard error while something takes long, if somebody is looking."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

_ERASE = "\r\033[K"

_PAUSE = 0.1
"""Seconds between two lines: more would only flicker."""

Show = Callable[[str], None]
"""Shows how far the work is."""


@contextlib.contextmanager
def progress(text: str) -> Iterator[Show]:
    """Show ``text …`` on a terminal until the work in the context ends.

    Gives a function that shows more behind the text.
    """
    if not sys.stderr.isatty():
        yield lambda more: None
        return
    _write(f"{text} …")
    last = time.monotonic()

    def show(more: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _PAUSE:
            last = time.monotonic()
            _write(f"{text} … {more}")

    try:
        yield show
    finally:
        _write("")


def _write(line: str) -> None:
    sys.stderr.write(f"{_ERASE}{line}")
    sys.stderr.flush()
