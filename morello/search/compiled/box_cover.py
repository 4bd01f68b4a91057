"""The loops of compression: greedy covers of an array by boxes.

A box is a half-open range of positions on every axis. Each is grown from the first
point that none has, as far as it goes along one axis after another; boxes may overlap.
Arrays are C-contiguous; ``strides`` count elements.
"""

from typing import Any

import numpy as np

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
    costs: F64, shape: I64, strides: I64, coordinates: I64, starts: I64, is_affine: I8,
    bends: I32,
) -> int:  # fmt: skip
    """Say of each point along which axes its cost does not follow from those below.

    ``bends`` gets bit k where the cost is off the line through the two points below it
    on axis k, or, where the axis is not affine, differs from that of the point below.
    All bits are set where there is no cost.
    """
    for k in range(len(shape)):
        bit = 1 << k
        if is_affine[k]:
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
    bends: I32, is_affine: I8, strides: I64, lo: I64, hi: I64, at: I64, rank: int,
    axis: int, position: int,
) -> int:  # fmt: skip
    """Whether a box with one more slab, above it, is affine along every line in it."""
    along = inner_axis(lo, hi, rank, axis)
    length, step, least = 1, 1, 1
    if along >= 0:
        length, step = hi[along] - lo[along], strides[along]
        least = 1 + is_affine[along]
    offset = first(strides, lo, at, rank) + (position - lo[axis]) * strides[axis]
    at[axis] = position
    while offset >= 0:
        asked = 1 << 30  # the bit of a point without a cost
        for k in range(rank):
            if k != along and at[k] > lo[k] + is_affine[k]:
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
def volume(lo: I64, hi: I64, rank: int, axis: int) -> int:
    """The points of a slab across an axis."""
    points = 1
    for k in range(rank):
        if k != axis:
            points = points * (hi[k] - lo[k])
    return points


@inner
def spread(
    labels: I32, covered: I8, shape: I64, strides: I64, order: I64, lo: I64, hi: I64,
    at: I64, rank: int, label: int, over: int, bound: int,
) -> int:  # fmt: skip
    """Grow a box of one label both ways along every axis."""
    for j in range(rank):
        k = order[j]
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
def count_labels(labels: I32, counts: I64) -> int:
    """Add up how many points have each label that is not negative."""
    for label in labels:
        if label >= 0:
            counts[label] += 1
    return 0


@inner
def queue_points(labels: I32, ends: I64, queue: I32) -> int:
    """Put the points of each label, ascending, into its part of a queue.

    ``ends`` has for each label where its part begins, and then where it ends.
    """
    for point in range(len(labels)):
        label = labels[point]
        if label >= 0:
            queue[ends[label]] = point
            ends[label] += 1
    return 0


@inner
def cover_labels(
    labels: I32, covered: I8, shape: I64, strides: I64, order: I64, lo: I64, hi: I64,
    at: I64, queue: I32, bound: int, boxes: I32, found: I32,
) -> int:  # fmt: skip
    """Boxes that hold every label that is not negative; the first that has a point
    gives its label.

    Boxes grow over earlier ones while their slabs have at most ``bound`` points. So
    ``queue`` has the points label after label: those of few points go first, and the
    boxes of others grow over theirs.

    ``boxes`` gets both ends of each box, ``found`` its label; the answer is how many
    there are, or -1 if there are more than these arrays have room for.
    """
    count, rank, points = 0, len(shape), len(labels)
    for point in queue:
        if not covered[point]:
            label = labels[point]
            if count == len(found):
                return -1
            start(point, shape, strides, lo, hi, rank)
            spread(
                labels, covered, shape, strides, order, lo, hi, at, rank, label, 0,
                points,
            )  # fmt: skip
            spread(
                labels, covered, shape, strides, order, lo, hi, at, rank, label, 1,
                bound,
            )  # fmt: skip
            cover(covered, strides, lo, hi, at, rank)
            for k in range(rank):
                boxes[(2 * count) * rank + k] = lo[k]
                boxes[(2 * count + 1) * rank + k] = hi[k]
            found[count] = label
            count += 1
    return count


