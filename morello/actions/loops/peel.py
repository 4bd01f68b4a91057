"""Peel: a loop over parts of a reduction, of which the first overwrites the output.

Before::

    matmul(k=600, …)

After ``Peel("k", 256)``::

    matmul(k=256, …)                             # first
    for i in 1 until 2:  matmul_accum(k=256, …)  # main, once
    matmul_accum(k=88, …)                        # remainder

Beside `ToAccum` it spares the fill of the output, and reading what was filled.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from morello.actions.base import Action, Axes, Child, Expansion, canonical, near_form
from morello.actions.loops.base import expand_loop, tile_key
from morello.machine import Target
from morello.spec import SpecKey
from morello.spec.frame import Frame


@dataclasses.dataclass(frozen=True, order=True)
class Peel(Action):
    """The first ``size`` of the reduction ``dim`` by itself; parts of ``size`` and the
    remainder are added to it."""

    name: ClassVar[str] = "peel"
    by_sizes: ClassVar[bool] = True
    dim: str
    """The name of a reduction dimension."""
    size: int
    """The size of a part, smaller than the dimension."""

    def expand(self, frame: Frame, target: Target) -> Expansion:
        """Holes ``first``, ``main`` and ``remainder``; the cost is that of a loop."""
        kind = frame.key.kind
        reform = kind.reform if _can_peel(frame.key) else None
        legal = [kind.dims[i] for i in kind.reductions]
        if reform is None or self.dim not in legal:
            reason = (
                f"'{self.dim}' is not a reduction of {kind.label}; "
                f"those are: {', '.join(legal)}"
            )
            if reform is None:
                reason = f"{kind.label} is no reduction that overwrites its output"
            return Expansion.refused(reason)
        dim = kind.dims.index(self.dim)
        loop = expand_loop(frame, dim, self.size, target)
        main, remainder = loop.children
        key = dataclasses.replace(main.frame.key, kind=reform.kind)
        others = main.times - 1
        children = (
            Child("first", main.frame, 1, main.dims),
            _adding(main, key, others),
            _adding(remainder, key, remainder.times),
        )
        return Expansion(loop.conditions, loop.cost, children)

    def relevant(self, key: SpecKey, target: Target) -> SpecKey:
        """The key with the layouts of operands that have the dimension, whose packs the
        loop must not cut."""
        dim = key.kind.dims.index(self.dim)
        tensors = tuple(
            near_form(tensor.dtype, tensor.layout)
            if dim in operand.dims and not tensor.level.is_registers
            else canonical(tensor)
            for operand, tensor in zip(key.kind.operands, key.tensors, strict=True)
        )
        return dataclasses.replace(key, tensors=tensors)

    def first_part(self, key: SpecKey) -> tuple[int, int] | None:
        """The reduction and the size of the first part, if tiles along it keep the
        key."""
        dim = key.kind.dims.index(self.dim)
        return (dim, self.size) if tile_key(key, dim) == key else None

    @classmethod
    def part_sizes(
        cls, key: SpecKey, axis: tuple[int, ...], target: Target
    ) -> tuple[int, ...]:
        """The sizes of first parts that the search tries (`first_parts`)."""
        return first_parts(axis, target) if _can_peel(key) else ()

    @classmethod
    def candidates(cls, key: SpecKey, axes: Axes, target: Target) -> Iterator[Action]:
        """`first_parts` of every reduction, while no operand is in L1 or registers.

        There a fill costs next to nothing, and what is not cut had better stay.
        """
        near = any(tensor.level.is_near for tensor in key.tensors)
        if near or not _can_peel(key):
            return
        for dim in key.kind.reductions:
            for size in first_parts(axes[dim], target):
                yield cls(key.kind.dims[dim], size)


def _can_peel(key: SpecKey) -> bool:
    """Whether it is a reduction of one output, which nothing else depends on."""
    kind = key.kind
    return kind.has_element and kind.reform is not None


def first_parts(axis: tuple[int, ...], target: Target) -> tuple[int, ...]:
    """The sizes of first parts that the search tries: powers of four, from the target's
    ``first_part`` on.

    Each is a size more of every reduction that overwrites, and what it spares does not
    depend on it: those between hardly make a better program.

    Args:
        axis: the sizes that the dimension takes, ascending; its own is the last.
    """
    powers = {1 << shift for shift in range(0, axis[-1].bit_length(), 2)}
    return tuple(s for s in axis[:-1] if s in powers and s >= target.first_part)


def _adding(child: Child, key: SpecKey, times: object) -> Child:
    frame = dataclasses.replace(child.frame, key=key)
    return dataclasses.replace(child, frame=frame, times=times, there=times)
