"""Capture native code's output to the process's standard error.

Upstream reports a few errors (unreadable option values) nowhere else.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from morello.processes.forks import defer_forks

_LOCK = threading.Lock()


class Captured:
    """The text that was written during the capture."""

    def __init__(self) -> None:
        self.written = b""

    def text(self) -> str:
        """Decode the output; bytes that are not UTF-8 are replaced."""
        return self.written.decode("utf-8", "replace")


@contextmanager
def captured_stderr() -> Iterator[Captured]:
    """Redirect file descriptor 2 to memory; one thread at a time.

    The file has no name, and no folder for temporary files is needed.
    """
    held = Captured()
    file = os.fdopen(os.memfd_create("stderr"), "w+b")
    with defer_forks(), _LOCK, file:
        sys.stderr.flush()
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield held
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            held.written = file.read()
