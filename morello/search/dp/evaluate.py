"""Actions on all points of a table, as descriptors that one compiled call reads.

`Action.expand` runs on a frame of all points; what it says depends on little of the key
(`Action.relevant`), so that it is kept and read for many tables. Of each hole a
descriptor has where its Specs are in the table of the hole: `compiled/gather.py`.
"""

import dataclasses
import math
from collections import OrderedDict
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from morello.actions import Action, Child
from morello.lazy import cached_property
from morello.machine import Target
from morello.search.compiled.words import ABSENT, address
from morello.search.dp.box import ANY, Axis, Box
from morello.search.dp.table import Costs, Floats, Integers, TableId, frame_of
from morello.spec import Limits, SpecKey
from morello.spec.frame import Frame
from morello.spec.hashing import Interned

NONE = -(1 << 30)
"""A place outside the table: it stays negative whatever is added."""

DESCRIPTOR_BYTES = 64 << 20
"""The room for descriptors: most serve neighbouring tables, and few of these again."""

Array = np.ndarray[Any, Any]


class Below(Protocol):
    """Lookup of the tables that contain the child Specs of an action."""

    target: Target
    limits: Limits
    evaluations: "Evaluations"

    def box(self, identity: TableId) -> Box:
        """The box of a table."""

    def holes(
        self, identity: TableId, action: Action, evaluated: "Evaluated"
    ) -> list[TableId]:
        """The tables of the holes of an action on the points of a table."""

    def costs(self, identity: TableId) -> Costs:
        """Costs of a table that was solved before."""


Ranges = tuple[tuple[int, int], ...]
"""The least and the greatest of each size and of what is left of each memory."""


Term = tuple[Array, int, int]
"""Numbers for each point, or for all, and for each class of what a cache has left: with
them the steps from a point to the next, 0 where all have the same, and from a class."""

_ZERO = np.zeros((), np.int32)


@dataclasses.dataclass(frozen=True)
class Gathered:
    """An action at the points where it may have a program.

    Args:
        arrays: what the words point to.
        action: the words of `gather.ACTION`, without code and first hole.
        holes: for each hole the words of `gather.HOLE`, without those of its table.
    """

    arrays: tuple[Any, ...]
    action: tuple[int, ...]
    holes: tuple[tuple[int, ...], ...]

    @property
    def bytes(self) -> int:
        """The memory that its arrays take."""
        return sum(array.nbytes for array in self.arrays)


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluated:
    """An action expanded on the points of a box: costs, and what its holes are.

    Args:
        price: what it costs itself, infinite where it does not apply; it broadcasts to
            the box.
        axes: the coordinates that each array of the frame has, by its `id`.
    """

    box: Box
    frame: Frame
    price: Floats
    children: tuple[Child, ...]
    axes: "dict[int, _Along]"
    is_shared: bool
    """Whether it serves other tables, too, and its descriptors may."""

    def values_of(self, value: Any) -> "_Values":
        """Sizes of a hole, or limits of it, that may be those of the frame."""
        known = self.axes.get(id(value))
        if known is not None:
            return known
        return _Others(value) if np.ndim(value) else int(value)

    @cached_property
    def ranges(self) -> tuple[Ranges | None, ...]:
        """The ranges of the Specs of each hole, where the action applies; None for a
        hole that is nowhere."""
        applies = _Points(np.isfinite(self.price))
        return tuple(_ranges(self, child, applies) for child in self.children)


