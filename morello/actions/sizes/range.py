"""Range: one program for the smaller sizes of a dimension, another for the greater.

Before, where each call says m::

    matmul(m in 1..64, …)

After ``Range("m", 4)``::

    if m <= 4:  matmul(m in 1..4, …)     # low
    else:       matmul(m in 5..64, …)    # high
"""

import bisect
import dataclasses
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from morello.actions.base import Action, Axes, Child, Expansion, Hole, Rewrite
from morello.machine import Target
from morello.spec import Spec, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True, order=True)
class Range(Action):
    """A program for sizes of ``dim`` up to ``last``, and one for those above.

    The search does not try it: it puts programs together that are best for each size.
    """

    name: ClassVar[str] = "range"
    takes_ranges: ClassVar[bool] = True
    splits_sizes: ClassVar[bool] = True
    comparison: ClassVar[int] = 3000
    """A compare and a branch, in 1/1000 cycle."""
    dim: str
    """The dimension's name."""
    last: int
    """The greatest size of ``low``."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``low`` and ``high``, of which a size has one."""
        names = frame.key.kind.dims
        if self.dim not in names:
            reason = f"it has no dimension '{self.dim}'; those are: {', '.join(names)}"
            return Expansion.refused(reason)
        size = np.asarray(frame.sizes[names.index(self.dim)])
        is_low = (size <= self.last) * 1
        reason = f"{self.dim} is not a range of sizes on both sides of {self.last}"
        splits = bool(np.any(is_low)) and bool(np.any(1 - is_low))
        dims = tuple(range(len(names)))
        children = (
            Child("low", frame, is_low, dims),
            Child("high", frame, 1 - is_low, dims),
        )
        return Expansion((Condition(splits, reason),), self.comparison, children)

    def apply(self, spec: Spec, target: Target) -> Rewrite:
        """Cut a range of the Spec in two."""
        names = spec.kind.dims
        dim = names.index(self.dim) if self.dim in names else -1
        axes = [axis for axis, one in enumerate(spec.ranges) if dim in one.dims]
        sizes = spec.every_size[axes[0]] if axes else range(0)
        low = bisect.bisect_right(sizes, self.last)
        if not 0 < low < len(sizes):
            return super().apply(spec, target)
        least = tuple(one.least for one in spec.ranges)
        first, last = list(least), list(spec.greatest)
        first[axes[0]], last[axes[0]] = sizes[low], sizes[low - 1]
        below = spec.part(least, tuple(last))
        above = spec.part(tuple(first), spec.greatest)
        holes = (self._hole("low", below, 0, spec), self._hole("high", above, 1, spec))
        return Rewrite(self.comparison, holes)

    def _hole(self, role: str, half: Spec, times: int, spec: Spec) -> Hole:
        """A half of the sizes of a Spec."""
        axes = {one.dims: axis for axis, one in enumerate(spec.ranges)}
        follows = tuple(axes[one.dims] for one in half.ranges)
        return Hole(role, half, times, follows)

    def passes(self, spec: Spec) -> bool:
        """True: dimensions of one size part together."""
        return True

    def is_unbounded(self, spec: Spec) -> bool:
        """True: it is a comparison."""
        return True

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """None: `morello.search.ranges` decides where programs change."""
        yield from ()
