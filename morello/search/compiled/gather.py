"""Gathers: actions whose holes are in other tables, all of one table in one call.

For each point p of the sizes and of what is left of registers, and each pair of what is
left of all caches but the farthest (i) and of that one (j)::

    T[p, i, j] = min(T[p, i, j], price[p, i, j] + sum of times[p] · H[at[p], slice[
                     fixed[p] + nearer[p, i] + farthest[p, j]]])

over the holes H of an action. ``price`` is infinite where the action does not apply. A
place that is negative has no program, one that is `ABSENT` no hole. What does not vary
has a step of 0.

Almost half of the points of a search have a hole without a program in any slice: they
are left before anything is summed.
"""

from typing import Any

import numpy as np

from morello.search.compiled.jit import inner
from morello.search.compiled.pointers import floats, integers, shorts
from morello.search.compiled.words import (
    ABSENT,
    AT,
    AT_POINT,
    CODE,
    COST,
    COST_FAR,
    COST_NEAR,
    COST_POINT,
    FAR,
    FAR_CLASS,
    FAR_POINT,
    FIRST,
    FIXED,
    FIXED_POINT,
    HOLES,
    MOST,
    NEAR,
    NEAR_CLASS,
    NEAR_POINT,
    POINTS,
    ROWS,
    SLICE,
    SLICES,
    TABLE,
    TIMES,
    TIMES_POINT,
)

F64 = np.ndarray[Any, np.dtype[np.float64]]
I64 = np.ndarray[Any, np.dtype[np.int64]]
I32 = np.ndarray[Any, np.dtype[np.int32]]


@inner
def has_program(hole: I64, point: int) -> bool:
    """Whether a hole has a program at a point, whatever is left."""
    place = shorts(hole[AT])[point * hole[AT_POINT]]
    if place == ABSENT:
        return True
    if place < 0:
        return False
    table, count, place = floats(hole[TABLE]), hole[SLICES], np.int64(place)
    if table[place * count + hole[MOST]] != np.inf:
        return True
    exists = False
    for k in range(count):
        exists |= table[place * count + k] != np.inf
    return exists


@inner
def add_hole(
    sums: F64, hole: I64, point: int, near: int, far: int, counting: bool
) -> None:
    """Add what a hole costs at a point, for all that may be left.

    A hole that does not count must have a program all the same. ``counting`` programs,
    every hole counts once.
    """
    place = shorts(hole[AT])[point * hole[AT_POINT]]
    if place == ABSENT:
        return
    times = floats(hole[TIMES])[point * hole[TIMES_POINT]]
    if counting:
        times = 1.0
    table, slices = floats(hole[TABLE]), integers(hole[SLICE])
    first = np.int64(place) * hole[SLICES]
    fixed = shorts(hole[FIXED])[point * hole[FIXED_POINT]]
    nearer, farthest = shorts(hole[NEAR]), shorts(hole[FAR])
    for i in range(near):
        q = nearer[point * hole[NEAR_POINT] + i * hole[NEAR_CLASS]]
        for j in range(far):
            r = farthest[point * hole[FAR_POINT] + j * hole[FAR_CLASS]]
            if fixed < 0 or q < 0 or r < 0:
                sums[i * far + j] = np.inf
                continue
            cost = table[first + slices[fixed + q + r]]
            if times == 0.0 and cost != np.inf:
                cost = 0.0
            elif times != 0.0:
                cost *= times
            sums[i * far + j] += cost


@inner
def total(
    sums: F64, action: I64, holes: I64, point: int, near: int, far: int, counting: bool
) -> bool:
    """Store the cost of an action at a point in ``sums``; return whether it is
    finite."""
    prices = floats(action[COST])
    start = point * action[COST_POINT]
    if action[COST_NEAR] == 0 and action[COST_FAR] == 0 and prices[start] == np.inf:
        return False
    first = action[FIRST]
    for h in range(first, first + action[HOLES]):
        if not has_program(holes[h], point):
            return False
    for i in range(near):
        for j in range(far):
            price = prices[start + i * action[COST_NEAR] + j * action[COST_FAR]]
            if counting and price != np.inf:
                price = 0.0
            sums[i * far + j] = price
    for h in range(first, first + action[HOLES]):
        add_hole(sums, holes[h], point, near, far, counting)
    return True


@inner
def gather(
    costs: F64, decisions: I32, sums: F64, near: int, far: int, actions: I64, holes: I64
) -> int:
    """Let actions decide the points where they cost less than those before them.

    ``sums`` is room for the costs of a point. The answer is how many implementations
    were compared.
    """
    width, compared = near * far, 0
    for a in range(len(actions)):
        action = actions[a]
        rows, code = integers(action[ROWS]), action[CODE]
        for point in range(action[POINTS]):
            if not total(sums, action, holes, point, near, far, False):
                continue
            compared += width
            row = rows[point]
            for k in range(width):
                if sums[k] < costs[row + k]:
                    costs[row + k] = sums[k]
                    decisions[row + k] = code
    return compared


@inner
def gather_totals(totals: F64, near: int, far: int, action: I64, holes: I64) -> int:
    """Put what one action costs into an array; infinity where it does not apply."""
    width, compared = near * far, 0
    rows = integers(action[ROWS])
    for point in range(action[POINTS]):
        row = rows[point]
        if total(totals[row : row + width], action, holes, point, near, far, False):
            compared += width
    return compared


@inner
def gather_counts(
    counts: F64, sums: F64, near: int, far: int, actions: I64, holes: I64
) -> int:
    """Add the programs that begin with each action; counts are kept as -log2."""
    width = near * far
    for a in range(len(actions)):
        action = actions[a]
        rows = integers(action[ROWS])
        for point in range(action[POINTS]):
            if not total(sums, action, holes, point, near, far, True):
                continue
            row = rows[point]
            for k in range(width):
                counts[row + k] = add_logarithms(counts[row + k], sums[k])
    return 0


@inner
def add_logarithms(one: float, other: float) -> float:
    """-log2 of the sum of two numbers that are given so."""
    low, high = min(one, other), max(one, other)
    if high == np.inf:
        return low
    return float(low - np.log1p(2.0 ** (low - high)) / np.log(2.0))
