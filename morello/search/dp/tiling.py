"""The tiling recurrence: what loops may be chosen at each size, as `Plan` says.

What a loop costs itself depends on nothing but sizes along its axis, and on few things
of the key: one plan holds at all points of many tables. `compiled/tiling.py` reads it.
"""

import dataclasses
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from morello.actions import Action, LoopForm
from morello.lazy import cached_property
from morello.machine import Target
from morello.search.compiled.words import AXIS, PEEL, address
from morello.search.dp.box import Axis
from morello.search.dp.table import Floats, Integers
from morello.spec.frame import Frame
from morello.spec.tensors.limits import Limits

Decisions = np.ndarray[Any, np.dtype[np.int32]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """The loops that may be chosen at each coordinate of an axis, one after another."""

    starts: Integers
    """The first loop of each coordinate; one more number says where the last end."""
    actions: Integers
    """The place of the action in their list."""
    main: Integers
    """The coordinate of the loop's tile along the axis of the holes."""
    rest: Integers
    """The coordinate of the loop's remainder along that axis; -1 where there is
    none."""
    trips: Floats
    share: Floats
    """1 where the remainder counts; 0 where it runs beside tiles, if it runs."""
    price: Floats

    @property
    def is_empty(self) -> bool:
        """Whether no loop along the dimension is tried."""
        return not len(self.actions)

    @cached_property
    def words(self) -> tuple[int, ...]:
        """The addresses of the arrays, in the order of `words.AXIS`."""
        numbers = self.main, self.rest, self.trips, self.share, self.price
        return tuple(map(address, (self.starts, *numbers)))


@lru_cache(maxsize=65536)
def plan_loops(
    form: LoopForm,
    dim: int,
    axis: Axis,
    below: Axis,
    actions: tuple[Action, ...],
    target: Target,
) -> Plan:
    """The loops along a dimension at each size of it.

    Args:
        form: of these loops (`Action.loop_form`).
        axis: the sizes of the points to be made into loops.
        below: those that the table of the holes has.
        actions: the loops along ``dim``, of one class, all of them legal on the key.
    """
    key = form.key
    sizes: list[Any] = [1] * len(key.kind.dims)
    sizes[dim] = np.asarray(axis, np.int64)
    frame = Frame(key, tuple(sizes), Limits())
    holes = np.asarray(below, np.int64)
    loops = [
        _loops_of(index, action, frame, dim, holes, target)
        for index, action in enumerate(actions)
    ]
    data = np.concatenate([np.empty((7, 0), np.int64), *loops], axis=1)
    data = data[:, np.argsort(data[0], kind="stable")]
    starts = np.searchsorted(data[0], np.arange(len(axis) + 1)).astype(np.int64)
    chosen, main, rest = (np.ascontiguousarray(column) for column in data[1:4])
    trips, share, price = (column.astype(np.float64) for column in data[4:])
    return Plan(starts, chosen, main, rest, trips, share, price)


def _loops_of(
    index: int, action: Action, frame: Frame, dim: int, holes: Integers, target: Target
) -> Integers:
    """The coordinates where an action applies, and in further rows the numbers of it
    there, as `Plan` has them."""
    expansion = action.expand(frame, target)
    shape = frame.sizes[dim].shape
    legal = np.ones(shape, bool)
    for condition in expansion.conditions:
        legal &= condition.holds
    if not expansion.children or not legal.any() or not holes.size:
        return np.empty((7, 0), np.int64)
    main, remainder = expansion.children
    tile = main.frame.sizes[dim]
    rest = np.where(remainder.exists, remainder.frame.sizes[dim], 0)
    at, left = (
        np.minimum(np.searchsorted(holes, sizes), len(holes) - 1)
        for sizes in (tile, rest)
    )
    legal &= (holes[at] == tile) & ((rest == 0) | (holes[left] == rest))
    left = np.where(rest == 0, -1, left)
    rows = np.empty((7, *shape), np.int64)
    rows[0] = np.arange(*shape)
    numbers = index, at, left, main.times, remainder.times, expansion.cost
    for row, values in zip(rows[1:], numbers, strict=True):
        row[...] = values
    return rows[:, legal]


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


@dataclasses.dataclass(frozen=True)
class Loops:
    """The loops of a table along a dimension.

    Args:
        dim: the dimension.
        shape: how many sizes the points have along each dimension.
        plan: the loops.
        codes: the decision that stands for each of their actions.
    """

    dim: int
    shape: tuple[int, ...]
    plan: Plan
    codes: Decisions


def axis_words(
    loops: Sequence[Loops], holes: tuple[int, ...]
) -> tuple[Integers, list[Any]]:
    """The loops along each axis as `compiled/tiling.py` reads them, and what has to
    live until the call is over.

    Args:
        holes: how many coordinates the table of the holes has along each axis.
    """
    alive: list[Any] = []
    rows = []
    for each in loops:
        chosen = each.codes.take(each.plan.actions)
        alive += (each.plan, chosen)
        stride = math.prod(each.shape[each.dim + 1 :])
        extents = each.shape[each.dim], holes[each.dim]
        rows.append((stride, *extents, *each.plan.words, address(chosen)))
    return np.asarray(rows, np.int64).reshape(len(rows), len(AXIS)), alive


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
