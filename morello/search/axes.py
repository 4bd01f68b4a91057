"""The coordinates of a table: sizes of each dimension, and what each memory has left.

Sizes come from a ladder, {2^x} and {3·2^x}, which is closed under remainder; a size
that is not on it brings itself and the chain of its remainders. An axis is cut where an
operand could not lie at its level whatever the other sizes. It is one size where it
cannot have been tiled: on the dimensions of an operand that is known to be contiguous,
and on a reduction that overwrites its output.
"""

import dataclasses
from functools import lru_cache
from typing import Any

from morello.spec import Level, Limits, SpecKey, TensorSpec
from morello.targets import Target

Axis = tuple[int, ...]
"""Ascending coordinates."""


@lru_cache(maxsize=4096)
def size_axis(size: int) -> Axis:
    """The sizes that tiles of a dimension of ``size`` and their remainders have."""
    rungs = _ladder(size)
    found = {size, *rungs}
    pending = [size]
    while pending:
        extent = pending.pop()
        for rung in rungs:
            rest = extent % rung if rung < extent else 0
            if rest and rest not in found:
                found.add(rest)
                pending.append(rest)
    return tuple(sorted(found))


def _ladder(size: int) -> Axis:
    powers = [1 << i for i in range(size.bit_length())]
    return tuple(sorted(r for p in powers for r in (p, 3 * p) if r <= size))


ANY = -1
"""The one coordinate of an axis that does not matter, or follows from the others."""


@dataclasses.dataclass(frozen=True)
class Box:
    """The coordinates of one table: the sizes of each dimension, then the limits."""

    sizes: tuple[Axis, ...]
    vrf: Axis
    l1: Axis
    l2: Axis

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Every axis, in the order of the table's dimensions."""
        return (*self.sizes, self.vrf, self.l1, self.l2)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table's arrays."""
        return tuple(len(axis) for axis in self.axes)


@dataclasses.dataclass(frozen=True)
class Free:
    """Which memories may have been taken from: those need an axis of their own."""

    vrf: bool = False
    l1: bool = False
    l2: bool = False


def box(
    key: SpecKey, sizes: tuple[Axis, ...], limits: Limits, free: Free, target: Target
) -> Box:
    """The box of a key under a goal with axes ``sizes`` and ``limits``."""
    cut = tuple(_cut(key, dim, axis, limits, target) for dim, axis in enumerate(sizes))
    if not key.kind.accumulates:
        fixed = key.kind.reductions
        cut = tuple(a[-1:] if d in fixed else a for d, a in enumerate(cut))
    vrf = _register_axis(key, limits, free)
    l1 = _cache_axis(key, limits, Level.L1, free.l1, target)
    l2 = _cache_axis(key, limits, Level.L2, free.l2, target)
    return Box(cut, vrf, l1, l2)


def registers_taken(key: SpecKey, sizes: tuple[Any, ...]) -> Any:
    """The registers that the operands of a Spec occupy (sizes: integers or arrays)."""
    taken: Any = 0
    for index, tensor in enumerate(key.tensors):
        if tensor.level is Level.VRF:
            taken = taken + tensor.registers(key.operand_sizes(index, sizes))
    return taken


def holds_registers(key: SpecKey) -> bool:
    """Whether an operand is in registers: what is left of them follows from sizes."""
    return any(tensor.level is Level.VRF for tensor in key.tensors)


def _register_axis(key: SpecKey, limits: Limits, free: Free) -> Axis:
    if holds_registers(key):
        return (ANY,)
    return tuple(range(limits.vrf + 1)) if free.vrf else (limits.vrf,)


def matters(key: SpecKey, level: Level) -> bool:
    """Whether what is left of a cache can still decide: can an operand move there?"""
    return any(tensor.level > level for tensor in key.tensors)


def _cache_axis(
    key: SpecKey, limits: Limits, level: Level, free: bool, target: Target
) -> Axis:
    if not matters(key, level):
        return (ANY,)
    limit: int = limits[level]
    if not free:
        return (limit,)
    classes = target.classes(level)
    return tuple(sorted({limit, *(c for c in classes if c < limit)}))


def _cut(key: SpecKey, dim: int, axis: Axis, limits: Limits, target: Target) -> Axis:
    for operand, tensor in zip(key.kind.operands, key.tensors, strict=True):
        if dim not in operand.dims:
            continue
        if tensor.contiguous:
            return axis[-1:]
        alone = [1] * len(operand.dims)
        place = operand.dims.index(dim)

        def lies(
            size: int,
            tensor: TensorSpec = tensor,
            place: int = place,
            alone: list[int] = alone,
        ) -> bool:
            extents = (*alone[:place], size, *alone[place + 1 :])
            return _can_lie(tensor, extents, limits, target)

        axis = tuple(size for size in axis if lies(size))
    return axis


def _can_lie(
    tensor: TensorSpec, sizes: tuple[int, ...], limits: Limits, target: Target
) -> bool:
    """Whether a tile could ever be at its level, with nothing else there."""
    match tensor.level:
        case Level.GL:
            return True
        case Level.VRF:
            return bool(tensor.registers(sizes) <= limits.vrf)
        case Level.L2:
            return bool(tensor.lines(sizes) <= limits.l2)
        case Level.L1:
            return bool(tensor.lines(sizes) <= limits.l1)