class Evaluations:
    """The actions of a run that were expanded already, and the latest descriptors."""

    def __init__(self, limits: Limits, target: Target) -> None:
        self._limits = limits
        self._target = target
        self._known: dict[tuple[Action, SpecKey, Box], Evaluated | None] = {}
        self._dims: dict[
            tuple[Action, SpecKey, tuple[Axis, ...]], tuple[tuple[int, ...], ...]
        ] = {}
        self._gathered: OrderedDict[
            tuple[Evaluated, tuple[Box | None, ...]], Gathered | None
        ] = OrderedDict()
        self._bytes = 0

    def evaluated(self, action: Action, key: SpecKey, box: Box) -> Evaluated | None:
        """An action on the points of a box; None where it applies nowhere.

        That of a kernel is not kept: it depends on the whole key, and its numbers are
        as many as the points of the table.
        """
        place = action, action.relevant(key, self._target), box
        try:
            return self._known[place]
        except KeyError:
            result = _evaluate(*place, self._limits, self._target)
            if not action.ends:
                self._known[place] = result
            return result

    def gathered(
        self, evaluated: Evaluated, boxes: tuple[Box | None, ...]
    ) -> Gathered | None:
        """The descriptor of an action, where the tables of the holes have these boxes;
        None if no point has a program.

        Args:
            boxes: None for a hole that stays in the table, which is left out.
        """
        if not evaluated.is_shared:
            return _gather(evaluated, boxes)
        place = evaluated, boxes
        if place in self._gathered:
            self._gathered.move_to_end(place)
            return self._gathered[place]
        gathered = self._gathered[place] = _gather(evaluated, boxes)
        self._bytes += gathered.bytes if gathered else 0
        while self._bytes > DESCRIPTOR_BYTES:
            _, oldest = self._gathered.popitem(last=False)
            self._bytes -= oldest.bytes if oldest else 0
        return gathered

    def child_dims(
        self, action: Action, key: SpecKey, whole: Box
    ) -> tuple[tuple[int, ...], ...]:
        """`Child.dims` of the holes of an action on all of a table: the greatest sizes
        alone say how large dimensions are that it has not."""
        place = action, action.relevant(key, self._target), whole.sizes
        dims = self._dims.get(place)
        if dims is None:
            most = tuple(axis[-1] for axis in whole.sizes)
            frame = Frame(place[1], most, self._limits)
            children = action.expand(frame, self._target).children
            dims = self._dims[place] = tuple(child.dims for child in children)
        return dims

    def child_keys(self, action: Action, key: SpecKey) -> tuple[SpecKey, ...]:
        """The keys of the holes of an action."""
        return _child_keys(action, key, self._target.plain)


@lru_cache(maxsize=65536)
def _child_keys(action: Action, key: SpecKey, target: Target) -> tuple[SpecKey, ...]:
    """The keys of the holes of an action, whatever the goal."""
    return action.child_keys(key, target)


def _evaluate(
    action: Action, key: SpecKey, box: Box, limits: Limits, target: Target
) -> Evaluated | None:
    frame = frame_of(key, box, limits)
    expansion = action.expand(frame, target)
    legal: Any = np.bool_(True)
    for condition in expansion.conditions:
        legal = legal & condition.holds
    if not np.any(legal):
        return None
    price = np.where(legal, np.asarray(expansion.cost, np.float64), np.inf)
    price = price.reshape(price.shape or (1,) * len(box.axes))
    return Evaluated(
        box, frame, price, expansion.children, _along(box), is_shared=not action.ends
    )


@lru_cache(maxsize=4096)
def _along(box: Box) -> "dict[int, _Along]":
    """The coordinates that each array of a frame of the box has, by its `id`."""
    return {
        id(array): _Along(dim, axis, len(box.axes))
        for dim, (array, axis) in enumerate(zip(box.mesh, box.axes, strict=True))
        if axis != (ANY,)
    }


def _gather(evaluated: Evaluated, boxes: tuple[Box | None, ...]) -> Gathered | None:
    place = evaluated.box
    holes = [
        _places(evaluated, child, box)
        for child, box in zip(evaluated.children, boxes, strict=True)
        if box is not None
    ]
    points = place.points
    viable: Any = np.ones(points, np.bool_)
    for hole in holes:
        at, _, fixed, *_ = hole
        for there in (at >= 0, fixed >= 0):
            viable &= there[..., 0, 0] if np.ndim(there) else there
    prices = _by_classes(evaluated.price, place)
    viable &= np.isfinite(prices).any(axis=(-2, -1))
    chosen = np.flatnonzero(viable)
    if not chosen.size:
        return None
    price, point, _ = _term(prices, points, chosen)
    near, far = prices.shape[-2:]
    steps = (far * (near > 1), int(far > 1))
    rows = chosen * math.prod(place.classes)
    words = (len(chosen), address(rows), address(price), point, *steps)
    arrays, places = [rows, price], []
    for hole in holes:
        terms = [_term(values, points, chosen) for values in hole]
        arrays += (array for array, _, _ in terms)
        words_of = [
            word for array, point, _ in terms for word in (address(array), point)
        ]
        near_each, far_each = (each for _, _, each in terms[-2:])
        places.append((*words_of[:-2], near_each, *words_of[-2:], far_each))
    return Gathered(tuple(arrays), words, tuple(places))


