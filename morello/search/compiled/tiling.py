"""The tiling recurrence: loops over tiles, and reductions that are peeled.

Point after point, ascending, so that the holes of all loops of a point are final when
it is settled: for each axis d, and each loop of the point along it,

    T[p, i] = min(T[p, i], trips · H[t, i] + share · H[r, i] + own)

over the slices i of a table, where t and r are p with the tile, or the remainder, as
its coordinate along d, and H is T itself or the table of the holes. A remainder without
a program rules its loop out even where it does not count: 0 · inf is no number, and
less than nothing. Before its loops, for each reduction that may be peeled,

    T[p, i] = min(T[p, i], others[p, i] + T[f, i])

where f is p with the first part as its coordinate.
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
    costs: F64, decisions: I32, below: F64, rests: F64, width: int, axis: I64,
    point: int,
) -> None:  # fmt: skip
    """Let the loops along an axis decide a point: ``costs`` are its slices.

    Tiles cost what ``below`` says, and what remains what ``rests`` says.
    """
    begin, end, first, inner = span(axis, point)
    stride, main, rest = axis[STRIDE], integers(axis[MAIN]), integers(axis[REST])
    trips, share, own = floats(axis[TRIPS]), floats(axis[SHARE]), floats(axis[PRICE])
    codes = shorts(axis[CODES])
    for s in range(begin, end):
        t = ((first + main[s]) * stride + inner) * width
        tile = below[t : t + width]
        q, w, code = trips[s], own[s], codes[s]
        if rest[s] < 0:
            for a in range(width):
                cost = tile[a] * q + w
                if cost < costs[a]:
                    costs[a] = cost
                    decisions[a] = code
        else:
            r = ((first + rest[s]) * stride + inner) * width
            left, h = rests[r : r + width], share[s]
            for a in range(width):
                cost = tile[a] * q + w + left[a] * h
                if cost < costs[a]:
                    costs[a] = cost
                    decisions[a] = code


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
def sweep(
    costs: F64, decisions: I32, below: F64, width: int, axes: I64, peels: I64
) -> int:
    """Settle every point of a table; ``below`` is ``costs`` if loops stay in it."""
    for point in range(len(costs) // width):
        row = point * width
        own, chosen = costs[row : row + width], decisions[row : row + width]
        for e in range(len(peels)):
            choose_peel(own, chosen, costs, width, peels[e], point)
        for d in range(len(axes)):
            choose_loops(own, chosen, below, below, width, axes[d], point)
    return 0


@inner
def sweep_around(
    costs: F64, decisions: I32, own: F64, chosen: I32, axes: I64, peels: I64,
    fixed: Flags,
) -> int:  # fmt: skip
    """Settle every point of a table except those that are already decided.

    ``own`` and ``chosen`` are room for a point.
    """
    width = len(own)
    for point in range(len(costs) // width):
        row = point * width
        for a in range(width):
            own[a] = costs[row + a]
            chosen[a] = decisions[row + a]
        for e in range(len(peels)):
            choose_peel(own, chosen, costs, width, peels[e], point)
        for d in range(len(axes)):
            choose_loops(own, chosen, costs, costs, width, axes[d], point)
        for a in range(width):
            if not fixed[row + a]:
                costs[row + a] = own[a]
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
