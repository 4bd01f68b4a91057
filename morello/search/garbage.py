"""Rare collection of garbage while tables are solved.

A search makes many objects that stay, and no circles: each collection goes through all
of them and frees nothing, which takes a sixth of the time.
"""

import contextlib
import gc
import threading
from collections.abc import Iterator

from morello.processes.forks import defer_forks

FEWER = 200
"""The factor by which garbage collections are made rarer during a search."""

_lock = threading.Lock()
_searches = 0
_usual = (0, 0, 0)


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage rarely until the block ends, in whichever thread is last."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(more: int) -> None:
    global _searches, _usual
    with defer_forks(), _lock:
        if _searches == 0:
            _usual = gc.get_threshold()
            gc.set_threshold(*(often * FEWER for often in _usual))
        _searches += more
        if _searches == 0:
            gc.set_threshold(*_usual)
