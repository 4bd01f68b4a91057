"""The coordinates of a table: sizes of each dimension, and what each memory has left.

Sizes come from a ladder, {2^x} and {3·2^x}, which is closed under remainder; a size
that is not on it brings itself and the chain of its remainders. Goals with several long
dimensions have {2^x} alone on the upper part of it. An axis is cut where an
operand could not lie at its level whatever the other sizes. It is one size where it
cannot have been tiled: on the dimensions of an operand that is known to be contiguous,
but its outermost, and on a reduction that overwrites its output. On the outermost of
more than one element, each size is that of a goal.

What is left of a cache is one coordinate where no operand can move there any more.
"""

import bisect
import dataclasses
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from morello.actions import ACTIONS, Action
from morello.machine import Target
from morello.search.dp.box import ANY, Axis, Box, mesh_of
from morello.spec import Kind, Limits, Memory, Spec, SpecKey, TensorSpec
from morello.spec.shares import is_worth_sharing, shares_of
from morello.spec.structure import has_several_products, is_batch, is_place

REGISTERS = 48
"""Tiles of registers are no larger: above, graphs of several products have powers of
two alone, since each of their tables has several long dimensions."""

LEAST_GOAL = REGISTERS
"""Tables of several goals have the sizes above it: products of few rows have keys that
others do not lead to."""

PLACES = 16
"""Places of a window, at most, of which a kernel has the code of each: sums stay in
registers over all of them, and a window is taken whole or place by place."""

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
    reductions = kind.reductions
    return dim in reductions and not is_worth_sharing(reductions, sizes, dim)


def _goal_axis(spec: Spec, dim: int, threads: int, even: bool = False) -> Axis:
    """The sizes of one dimension."""
    size = spec.sizes[dim]
    few = size <= PLACES and is_place(spec.kind, dim)
    if few or is_batch(spec.kind, dim):
        return tuple(sorted({1, size, *shares_of(size, threads, even)}))
    return size_axis(size, threads, even, fine(spec))


def fine(spec: Spec) -> int:
    """The size up to which the ladder of a goal has all rungs."""
    if has_several_products(spec.kind):
        most = REGISTERS
    else:
        long = sum(size > REGISTERS for size in spec.sizes)
        most = LONG if long >= CUBIC else ALL
    return most if max(spec.sizes) > most else ALL


def new_axis(key: SpecKey, dim: int, size: int, threads: int) -> Axis:
    """The sizes of a dimension of a hole that the parent Spec lacks."""
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
    extents = {*pending, *rungs}
    while pending:
        extent = pending.pop()
        for rung in rungs:
            rest = extent % rung if rung < extent else 0
            if rest and rest not in extents:
                extents.add(rest)
                pending.append(rest)
    return tuple(sorted(extents))


