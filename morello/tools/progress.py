"""A line on the standard error while something takes long, if somebody is looking."""

import contextlib
import sys
from collections.abc import Iterator

_ERASE = "\r\033[K"


@contextlib.contextmanager
def progress(text: str) -> Iterator[None]:
    """Show ``text …`` on a terminal until the work in the context ends."""
    if not sys.stderr.isatty():
        yield
        return
    sys.stderr.write(f"{_ERASE}{text} …")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write(_ERASE)
        sys.stderr.flush()
