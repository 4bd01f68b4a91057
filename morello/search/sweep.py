"""Loops: along one axis, a loop of size t makes of a point n a program that costs

    trips · T[t] + share · T[n mod t] + own

where T is the table of its holes: the one that is being solved, or another if a tile
has another key. The numbers all come from `Action.expand` on that axis alone.
"""

import dataclasses
import math
from functools import lru_cache
from typing import Any

import numpy as np

from morello.actions import Action
from morello.actions.rows import pays_rows
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


def plan_axis(
    key: SpecKey,
    dim: int,
    axis: Axis,
    below: Axis,
    actions: tuple[Action, ...],
    target: Target,
) -> Plan:
    """The loops along a dimension at each coordinate of its axis.

    Args:
        axis: the sizes of the points to be made into loops.
        below: the sizes that the table of the holes has.
        actions: the loops along ``dim``, all of them legal on the key.
    """
    return _plan(_bare(key, dim, target), dim, axis, below, actions, target)


@lru_cache(maxsize=65536)
def _bare(key: SpecKey, dim: int, target: Target) -> SpecKey:
    """The key with all that a loop along ``dim`` depends on, so that many have one.

    An operand without the dimension stays as it is. Of the others the layout counts,
    and the level where rows are paid for.
    """
    if not key.serial:
        forms = [_far(t, t.level) for t in key.tensors]
    else:
        forms = [
            _far(t, t.level if pays_rows(key, index, dim, target) else Level.L1)
            if dim in operand.dims
            else TensorSpec(t.dtype, Level.L1, Layout.row_major(t.rank))
            for index, (operand, t) in enumerate(
                zip(key.kind.operands, key.tensors, strict=True)
            )
        ]
    return dataclasses.replace(key, tensors=tuple(forms))


def _far(tensor: TensorSpec, level: Level) -> TensorSpec:
    return TensorSpec(tensor.dtype, max(level, Level.L1), tensor.layout)


@lru_cache(maxsize=4096)
def _plan(
    key: SpecKey,
    dim: int,
    axis: Axis,
    below: Axis,
    actions: tuple[Action, ...],
    target: Target,
) -> Plan:
    """What a loop costs depends on layouts and on what lies in far caches."""
    sizes: list[Any] = [1] * len(key.kind.dims)
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
    dim: int,
    plan: Plan,
    indices: Decisions,
) -> bool:
    """Settle every point along ``dim``, ascending, in place; whether any cost fell.

    Args:
        costs: of the points; without gaps.
        decisions: of the same shape.
        below: the costs of the holes, of the same shape but along ``dim``; ``costs``
            itself if loops stay in the table.
        indices: the decision that stands for each action of the plan.
    """
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
    dim: int,
    plan: Plan,
    indices: Decisions,
    fixed: Bools,
) -> bool:
    """The same for loops that stay in their table, of which some points are decided.

    Args:
        fixed: which; of the shape of ``costs``.
    """
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
