"""One input file as several, cut at lines that begin with a marker."""

import re
from dataclasses import dataclass

MARKER = "// -----"
"""The marker that mlir-opt uses."""


@dataclass(frozen=True)
class Chunk:
    """A piece of the input that is parsed on its own.

    Args:
        source: its text, without what stands before it.
        first_line: its first line in the input, from 1.
    """

    source: str
    first_line: int = 1

    @property
    def padded(self) -> str:
        """The text below as many empty lines as put it on its lines in the input."""
        return "\n" * (self.first_line - 1) + self.source


def split_input(text: str, marker: str | None) -> tuple[Chunk, ...]:
    """Cut ``text`` at each line that begins with ``marker`` (None: do not cut)."""
    if not marker:
        return (Chunk(text),)
    chunks = []
    held: list[str] = []
    first = 1
    for number, line in enumerate(re.split(r"(?<=\n)", text), 1):
        if line.startswith(marker):
            chunks.append(Chunk("".join(held), first))
            held, first = [], number + 1
        else:
            held.append(line)
    chunks.append(Chunk("".join(held), first))
    return tuple(chunks)
