"""The coordinates of a table: sizes of each dimension, and what each memory has left.

Sizes come from a ladder, {2^x} and {3·2^x}, which is closed under remainder; a size
that is not on it brings itself and the chain of its remainders. Goals with several long
dimensions have {2^x} alone on the upper part of it. An axis is cut where an
operand could not lie at its level whatever the other sizes. It is one size where it
cannot have been tiled: on the dimensions of an operand that is known to be contiguous,
but its outermost, and on a reduction that overwrites its output.

What is left of a cache is one coordinate where no operand can move there any more.
"""

import bisect
import dataclasses
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from morello.actions import ACTIONS
from morello.lazy import cached_property
from morello.machine import Target
from morello.spec import Kind, Level, Limits, Spec, SpecKey, TensorSpec
from morello.spec.hashing import HashedOnce
from morello.spec.shares import is_worth_sharing, shares_of

Axis = tuple[int, ...]
"""Ascending coordinates."""


REGISTERS = 48
"""Tiles of registers are no larger: above, graphs of several products have powers of
two alone, since each of their tables has several long dimensions."""

CUBIC = 3
"""From so many dimensions longer than `REGISTERS` on, tables of a goal are so large
that it has powers of two alone above `LONG`."""

LONG = 1024
"""Finer steps above it change the predicted costs of products, of up to 8192 a side, by
a billionth; and tables are a tenth larger with them."""

ALL = sys.maxsize
"""The whole ladder is fine."""


def goal_axes(spec: Spec, threads: int) -> tuple[Axis, ...]:
    """The sizes of each dimension of a goal and of what is below it.

    Two threads have no line of an output in common: shares of its innermost dimension
    are whole lines, others may be even.
    """
    kind, lines = spec.kind, _innermost(spec)
    return tuple(
        _goal_axis(spec, dim, 1)
        if spec.serial or _is_whole(kind, spec.sizes, dim)
        else _goal_axis(spec, dim, threads, dim not in lines)
        for dim in range(len(spec.sizes))
    )


def _is_whole(kind: Kind, sizes: tuple[int, ...], dim: int) -> bool:
    """Whether a dimension is a reduction that threads do not share out."""
    found = kind.reductions
    return dim in found and not is_worth_sharing(found, sizes, dim)


def _goal_axis(spec: Spec, dim: int, threads: int, even: bool = False) -> Axis:
    """The sizes of one dimension."""
    size = spec.sizes[dim]
    if spec.kind.is_batch(dim):
        return tuple(sorted({1, size, *shares_of(size, threads, even)}))
    return size_axis(size, threads, even, _fine(spec))


def _fine(spec: Spec) -> int:
    """Up to where the ladder of a goal is fine."""
    if spec.kind.has_several_products:
        return REGISTERS
    long = sum(size > REGISTERS for size in spec.sizes)
    return LONG if long >= CUBIC else ALL


def new_axis(key: SpecKey, dim: int, size: int, threads: int) -> Axis:
    """The sizes of a dimension that a hole has, and its parent has not."""
    if key.serial or dim in key.kind.reductions:
        return size_axis(size)
    return size_axis(size, threads, dim not in _innermost(key))


def _innermost(spec: Spec | SpecKey) -> frozenset[int]:
    """The dimensions along which elements of an output are neighbours."""
    return frozenset(
        spec.kind.operands[out].dims[spec.tensors[out].layout.innermost]
        for out in spec.kind.written
    )


@lru_cache(maxsize=4096)
def size_axis(size: int, threads: int = 1, even: bool = False, fine: int = ALL) -> Axis:
    """The sizes that tiles of a dimension of ``size`` and their remainders have.

    With several threads a tile may be the share of one, ``even`` or not, and its
    remainder that of the last. The ladder has powers of two alone above ``fine``.
    """
    rungs = tuple(r for r in _ladder(size) if r <= fine or _is_power(r))
    pending = [size, *shares_of(size, threads, even)]
    found = {*pending, *rungs}
    while pending:
        extent = pending.pop()
        for rung in rungs:
            rest = extent % rung if rung < extent else 0
            if rest and rest not in found:
                found.add(rest)
                pending.append(rest)
    return tuple(sorted(found))


