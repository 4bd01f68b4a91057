"""Move: dst = src, element by element; layouts and levels may differ."""

import dataclasses
from typing import ClassVar

import numpy as np

from morello.spec.dtypes import Dtype
from morello.spec.kind import Array, Kind, Operand, bit_patterns, require_equal


@dataclasses.dataclass(frozen=True, order=True)
class Move(Kind):
    """A copy, or a change of layout. Bit patterns are kept, NaN payloads too."""

    name: ClassVar[str] = "move"
    rank: int = 2

    @property
    def dims(self) -> tuple[str, ...]:
        """``d0``, ``d1``, …"""
        return tuple(f"d{i}" for i in range(self.rank))

    @property
    def operands(self) -> tuple[Operand, ...]:
        """src and dst, both over every dimension."""
        every = tuple(range(self.rank))
        return (
            Operand("src", every, is_read=True, is_written=False),
            Operand("dst", every, is_read=False, is_written=True),
        )

    def check_dtypes(self, dtypes: tuple[Dtype, ...]) -> None:
        """Both operands have one dtype."""
        require_equal(self.label, dtypes)

    def flops(self, sizes: tuple[int, ...]) -> int:
        """None."""
        return 0

    def evaluate(self, dtypes: tuple[Dtype, ...], arrays: tuple[Array, ...]) -> Array:
        """A copy of src."""
        return arrays[0].copy()

    def random(
        self,
        rng: np.random.Generator,
        dtypes: tuple[Dtype, ...],
        shapes: tuple[tuple[int, ...], ...],
    ) -> tuple[Array, ...]:
        """Arbitrary bit patterns."""
        return (bit_patterns(rng, dtypes[0], shapes[0]),)