@inner
def cover_costs(
    costs: F64, covered: I8, shape: I64, strides: I64, order: I64, lo: I64, hi: I64,
    at: I64, coordinates: I64, starts: I64, is_affine: I8, bends: I32, boxes: I32,
) -> int:  # fmt: skip
    """Boxes that hold every cost that is not negative and are affine along each line.

    ``bends`` is zero, one number a point. The answer is as that of `cover_labels`.
    """
    count, rank = 0, len(shape)
    mark_bends(costs, shape, strides, coordinates, starts, is_affine, bends)
    for point in range(len(costs)):
        if not covered[point] and costs[point] >= 0:
            if 2 * (count + 1) * rank > len(boxes):
                return -1
            start(point, shape, strides, lo, hi, rank)
            for j in range(rank):
                k = order[j]
                while hi[k] < shape[k]:
                    if not is_straight(
                        bends, is_affine, strides, lo, hi, at, rank, k, hi[k]
                    ):
                        break
                    hi[k] += 1
            cover(covered, strides, lo, hi, at, rank)
            for k in range(rank):
                boxes[(2 * count) * rank + k] = lo[k]
                boxes[(2 * count + 1) * rank + k] = hi[k]
            count += 1
    return count


@inner
def paint_labels(
    labels: I32, strides: I64, lo: I64, hi: I64, at: I64, boxes: I32, found: I32,
) -> int:  # fmt: skip
    """Put boxes back, the last first: what `cover_labels` was given."""
    rank, box = len(strides), len(found) - 1
    while box >= 0:
        for k in range(rank):
            lo[k] = boxes[(2 * box) * rank + k]
            hi[k] = boxes[(2 * box + 1) * rank + k]
        offset = first(strides, lo, at, rank)
        while offset >= 0:
            labels[offset] = found[box]
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
    offset: int, is_affine: I8, strides: I64, lo: I64, hi: I64, at: I64, rank: int,
    axis: int,
) -> int:  # fmt: skip
    """The next line along an axis of a box of which the axes after it are filled; those
    before it are at their ends yet, or at the first position. -1 after the last."""
    k = rank - 1
    while k >= 0:
        move = 1
        last = hi[k]
        if k < axis:
            move = (hi[k] - lo[k] - 1) * is_affine[k]
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
    costs: F64, coordinates: I64, starts: I64, is_affine: I8, strides: I64, lo: I64,
    hi: I64, at: I64, rank: int, axis: int,
) -> int:  # fmt: skip
    """Fill every line along an axis."""
    length = hi[axis] - lo[axis]
    if length == 1:
        return 0
    offset = first(strides, lo, at, rank)
    while offset >= 0:
        if is_affine[axis]:
            base = starts[axis] + lo[axis]
            fill_line(costs, coordinates, base, offset, strides[axis], length)
        else:
            repeat(costs, offset, strides[axis], length)
        offset = next_line(offset, is_affine, strides, lo, hi, at, rank, axis)
    return 0


@inner
def paint_costs(
    costs: F64, coordinates: I64, starts: I64, is_affine: I8, strides: I64, lo: I64,
    hi: I64, at: I64, boxes: I32, corners: I64, ends: int,
) -> int:  # fmt: skip
    """Put boxes back: what `cover_costs` was given.

    ``corners`` has ``ends`` costs a box: at both ends of every affine axis, the last
    axis fastest.
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
                if is_affine[k]:
                    if rest % 2:
                        offset += (hi[k] - lo[k] - 1) * strides[k]
                    rest = rest // 2
                k -= 1
            costs[offset] = corners[box * ends + corner]
        axis = rank - 1
        while axis >= 0:
            fill_lines(
                costs, coordinates, starts, is_affine, strides, lo, hi, at, rank, axis
            )
            axis -= 1
    return 0