def is_rung(size: int, fine: int = ALL) -> bool:
    """Whether a size is on the ladder, which has powers of two alone above ``fine``."""
    is_between = size <= fine and size % 3 == 0 and _is_power(size // 3)
    return _is_power(size) or is_between


def _is_power(size: int) -> bool:
    return size & (size - 1) == 0


def _ladder(size: int) -> Axis:
    powers = [1 << i for i in range(size.bit_length())]
    return tuple(sorted(r for p in powers for r in (p, 3 * p) if r <= size))


Dense = frozenset[Axis]
"""The axes of which each size is that of a goal: there it is whole, and gapless."""

NONE: Dense = frozenset()


@dataclasses.dataclass(frozen=True)
class Goals:
    """Goals that are searched together: each size of an axis is that of one.

    Args:
        axes: these axes.
        fine: up to where their ladder is fine.
    """

    axes: Dense = NONE
    fine: int = ALL


ONE_GOAL = Goals()


Free = tuple[Memory, ...]
"""The memories that may have been taken from: those need an axis of their own."""


def box(
    key: SpecKey,
    sizes: tuple[Axis, ...],
    limits: Limits,
    room: Limits,
    free: Free,
    target: Target,
    dense: Dense = NONE,
) -> Box:
    """The box of a key under a goal with axes ``sizes``, ``limits`` and ``room``."""
    cut = tuple(_cut(key, dim, sizes, room, dense) for dim in range(len(sizes)))
    for dim in range(len(sizes)):
        if not key.kind.loops(dim) and sizes[dim] not in dense:
            parts = {sizes[dim][-1]}
            if dim in key.kind.reductions:
                axis = sizes[dim]
                parts |= {s for a in _CUTTING for s in a.part_sizes(key, axis, target)}
            sizes_of_dim = tuple(size for size in cut[dim] if size in parts)
            cut = (*cut[:dim], sizes_of_dim, *cut[dim + 1 :])
    left = tuple(
        _limit_axis(key, memory, limit, memory in free, target)
        for memory, limit in limits.items()
    )
    return Box(cut, left, sum(memory.is_cache for memory in limits.memories))


def room(spec: Spec, target: Target) -> Limits:
    """The most that one operand of a Spec, or of one below it, takes of each memory.

    What is free, or what an operand of the Spec itself occupies already.
    """
    most = spec.limits
    for index, tensor in enumerate(spec.tensors):
        level = tensor.level
        if level.is_main:
            level = target.home
        if level.is_cache:
            taken = tensor.lines(spec.shape(index))
            most = most.replace(level, max(most[level], taken))
    for memory in most.memories:
        if memory.is_registers:
            taken = registers_taken(spec.key, spec.sizes, memory)
            most = most.replace(memory, most[memory] + taken)
    return most


def registers_taken(key: SpecKey, sizes: tuple[Any, ...], registers: Memory) -> Any:
    """The registers of a file that operands occupy (sizes: integers or arrays)."""
    taken: Any = 0
    for index, tensor in enumerate(key.tensors):
        if tensor.level is registers:
            taken = taken + tensor.amount(key.operand_sizes(index, sizes))
    return taken


def _overriding(method: str) -> tuple[type[Action], ...]:
    """The actions that have a method of their own: every key asks them."""
    usual = getattr(Action, method).__func__
    return tuple(a for a in ACTIONS if getattr(a, method).__func__ is not usual)


_TAKING = _overriding("levels_taken")
_CUTTING = _overriding("part_sizes")


def matters(key: SpecKey, memory: Memory, target: Target) -> bool:
    """Whether what is left of a memory can still decide.

    Of registers in which an operand is, it follows from the sizes. Of a cache it does
    while an operand can move there.
    """
    if memory.is_registers:
        return all(tensor.level is not memory for tensor in key.tensors)
    return memory in _levels_taken(key, target.plain)


@lru_cache(maxsize=65536)
def _levels_taken(key: SpecKey, target: Target) -> frozenset[Memory]:
    """The caches that operands can still move to: actions are asked until it is all."""
    taken: frozenset[Memory] = frozenset()
    for action in _TAKING:
        taken |= action.levels_taken(key, target)
        if len(taken) == len(target.caches):
            break
    return taken


def _limit_axis(
    key: SpecKey, memory: Memory, limit: int, free: bool, target: Target
) -> Axis:
    """Amounts of a memory that may remain free, if a goal may use ``limit`` of it."""
    if not matters(key, memory, target):
        return (ANY,)
    if not free:
        return (limit,)
    if memory.is_registers:
        return tuple(range(limit + 1))
    classes = target.classes(memory)
    return tuple(sorted({limit, *(c for c in classes if c < limit)}))


def _cut(
    key: SpecKey, dim: int, sizes: tuple[Axis, ...], room: Limits, dense: Dense
) -> Axis:
    axis = sizes[dim]
    for index, (operand, tensor) in enumerate(
        zip(key.kind.operands, key.tensors, strict=True)
    ):
        plain = operand.is_plain  # of windows `lies` has the last word
        if plain and dim in operand.dims and not tensor.level.is_main:
            operand_axes = key.operand_sizes(index, _wholes(sizes, dense, dim))
            lying = _lying(tensor, operand_axes, operand.axis(dim), room[tensor.level])
            axis = axis[: bisect.bisect_right(axis, lying)]
        if (
            dim in operand.dims
            and tensor.contiguous
            and not tensor.stays_gapless(operand.axis(dim))
            and sizes[dim] not in dense
        ):
            if dim in goal_dims(key, sizes):
                least = _least_alike(key, dim, sizes, room)
                axis = axis[bisect.bisect_right(axis, least) :]
            else:
                axis = axis[-1:] if axis[-1:] == sizes[dim][-1:] else ()
    return axis


@lru_cache(maxsize=65536)
def goal_dims(key: SpecKey, sizes: tuple[Axis, ...]) -> frozenset[int]:
    """The dimensions that have the sizes of several goals in the tables of a key: along
    them a contiguous operand is whole, and has no other of more than one element
    further out. Products of more and of fewer rows share such tables.

    Shares of threads follow from the size of one goal, so parallel keys have none.

    Args:
        sizes: the axes of a goal.
    """
    if not key.serial:
        return frozenset()
    whole: set[int] = set()
    others = {*key.kind.reductions}
    for operand, tensor in zip(key.kind.operands, key.tensors, strict=True):
        if tensor.contiguous:
            axes = [operand.axes[d.dim].dims for d in tensor.layout.dims]
            place = next(
                (i for i, a in enumerate(axes) if any(len(sizes[d]) > 1 for d in a)), 0
            )
            whole.update(axes[place] if place else ())
            others.update(*axes[place + 1 :])
        if not operand.is_plain:
            others.update(operand.dims)
    return frozenset(d for d in whole - others if sizes[d][-1] > LEAST_GOAL)


def _least_alike(key: SpecKey, dim: int, sizes: tuple[Axis, ...], room: Limits) -> int:
    """The size above which goals of a size have tables of the same keys as the greatest
    one: operands that it cannot bring to a cache whole do not fit there either."""
    least = LEAST_GOAL
    for index, (operand, tensor) in enumerate(
        zip(key.kind.operands, key.tensors, strict=True)
    ):
        if not tensor.contiguous or dim not in operand.dims:
            continue
        axes, axis = key.operand_sizes(index, sizes), operand.axis(dim)
        whole = [a[-1] for a in axes]
        for memory, free in room.items():
            is_whole = memory.is_cache and not memory.is_near  # what comes there
            if is_whole and tensor.level.is_beyond(memory):
                fit = _fitting(tensor.lines, axes, axis, whole, free)
                least = max(least, fit) if fit < sizes[dim][-1] else least
    return least


def _wholes(sizes: tuple[Axis, ...], dense: Dense, but: int) -> tuple[Axis, ...]:
    """The axes, those of goals of each size, but one, ended where the least goal is."""
    return tuple(
        axis[:1] if axis in dense and dim != but else axis
        for dim, axis in enumerate(sizes)
    )


def lies(
    key: SpecKey,
    sizes: tuple[Axis, ...],
    box: Box,
    room: Limits,
    dense: Dense = NONE,
) -> Any:
    """Mask of the sizes at which every operand fits at its level: bools that broadcast
    to the sizes of a box. Elsewhere no goal leads to a Spec, and there is no program.

    Args:
        sizes: the axes of the goal.
        room: what one operand of it may take.
    """
    shared = goal_dims(key, sizes)
    full = tuple(
        OF_SPEC if axis in dense or dim in shared else axis[-1]
        for dim, axis in enumerate(sizes)
    )
    fits_all: Any = np.ones((1,) * len(sizes), np.bool_)
    for index, tensor in enumerate(key.tensors):
        if not tensor.level.is_main:
            dims = key.kind.operands[index].dims
            operand_axes = tuple(
                a if d in dims else (1,) for d, a in enumerate(box.sizes)
            )
            free = room[tensor.level]
            fits_all = fits_all & _fits(
                key.kind, index, tensor, operand_axes, full, free
            )
    return fits_all


OF_SPEC = 0
"""In the place of a goal's size: each size is a goal's."""


@lru_cache(maxsize=4096)
def _fits(
    kind: Kind,
    index: int,
    tensor: TensorSpec,
    axes: tuple[Axis, ...],
    full: tuple[int, ...],
    room: int,
) -> Any:
    """Mask of the sizes at which an operand has room; of a dimension that it lacks,
    ``axes`` has one size. ``full`` has the sizes of the goal, or `OF_SPEC`."""
    operand, mesh = kind.operands[index], mesh_of(axes)
    operand_sizes = operand.sizes(mesh)
    fits = tensor.amount(operand_sizes) <= room
    if _may_be_gapless(tensor):  # a tile of a gapless array: see `_lying`
        gapless = dataclasses.replace(tensor, contiguous=True)
        goal = (f if f != OF_SPEC else m for f, m in zip(full, mesh, strict=True))
        whole = list(operand.sizes(tuple(goal)))
        outermost = tensor.layout.dims[0].dim
        whole[outermost] = operand_sizes[outermost]
        fits = fits | (gapless.lines(tuple(whole)) <= room)
    return fits


@lru_cache(maxsize=65536)
def _lying(tensor: TensorSpec, axes: tuple[Axis, ...], dim: int, room: int) -> int:
    """The greatest size that a tile can have at its level; 0 if none.

    A tile of an operand that lay there as one gapless array may have any size that the
    array has: that took fewer lines than the rows of the tile seem to. Such an array is
    whole, but for its outermost dimension.
    """
    fit = _fitting(tensor.amount, axes, dim, [1] * len(axes), room)
    if _may_be_gapless(tensor):
        gapless = dataclasses.replace(tensor, contiguous=True)
        sizes = [axis[-1] for axis in axes]
        outermost = tensor.layout.dims[0].dim
        sizes[outermost] = axes[outermost][0]
        fit = max(fit, _fitting(gapless.lines, axes, dim, sizes, room))
    return fit


def _may_be_gapless(tensor: TensorSpec) -> bool:
    """Whether a tile may be one of a gapless array: neither in registers nor packed."""
    return not tensor.level.is_registers and not tensor.layout.is_packed


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
