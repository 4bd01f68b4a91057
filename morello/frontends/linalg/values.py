"""Values of a linalg function during its import: tensors, numbers, foreign ones."""

import dataclasses

from morello.frontends.linalg.bodies import Number
from morello.spec.index_map import IndexMap


@dataclasses.dataclass(frozen=True)
class Read:
    """A tensor of the program: another one through axes."""

    tensor: int
    axes: tuple[IndexMap, ...]
    """For each axis of ``tensor``: by which of its own axes it is read."""
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Same:
    """A tensor of one number, or one whose elements nobody has written."""

    number: Number
    shape: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Foreign:
    """A value that no graph reads: of integers, or made by plain code."""

    tensor: int | None
    """Where it is in memory; None where whoever reads it computes it again."""
    what: str
    """Its type, for messages."""


Known = Read | Same | Foreign | None
"""What a value is; None where it was refused."""


class MissingError(Exception):
    """An operand was refused before."""
