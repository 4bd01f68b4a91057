"""An action tried on a whole table in one pass: gathers, costs and the minimum.

`improve` says no where an action does not have the form of `native_gather`; then
`Applied.total` says the same with a pass of NumPy for each operation.
"""

import dataclasses
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from morello.actions import Child
from morello.search.dp.axes import ANY, Axis
from morello.search.dp.evaluate import Applied
from morello.search.dp.gather import place_on
from morello.search.dp.machine_code import address
from morello.search.dp.native_gather import gather_function
from morello.search.dp.table import Costs, Floats, Integers

_NONE = -(1 << 40)
"""A place outside the table: it stays negative whatever is added."""

_POINT, _NEAR, _FAR = range(3)
"""What numbers vary with, beside the sizes: nothing, what is left of L1, of L2."""

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class _Term:
    """Numbers for each point of the sizes, or for all; and for each class of a cache.

    Args:
        point: the step from a point to the next; 0 where all have the same.
        each: the step from a class to the next.
    """

    values: Array
    point: int
    each: int = 0


@dataclasses.dataclass(frozen=True)
class _Hole:
    """Where the costs of a hole are, and how often they count, as arrays to be added.

    Args:
        at: the point of its table, of each point of the sizes.
        shape: what ``at`` varies with, as an array that broadcasts.
        limits: the place of its slice: what varies with the sizes alone, with what is
            left of L1, of L2.
    """

    table: Costs
    times: Array
    at: _Term
    shape: tuple[int, ...]
    limits: tuple[Array, Array, Array]

    @classmethod
    def of(cls, child: Child, table: Costs, applied: Applied) -> "_Hole | None":
        """A hole of an action; None if it does not have the form."""
        times = np.asarray(child.times, np.float64)
        if child.there is not None or _varies(times) != _POINT:
            return None
        sums = _limits(child, table, applied)
        found = _points(child, table, applied)
        if sums is None or found is None:
            return None
        at, shape = found
        vrf, near, far = (np.asarray(total, np.int64) for total in sums)
        if vrf.min() < 0:  # of all that follows at has to say it
            points = applied.window[:-2]
            every = np.empty(points, np.int64)
            every[...] = at.values.reshape(points) if at.point else at.values
            every += np.where(vrf < 0, _NONE, 0)[..., 0, 0]
            at = _Term(every.reshape(-1), 1)
            shape = np.broadcast_shapes(shape, vrf.shape)
            vrf = np.maximum(vrf, 0)
        return cls(table, times, at, shape, (vrf, near, far))

    def where(self, legal: Array, kind: int) -> "_Hole":
        """The same with programs only where an action applies."""
        vrf, near, far = (
            np.where(legal, place, _NONE) if kind == k else place
            for k, place in enumerate(self.limits)
        )
        return dataclasses.replace(self, limits=(vrf, near, far))

    def terms(self, points: tuple[int, ...]) -> tuple[_Term, ...]:
        """In the order of `native_gather.HOLE`, after the table and its slices."""
        vrf, near, far = self.limits
        return (
            self.at,
            _by_point(self.times, points),
            _by_point(vrf, points),
            _by_class(near, points, _NEAR),
            _by_class(far, points, _FAR),
        )


def improve(
    costs: Floats,
    decisions: np.ndarray[Any, np.dtype[np.int32]],
    index: int,
    applied: Applied,
) -> int | None:
    """Let an action decide the points where it costs less than what was found so far.

    Args:
        costs: of the whole table; changed in place.
        decisions: of the same shape.
        index: the decision that stands for the action.

    Returns:
        how many implementations were compared; None, and nothing is done, where the
        action does not have the form.
    """
    own, legal = np.asarray(applied.expansion.cost), np.asarray(applied.legal)
    kind = _varies(legal)
    if kind is None or _varies(own) != _POINT or (kind != _POINT and not applied.holes):
        return None
    holes = []
    for child, table in applied.holes:
        hole = _Hole.of(child, table, applied)
        if hole is None:
            return None
        holes.append(hole)
    if kind == _POINT:
        own = np.where(legal, own, np.inf)
    else:
        holes[0] = holes[0].where(legal, kind)
    own = own.astype(np.float64)
    _run(costs, decisions, index, own, holes, applied.window[:-2])
    shapes = [a.shape for hole in holes for a in (hole.times, *hole.limits)]
    shapes += [own.shape, legal.shape, *(hole.shape for hole in holes)]
    return applied.compared(math.prod(np.broadcast_shapes(*shapes)))


def _points(
    child: Child, table: Costs, applied: Applied
) -> tuple[_Term, tuple[int, ...]] | None:
    """The points of a table that a hole is at, negative where it has none, and what
    they vary with; None if with more than sizes."""
    axes, values, points = table.box.sizes, child.frame.sizes, applied.window[:-2]
    known_of = [applied.known.get(id(value)) for value in values]
    held = tuple(known for known in known_of if known and known[1] != (ANY,))
    if len(held) == len(values):
        return _held_points(axes, held, points)
    at: Any = 0
    for axis, value, known in zip(axes, values, known_of, strict=True):
        place, gap = place_on(axis, value, known, len(applied.axes))
        at = at * len(axis) + (place if gap is False else np.where(gap, _NONE, place))
    at = np.asarray(at, np.int64)
    if _varies(at) != _POINT:
        return None
    return _by_point(at, points), at.shape


