"""A line on the standard error while something takes long, if somebody is looking."""

import contextlib
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator

from morello.search.statistics import Statistics

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
            _write(f"{text} … {more}"[: shutil.get_terminal_size().columns - 1])

    try:
        yield show
    finally:
        _write("")


def _write(line: str) -> None:
    sys.stderr.write(f"{_ERASE}{line}")
    sys.stderr.flush()


def search_text(statistics: Statistics) -> str:
    """The progress of a search: Specs solved, programs compared, time and memory.

    Impls are those that were compared. Compression is Specs a box, with costs or with
    decisions only; memory is the peak of the process.
    """
    parts = [
        f"{statistics.seconds:.1f} s",
        f"{statistics.specs / 1e6:.1f} M Specs",
        f"{statistics.tables:,} tables"
        + (f" ({statistics.read:,} read)" if statistics.read else ""),
        f"10^{math.log10(max(statistics.impls, 1)):.1f} Impls",
    ]
    if (
        statistics.compression is not None
        and statistics.compression_decisions is not None
    ):
        ratios = (
            f"{statistics.compression:.0f} or {statistics.compression_decisions:.0f}"
        )
        parts.append(f"{ratios} Specs a box")
    return ", ".join((*parts, f"{statistics.peak_bytes / 1e6:.0f} MB"))
