"""The tiling recurrence: loops over tiles, and reductions that are peeled.

Point after point, ascending, so that the holes of all loops of a point are final when
it is settled: for each axis d, and each loop of the point along it,

    T[p, i] = min(T[p, i], trips · H[t, i] + share · H[r, i] + own)

over the slices i of a table, where t and r are p with the tile, or the remainder, as
its coordinate along d, and H is T itself or the table of the holes. A remainder without
a program rules its loop out even where it does not count: 0 · inf is no number, and
less than nothing. Before its loops, for each reduction that may be peeled,

    T[p, i] = min(T[p, i], others[p, i] + T[f, i])

where f is p with the first part as its coordinate. Without those, loops along all axes
but the innermost are compared for a run of points at once (`settle_run`).
"""

from typing import Any

import numpy as np

from morello.search.compiled.jit import inner
from morello.search.compiled.pointers import floats, integers, shorts
from morello.search.compiled.words import (
    BELOW,
    CODES,
    EXTENT,
    MAIN,
    OTHERS,
    PEEL_CODE,
    PLACE,
    PRICE,
    REST,
    SHARE,
    STARTS,
    STRIDE,
    TRIPS,
)

F64 = np.ndarray[Any, np.dtype[np.float64]]
I64 = np.ndarray[Any, np.dtype[np.int64]]
I32 = np.ndarray[Any, np.dtype[np.int32]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@inner
def span(axis: I64, point: int) -> tuple[int, int, int, int]:
    """The first and the end index of the loops of a point along an axis, the first row
    of their children, and the index of the point among those with its coordinate."""
    place = point // axis[STRIDE]
    outer = place // axis[EXTENT]
    at = place - outer * axis[EXTENT]
    starts = integers(axis[STARTS])
    inner = point - place * axis[STRIDE]
    return starts[at], starts[at + 1], outer * axis[BELOW], inner


@inner
def choose_loops(
    costs: F64, decisions: I32, below: F64, rests: F64, width: int, count: int,
    axis: I64, point: int,
) -> None:  # fmt: skip
    """Let the loops along an axis decide a point, or neighbours of one coordinate along
    it: ``costs`` are their slices, ``count`` in all.

    Tiles cost what ``below`` says, and what remains what ``rests`` says. Without
    branches, several slices are compared at once.
    """
    begin, end, first, inner = span(axis, point)
    stride, main, rest = axis[STRIDE], integers(axis[MAIN]), integers(axis[REST])
    trips, share, prices = floats(axis[TRIPS]), floats(axis[SHARE]), floats(axis[PRICE])
    codes = shorts(axis[CODES])
    for s in range(begin, end):
        t = ((first + main[s]) * stride + inner) * width
        tile = below[t : t + count]
        q, w, code = trips[s], prices[s], codes[s]
        if rest[s] < 0:
            for a in range(count):
                cost = tile[a] * q + w
                is_less = cost < costs[a]
                costs[a] = cost if is_less else costs[a]
                decisions[a] = code if is_less else decisions[a]
        else:
            r = ((first + rest[s]) * stride + inner) * width
            left, h = rests[r : r + count], share[s]
            for a in range(count):
                cost = tile[a] * q + w + left[a] * h
                is_less = cost < costs[a]
                costs[a] = cost if is_less else costs[a]
                decisions[a] = code if is_less else decisions[a]


@inner
def choose_peel(
    costs: F64, decisions: I32, table: F64, width: int, peel: I64, point: int
) -> None:
    """Let a peeled reduction decide a point: ``costs`` are its slices."""
    stride, place = peel[STRIDE], peel[PLACE]
    at = point // stride % peel[EXTENT]
    if at <= place:
        return
    first = (point - (at - place) * stride) * width
    others, row = floats(peel[OTHERS]), point * width
    for a in range(width):
        cost = others[row + a] + table[first + a]
        if cost < costs[a]:
            costs[a] = cost
            decisions[a] = peel[PEEL_CODE]


@inner
def innermost(axes: I64, peels: I64) -> int:
    """The axis along which points follow each other, where loops along the others
    decide a run of points at once; -1 where each point is settled for itself: where
    reductions are peeled, or an axis is within that one."""
    if len(axes) == 0 or len(peels) > 0:
        return -1
    least = 0
    for d in range(len(axes)):
        if axes[d][STRIDE] < axes[least][STRIDE]:
            least = d
    run = axes[least][STRIDE] * axes[least][EXTENT]
    for d in range(len(axes)):
        if d != least and axes[d][STRIDE] < run:
            return -1
    return least


@inner
def sweep(
    costs: F64, decisions: I32, below: F64, later: F64, chosen: I32, width: int,
    axes: I64, peels: I64,
) -> int:  # fmt: skip
    """Settle every point of a table; ``below`` is ``costs`` if loops stay in it.

    ``later`` and ``chosen`` are room for a run.
    """
    least = innermost(axes, peels)
    if least >= 0:
        run = axes[least][STRIDE] * axes[least][EXTENT]
        for start in range(0, len(costs) // width, run):
            row, end = start * width, (start + run) * width
            run_costs, codes = costs[row:end], decisions[row:end]
            settle_run(
                run_costs, codes, below, later, chosen, width, axes, least, start
            )
        return 0
    for point in range(len(costs) // width):
        row = point * width
        run_costs, codes = costs[row : row + width], decisions[row : row + width]
        for e in range(len(peels)):
            choose_peel(run_costs, codes, costs, width, peels[e], point)
        for d in range(len(axes)):
            choose_loops(run_costs, codes, below, below, width, width, axes[d], point)
    return 0


@inner
def settle_run(
    costs: F64, decisions: I32, below: F64, later: F64, chosen: I32, width: int,
    axes: I64, least: int, start: int,
) -> None:  # fmt: skip
    """Settle the points, from ``start`` on, of one coordinate along each axis but
    ``least``, the innermost.

    Loops along these axes go to runs before it, and are compared for all of its points
    at once. Of equal costs those of the first axis decide: what loops along axes after
    the innermost cost waits in ``later``.
    """
    count, part = len(costs), axes[least][STRIDE]
    few, waits = part * width, 0
    for d in range(least):
        choose_loops(costs, decisions, below, below, width, count, axes[d], start)
    if least + 1 < len(axes):
        waits = few
        for a in range(count):
            later[a] = np.inf
    for d in range(least + 1, len(axes)):
        choose_loops(later, chosen, below, below, width, count, axes[d], start)
    for k in range(axes[least][EXTENT]):
        at, point = k * few, start + k * part
        part_costs, codes = costs[at : at + few], decisions[at : at + few]
        choose_loops(part_costs, codes, below, below, width, few, axes[least], point)
        for a in range(waits):
            is_less = later[at + a] < part_costs[a]
            part_costs[a] = later[at + a] if is_less else part_costs[a]
            codes[a] = chosen[at + a] if is_less else codes[a]


@inner
def sweep_around(
    costs: F64, decisions: I32, point_costs: F64, chosen: I32, axes: I64, peels: I64,
    fixed: Flags,
) -> int:  # fmt: skip
    """Settle every point of a table except those that are already decided.

    ``point_costs`` and ``chosen`` are room for a point.
    """
    width = len(point_costs)
    for point in range(len(costs) // width):
        row = point * width
        for a in range(width):
            point_costs[a] = costs[row + a]
            chosen[a] = decisions[row + a]
        for e in range(len(peels)):
            choose_peel(point_costs, chosen, costs, width, peels[e], point)
        for d in range(len(axes)):
            choose_loops(
                point_costs, chosen, costs, costs, width, width, axes[d], point
            )
        for a in range(width):
            if not fixed[row + a]:
                costs[row + a] = point_costs[a]
                decisions[row + a] = chosen[a]
    return 0


@inner
def equal_columns(columns: F64, first: I64, old: I64) -> int:
    """Put the first column of a matrix that equals it into ``first`` for each column.

    ``old`` is room for as many.

    Row by row: columns that were equal so far part where a row has them differ.
    """
    rows, count = columns.shape
    for row in range(rows):
        line = columns[row]
        differs = False
        for j in range(1, count):
            if line[j] != line[first[j]]:
                differs = True
                break
        if differs:
            for j in range(count):
                old[j] = first[j]
            for j in range(1, count):
                k = old[j]
                while old[k] != old[j] or line[j] != line[k]:
                    k += 1
                first[j] = k
    return 0
