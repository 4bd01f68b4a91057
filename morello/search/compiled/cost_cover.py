"""Compression of costs: a greedy cover of an array by boxes in which it is affine.

Each is grown from the first point that none has, upwards along one axis after another;
boxes may overlap, where they agree.
"""

from typing import Any

import numpy as np

from morello.search.compiled.box_walk import (
    cover,
    first,
    inner_axis,
    long_axes,
    merge_axes,
    next_row,
    start,
    write_box,
)
from morello.search.compiled.jit import inner

F64 = np.ndarray[Any, np.dtype[np.float64]]
I64 = np.ndarray[Any, np.dtype[np.int64]]
I32 = np.ndarray[Any, np.dtype[np.int32]]
I8 = np.ndarray[Any, np.dtype[np.int8]]


@inner
def same_ratio(a: int, b: int, c: int, d: int) -> bool:
    """Whether a / b = c / d, for b and d other than 0 and products below 2^115.

    Products wrap modulo 2^64; what a float says of their difference tells multiples of
    that apart.
    """
    return a * d == c * b and abs(float(a) * d - float(c) * b) < 2.0**63


@inner
def mark_slab(
    costs: F64, shape: I64, strides: I64, coordinates: I64, starts: I64, bends: I32,
    axis: int, position: int, bit: int,
) -> int:  # fmt: skip
    """`mark_bends` for the points at one position of an affine axis.

    Products of floats decide, without branches; integers do where one was rounded.
    """
    step, x = strides[axis], starts[axis] + position
    run = coordinates[x] - coordinates[x - 1]
    before = coordinates[x - 1] - coordinates[x - 2]
    for block in range(len(costs) // (step * shape[axis])):
        base = (block * shape[axis] + position) * step
        most = 0.0
        for p in range(base, base + step):
            rise = (costs[p] - costs[p - step]) * before
            fall = (costs[p - step] - costs[p - 2 * step]) * run
            most = max(most, abs(rise))
            bends[p] |= bit * (rise != fall)
        if most >= 2.0**53:
            for p in range(base, base + step):
                rise = int(costs[p] - costs[p - step])
                fall = int(costs[p - step] - costs[p - 2 * step])
                bends[p] |= bit * (not same_ratio(rise, run, fall, before))
    return 0


@inner
def mark_bends(
    costs: F64, shape: I64, strides: I64, coordinates: I64, starts: I64, sizes: int,
    bends: I32,
) -> int:  # fmt: skip
    """Say of each point along which axes its cost does not follow from those below.

    ``bends`` gets bit k where the cost is off the line through the two points below it
    on axis k, or, of the axes after the first ``sizes``, differs from that of the point
    below. All bits are set where there is no cost.
    """
    for k in range(len(shape)):
        bit = 1 << k
        if k < sizes:
            for position in range(2, shape[k]):
                mark_slab(
                    costs, shape, strides, coordinates, starts, bends, k, position, bit
                )
        else:  # nobody asks for the bit of a first position
            step = strides[k]
            for p in range(step, len(costs)):
                bends[p] |= bit * (costs[p] != costs[p - step])
    for p in range(len(costs)):
        bends[p] |= -(costs[p] < 0)
    return 0


@inner
def is_straight(
    bends: I32, sizes: int, strides: I64, lo: I64, hi: I64, at: I64, rank: int,
    axis: int, position: int,
) -> int:  # fmt: skip
    """Whether a box with one more slab, above it, is affine along every line in it."""
    along = inner_axis(lo, hi, rank, axis)
    length, step, least = 1, 1, 1
    if along >= 0:
        length, step = hi[along] - lo[along], strides[along]
        least = 1 + (along < sizes)
    offset = first(strides, lo, at, rank) + (position - lo[axis]) * strides[axis]
    at[axis] = position
    while offset >= 0:
        asked = 1 << 30  # the bit of a point without a cost
        for k in range(rank):
            if k != along and at[k] > lo[k] + (k < sizes):
                asked |= 1 << k
        for i in range(min(least, length)):
            if bends[offset + i * step] & asked:
                return 0
        if length > least:
            asked |= 1 << along
            for i in range(least, length):
                if bends[offset + i * step] & asked:
                    return 0
        offset = next_row(offset, strides, lo, hi, at, rank, axis, along)
    return 1


@inner
def lay_out(slices: F64, place: I32, points: int, dense: F64) -> int:
    """Put the costs of points at each of some slices into an array; -1 for those that
    are infinite."""
    width = len(slices) // points
    to = 0
    for point in range(points):
        row = point * width
        for s in place:
            cost = slices[row + s]
            dense[to] = cost if cost != np.inf else -1.0
            to += 1
    return 0


@inner
def tell_corners(
    costs: F64, strides: I64, long: I64, lo: I64, hi: I64, sizes: int, dims: int,
    corners: I64, told: I64, first: int, offset: int,
) -> tuple[int, int]:  # fmt: skip
    """Write the costs of a box that tell all: those at both ends of each axis of sizes
    along which costs differ. A bit for each such axis, the last the lowest, and where
    the next box's go, -1 if there is no room.

    ``offset`` is that of the box; ``corners`` is room for the offsets of all corners.
    """
    corners[0] = offset
    count = 1
    for back in range(sizes):
        j = sizes - 1 - back
        if hi[j] - lo[j] > 1:
            step = (hi[j] - 1 - lo[j]) * strides[j]
            for c in range(count):
                corners[count + c] = corners[c] + step
            count = 2 * count
    mask, differing, bit = 0, 0, 1
    for back in range(sizes):
        j = sizes - 1 - back
        if hi[j] - lo[j] > 1:
            for c in range(count):
                if not c & bit and costs[corners[c]] != costs[corners[c + bit]]:
                    mask |= 1 << (dims - 1 - long[j])
                    differing |= bit
                    break
            bit = 2 * bit
    corner, place = 0, first
    while place < len(told):
        told[place] = int(costs[corners[corner]])
        place += 1
        if corner == differing:
            return mask, place
        corner = (corner - differing) & differing
    return mask, -1


@inner
def merge_limits(place: I32, shape: I64, dims: int, extents: I64, firsts: I64) -> int:
    """`merge_axes` for the limits alone: sizes stay as they are."""
    begin = 0
    for k in range(len(shape)):
        extents[k] = shape[k]
        if k < dims:
            for i in range(shape[k] + 1):
                firsts[begin + i] = i
            begin += shape[k] + 1
    return merge_axes(place, extents[dims:], firsts[begin:], len(shape) - dims)


@inner
def grow(
    bends: I32, sizes: int, shape: I64, strides: I64, lo: I64, hi: I64, at: I64,
    rank: int,
) -> int:  # fmt: skip
    """Grow a box along limits, where neighbours are mostly equal, then along sizes."""
    for j in range(rank):
        k = rank - 1 - j if j < rank - sizes else j - (rank - sizes)
        while hi[k] < shape[k]:
            if not is_straight(bends, sizes, strides, lo, hi, at, rank, k, hi[k]):
                break
            hi[k] += 1
    return 0


@inner
def cover_costs(
    slices: F64, place: I32, shape: I64, dims: int, coordinates: I64, starts: I64,
    costs: F64, covered: I8, bends: I32, words: I64, firsts: I64, corners: I64,
    boxes: I32, varying: I32, told: I64,
) -> int:  # fmt: skip
    """Boxes that hold every finite cost and are affine along each line of the first
    ``dims`` axes, those of sizes; ``place`` says which slice each combination of limits
    has, and then which each of those has that are no neighbours of equal ones.

    ``varying`` and ``told`` get what `tell_corners` says of each box; the first of
    ``corners`` is then how many numbers those are. The answer is as that of
    `cover_labels`; the arrays from ``costs`` to ``corners`` are room.
    """
    points = 1
    for k in range(dims):
        points = points * shape[k]
    corners[0] = 0
    if points == 0 or len(place) == 0:
        return 0
    extents, long, strides, ends = words[0], words[1], words[2], words[3]
    lo, hi, at, begins = words[4], words[5], words[6], words[7]
    chosen = merge_limits(place, shape, dims, extents, firsts)
    lay_out(slices, place[:chosen], points, costs)
    costs = costs[: points * chosen]
    covered[: len(costs)] = 0
    bends[: len(costs)] = 0
    rank = long_axes(extents, long, strides, len(shape))
    sizes = 0
    for j in range(rank):
        ends[j], begins[j] = extents[long[j]], starts[long[j]]
        sizes += long[j] < dims
    mark_bends(costs, ends[:rank], strides, coordinates, begins, sizes, bends)
    count, total = 0, 0
    for point in range(len(costs)):
        if not covered[point] and costs[point] >= 0:
            if count == len(varying):
                return -1
            start(point, ends, strides, lo, hi, rank)
            grow(bends, sizes, ends, strides, lo, hi, at, rank)
            cover(covered, strides, lo, hi, at, rank)
            write_box(boxes, count, shape, long, lo, hi, rank, firsts)
            mask, total = tell_corners(
                costs, strides, long, lo, hi, sizes, dims, corners, told, total, point
            )
            if total < 0:
                return -1
            varying[count] = mask
            count += 1
    corners[0] = total
    return count