@lru_cache(maxsize=256)
def _held_points(
    axes: tuple[Axis, ...], held: tuple[tuple[int, Axis], ...], points: tuple[int, ...]
) -> tuple[_Term, tuple[int, ...]]:
    """The same where each size is one of the parent's: few tables have other axes."""
    at: Any = np.zeros((), np.int64)
    for axis, (dim, values) in zip(axes, held, strict=True):
        place, gap = place_on(axis, None, (dim, values), len(points) + 2)
        at = at * len(axis) + (place if gap is False else np.where(gap, _NONE, place))
    return _by_point(at, points), at.shape


def _limits(
    child: Child, table: Costs, applied: Applied
) -> tuple[Any, Any, Any] | None:
    """The places of a hole's slices, by what they vary with; None if one varies with
    more than sizes and one cache."""
    sums: list[Any] = [0, 0, 0]
    stride = len(table.place)
    limits = child.frame.limits
    axes = table.box.axes[len(table.box.sizes) :]
    values = (limits.vrf, limits.l1, limits.l2)
    for axis, value in zip(axes, values, strict=True):
        stride //= len(axis)
        known = applied.known.get(id(value))
        if known and known[1] != (ANY,):
            term, kind = _held_limit(axis, known, stride, len(applied.axes))
        else:
            term, kind = _limit(axis, value, known, stride, len(applied.axes))
        if kind is None:
            return None
        sums[kind] = sums[kind] + term
    return sums[0], sums[1], sums[2]


def _limit(
    axis: Axis, value: Any, known: tuple[int, Axis] | None, stride: int, rank: int
) -> tuple[Any, int | None]:
    """What a limit adds to the places of slices, and what that varies with."""
    place, gap = place_on(axis, value, known, rank)
    term = place * stride if gap is False else np.where(gap, _NONE, place * stride)
    return term, _varies(term)


@lru_cache(maxsize=4096)
def _held_limit(
    axis: Axis, known: tuple[int, Axis], stride: int, rank: int
) -> tuple[Any, int | None]:
    """The same where the limit is the parent's."""
    return _limit(axis, None, known, stride, rank)


def _run(
    costs: Floats,
    decisions: np.ndarray[Any, np.dtype[np.int32]],
    index: int,
    own: Array,
    holes: list[_Hole],
    points: tuple[int, ...],
) -> None:
    price = _by_point(own, points)
    terms = [hole.terms(points) for hole in holes]  # they live until the call is over
    words = np.asarray(
        [word for h, t in zip(holes, terms, strict=True) for word in _words(h, t)],
        np.int64,
    )
    rows, sums = _rows(costs.shape, points), np.empty(costs.shape[-2:])
    gather_function()(
        address(costs),
        address(decisions),
        address(sums),
        len(rows),
        *costs.shape[-2:],
        address(rows),
        address(price.values),
        price.point,
        index,
        len(holes),
        address(words),
    )


def _words(hole: _Hole, terms: Iterable[_Term]) -> list[int]:
    """The hole as machine code reads it: the last combination of limits is the one
    with the greatest."""
    slices, slice_of = hole.table.slices, hole.table.place
    words = [address(slices), address(slice_of)]
    words += [slices.shape[-1], int(slice_of[-1])]
    for place, term in enumerate(terms):
        words += (address(term.values), term.point)
        if place > 2:  # of a cache
            words.append(term.each)
    return words


def _varies(array: Any) -> int | None:
    """What numbers vary with beside the sizes; None if with both caches."""
    near, far = np.shape(array)[-2:] if np.ndim(array) else (1, 1)
    if near == 1:
        return _POINT if far == 1 else _FAR
    return _NEAR if far == 1 else None


def _by_point(values: Array, points: tuple[int, ...]) -> _Term:
    if values.size == 1:
        return _Term(values.reshape(1), 0)
    every = np.empty(points, values.dtype)
    every[...] = values[..., 0, 0]
    return _Term(every.reshape(-1), 1)


def _by_class(values: Array, points: tuple[int, ...], kind: int) -> _Term:
    if values.size == 1:
        return _Term(values.reshape(1), 0)
    rows = values[..., 0] if kind == _NEAR else values[..., 0, :]
    count = rows.shape[-1]
    if rows.size == count:
        return _Term(_flat(rows), 0, 1)
    every = np.empty((*points, count), values.dtype)
    every[...] = rows
    return _Term(every.reshape(-1), count, 1)


def _flat(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1)


@lru_cache(maxsize=256)
def _rows(shape: tuple[int, ...], points: tuple[int, ...]) -> Integers:
    """Where each point of a window begins in the arrays of a table."""
    rows = np.arange(math.prod(shape[:-2]), dtype=np.int64) * math.prod(shape[-2:])
    window = tuple(slice(extent) for extent in points)
    return _flat(rows.reshape(shape[:-2])[window])
