"""The operands of a kind, and how the dimensions of a Spec index them."""

import dataclasses
from typing import Any

from morello.errors import SpecError
from morello.lazy import cached_property
from morello.spec.index_map import IndexMap


@dataclasses.dataclass(frozen=True)
class Operand:
    """One operand of a kind."""

    name: str
    axes: tuple[IndexMap, ...]
    """The index map of each logical dimension."""
    is_read: bool
    is_written: bool

    def __post_init__(self) -> None:
        steps = [step for axis in self.axes for _, step in axis.terms]
        if any(step < 1 for step in steps):
            raise SpecError(f"operand '{self.name}' has a coefficient below 1: {steps}")
        if len(set(self.dims)) < len(self.dims):
            raise SpecError(f"operand '{self.name}' has one dimension in two axes")
        if self.is_written and not self.is_plain:
            raise SpecError(f"operand '{self.name}' is written through a window")

    @cached_property
    def rank(self) -> int:
        """The number of its logical dimensions."""
        return len(self.axes)

    @cached_property
    def is_plain(self) -> bool:
        """Whether each of its axes is a dimension of the Spec."""
        return all(axis.is_plain for axis in self.axes)

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """The dimensions of the Spec that it has; those of its axes, where plain."""
        return tuple(dim for axis in self.axes for dim in axis.dims)

    def axis(self, dim: int) -> int:
        """Index of the axis that has the given dimension of the Spec."""
        return self._places[dim][0]

    def map(self, dim: int) -> IndexMap:
        """The map of the axis that has a dimension of the Spec that it has."""
        return self.axes[self._places[dim][0]]

    def step(self, dim: int) -> int:
        """How many elements of its axis a step along a dimension of the Spec is, where
        the axis is not divided."""
        return self._places[dim][1]

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        return {
            dim: (place, step)
            for place, axis in enumerate(self.axes)
            for dim, step in axis.terms
        }

    def sizes(self, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
        """Sizes of the operand's axes, from those of the Spec (integers or arrays)."""
        if self.is_plain:
            return tuple(sizes[d] for d in self.dims)
        return tuple(axis.extent(sizes) for axis in self.axes)
