"""One input file as several, cut at a marker, as mlir-opt cuts it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from morello.tools.diagnostics import Diagnostic, Place

MARKER = "// -----"
"""The marker that mlir-opt uses."""

_OPEN = 2
"""How many characters of a marker may be wrong for it to be a near miss."""


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
        """The text below as many empty lines as put it on its lines in the input."""
        if isinstance(self.source, bytes):
            return self.source
        indent = " " * (self.first_column - 1)
        return "\n" * (self.first_line - 1) + indent + self.source

    @property
    def lines(self) -> list[str]:
        """Its lines; none of bytecode."""
        return [] if isinstance(self.source, bytes) else self.source.split("\n")


def split_input(text: str | bytes, marker: str) -> tuple[Chunk, ...]:
    """Cut a text at each ``marker`` (empty: do not cut), wherever it stands in a line.

    A marker with nothing behind it, which ends the text, cuts nothing off.
    """
    if not marker or isinstance(text, bytes):
        return (Chunk(text),)
    chunks = []
    start = 0
    for found in re.finditer(re.escape(marker), text):
        if found.end() < len(text):
            chunks.append(_chunk(text, start, found.start()))
            start = found.end()
    return (*chunks, _chunk(text, start, len(text)))


def near_misses(text: str | bytes, marker: str, file: str) -> Iterator[Diagnostic]:
    """Warnings of what begins as a marker does, and is none."""
    if isinstance(text, bytes) or len(marker) <= _OPEN:
        return
    for found in re.finditer(re.escape(marker[:-_OPEN]), text):
        whole = found.start() + len(marker)
        if text.startswith(marker, found.start()) and whole < len(text):
            continue
        place = _place(text, found.end(), file)
        yield Diagnostic("warning", place, "near miss with file split marker")


def _chunk(text: str, start: int, end: int) -> Chunk:
    place = _place(text, start, "")
    return Chunk(text[start:end], place.line, place.column)


def _place(text: str, offset: int, file: str) -> Place:
    line_start = text.rfind("\n", 0, offset) + 1
    return Place(file, text.count("\n", 0, offset) + 1, offset - line_start + 1)
