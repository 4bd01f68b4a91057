"""Loops: along one axis, a loop of size t makes of a point n a program that costs

    trips · T[t] + share · T[n mod t] + own

where T is the table of its holes: the one that is being solved, or another if a tile
has another key. The numbers all come from `Action.expand` on that axis alone, and where
rows cost more or less as they are wide, on one width of each class.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

import numpy as np

from morello.actions import Action
from morello.actions.rows import pays_rows, width_class, widths
from morello.search.axes import Axis
from morello.search.machine_code import address
from morello.search.native_sweep import sweep_function
from morello.search.table import Floats, Integers
from morello.spec import Layout, Level, SpecKey, TensorSpec
from morello.spec.frame import Frame
from morello.spec.limits import Limits
from morello.targets import Target

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


@dataclasses.dataclass(frozen=True)
class Part:
    """The points of a table that one plan is for."""

    where: tuple[Integers, ...] | None
    """Their coordinates along each dimension, those of ``plan`` left to it; None if
    they are all."""
    plan: Plan

    def holes(self, below: Floats, dim: int) -> Floats:
        """The costs of the holes of its loops along ``dim``, in another table."""
        if self.where is None:
            return below
        theirs = list(self.where)
        theirs[dim] = np.arange(below.shape[dim])
        return below[np.ix_(*theirs)]


@dataclasses.dataclass(frozen=True)
class Loops:
    """All loops along a dimension: what they cost may depend on how wide a point is."""

    dim: int
    parts: tuple[Part, ...]

    @property
    def plan(self) -> Plan:
        """The loops of any part: they differ in their own costs alone."""
        return self.parts[0].plan


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
    wide = widths(bare, dim, target)
    if not wide:
        plan = _plan(bare, dim, sizes[dim], below, actions, target, ())
        return Loops(dim, (Part(None, plan),))
    alike = [_alike(bare, other, sizes[other], target) for other in wide]
    parts = []
    for chosen in itertools.product(*alike):
        where = [np.arange(len(axis)) for axis in sizes]
        others = []
        for other, places in zip(wide, chosen, strict=True):
            where[other] = np.asarray(places)
            others.append((other, sizes[other][places[0]]))
        plan = _plan(bare, dim, sizes[dim], below, actions, target, tuple(others))
        parts.append(Part(tuple(where), plan))
    if len(parts) == 1:
        parts = [Part(None, parts[0].plan)]
    return Loops(dim, tuple(parts))


def _alike(key: SpecKey, dim: int, axis: Axis, target: Target) -> list[list[int]]:
    """The coordinates of an axis, those together at which rows cost the same."""
    found: dict[Hashable, list[int]] = {}
    for place, size in enumerate(axis):
        found.setdefault(width_class(key, dim, size, target), []).append(place)
    return list(found.values())


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
            _far(t, t.level, t.contiguous)
            if dim in operand.dims and pays_rows(key, index, dim, target)
            else _far(t, Level.L1)
            if dim in operand.dims
            else TensorSpec(t.dtype, Level.L1, Layout.row_major(t.rank))
            for index, (operand, t) in enumerate(
                zip(key.kind.operands, key.tensors, strict=True)
            )
        ]
    return dataclasses.replace(key, tensors=tuple(forms))


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

    Args:
        others: the dimensions whose sizes count too, and a size along each.
    """
    sizes: list[Any] = [1] * len(key.kind.dims)
    for other, size in others:
        sizes[other] = size
    sizes[dim] = np.asarray(axis, np.int64)
    frame = Frame(key, tuple(sizes), Limits(0, 0, 0))
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


def sweep(
    costs: Floats,
    decisions: Decisions,
    below: Floats,
    loops: Loops,
    indices: Decisions,
) -> bool:
    """Settle every point along a dimension, ascending, in place; whether any cost fell.

    Args:
        costs: of the points; without gaps.
        decisions: of the same shape.
        below: the costs of the holes, of the same shape but along the dimension;
            ``costs`` itself if loops stay in the table.
        indices: the decision that stands for each action of the plans.
    """

    def settle(part: Part, prices: Floats, chosen: Decisions) -> bool:
        holes = prices if below is costs else part.holes(below, loops.dim)
        return _sweep(prices, chosen, holes, loops.dim, part.plan, indices)

    return _part_by_part(costs, decisions, loops, settle)


def _sweep(
    costs: Floats,
    decisions: Decisions,
    below: Floats,
    dim: int,
    plan: Plan,
    indices: Decisions,
) -> bool:
    """The same where one plan is for all points."""
    outer = math.prod(costs.shape[:dim])
    inner = math.prod(costs.shape[dim + 1 :])
    if plan.is_empty or not outer * inner:
        return False
    codes = np.ascontiguousarray(indices[plan.actions])
    changed = sweep_function()(
        address(costs),
        address(decisions),
        address(below),
        outer,
        costs.shape[dim],
        below.shape[dim],
        inner,
        address(plan.starts),
        address(plan.main),
        address(plan.rest),
        address(plan.trips),
        address(plan.share),
        address(plan.own),
        address(codes),
    )
    return bool(changed)


def sweep_around(
    costs: Floats,
    decisions: Decisions,
    loops: Loops,
    indices: Decisions,
    fixed: Bools,
) -> bool:
    """`sweep` for loops that stay in their table, of which some points are decided.

    Args:
        fixed: which; of the shape of ``costs``.
    """

    def settle(part: Part, prices: Floats, chosen: Decisions) -> bool:
        kept = fixed if part.where is None else fixed[np.ix_(*part.where)]
        return _sweep_around(prices, chosen, loops.dim, part.plan, indices, kept)

    return _part_by_part(costs, decisions, loops, settle)


def _part_by_part(
    costs: Floats,
    decisions: Decisions,
    loops: Loops,
    settle: Callable[[Part, Floats, Decisions], bool],
) -> bool:
    """Settle the points of each part in place; whether any cost fell."""
    changed = False
    for part in loops.parts:
        if part.where is None:
            return settle(part, costs, decisions)
        here = np.ix_(*part.where)
        prices, chosen = costs[here], decisions[here]
        if settle(part, prices, chosen):
            costs[here], decisions[here] = prices, chosen
            changed = True
    return changed


def _sweep_around(
    costs: Floats,
    decisions: Decisions,
    dim: int,
    plan: Plan,
    indices: Decisions,
    fixed: Bools,
) -> bool:
    """The same where one plan is for all points."""
    prices, chosen, kept = (np.moveaxis(a, dim, 0) for a in (costs, decisions, fixed))
    changed = False
    for here in range(len(prices)):
        for row in range(plan.starts[here], plan.starts[here + 1]):
            total = plan.trips[row] * prices[plan.main[row]] + plan.own[row]
            if plan.rest[row] >= 0:
                left = prices[plan.rest[row]]
                hidden = np.where(np.isfinite(left), 0.0, np.inf)
                total = total + (left if plan.share[row] else hidden)
            better = (total < prices[here]) & ~kept[here]
            if better.any():
                changed = True
                np.copyto(prices[here], total, where=better)
                np.copyto(chosen[here], indices[plan.actions[row]], where=better)
    return changed
