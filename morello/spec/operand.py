"""The operands of a kind, and how the dimensions of a Spec index them.

An axis of an operand is a dimension of the Spec, as a rule: its number. It may be a
`Window`, a sum of dimensions with positive coefficients: a convolution reads its input
at ``2*oh + kh``. A window of no dimension has one element, which all share.
"""

import dataclasses
from typing import Any

from morello.errors import SpecError
from morello.lazy import cached_property


@dataclasses.dataclass(frozen=True, order=True)
class Window:
    """An index that is a sum of dimensions of the Spec, each times a coefficient."""

    terms: tuple[tuple[int, int], ...]
    """A dimension and its coefficient, which is at least 1."""
    before: int = 0
    """Places before the first element that the index reaches: those count as 0."""
    after: int = 0
    """The same after the last; negative for elements that the index does not reach."""

    def reach(self, sizes: tuple[Any, ...]) -> Any:
        """How many places the index reaches (integers or arrays)."""
        reach: Any = 1
        for dim, step in self.terms:
            reach = reach + step * (sizes[dim] - 1)
        return reach

    def extent(self, sizes: tuple[Any, ...]) -> Any:
        """How many elements there are (integers or arrays)."""
        return self.reach(sizes) - self.before - self.after

    @property
    def is_padded(self) -> bool:
        """Whether not every place is an element, or not every element is reached."""
        return bool(self.before or self.after)


Axis = int | Window
"""What an axis of an operand is indexed by: a dimension of the Spec, or a window."""


@dataclasses.dataclass(frozen=True)
class Operand:
    """One operand of a kind."""

    name: str
    axes: tuple[Axis, ...]
    """What indexes each of its logical dimensions."""
    is_read: bool
    is_written: bool

    def __post_init__(self) -> None:
        steps = [step for terms in self._terms for _, step in terms]
        if any(step < 1 for step in steps):
            raise SpecError(f"operand '{self.name}' has a coefficient below 1: {steps}")
        if len(set(self.dims)) < len(self.dims):
            raise SpecError(f"operand '{self.name}' has one dimension in two axes")
        if self.is_written and not self.is_plain:
            raise SpecError(f"operand '{self.name}' is written through a window")

    @cached_property
    def _terms(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The dimensions of each axis, with their coefficients."""
        return tuple(
            axis.terms if isinstance(axis, Window) else ((axis, 1),)
            for axis in self.axes
        )

    @cached_property
    def rank(self) -> int:
        """The number of its logical dimensions."""
        return len(self.axes)

    @cached_property
    def is_plain(self) -> bool:
        """Whether each of its axes is a dimension of the Spec."""
        return not any(isinstance(axis, Window) for axis in self.axes)

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """The dimensions of the Spec that it has; those of its axes, where plain."""
        return tuple(dim for terms in self._terms for dim, _ in terms)

    def axis(self, dim: int) -> int:
        """Which of its axes has a dimension of the Spec that it has."""
        return self._places[dim][0]

    def step(self, dim: int) -> int:
        """How many elements of its axis a step along a dimension of the Spec is."""
        return self._places[dim][1]

    @cached_property
    def _places(self) -> dict[int, tuple[int, int]]:
        return {
            dim: (axis, step)
            for axis, terms in enumerate(self._terms)
            for dim, step in terms
        }

    def sizes(self, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
        """Its own sizes, from those of the Spec (integers or arrays)."""
        if self.is_plain:
            return tuple(sizes[d] for d in self.dims)
        return tuple(
            axis.extent(sizes) if isinstance(axis, Window) else sizes[axis]
            for axis in self.axes
        )
