"""Tables as boxes: neighbours that share a decision, or whose costs are affine, merge.

A box is a half-open range of positions on every axis of a table. Two lists describe a
table. `LabelBoxes` hold decisions: the first box that has a point decides; a point that
none has, has no program. `CostBoxes` hold costs, exactly: equal along the limits, and
affine in the size along every line of each other axis, so that the costs at a box's
corners give all. Boxes of costs may overlap: they agree.
"""

import dataclasses
import functools
import threading
from typing import Any

import numpy as np

from morello.lazy import cached_property
from morello.search.compiled import compiled
from morello.search.dp.box import Axis
from morello.search.dp.table import NO_ACTION, Costs, Floats, Integers

Words = np.ndarray[Any, np.dtype[np.int32]]

_SHAPES = 4096
"""How many shapes and axes of tables are remembered: most tables share theirs."""

_OVER = 4096
"""Boxes of decisions grow over others by slabs of up to so many points: more finds few
boxes less, and takes long."""

_FEW_BOXES = 4096
"""Room for boxes at first: it is made larger where a table has more."""

_SMALL_ROOM = 1 << 20
"""Numbers of an array that a thread keeps for its next table."""


@dataclasses.dataclass(frozen=True)
class LabelBoxes:
    """Decisions of a table.

    Args:
        shape: of the table.
        ends: for each box, its first positions and those after its last: n x 2 x rank.
        labels: the decision of each box.
    """

    shape: tuple[int, ...]
    ends: Words
    labels: Words

    @classmethod
    def of(cls, labels: Words) -> "LabelBoxes":
        """The boxes of a dense array; negative labels are left out."""
        dense = np.ascontiguousarray(labels, np.int32)
        shape, _ = _steps(dense.shape)
        rank, size, boxes = len(shape), dense.size, _FEW_BOXES
        while True:
            ends = _room("ends", np.int32, 2 * rank * boxes)
            box_labels = _room("labels", np.int32, boxes)
            count = compiled().cover_labels(
                dense.reshape(-1),
                shape,
                _OVER,
                _room("merged", np.int32, size),
                _room("covered", np.int8, size),
                _room("queue", np.int32, size),
                np.empty((3, boxes), np.int64),
                *_words(dense.shape),
                ends,
                box_labels,
            )
            if count >= 0:
                every = ends[: 2 * rank * count].reshape(count, 2, rank).copy()
                return cls(dense.shape, every, box_labels[:count].copy())
            boxes *= 8

    def at(self, point: tuple[int, ...]) -> int:
        """The label of a point, `NO_ACTION` if no box has it."""
        hits = _hits(self.ends, point)
        return int(self.labels[hits[0]]) if hits.size else NO_ACTION

    def part(self, first: tuple[int, ...], shape: tuple[int, ...]) -> "LabelBoxes":
        """The labels of a part of the table, from a first position on."""
        ends, inside = _parted(self.ends, first, shape)
        return LabelBoxes(
            shape, np.ascontiguousarray(ends[inside]), self.labels[inside]
        )

    def expand(self) -> Words:
        """Dense array of labels that the boxes cover."""
        dense = np.full(self.shape, NO_ACTION, np.int32)
        compiled().paint_labels(
            dense.reshape(-1),
            _steps(self.shape)[1],
            *_cursors(len(self.shape)),
            np.ascontiguousarray(self.ends).reshape(-1),
            np.ascontiguousarray(self.labels),
        )
        return dense


