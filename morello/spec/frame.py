"""Many Specs of one key at once, as integer arrays that broadcast together.

The search treats whole tables of Specs with one NumPy expression; a person, a transform
op or a test treats one Spec. Actions and kernels are written once, over frames, and a
single Spec is a frame whose sizes and limits are plain integers.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.spec.spec import Spec, SpecKey
from morello.spec.tensors.limits import Limits

Ints = Any
"""An integer, or an integer array that broadcasts with the others of its frame."""

Bools = Any
"""A bool, or a bool array that broadcasts with the others of its frame."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """Specs that share a key; sizes and limits are integers or arrays."""

    key: SpecKey
    sizes: tuple[Ints, ...]
    limits: Limits

    @classmethod
    def of(cls, spec: Spec) -> "Frame":
        """The frame of one Spec."""
        return cls(spec.key, spec.sizes, spec.limits)

    @classmethod
    def over(cls, spec: Spec) -> "Frame":
        """The Specs of all sizes of the ranges of one, in the order of `Spec.calls`."""
        if not spec.ranges:
            return cls.of(spec)
        sizes: list[Ints] = list(spec.sizes)
        grids = np.meshgrid(*spec.every_size, indexing="ij")
        for one, grid in zip(spec.ranges, grids, strict=True):
            for dim in one.dims:
                sizes[dim] = grid.ravel()
        return cls(spec.key, tuple(sizes), spec.limits)

    def operand_sizes(self, operand: int) -> tuple[Ints, ...]:
        """The sizes of one operand, in its logical order."""
        return self.key.operand_sizes(operand, self.sizes)

    def spec(self) -> Spec:
        """The Spec of a frame of one."""
        sizes = tuple(int(s) for s in self.sizes)
        limits = Limits(self.limits.memories, tuple(map(int, self.limits.free)))
        return Spec(self.key.kind, sizes, self.key.tensors, limits, self.key.serial)


@dataclasses.dataclass(frozen=True)
class Condition:
    """Something that must hold, and what to tell a person when it does not."""

    holds: Bools
    reason: str | Callable[[], str]
    """A sentence without its subject: ``size 16 is not smaller than m = 8``. A function
    where making it takes time: most frames are never refused one by one."""
    is_of_settled: bool = False
    """Whether it is asked of settled sizes alone, as that a loop has a trip: where each
    call says the size, it may have none."""

    @property
    def text(self) -> str:
        """The sentence."""
        return self.reason if isinstance(self.reason, str) else self.reason()