class _Points:
    """The points of a box at which something applies.

    Args:
        mask: of them, which broadcasts to the box.
    """

    def __init__(self, mask: Array) -> None:
        self.mask = mask
        self.is_none = not mask.any()
        self.is_all = not self.is_none and bool(mask.all())
        self._ends: dict[int, tuple[int, int]] = {}

    def ends(self, along: "_Along") -> tuple[int, int]:
        """The least and the greatest coordinate along a dimension."""
        axis, dim = along.axis, along.dim
        if self.is_all or self.mask.shape[dim] == 1:
            return axis[0], axis[-1]
        if dim not in self._ends:
            others = tuple(d for d in range(self.mask.ndim) if d != dim)
            places = np.flatnonzero(self.mask.any(axis=others))
            self._ends[dim] = axis[places[0]], axis[places[-1]]
        return self._ends[dim]


def _ranges(parent: Evaluated, child: Child, applies: _Points) -> Ranges | None:
    """The least and the greatest coordinates of the Specs of a hole."""
    if child.there is not None:
        applies = _Points(applies.mask & (np.asarray(child.there) != 0))
    if applies.is_none:
        return None
    values = *child.frame.sizes, *child.frame.limits.free
    ranges = [_range(parent, value, applies) for value in values]
    for place in range(len(parent.box.axes) - parent.box.caches, len(parent.box.axes)):
        if parent.box.axes[place] == (ANY,):  # Specs of one point may have less left
            back = place - len(parent.box.axes)
            ranges[back] = 0, ranges[back][1]
    return tuple(ranges)


def _range(parent: Evaluated, value: Any, applies: _Points) -> tuple[int, int]:
    """The least and the greatest of coordinates where an action applies."""
    if not np.ndim(value):
        return int(value), int(value)
    along = parent.axes.get(id(value))
    if along is not None:
        return applies.ends(along)
    if not applies.is_all:
        least = np.where(applies.mask, value, _MOST).min()
        return int(least), int(np.where(applies.mask, value, -_MOST).max())
    return int(np.min(value)), int(np.max(value))


_MOST = np.iinfo(np.int64).max


def _places(parent: Evaluated, child: Child, box: Box) -> tuple[Array, ...]:
    """Indices of child Specs in their table: arrays that broadcast to the box.

    In the order of `gather.HOLE`, after the words of the table: the index among the
    points of the sizes; how often the hole counts; the part of the slice index that
    depends on no cache, to which are added the one that depends on what remains of
    caches but the farthest, and the one that depends on what remains of that.

    Raises:
        ValueError: a place varies with the farthest cache and with nearer ones.
    """
    at = _at(box.sizes, tuple(map(parent.values_of, child.frame.sizes)), parent.box)
    if child.there is not None:
        there = np.asarray(child.there) != 0
        at = np.where(_by_classes(there, parent.box), at, ABSENT).astype(np.int32)
    times = np.asarray(_by_classes(child.times, parent.box), np.float64)
    if _varies(at) or _varies(times):
        raise ValueError(f"hole '{child.role}' is another for each limit")
    free = tuple(map(parent.values_of, child.frame.limits.free))
    return (at, times, *_slices(box.limits, free, parent.box))


@dataclasses.dataclass(frozen=True)
class _Along(Interned):
    """Coordinates along a dimension of a box.

    Args:
        dim: which.
        axis: the coordinates.
        rank: how many dimensions the box has.
    """

    dim: int
    axis: Axis
    rank: int


class _Others:
    """Other values at each point of a box: no two such are equal.

    Args:
        values: broadcast to the box.
    """

    def __init__(self, values: Array) -> None:
        self.values = values


_Values = int | _Along | _Others
"""Sizes, or what is left of a memory, at each point of a box."""


def _at(below: tuple[Axis, ...], values: tuple[_Values, ...], box: Box) -> Array:
    """The index of sizes among the points of a table, at each point of a box."""
    if any(isinstance(value, _Others) for value in values):
        return _at_each(below, values, box)
    return _at_known(below, values, box)