@dataclasses.dataclass(frozen=True)
class CostBoxes:
    """Costs of a table as boxes in which they are affine.

    Args:
        axes: the coordinates of each axis.
        dims: how many of them, the first, are sizes; along those costs are affine.
        ends: as in `LabelBoxes`.
        varying: for each box, the size axes along which its costs differ: a bit each,
            the last axis the lowest.
        told: the costs at both ends of those axes, box after box, the last axis
            fastest.
    """

    axes: tuple[Axis, ...]
    dims: int
    ends: Words
    varying: Words
    told: Integers

    @classmethod
    def of(cls, costs: Costs) -> "CostBoxes":
        """The boxes of the costs of a table; infinite ones are left out."""
        box = costs.box
        shape, dims = box.shape, len(box.sizes)
        rank, boxes = len(shape), _FEW_BOXES
        place = costs.place.astype(np.int32)
        while True:
            ends = _room("ends", np.int32, 2 * rank * boxes)
            varying = _room("labels", np.int32, boxes)
            told = _room("told", np.int64, 8 * boxes + (1 << dims))
            corners = _room("corners", np.int64, 1 << dims)
            count = compiled().cover_costs(
                costs.slices.reshape(-1),
                place.copy(),
                _steps(shape)[0],
                dims,
                *_scale(box.axes),
                _room("costs", np.float64, box.size),
                _room("covered", np.int8, box.size),
                _room("merged", np.int32, box.size),
                *_words(shape),
                corners,
                ends,
                varying,
                told,
            )
            if count >= 0:
                every = ends[: 2 * rank * count].reshape(count, 2, rank).copy()
                masks, numbers = varying[:count].copy(), told[: corners[0]].copy()
                return cls(box.axes, dims, every, masks, numbers)
            boxes *= 8

    @cached_property
    def corners(self) -> Integers:
        """The cost at both ends of each size axis, the last fastest: n x 2^dims.

        Raises:
            ValueError: there are more or fewer costs than boxes tell.
        """
        mask = _told(self.varying, self.dims)
        if int(mask.sum()) != self.told.size:
            raise ValueError("the number of costs is wrong")
        corners = np.zeros(mask.shape, np.int64)
        corners[mask] = self.told
        source = np.arange(1 << self.dims)[None, :] & self.varying[:, None]
        return np.ascontiguousarray(np.take_along_axis(corners, source, axis=1))

    def at(self, point: tuple[int, ...]) -> float:
        """The cost of a point; infinite if no box has it."""
        hits = _hits(self.ends, point)
        if not hits.size:
            return float("inf")
        lo, hi = self.ends[hits[0]].tolist()
        values = [int(v) for v in self.corners[hits[0]]]
        for dim in reversed(range(self.dims)):
            axis = self.axes[dim]
            first, last, here = axis[lo[dim]], axis[hi[dim] - 1], axis[point[dim]]
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [
                a + (b - a) * (here - first) // max(last - first, 1) for a, b in pairs
            ]
        return float(values[0])

    def part(self, first: tuple[int, ...], axes: tuple[Axis, ...]) -> "CostBoxes":
        """The costs of a part of the table, from a first position on; its axes are
        parts of those of the table."""
        ends, inside = _parted(self.ends, first, tuple(map(len, axes)))
        old, new = self.ends[inside], np.ascontiguousarray(ends[inside])
        grid = self.corners[inside].reshape(len(new), *(2,) * self.dims)
        for dim in range(self.dims):
            if axes[dim] == self.axes[dim]:
                continue
            whole, some = (np.asarray(a[dim], np.int64) for a in (self.axes, axes))
            before = (whole[old[:, 0, dim]], whole[old[:, 1, dim] - 1])
            after = (some[new[:, 0, dim]], some[new[:, 1, dim] - 1])
            grid = _shorten(grid, dim, before, after)
        varying = self.varying[inside]
        told = grid.reshape(len(new), 1 << self.dims)[_told(varying, self.dims)]
        return CostBoxes(axes, self.dims, new, varying, told)

    def expand(self) -> Floats:
        """Dense array of costs that the boxes cover; infinite elsewhere."""
        dense = np.full(tuple(map(len, self.axes)), np.inf)
        compiled().paint_costs(
            dense.reshape(-1),
            *_scale(self.axes),
            self.dims,
            _steps(dense.shape)[1],
            *_cursors(dense.ndim),
            np.ascontiguousarray(self.ends).reshape(-1),
            self.corners.reshape(-1),
            1 << self.dims,
        )
        return dense


def _told(varying: Words, dims: int) -> Any:
    """Mask of the corners of boxes that are told: those on no upper end of an axis that
    does not vary.

    n x 2^dims booleans.
    """
    told: Any = (np.arange(1 << dims)[None, :] & ~varying[:, None]) == 0
    return told


def _hits(ends: Words, point: tuple[int, ...]) -> Integers:
    place = np.asarray(point, np.int32)
    inside = (ends[:, 0] <= place) & (place < ends[:, 1])
    return np.flatnonzero(inside.all(axis=1))


def _parted(
    ends: Words, first: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[Words, Any]:
    """Boxes in a part of a table, and which of them are not empty."""
    start = np.asarray(first, np.int32)
    parted = np.clip(ends - start, 0, np.asarray(shape, np.int32))
    return parted, (parted[:, 0] < parted[:, 1]).all(axis=1)


def _shorten(
    grid: Integers,
    dim: int,
    before: tuple[Integers, Integers],
    after: tuple[Integers, Integers],
) -> Integers:
    """Corners of boxes of which a part remains along a size axis, on which costs are
    affine.

    Args:
        grid: the corners, n x 2 x ... x 2.
        before: the first and the last coordinate of each box.
        after: those of its part.
    """
    low, high = grid.take(0, dim + 1), grid.take(1, dim + 1)
    sides = (-1, *(1,) * (low.ndim - 1))
    span = np.maximum(before[1] - before[0], 1).reshape(sides)
    rise = high - low
    shared = np.maximum(np.gcd(rise, span), 1)  # the product is a cost: no overflow
    corners = (
        low + rise // shared * ((end - before[0]).reshape(sides) // (span // shared))
        for end in after
    )
    return np.stack([*corners], axis=dim + 1)


@functools.lru_cache(maxsize=_SHAPES)
def _scale(axes: tuple[Axis, ...]) -> tuple[Integers, Integers]:
    """The coordinates of all axes, one after another, and where each begins."""
    starts = np.cumsum([0, *map(len, axes)], dtype=np.int64)
    return np.asarray([c for axis in axes for c in axis], np.int64), starts


@functools.lru_cache(maxsize=_SHAPES)
def _steps(shape: tuple[int, ...]) -> tuple[Integers, Integers]:
    """A shape, and how many elements are from one position of each axis to the next."""
    steps = np.cumprod([1, *shape[:0:-1]], dtype=np.int64)
    return np.asarray(shape, np.int64), np.ascontiguousarray(steps[::-1])


def _cursors(rank: int) -> tuple[Integers, ...]:
    """Room for the two ends of a box, and for a point in it."""
    return tuple(np.empty((3, rank), np.int64))


def _words(shape: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Room for what compression notes of each axis, and of each position of one."""
    return (
        np.empty((9, len(shape)), np.int64),
        np.empty(sum(shape) + len(shape), np.int64),
    )


_rooms = threading.local()


def _room(name: str, dtype: Any, count: int) -> np.ndarray[Any, Any]:
    """An array of so many numbers, for one call: each thread keeps its small ones,
    which take as long to make as a small table to compress. The one that is kept may be
    longer, but the room for boxes has to be the same in all arrays."""
    room = _rooms.__dict__.get(name)
    if room is None or len(room) < count:
        room = np.empty(count, dtype)
        if count <= _SMALL_ROOM:
            _rooms.__dict__[name] = room
    return room[:count]
