"""Compression of decisions: a greedy cover of an array of labels by boxes.

Each is grown from the first point that none has, as far as it goes along one axis after
another, both ways; boxes may overlap.
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

I64 = np.ndarray[Any, np.dtype[np.int64]]
I32 = np.ndarray[Any, np.dtype[np.int32]]
I8 = np.ndarray[Any, np.dtype[np.int8]]


@inner
def is_equal(
    labels: I32, covered: I8, strides: I64, lo: I64, hi: I64, at: I64, rank: int,
    axis: int, position: int, label: int, over: int,
) -> int:  # fmt: skip
    """Whether the slab at ``position`` of an axis has one label.

    If ``over``, points that have a box already may have any.
    """
    along = inner_axis(lo, hi, rank, axis)
    length, step = 1, 1
    if along >= 0:
        length, step = hi[along] - lo[along], strides[along]
    offset = first(strides, lo, at, rank) + (position - lo[axis]) * strides[axis]
    while offset >= 0:
        for i in range(length):
            here = offset + i * step
            if labels[here] != label and (not over or not covered[here]):
                return 0
        offset = next_row(offset, strides, lo, hi, at, rank, axis, along)
    return 1


@inner
def volume(lo: I64, hi: I64, rank: int, axis: int) -> int:
    """The points of a slab across an axis."""
    points = 1
    for k in range(rank):
        if k != axis:
            points = points * (hi[k] - lo[k])
    return points


@inner
def spread(
    labels: I32, covered: I8, shape: I64, strides: I64, lo: I64, hi: I64, at: I64,
    rank: int, label: int, over: int, bound: int,
) -> int:  # fmt: skip
    """Grow a box of one label both ways along every axis."""
    for k in range(rank):
        if volume(lo, hi, rank, k) <= bound:
            while hi[k] < shape[k]:
                if not is_equal(
                    labels, covered, strides, lo, hi, at, rank, k, hi[k], label, over
                ):
                    break
                hi[k] += 1
            while lo[k] > 0:
                if not is_equal(
                    labels, covered, strides, lo, hi, at, rank, k, lo[k] - 1, label,
                    over,
                ):  # fmt: skip
                    break
                lo[k] -= 1
    return 0


@inner
def queue_labels(labels: I32, counts: I64, queue: I32) -> int:
    """Put the points that have a label into a queue, those of rare labels first and the
    points of one ascending; how many there are, or -1 for a label that is too great.

    ``counts`` has three rows of room, each as long as labels may be many.
    """
    number, begin, order = counts[0], counts[1], counts[2]
    number[:] = 0
    most = -1
    for label in labels:
        if label >= len(number):
            return -1
        if label >= 0:
            number[label] += 1
            most = max(most, label)
    used = 0
    for label in range(most + 1):
        if number[label]:
            j = used
            while j > 0 and number[order[j - 1]] > number[label]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = label
            used += 1
    total = 0
    for j in range(used):
        begin[order[j]] = total
        total += number[order[j]]
    for point in range(len(labels)):
        label = labels[point]
        if label >= 0:
            queue[begin[label]] = point
            begin[label] += 1
    return total


@inner
def cover_labels(
    whole: I32, shape: I64, bound: int, labels: I32, covered: I8, queue: I32,
    counts: I64, words: I64, firsts: I64, boxes: I32, chosen: I32,
) -> int:  # fmt: skip
    """Boxes that hold every label that is not negative; the first that has a point
    gives its label.

    Neighbours along an axis that have equal labels everywhere are merged before. Boxes
    grow over earlier ones while their slabs have at most ``bound`` points. So labels of
    few points go first, and the boxes of others grow over theirs.

    ``boxes`` gets both ends of each box, ``chosen`` its label; the answer is how many
    there are, or -1 if there are more than these arrays have room for. The arrays
    between ``bound`` and these are room.
    """
    points = len(whole)
    if points == 0:
        return 0
    extents, long, strides, ends = words[0], words[1], words[2], words[3]
    lo, hi, at = words[4], words[5], words[6]
    for k in range(len(shape)):
        extents[k] = shape[k]
    for point in range(points):
        labels[point] = whole[point]
    points = merge_axes(labels, extents, firsts, len(shape))
    labels = labels[:points]
    covered[:points] = 0
    rank = long_axes(extents, long, strides, len(shape))
    for j in range(rank):
        ends[j] = extents[long[j]]
    queued = queue_labels(labels, counts, queue)
    if queued < 0:
        return -1
    count = 0
    for point in queue[:queued]:
        if not covered[point]:
            label = labels[point]
            if count == len(chosen):
                return -1
            start(point, ends, strides, lo, hi, rank)
            spread(
                labels, covered, ends, strides, lo, hi, at, rank, label, 0, points,

            )  # fmt: skip
            spread(
                labels, covered, ends, strides, lo, hi, at, rank, label, 1, bound,

            )  # fmt: skip
            cover(covered, strides, lo, hi, at, rank)
            write_box(boxes, count, shape, long, lo, hi, rank, firsts)
            chosen[count] = label
            count += 1
    return count