def _at_each(below: tuple[Axis, ...], values: tuple[_Values, ...], box: Box) -> Array:
    at: Any = 0
    for axis, value in zip(below, values, strict=True):
        at = at * len(axis) + _place(axis, value)
    at = _by_classes(np.where(at < 0, NONE, at), box)
    return np.asarray(np.maximum(at, NONE), np.int32)


_at_known = lru_cache(maxsize=4096)(_at_each)


def _slices(
    below: tuple[Axis, ...], values: tuple[_Values, ...], box: Box
) -> tuple[Array, Array, Array]:
    """The parts of the slice index of limits at each point of a box, as `_Places` has
    them."""
    if any(isinstance(value, _Others) for value in values):
        return _slices_each(below, values, box)
    return _slices_known(below, values, box)


def _slices_each(
    below: tuple[Axis, ...], values: tuple[_Values, ...], box: Box
) -> tuple[Array, Array, Array]:
    sums: list[Any] = [_ZERO, _ZERO, _ZERO]
    stride = 1
    for axis, value in zip(reversed(below), reversed(values), strict=True):
        if axis == (ANY,):
            continue
        place = _by_classes(_place(axis, value), box)
        kind = _varies(place)
        sums[kind] = sums[kind] + np.where(place < 0, NONE, place * stride)
        stride *= len(axis)
    fixed, near, far = (
        total if total is _ZERO else np.asarray(np.maximum(total, NONE), np.int32)
        for total in sums
    )
    return fixed, near, far


_slices_known = lru_cache(maxsize=4096)(_slices_each)


def _by_classes(values: Any, box: Box) -> Array:
    """Numbers that broadcast to a box, with two axes for what is left of its caches:
    one for all but the farthest, one for that."""
    array = np.asarray(values)
    if box.caches == 2 or not array.ndim:
        return array
    count = array.ndim - box.caches
    points, classes = array.shape[:count], array.shape[count:]
    near, far = (1, *classes)[:-1], (1, *classes)[-1]
    if math.prod(near) > 1:
        full = box.shape[len(box.shape) - box.caches : -1]
        array = np.broadcast_to(array, (*points, *full, far))
        near = full
    return array.reshape(*points, math.prod(near), far)


def _varies(array: Array) -> int:
    """A code for what numbers vary with besides the sizes: 0 for nothing, 1 for what
    remains of the nearer caches, 2 for the farthest.

    Raises:
        ValueError: they vary with both.
    """
    near, far = np.shape(array)[-2:] if np.ndim(array) else (1, 1)
    if near > 1 and far > 1:
        raise ValueError("a hole's limits vary with what is left of several caches")
    return 1 if near > 1 else 2 if far > 1 else 0


def _term(values: Array, points: tuple[int, ...], chosen: Integers) -> Term:
    """A term of the chosen points, from values that broadcast to a box."""
    if not values.ndim:
        return values.reshape(1), 0, 0
    near, far = values.shape[-2:]
    width = near * far
    each = int(width > 1)
    if values.size == width:
        return np.ascontiguousarray(values).reshape(-1), 0, each
    if values.shape[:-2] != points:
        values = np.broadcast_to(values, (*points, near, far))
    every = values.reshape(-1, width)
    if len(chosen) < len(every):
        every = every.take(chosen, axis=0)
    return np.ascontiguousarray(every).reshape(-1), width, each


def _place(axis: Axis, value: _Values) -> Any:
    """The positions of values on an axis, `NONE` where it has none."""
    if axis == (ANY,):
        return 0
    if isinstance(value, _Along):
        indices, _ = positions(axis, value.axis)
        after = value.rank - value.dim - 1
        return indices.reshape((1,) * value.dim + (-1,) + (1,) * after)
    values = value.values if isinstance(value, _Others) else value
    ladder = np.asarray(axis, np.int64)
    if not ladder.size:
        return np.full(np.shape(values), NONE)
    place = np.minimum(np.searchsorted(ladder, values), len(axis) - 1)
    return np.where(ladder.take(place) == values, place, NONE)


@lru_cache(maxsize=65536)
def positions(axis: Axis, values: Axis) -> tuple[Integers, bool]:
    """The index on ``axis`` of each of ``values``, `NONE` for none; any such."""
    if axis == (ANY,):
        return np.zeros(len(values), np.int64), False
    place = {value: i for i, value in enumerate(axis)}
    indices = np.asarray([place.get(value, NONE) for value in values], np.int64)
    return indices, bool(np.any(indices < 0))
