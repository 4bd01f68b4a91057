"""One input file as several, cut at a marker, as mlir-opt cuts it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from morello.tools.opt.diagnostics import Diagnostic, Place

MARKER = "// -----"
"""The marker that mlir-opt uses."""

_OPEN = 2
"""The most wrong characters of a split marker that is reported as a near miss."""


@dataclass(frozen=True)
class Chunk:
    """A piece of the input that is parsed on its own.

    Args:
        source: its text, without what stands before it; or bytecode.
        first_line: its first line in the input, from 1.
        first_column: where it begins in that line, from 1.
    """

    source: str | bytes
    first_line: int = 1
    first_column: int = 1

    @property
    def padded(self) -> str | bytes:
        """Text of the chunk after empty lines, so that its line numbers are those of
        the input."""
        if isinstance(self.source, bytes):
            return self.source
        indent = " " * (self.first_column - 1)
        return "\n" * (self.first_line - 1) + indent + self.source

    @property
    def lines(self) -> list[str]:
        """Lines of the source; none of bytecode."""
        return [] if isinstance(self.source, bytes) else self.source.split("\n")


def split_input(text: str | bytes, marker: str) -> tuple[Chunk, ...]:
    """Cut a text at each ``marker`` (empty: do not cut), wherever it stands in a line.

    A marker with nothing behind it, which ends the text, cuts nothing off.
    """
    if not marker or isinstance(text, bytes):
        return (Chunk(text),)
    marks = list(re.finditer(re.escape(marker), text))
    if marks and marks[-1].end() == len(text):
        marks.pop()
    starts = [0, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(text)]
    pieces = zip(starts, ends, _places(text, starts, ""), strict=True)
    return tuple(
        Chunk(text[start:end], place.line, place.column) for start, end, place in pieces
    )


def near_misses(text: str | bytes, marker: str, file: str) -> Iterator[Diagnostic]:
    """Warnings of what begins as a marker does, and is none."""
    if isinstance(text, bytes) or len(marker) <= _OPEN:
        return
    ends = [
        match.end()
        for match in re.finditer(re.escape(marker[:-_OPEN]), text)
        if not text.startswith(marker, match.start())
        or match.start() + len(marker) >= len(text)
    ]
    for place in _places(text, ends, file):
        yield Diagnostic("warning", place, "near miss with file split marker")


def _places(text: str, offsets: Iterable[int], file: str) -> Iterator[Place]:
    """The places of ascending offsets in a text, which is read once."""
    line, line_start, seen = 1, 0, 0
    for offset in offsets:
        line += text.count("\n", seen, offset)
        line_start = max(line_start, text.rfind("\n", seen, offset) + 1)
        seen = offset
        yield Place(file, line, offset - line_start + 1)
