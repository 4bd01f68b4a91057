"""The architectures that have a row, and the one that we run on: `HOST`."""

import platform

from morello.machine.architecture import Architecture
from morello.machine.x86_64 import X86_64

ARCHITECTURES: tuple[Architecture, ...] = (X86_64,)


def architecture(name: str) -> Architecture:
    """The row with a system's name for an architecture; the first row if none has."""
    rows = (row for row in ARCHITECTURES if name in row.names)
    return next(rows, ARCHITECTURES[0])


HOST = architecture(platform.machine())
