"""Tables as boxes: neighbours that share a decision, or whose costs are affine, merge.

A box is a half-open range of positions on every axis of a table. Two lists describe a
table. `LabelBoxes` hold decisions: the first box that has a point decides; a point that
none has, has no program. `CostBoxes` hold costs, exactly: equal along the limits, and
affine in the size along every line of each other axis, so that the costs at a box's
corners give all. Boxes of costs may overlap: they agree.
"""

import dataclasses
import functools
from typing import Any

import numpy as np

from morello.search.compiled import compiled
from morello.search.dp.axes import ANY, Axis, Box
from morello.search.dp.table import NO_ACTION, Floats, Integers

Words = np.ndarray[Any, np.dtype[np.int32]]

_SHAPES = 4096
"""How many shapes and axes of tables are remembered: most tables share theirs."""

_OVER = 4096
"""Boxes of decisions grow over others by slabs of up to so many points: more finds few
boxes less, and takes long."""


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
        long = _long_axes(dense.shape)
        work = _Work(tuple(dense.shape[k] for k in long))
        queue = _queue(dense)
        arrays = (np.arange(work.rank), *work.cursors, queue)
        ends, found = work.collect("cover_labels", dense, (*arrays, _OVER))
        return cls(dense.shape, _with_short_axes(ends, long, dense.ndim), found)

    def at(self, point: tuple[int, ...]) -> int:
        """The label of a point, `NO_ACTION` if no box has it."""
        hits = _hits(self.ends, point)
        return int(self.labels[hits[0]]) if hits.size else NO_ACTION

    def clip(self, shape: tuple[int, ...], labels: Words) -> "LabelBoxes":
        """The part from the origin to ``shape``.

        Args:
            shape: of the part, nowhere more than that of the table.
            labels: what each label becomes; `NO_ACTION` for one that the part has not.
        """
        ends, kept = _clip(self.ends, shape)
        clipped = labels[self.labels] if self.labels.size else self.labels
        kept &= clipped != NO_ACTION
        return LabelBoxes(shape, np.ascontiguousarray(ends[kept]), clipped[kept])

    def expand(self) -> Words:
        """Dense array of labels that the boxes cover."""
        dense = np.full(self.shape, NO_ACTION, np.int32)
        work = _Work(self.shape)
        compiled().paint_labels(
            dense.reshape(-1),
            work.strides,
            *work.cursors,
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
        corners: the cost at both ends of each size axis, the last fastest: n x 2^dims.
    """

    axes: tuple[Axis, ...]
    dims: int
    ends: Words
    corners: Integers

    @classmethod
    def of(cls, costs: Floats, box: Box) -> "CostBoxes":
        """The boxes of the dense costs of a box; infinite ones are left out."""
        dense = np.where(np.isfinite(costs), costs, -1.0)
        dims = len(box.sizes)
        long = _long_axes(dense.shape)
        work = _Work(tuple(dense.shape[k] for k in long))
        sizes = sum(k < dims for k in long)
        scale = _Scale.of(tuple(box.axes[k] for k in long), sizes)
        bends = np.zeros(dense.size, np.int32)
        arrays = (work.cost_order(sizes), *work.cursors, *scale.all, bends)
        found, _ = work.collect("cover_costs", dense, arrays, labelled=False)
        ends = _with_short_axes(found, long, dense.ndim)
        return cls(box.axes, dims, ends, _corners(dense, ends, dims))

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

    def clip(self, axes: tuple[Axis, ...]) -> "CostBoxes":
        """The part whose axes are the beginnings ``axes`` of those of the table."""
        ends, kept = _clip(self.ends, tuple(map(len, axes)))
        old, new = self.ends[kept], np.ascontiguousarray(ends[kept])
        grid = self.corners[kept].reshape(len(new), *(2,) * self.dims)
        for dim in range(self.dims):
            axis = np.asarray(self.axes[dim], np.int64)
            first = axis[new[:, 0, dim]]
            spans = (axis[ends[:, 1, dim] - 1] - first for ends in (old, new))
            grid = _shorten(grid, dim, *spans)
        corners = np.ascontiguousarray(grid.reshape(len(new), 1 << self.dims))
        return CostBoxes(axes, self.dims, new, corners)

    def expand(self) -> Floats:
        """Dense array of costs that the boxes cover; infinite elsewhere."""
        dense = np.full(tuple(map(len, self.axes)), np.inf)
        work = _Work(dense.shape)
        scale = _Scale.of(self.axes, self.dims)
        compiled().paint_costs(
            dense.reshape(-1),
            *scale.all,
            work.strides,
            *work.cursors,
            np.ascontiguousarray(self.ends).reshape(-1),
            np.ascontiguousarray(self.corners).reshape(-1),
            1 << self.dims,
        )
        return dense

    @property
    def varying(self) -> Integers:
        """For each box, the size axes along which its costs differ: a bit each, the
        last axis the lowest."""
        long = tuple(d for d in range(self.dims) if len(self.axes[d]) > 1)
        lower, bits = _edges(self.dims, long)
        differs = self.corners[:, lower] != self.corners[:, lower | bits[:, None]]
        masks: Integers = differs.any(axis=2) @ bits
        return masks

    @property
    def numbers(self) -> int:
        """How many costs tell all: those at the ends of axes where they differ."""
        return int(np.sum(1 << np.bitwise_count(self.varying).astype(np.int64)))


@functools.lru_cache(maxsize=_SHAPES)
def _long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes with more than one position, along which boxes can grow."""
    return tuple(k for k, extent in enumerate(shape) if extent > 1)


def _with_short_axes(ends: Words, long: tuple[int, ...], rank: int) -> Words:
    """Boxes of the long axes as boxes of all, which have the one position of others."""
    widened = np.zeros((len(ends), 2, rank), np.int32)
    widened[:, 1] = 1
    widened[:, :, long] = ends
    return widened


def _queue(labels: Words) -> Words:
    """The points that have a label, in the order that they are covered: rare labels
    first, the points of one ascending."""
    counts = np.zeros(int(labels.max(initial=NO_ACTION)) + 1, np.int64)
    flat = labels.reshape(-1)
    compiled().count_labels(flat, counts)
    order = np.argsort(counts, kind="stable")
    ends = np.empty_like(counts)
    ends[order] = np.cumsum(counts[order]) - counts[order]
    queue = np.empty(int(counts.sum()), np.int32)
    compiled().queue_points(flat, ends, queue)
    return queue


def _hits(ends: Words, point: tuple[int, ...]) -> Integers:
    place = np.asarray(point, np.int32)
    inside = (ends[:, 0] <= place) & (place < ends[:, 1])
    return np.flatnonzero(inside.all(axis=1))


def _clip(ends: Words, shape: tuple[int, ...]) -> tuple[Words, Any]:
    """Boxes cut off at ``shape``, and which of them are not empty."""
    clipped = ends.copy()
    clipped[:, 1] = np.minimum(ends[:, 1], np.asarray(shape, np.int32))
    return clipped, (clipped[:, 0] < clipped[:, 1]).all(axis=1)


def _shorten(grid: Integers, dim: int, before: Integers, after: Integers) -> Integers:
    """Corners of boxes that end earlier along a size axis, on which costs are affine.

    Args:
        grid: the corners, n x 2 x ... x 2.
        before: for each box, how far its last coordinate was from the first.
        after: how far it is.
    """
    low, high = grid.take(0, dim + 1), grid.take(1, dim + 1)
    sides = (-1, *(1,) * (low.ndim - 1))
    span = np.maximum(before, 1).reshape(sides)
    rise = high - low
    shared = np.maximum(np.gcd(rise, span), 1)  # the product is a cost: no overflow
    end = low + rise // shared * (after.reshape(sides) // (span // shared))
    return np.stack([low, end], axis=dim + 1)


def _corners(dense: Floats, ends: Words, dims: int) -> Integers:
    strides, long, shape = _long_sizes(dense.shape, dims)
    first, last = ends[:, 0], ends[:, 1, long] - 1
    steps = (last - first[:, long]) * strides[long]
    place = (first @ strides)[:, None] + steps @ _upper_ends(len(long))
    corners: Integers = dense.reshape(-1).take(place).astype(np.int64)
    if len(long) < dims:
        corners = np.broadcast_to(
            corners.reshape(-1, *shape), (len(ends), *(2,) * dims)
        )
    return corners.reshape(len(ends), 1 << dims)


@functools.lru_cache(maxsize=_SHAPES)
def _long_sizes(
    shape: tuple[int, ...], dims: int
) -> tuple[Integers, Integers, tuple[int, ...]]:
    """Strides of an array, which axes of sizes have more than one position, and the
    shape of the distinct corners of a box."""
    long = [k for k in _long_axes(shape) if k < dims]
    ends = tuple(2 if k in long else 1 for k in range(dims))
    return _steps(shape)[1], np.asarray(long, np.int64), ends


@functools.cache
def _upper_ends(dims: int) -> Integers:
    """Whether each corner of a box is at the upper end of each axis: dims x 2^dims."""
    ends: Integers = np.arange(1 << dims) >> np.arange(dims)[::-1, None] & 1
    return ends


@functools.lru_cache(maxsize=_SHAPES)
def _edges(dims: int, axes: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Lower corner of each edge of a box along some axes, a row an axis, and the bit of
    each axis in the number of a corner. No edge is at the upper end of another axis."""
    bits = np.asarray([1 << (dims - 1 - axis) for axis in axes], np.int64)
    corners = _upper_ends(len(axes)).T @ bits
    lower = [corners[corners & bit == 0] for bit in bits]
    return np.asarray(lower, np.int64).reshape(len(axes), (1 << len(axes)) >> 1), bits


@dataclasses.dataclass(frozen=True)
class _Scale:
    """The coordinates of all axes, one after another, for machine code."""

    coordinates: Integers
    starts: Integers
    is_affine: np.ndarray[Any, np.dtype[np.int8]]

    @classmethod
    @functools.lru_cache(maxsize=_SHAPES)
    def of(cls, axes: tuple[Axis, ...], dims: int) -> "_Scale":
        starts = np.cumsum([0, *map(len, axes)], dtype=np.int64)
        coordinates = np.asarray([c for axis in axes for c in axis], np.int64)
        affine = [d < dims and axis != (ANY,) for d, axis in enumerate(axes)]
        affine[:dims] = [True] * dims
        return cls(coordinates, starts, np.asarray(affine, np.int8))

    @property
    def all(self) -> tuple[Any, ...]:
        return (self.coordinates, self.starts, self.is_affine)


@functools.lru_cache(maxsize=_SHAPES)
def _steps(shape: tuple[int, ...]) -> tuple[Integers, Integers]:
    """A shape, and how many elements are from one position of each axis to the next."""
    steps = np.cumprod([1, *shape[:0:-1]], dtype=np.int64)
    return np.asarray(shape, np.int64), np.ascontiguousarray(steps[::-1])


class _Work:
    """Arrays that machine code needs in addition to a dense array."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.rank = len(shape)
        self.shape, self.strides = _steps(shape)
        self.cursors = tuple(np.zeros((3, self.rank), np.int64))

    def cost_order(self, dims: int) -> Integers:
        """How boxes of costs grow: along limits, where neighbours are mostly equal,
        then along sizes. Boxes of decisions grow along the sizes first."""
        return np.asarray([*reversed(range(dims, self.rank)), *range(dims)], np.int64)

    def collect(
        self,
        name: str,
        dense: np.ndarray[Any, Any],
        arrays: tuple[Any, ...],
        labelled: bool = True,
    ) -> tuple[Words, Words]:
        """Call a function that covers an array, with more room until it is enough."""
        flat = dense.reshape(-1)
        room = min(len(flat), max(4096, len(flat) // 8))
        function = getattr(compiled(), name)
        while True:
            ends = np.empty((room, 2, self.rank), np.int32)
            labels = np.empty(room, np.int32)
            covered = np.zeros(len(flat), np.int8)
            results = (ends.reshape(-1), labels) if labelled else (ends.reshape(-1),)
            count = function(flat, covered, self.shape, self.strides, *arrays, *results)
            if count >= 0:
                return ends[:count].copy(), labels[:count].copy()
            room *= 8
