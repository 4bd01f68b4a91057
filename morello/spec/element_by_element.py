"""Base class of the kinds that visit each element: `ElementByElement`."""

import dataclasses
from typing import Any, Self

from morello.spec.kind import Kind


class ElementByElement(Kind):
    """Every operand has every dimension, of which there may be any number."""

    rank: int
    """A field of each: where it stands among others is theirs to say."""

    @property
    def dims(self) -> tuple[str, ...]:
        """``d0``, ``d1``, …"""
        return tuple(f"d{i}" for i in range(self.rank))

    @property
    def of_fewer_dims(self) -> Self | None:
        """Kind with two adjacent dimensions merged in one; None for one dimension."""
        fewer: dict[str, Any] = {"rank": self.rank - 1}
        return dataclasses.replace(self, **fewer) if self.rank > 1 else None
