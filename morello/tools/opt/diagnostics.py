"""Diagnostics: ``file:line:col: error: message``, the source line and a caret."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_HEX = re.compile(r"\\([0-9a-fA-F]{2})")

PARSED_AS = "-"
"""The name that upstream's parser gives to text; stands for the input's name."""

OP_NOTE = "see current operation: "
"""How the note begins that upstream adds to the errors of an op."""


@dataclass(frozen=True)
class Place:
    """A position in a file; line 0 is the whole file, file "" is nowhere."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.file:
            return "unknown location"
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """One message.

    Args:
        severity: ``error``, ``warning``, ``remark`` or ``note``.
        place: where.
        message: what, one or more lines.
        notes: what belongs to it.
        width: columns from the place on that are underlined.
    """

    severity: str
    place: Place
    message: str
    notes: "tuple[Diagnostic, ...]" = field(default=())
    width: int = 1

    def with_notes(self, keep: Callable[[str], bool]) -> "Diagnostic":
        """Copy the diagnostic with only those notes whose message ``keep``
        accepts."""
        return replace(self, notes=tuple(n for n in self.notes if keep(n.message)))


def place_of(location: object, input_name: str) -> Place:
    """The first file position in an MLIR location (a fused or call-site one has more).

    Args:
        location: an ``ir.Location``, or its text.
        input_name: reported for text that came without a name.
    """
    position = _PLACE.search(str(location))
    if position is None:
        return Place()
    name = _HEX.sub(lambda code: chr(int(code[1], 16)), position[1])
    file = input_name if name == PARSED_AS else name
    return Place(file, int(position[2]), int(position[3]))


def from_mlir(diagnostic: Any, input_name: str) -> Diagnostic:
    """A diagnostic of the bindings as plain data."""
    return Diagnostic(
        diagnostic.severity.name.lower(),
        place_of(diagnostic.location, input_name),
        diagnostic.message,
        tuple(
            Diagnostic("note", place_of(note.location, input_name), note.message)
            for note in diagnostic.notes
        ),
    )


def render(diagnostic: Diagnostic, file: str, lines: Sequence[str]) -> str:
    """Print a diagnostic with its notes below, ending in a newline.

    Args:
        diagnostic: what to print.
        file: the name of the input, whose lines can be shown.
        lines: of the input.
    """
    place = diagnostic.place
    text = f"{place}: {diagnostic.severity}: {diagnostic.message}\n"
    shown = not diagnostic.message.startswith(OP_NOTE)
    if shown and place.file == file and 0 < place.line <= len(lines) and place.column:
        line = lines[place.line - 1].rstrip("\r")
        before = line[: place.column - 1]
        # Tabs stay tabs, so that the caret stands where the terminal puts the column.
        indent = "".join("\t" if char == "\t" else " " for char in before)
        text += f"{line}\n{indent}^{'~' * (diagnostic.width - 1)}\n"
    return text + "".join(render(note, file, lines) for note in diagnostic.notes)