def _is_power(size: int) -> bool:
    return size & (size - 1) == 0


def _ladder(size: int) -> Axis:
    powers = [1 << i for i in range(size.bit_length())]
    return tuple(sorted(r for p in powers for r in (p, 3 * p) if r <= size))


ANY = -1
"""The one coordinate of an axis that does not matter, or follows from the others."""


@dataclasses.dataclass(frozen=True)
class Box(HashedOnce):
    """The coordinates of one table: the sizes of each dimension, then the limits."""

    sizes: tuple[Axis, ...]
    vrf: Axis
    l1: Axis
    l2: Axis

    __hash__ = HashedOnce.__hash__

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Every axis, in the order of the table's dimensions."""
        return (*self.sizes, self.vrf, self.l1, self.l2)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table's arrays."""
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def mesh(self) -> tuple[Any, ...]:
        """The coordinates along each axis, to be read: together they broadcast to the
        shape."""
        return _mesh(self.axes)


def _mesh(axes: tuple[Axis, ...]) -> tuple[Any, ...]:
    """As ``np.ix_``, which takes twice as long."""
    rank = len(axes)
    return tuple(
        np.asarray(axis, np.int64).reshape((1,) * dim + (-1,) + (1,) * (rank - dim - 1))
        for dim, axis in enumerate(axes)
    )


@dataclasses.dataclass(frozen=True)
class Free:
    """Which memories may have been taken from: those need an axis of their own."""

    vrf: bool = False
    l1: bool = False
    l2: bool = False


def box(
    key: SpecKey,
    sizes: tuple[Axis, ...],
    limits: Limits,
    room: Limits,
    free: Free,
    target: Target,
) -> Box:
    """The box of a key under a goal with axes ``sizes``, ``limits`` and ``room``."""
    cut = tuple(_cut(key, dim, sizes, room) for dim in range(len(sizes)))
    for dim in range(len(sizes)):
        if not key.kind.loops(dim):
            parts = {sizes[dim][-1]}
            if dim in key.kind.reductions:
                axis = sizes[dim]
                parts |= {s for a in ACTIONS for s in a.part_sizes(key, axis, target)}
            kept = tuple(size for size in cut[dim] if size in parts)
            cut = (*cut[:dim], kept, *cut[dim + 1 :])
    vrf = _register_axis(key, limits, free)
    l1 = _cache_axis(key, limits, Level.L1, free.l1, target)
    l2 = _cache_axis(key, limits, Level.L2, free.l2, target)
    return Box(cut, vrf, l1, l2)


def room(spec: Spec, target: Target) -> Limits:
    """The most that one operand of a Spec, or of one below it, takes of each memory.

    What is free, or what an operand of the Spec itself occupies already.
    """
    most = spec.limits
    for index, tensor in enumerate(spec.tensors):
        level = tensor.level
        if level is Level.MEM and target.operand_context.near:
            level = Level.L2
        if level.is_cache:
            taken = tensor.lines(spec.shape(index))
            most = most.replace(level, max(most[level], taken))
    return most.replace(Level.VRF, most.vrf + registers_taken(spec.key, spec.sizes))


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


def matters(key: SpecKey, level: Level, target: Target) -> bool:
    """Whether what is left of a cache can still decide: can an operand move there?"""
    return level in _levels_taken(key, target)


@lru_cache(maxsize=65536)
def _levels_taken(key: SpecKey, target: Target) -> frozenset[Level]:
    """The caches that operands can still move to."""
    return frozenset().union(*(a.levels_taken(key, target) for a in ACTIONS))


