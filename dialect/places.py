"""Locations inside of messages: upstream's bindings cannot attach notes to an error."""

import re

from morello.mlir import ir

_FILE_LINE_COLUMN = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')

_NAMELESS = "-"
"""The file name that upstream's parser gives to text."""


def place(location: ir.Location | str) -> str:
    """``file:line:column`` of a location, or of its text; without a file's name, 3:1.

    Of a fused or call-site location it is the first; ``an unknown place`` if it has
    none.
    """
    match = _FILE_LINE_COLUMN.search(str(location))
    if match is None:
        return "an unknown place"
    name, line, column = match.groups()
    return f"{line}:{column}" if name == _NAMELESS else f"{name}:{line}:{column}"


def plain_location(location: ir.Location) -> ir.Location:
    """File, line and column of a location, in its context, without what else it holds.

    A location may hold attributes, of which some reach the object as debug information.
    """
    match = _FILE_LINE_COLUMN.search(str(location))
    if match is None:
        return ir.Location.unknown(location.context)
    _, line, column = match.groups()
    return ir.Location.file(_NAMELESS, int(line), int(column), location.context)
