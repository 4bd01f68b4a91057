"""Arrays from boxes: what the covers of labels and of costs stand for, exactly."""

from typing import Any

import numpy as np

from morello.search.compiled.box_walk import first, next_row
from morello.search.compiled.jit import inner

F64 = np.ndarray[Any, np.dtype[np.float64]]
I64 = np.ndarray[Any, np.dtype[np.int64]]
I32 = np.ndarray[Any, np.dtype[np.int32]]


@inner
def paint_labels(
    labels: I32, strides: I64, lo: I64, hi: I64, at: I64, boxes: I32, box_labels: I32,
) -> int:  # fmt: skip
    """Put boxes back, the last first: what `cover_labels` was given."""
    rank, box = len(strides), len(box_labels) - 1
    while box >= 0:
        for k in range(rank):
            lo[k] = boxes[(2 * box) * rank + k]
            hi[k] = boxes[(2 * box + 1) * rank + k]
        offset = first(strides, lo, at, rank)
        while offset >= 0:
            labels[offset] = box_labels[box]
            offset = next_row(offset, strides, lo, hi, at, rank, -1, -1)
        box -= 1
    return 0


@inner
def greatest_common_divisor(a: int, b: int) -> int:
    """The greatest common divisor of two non-negative integers."""
    while b:
        rest = a % b
        a = b
        b = rest
    return a


@inner
def fill_line(
    costs: F64, coordinates: I64, base: int, offset: int, step: int, length: int
) -> int:
    """Put costs between the ends of a line, exactly: no product is greater than they
    are, since the slope is in lowest terms."""
    low = int(costs[offset])
    high = int(costs[offset + (length - 1) * step])
    whole = coordinates[base + length - 1] - coordinates[base]
    sign = 1
    if high < low:
        sign = -1
    unit = greatest_common_divisor(sign * (high - low), whole)
    rise = sign * (high - low) // unit
    run = whole // unit
    for i in range(1, length - 1):
        along = (coordinates[base + i] - coordinates[base]) // run
        costs[offset + i * step] = low + sign * rise * along
    return 0


@inner
def repeat(costs: F64, offset: int, step: int, length: int) -> int:
    """Put the first cost of a line in all of it."""
    for i in range(1, length):
        costs[offset + i * step] = costs[offset]
    return 0


@inner
def next_line(
    offset: int, sizes: int, strides: I64, lo: I64, hi: I64, at: I64, rank: int,
    axis: int,
) -> int:  # fmt: skip
    """The next line along an axis of a box of which the axes after it are filled; those
    before it are at their ends yet, or at the first position. -1 after the last."""
    k = rank - 1
    while k >= 0:
        move = 1
        last = hi[k]
        if k < axis:
            move = (hi[k] - lo[k] - 1) * (k < sizes)
        if k == axis:
            move = 0
        if move > 0:
            at[k] += move
            offset += move * strides[k]
            if at[k] < last:
                return offset
            offset -= (at[k] - lo[k]) * strides[k]
            at[k] = lo[k]
        k -= 1
    return -1


@inner
def fill_lines(
    costs: F64, coordinates: I64, starts: I64, sizes: int, strides: I64, lo: I64,
    hi: I64, at: I64, rank: int, axis: int,
) -> int:  # fmt: skip
    """Fill every line along an axis."""
    length = hi[axis] - lo[axis]
    if length == 1:
        return 0
    offset = first(strides, lo, at, rank)
    while offset >= 0:
        if axis < sizes:
            base = starts[axis] + lo[axis]
            fill_line(costs, coordinates, base, offset, strides[axis], length)
        else:
            repeat(costs, offset, strides[axis], length)
        offset = next_line(offset, sizes, strides, lo, hi, at, rank, axis)
    return 0


@inner
def paint_costs(
    costs: F64, coordinates: I64, starts: I64, sizes: int, strides: I64, lo: I64,
    hi: I64, at: I64, boxes: I32, corners: I64, ends: int,
) -> int:  # fmt: skip
    """Put boxes back: what `cover_costs` was given.

    ``corners`` has ``ends`` costs a box: at both ends of every axis of ``sizes``, the
    last axis fastest.
    """
    rank = len(strides)
    for box in range(len(corners) // ends):
        for k in range(rank):
            lo[k] = boxes[(2 * box) * rank + k]
            hi[k] = boxes[(2 * box + 1) * rank + k]
        for corner in range(ends):
            offset = 0
            rest = corner
            k = rank - 1
            while k >= 0:
                offset += lo[k] * strides[k]
                if k < sizes:
                    if rest % 2:
                        offset += (hi[k] - lo[k] - 1) * strides[k]
                    rest = rest // 2
                k -= 1
            costs[offset] = corners[box * ends + corner]
        axis = rank - 1
        while axis >= 0:
            fill_lines(
                costs, coordinates, starts, sizes, strides, lo, hi, at, rank, axis
            )
            axis -= 1
    return 0
