"""Walks over the points of boxes, and axes along which equal neighbours are merged.

A box is a half-open range of positions on every axis. Arrays are C-contiguous;
``strides`` count elements.
"""

from typing import Any

import numpy as np

from morello.search.compiled.jit import inner

I64 = np.ndarray[Any, np.dtype[np.int64]]
I32 = np.ndarray[Any, np.dtype[np.int32]]
I8 = np.ndarray[Any, np.dtype[np.int8]]


@inner
def first(strides: I64, lo: I64, at: I64, rank: int) -> int:
    """The first point of a box."""
    offset = 0
    for k in range(rank):
        at[k] = lo[k]
        offset += lo[k] * strides[k]
    return offset


@inner
def inner_axis(lo: I64, hi: I64, rank: int, axis: int) -> int:
    """The last axis but ``axis`` along which a box is longer than a point: loops along
    it are the innermost. -1 if there is none."""
    k = rank - 1
    while k >= 0:
        if k != axis and hi[k] - lo[k] > 1:
            return k
        k -= 1
    return -1


@inner
def next_row(
    offset: int, strides: I64, lo: I64, hi: I64, at: I64, rank: int, axis: int,
    along: int,
) -> int:  # fmt: skip
    """The first point of the next row along an axis, in a slab across another (of a
    box, one point after another, where these are -1); -1 at the end.

    ``at`` goes along with it.
    """
    k = rank - 1
    while k >= 0:
        if k != axis and k != along:
            at[k] += 1
            offset += strides[k]
            if at[k] < hi[k]:
                return offset
            offset -= (hi[k] - lo[k]) * strides[k]
            at[k] = lo[k]
        k -= 1
    return -1


@inner
def cover(covered: I8, strides: I64, lo: I64, hi: I64, at: I64, rank: int) -> int:
    """Mark the points of a box."""
    along = inner_axis(lo, hi, rank, -1)
    length, step = 1, 1
    if along >= 0:
        length, step = hi[along] - lo[along], strides[along]
    offset = first(strides, lo, at, rank)
    while offset >= 0:
        for i in range(length):
            covered[offset + i * step] = 1
        offset = next_row(offset, strides, lo, hi, at, rank, -1, along)
    return 0


@inner
def start(point: int, shape: I64, strides: I64, lo: I64, hi: I64, rank: int) -> int:
    """Make the box of one point."""
    rest = point
    for k in range(rank):
        lo[k] = rest // strides[k]
        rest = rest % strides[k]
        hi[k] = lo[k] + 1
    return 0


@inner
def merge_axes(values: I32, extents: I64, firsts: I64, rank: int) -> int:
    """Keep one of equal neighbours along each axis, in place; how many values stay.

    ``extents`` gets the shape that stays, ``firsts`` for each axis where its positions
    began, and its end: one number more than it had positions.
    """
    points, base = 1, 0
    for k in range(rank):
        points = points * extents[k]
        base += extents[k] + 1
    block = 1
    for axis in range(rank):
        k = rank - 1 - axis
        extent = extents[k]
        base -= extent + 1
        count = mark_changes(values[:points], firsts[base:], extent, block)
        if count < extent:
            points = points // extent * count
            to = 0
            for outer in range(points // (count * block)):
                for i in range(count):
                    first = (outer * extent + firsts[base + i]) * block
                    for p in range(first, first + block):
                        values[to] = values[p]
                        to += 1
        extents[k] = count
        block = block * count
    return points


@inner
def mark_changes(values: I32, firsts: I64, extent: int, block: int) -> int:
    """Mark the first of each run of equal positions along an axis of blocks, then the
    end; count the runs."""
    for i in range(extent):
        firsts[i] = 0
    same = extent - 1
    row = 0
    while same > 0 and row < len(values):
        for i in range(1, extent):
            if firsts[i] == 0:
                here = row + i * block
                for p in range(here, here + block):
                    if values[p] != values[p - block]:
                        firsts[i] = 1
                        same -= 1
                        break
        row += extent * block
    count = 1
    for i in range(1, extent):
        if firsts[i]:
            firsts[count] = i
            count += 1
    firsts[count] = extent
    return count


@inner
def long_axes(extents: I64, long: I64, strides: I64, rank: int) -> int:
    """Put the axes that have more than one position into ``long``, and the steps along
    them into ``strides``; how many there are. Boxes grow along these alone."""
    count = 0
    for k in range(rank):
        if extents[k] > 1:
            long[count] = k
            count += 1
    step = 1
    for j in range(count):
        strides[count - 1 - j] = step
        step = step * extents[long[count - 1 - j]]
    return count


@inner
def write_box(
    boxes: I32, place: int, shape: I64, long: I64, lo: I64, hi: I64, count: int,
    firsts: I64,
) -> int:  # fmt: skip
    """Write a box of the axes ``long`` as one of all, at the positions that there were
    before equal ones were merged."""
    rank = len(shape)
    low, high = 2 * place * rank, (2 * place + 1) * rank
    base, j = 0, 0
    for k in range(rank):
        boxes[low + k] = 0
        boxes[high + k] = shape[k]
        if j < count and long[j] == k:
            boxes[low + k] = firsts[base + lo[j]]
            boxes[high + k] = firsts[base + hi[j]]
            j += 1
        base += shape[k] + 1
    return 0