def _cache_axis(
    key: SpecKey, limits: Limits, level: Level, free: bool, target: Target
) -> Axis:
    if not matters(key, level, target):
        return (ANY,)
    limit: int = limits[level]
    if not free:
        return (limit,)
    classes = target.classes(level)
    return tuple(sorted({limit, *(c for c in classes if c < limit)}))


def _cut(key: SpecKey, dim: int, sizes: tuple[Axis, ...], room: Limits) -> Axis:
    axis = sizes[dim]
    for index, (operand, tensor) in enumerate(
        zip(key.kind.operands, key.tensors, strict=True)
    ):
        plain = operand.is_plain  # of windows `lies` has the last word
        if plain and dim in operand.dims and tensor.level is not Level.MEM:
            own = key.operand_sizes(index, sizes)
            lying = _lying(tensor, own, operand.axis(dim), room[tensor.level])
            axis = axis[: bisect.bisect_right(axis, lying)]
        if (
            dim in operand.dims
            and tensor.contiguous
            and not tensor.stays_gapless(operand.axis(dim))
        ):
            axis = _whole(axis, sizes[dim])
    return axis


def lies(key: SpecKey, sizes: tuple[Axis, ...], box: Box, room: Limits) -> Any:
    """Where every operand could lie at its level: bools that broadcast to the sizes of
    a box. Elsewhere no Spec can come from a goal, and there is no program.

    Args:
        sizes: the axes of the goal.
        room: what one operand of it may take.
    """
    count = len(sizes)
    mesh = _mesh(box.sizes)
    found: Any = np.ones((1,) * count, np.bool_)
    for index, tensor in enumerate(key.tensors):
        if tensor.level is Level.MEM:
            continue
        own = key.operand_sizes(index, mesh)
        if tensor.level is Level.VRF:
            found = found & (tensor.registers(own) <= room.vrf)
            continue
        fits = tensor.lines(own) <= room[tensor.level]
        if not tensor.layout.is_packed:  # a tile of a gapless array: see `_lying`
            gapless = dataclasses.replace(tensor, contiguous=True)
            full = tuple(axis[-1] for axis in sizes)
            whole = list(key.operand_sizes(index, full))
            outermost = tensor.layout.dims[0].dim
            whole[outermost] = own[outermost]
            fits = fits | (gapless.lines(tuple(whole)) <= room[tensor.level])
        found = found & fits
    return found


@lru_cache(maxsize=65536)
def _lying(tensor: TensorSpec, axes: tuple[Axis, ...], dim: int, room: int) -> int:
    """The greatest size that a tile can have at its level; 0 if none.

    A tile of an operand that lay there as one gapless array may have any size that the
    array has: that took fewer lines than the rows of the tile seem to. Such an array is
    whole, but for its outermost dimension.
    """
    amount = tensor.registers if tensor.level is Level.VRF else tensor.lines
    fit = _fitting(amount, axes, dim, [1] * len(axes), room)
    if tensor.level is not Level.VRF and not tensor.layout.is_packed:
        gapless = dataclasses.replace(tensor, contiguous=True)
        sizes = [axis[-1] for axis in axes]
        outermost = tensor.layout.dims[0].dim
        sizes[outermost] = axes[outermost][0]
        fit = max(fit, _fitting(gapless.lines, axes, dim, sizes, room))
    return fit


def _fitting(
    amount: Callable[[tuple[Any, ...]], Any],
    axes: tuple[Axis, ...],
    dim: int,
    sizes: list[Any],
    room: int,
) -> int:
    """The greatest size along ``dim`` beside the others whose amount has room."""
    sizes = list(sizes)
    sizes[dim] = np.asarray(axes[dim], np.int64)
    fit = int(np.count_nonzero(amount(tuple(sizes)) <= room))
    return axes[dim][fit - 1] if fit else 0


def _whole(axis: Axis, full: Axis) -> Axis:
    """The full size alone, if it is still on the axis."""
    return axis[-1:] if axis[-1:] == full[-1:] else ()
