"""Loops: along one axis, a loop of size t makes of a point n a program that costs

    trips · T[t] + share · T[n mod t] + own

where T is the table of its holes: the one that is being solved, or another if a tile
has another key. The numbers come from `Action.expand` on that axis alone: a loop costs
the same whatever it goes over.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from morello.actions import Action
from morello.machine import Target
from morello.search.compiled.words import AXIS, PEEL, address
from morello.search.dp.axes import Axis
from morello.search.dp.table import Floats, Integers
from morello.spec import Layout, Level, SpecKey, TensorSpec
from morello.spec.frame import Frame
from morello.spec.limits import Limits

Decisions = np.ndarray[Any, np.dtype[np.int32]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The loops that may be chosen at each coordinate of an axis, one after another."""

    starts: Integers
    """Where the loops of each coordinate begin; one more says where the last end."""
    actions: Integers
    """Which of the actions, by its place in their list."""
    main: Integers
    """The coordinate of its tile, among those of the holes."""
    rest: Integers
    """The coordinate of its remainder there; -1 where it leaves none."""
    trips: Floats
    share: Floats
    """1 where the remainder counts; 0 where it runs beside tiles, if it runs."""
    own: Floats

    @property
    def is_empty(self) -> bool:
        """Whether there is no loop at all."""
        return not len(self.actions)

    @functools.cached_property
    def words(self) -> tuple[int, ...]:
        """Where its arrays are, in the order of `words.AXIS`."""
        numbers = self.main, self.rest, self.trips, self.share, self.own
        return tuple(map(address, (self.starts, *numbers)))


@dataclasses.dataclass(frozen=True)
class Part:
    """The points of a table that one plan is for."""

    where: tuple[Integers, ...]
    """Their coordinates along each dimension."""
    plan: Plan


@dataclasses.dataclass(frozen=True)
class Loops:
    """All loops along a dimension: what they cost may depend on how wide a point is.

    Args:
        dim: the dimension.
        shape: how many sizes the points have along each dimension.
        parts: the points, each in one of them.
    """

    dim: int
    shape: tuple[int, ...]
    parts: tuple[Part, ...]

    @property
    def plan(self) -> Plan:
        """The loops of any part: they differ in their own costs alone."""
        return self.parts[0].plan

    @functools.cached_property
    def joined(self) -> tuple[Plan, Integers | None]:
        """The plans of all parts, one after another, and the part of each point; None
        where there is one part alone."""
        plans = [part.plan for part in self.parts]
        if len(plans) == 1:
            return plans[0], None
        firsts = itertools.accumulate((len(plan.actions) for plan in plans), initial=0)
        starts = [
            plan.starts + first for plan, first in zip(plans, firsts, strict=False)
        ]
        which = np.zeros(self.shape, np.int64)
        for place, part in enumerate(self.parts):
            which[np.ix_(*part.where)] = place

        def join(name: str) -> Any:
            return np.concatenate([getattr(plan, name) for plan in plans])

        names = "actions", "main", "rest", "trips", "share", "own"
        return Plan(np.concatenate(starts), *map(join, names)), which


def plan_loops(
    key: SpecKey,
    dim: int,
    sizes: tuple[Axis, ...],
    below: Axis,
    actions: tuple[Action, ...],
    target: Target,
) -> Loops:
    """The loops along a dimension at each point of a table.

    Args:
        sizes: the sizes along all dimensions of the points to be made into loops.
        below: those along ``dim`` that the table of the holes has.
        actions: the loops along ``dim``, all of them legal on the key.
    """
    bare = _bare(key, dim, target)
    shape = tuple(map(len, sizes))
    plan = _plan(bare, dim, sizes[dim], below, actions, target, ())
    return Loops(dim, shape, (Part(_everywhere(shape), plan),))


@lru_cache(maxsize=1024)
def _everywhere(shape: tuple[int, ...]) -> tuple[Integers, ...]:
    """All coordinates along each dimension."""
    return tuple(map(np.arange, shape))


@lru_cache(maxsize=65536)
def _bare(key: SpecKey, dim: int, target: Target) -> SpecKey:
    """The key with all that a loop along ``dim`` depends on, so that many have one.

    An operand without the dimension stays as it is. Of the others the layout counts,
    and the level where rows are paid for, and whether they have gaps.
    """
    if not key.serial:
        forms = [_far(t, t.level, t.contiguous) for t in key.tensors]
    else:
        forms = [
            _far(t, Level.L1)
            if dim in operand.dims
            else TensorSpec(t.dtype, Level.L1, Layout.row_major(t.rank))
            for operand, t in zip(key.kind.operands, key.tensors, strict=True)
        ]
    return dataclasses.replace(key, tensors=tuple(forms))


@lru_cache(maxsize=65536)
def _in_l1(key: SpecKey) -> SpecKey:
    """The key with all operands where no rows are paid for."""
    return dataclasses.replace(
        key, tensors=tuple(_far(tensor, Level.L1) for tensor in key.tensors)
    )


