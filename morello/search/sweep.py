"""Loops: along one axis, a loop of size t makes of a point n a program that costs

    trips · T[t] + T[n mod t] + own

where T is the table of its holes: the one that is being solved, or another if a tile
has another key. The numbers all come from `Action.expand` on that axis alone.
"""

import dataclasses
from functools import lru_cache
from typing import Any

import numpy as np

from morello.actions import Action
from morello.search.axes import Axis
from morello.search.table import Floats, Integers
from morello.spec import Level, SpecKey, TensorSpec
from morello.spec.frame import Frame
from morello.spec.limits import Limits
from morello.targets import Target

Decisions = np.ndarray[Any, np.dtype[np.int32]]


@dataclasses.dataclass(frozen=True)
class Step:
    """The loops that may be chosen at one coordinate of an axis."""

    actions: Integers
    """Which of the actions, by its place in their list."""
    main: Integers
    """The coordinate of its tile."""
    trips: Floats
    own: Floats
    ragged: Integers
    """Which of these loops leave a remainder."""
    rest: Integers
    """The coordinates of those remainders."""


def plan_axis(
    key: SpecKey,
    dim: int,
    axis: Axis,
    below: Axis,
    actions: tuple[Action, ...],
    target: Target,
) -> tuple[Step | None, ...]:
    """The loops along a dimension at each coordinate of its axis.

    Args:
        axis: the sizes of the points to be made into loops.
        below: the sizes that the table of the holes has.
        actions: the loops along ``dim``, all of them legal on the key.
    """
    forms = tuple(TensorSpec(t.dtype, Level.GL, t.layout) for t in key.tensors)
    plain = dataclasses.replace(key, tensors=forms)
    return _plan(plain, dim, axis, below, actions, target)


@lru_cache(maxsize=4096)
def _plan(
    key: SpecKey,
    dim: int,
    axis: Axis,
    below: Axis,
    actions: tuple[Action, ...],
    target: Target,
) -> tuple[Step | None, ...]:
    """What a loop costs depends on layouts, not on levels: most keys share a plan."""
    sizes: list[Any] = [1] * len(key.kind.dims)
    sizes[dim] = np.asarray(axis, np.int64)
    frame = Frame(key, tuple(sizes), Limits(0, 0, 0))
    place = {size: i for i, size in enumerate(below)}
    rows: list[list[tuple[int, ...]]] = [[] for _ in axis]
    for index, action in enumerate(actions):
        _collect(rows, place, index, action, frame, dim, target)
    return tuple(map(_step, rows))


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
    rest = np.where(remainder.times, remainder.frame.sizes[dim], 0)
    own = np.broadcast_to(expansion.cost, shape)
    for i in np.flatnonzero(legal):
        left = place.get(int(rest[i])) if rest[i] else -1
        if tile is not None and left is not None:
            rows[i].append((index, tile, int(trips[i]), int(own[i]), left))


def _step(row: list[tuple[int, ...]]) -> Step | None:
    if not row:
        return None
    data = np.asarray(row, np.int64)
    ragged = np.flatnonzero(data[:, 4] >= 0)
    return Step(
        data[:, 0],
        data[:, 1],
        data[:, 2].astype(np.float64),
        data[:, 3].astype(np.float64),
        ragged,
        data[ragged, 4],
    )


def sweep(
    costs: Floats,
    decisions: Decisions,
    below: Floats,
    dim: int,
    steps: tuple[Step | None, ...],
    indices: Decisions,
) -> bool:
    """Settle every point along ``dim``, ascending, in place; whether any cost fell.

    Args:
        below: the costs of the holes; ``costs`` itself if loops stay in the table.
        indices: the decision that stands for each action of the plan.
    """
    along = np.moveaxis(costs, dim, 0)
    chosen = np.moveaxis(decisions, dim, 0)
    holes = np.moveaxis(below, dim, 0)
    tail = (1,) * (along.ndim - 1)
    changed = False
    for i, step in enumerate(steps):
        if step is None:
            continue
        totals = holes[step.main]
        totals *= step.trips.reshape(-1, *tail)
        totals += step.own.reshape(-1, *tail)
        if len(step.ragged):
            totals[step.ragged] += holes[step.rest]
        best = totals.min(axis=0)
        better = best < along[i]
        if better.any():
            changed = True
            which = indices[step.actions[totals.argmin(axis=0)]]
            np.copyto(along[i], best, where=better)
            np.copyto(chosen[i], which, where=better)
    return changed