def _far(tensor: TensorSpec, level: Level, contiguous: bool = False) -> TensorSpec:
    return TensorSpec(tensor.dtype, max(level, Level.L1), tensor.layout, contiguous)


@lru_cache(maxsize=4096)
def _plan(
    key: SpecKey,
    dim: int,
    axis: Axis,
    below: Axis,
    actions: tuple[Action, ...],
    target: Target,
    others: tuple[tuple[int, int], ...],
) -> Plan:
    """What a loop costs depends on layouts and on what lies in far caches.

    Where all loops are serial, what rows cost is added to plans of operands in L1,
    which are those of many keys.

    Args:
        others: the dimensions whose sizes count too, and a size along each.
    """
    if not key.serial:
        return _expanded(key, dim, axis, below, actions, target, others)
    return _expanded(_in_l1(key), dim, axis, below, actions, target, ())


@lru_cache(maxsize=4096)
def _expanded(
    key: SpecKey,
    dim: int,
    axis: Axis,
    below: Axis,
    actions: tuple[Action, ...],
    target: Target,
    others: tuple[tuple[int, int], ...],
) -> Plan:
    """The same by what each action says."""
    frame = _frame(key, dim, np.asarray(axis, np.int64), others)
    place = {size: i for i, size in enumerate(below)}
    rows: list[list[tuple[int, ...]]] = [[] for _ in axis]
    for index, action in enumerate(actions):
        _collect(rows, place, index, action, frame, dim, target)
    data = np.asarray([loop for row in rows for loop in row], np.int64).reshape(-1, 6)
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    columns = [np.ascontiguousarray(column) for column in data.T]
    chosen, main, rest = columns[:3]
    trips, share, own = (column.astype(np.float64) for column in columns[3:])
    return Plan(starts, chosen, main, rest, trips, share, own)


def _frame(
    key: SpecKey, dim: int, along: Integers, others: tuple[tuple[int, int], ...]
) -> Frame:
    """Specs that differ in their size along ``dim``."""
    sizes: list[Any] = [1] * len(key.kind.dims)
    for other, size in others:
        sizes[other] = size
    sizes[dim] = along
    return Frame(key, tuple(sizes), Limits(0, 0, 0))


def _collect(
    rows: list[list[tuple[int, ...]]],
    place: dict[int, int],
    index: int,
    action: Action,
    frame: Frame,
    dim: int,
    target: Target,
) -> None:
    """Add one action to the row of each coordinate where it applies."""
    expansion = action.expand(frame, target)
    shape = frame.sizes[dim].shape
    legal = np.ones(shape, bool)
    for condition in expansion.conditions:
        legal &= condition.holds
    if not expansion.children or not legal.any():
        return
    main, remainder = expansion.children
    tile = place.get(int(main.frame.sizes[dim]))
    trips = np.broadcast_to(main.times, shape)
    rest = np.where(remainder.exists, remainder.frame.sizes[dim], 0)
    share = np.broadcast_to(remainder.times, shape)
    own = np.broadcast_to(expansion.cost, shape)
    for i in np.flatnonzero(legal):
        left = place.get(int(rest[i])) if rest[i] else -1
        if tile is not None and left is not None:
            numbers = int(trips[i]), int(share[i]), int(own[i])
            rows[i].append((index, tile, left, *numbers))


@dataclasses.dataclass(frozen=True)
class Peeled:
    """A reduction of which a first part stays in the table.

    Args:
        dim: the reduction.
        place: the coordinate of the first part.
        code: the decision that stands for it.
        others: what all but the first part costs, at each point.
    """

    dim: int
    place: int
    code: int
    others: Floats


def axis_words(
    loops: Sequence[tuple[Loops, Decisions]], holes: tuple[int, ...]
) -> tuple[Integers, list[Any]]:
    """The loops along each axis as `compiled/tiling.py` reads them, and what has to
    live until the call is over.

    Args:
        holes: how many coordinates the table of the holes has along each axis.
    """
    kept: list[Any] = []
    rows = []
    for planned, codes in loops:
        plan, which = planned.joined
        chosen = codes[plan.actions]
        kept += (plan, which, chosen)
        rows.append(
            (
                math.prod(planned.shape[planned.dim + 1 :]),
                planned.shape[planned.dim],
                holes[planned.dim],
                0 if which is None else address(which),
                *plan.words,
                address(chosen),
            )
        )
    return np.asarray(rows, np.int64).reshape(len(rows), len(AXIS)), kept


def peel_words(peels: Sequence[Peeled], shape: tuple[int, ...]) -> Integers:
    """Peeled reductions as `compiled/tiling.py` reads them."""
    rows = [
        (
            math.prod(shape[peel.dim + 1 :]),
            shape[peel.dim],
            peel.place,
            address(peel.others),
            peel.code,
        )
        for peel in peels
    ]
    return np.asarray(rows, np.int64).reshape(len(rows), len(PEEL))
