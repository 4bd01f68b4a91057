"""The passes of `queries/k_best.py` over solved tables: outwards, then by classes.

`reach_loops` and `reach_holes` go down from a goal. At each point of a table they keep
two bounds over all ways that lead there from the goal: the least excess, which is what
a program that goes that way costs at least beyond the best, and the least number of
times that the point is run. An action at a point with excess x and times m leads on
with the excess

    x + m · (total of the action - best of the point)

if that is no more than a bound. `sweep_class` goes up, as `tiling.sweep` does, with the
costs of one class in tiles and the best costs in what remains.
"""

import numpy as np

from morello.search.compiled.gather import total
from morello.search.compiled.jit import inner
from morello.search.compiled.pointers import floats, integers, shorts
from morello.search.compiled.tiling import (
    F64,
    I32,
    I64,
    Flags,
    choose_loops,
    choose_peel,
    span,
)
from morello.search.compiled.words import (
    ABSENT,
    AT,
    AT_POINT,
    EXTENT,
    FAR,
    FAR_CLASS,
    FAR_POINT,
    FIRST,
    FIXED,
    FIXED_POINT,
    LEADING,
    LEADING_EXCESS,
    LEADING_TIMES,
    MAIN,
    NEAR,
    NEAR_CLASS,
    NEAR_POINT,
    OTHERS,
    PLACE,
    POINTS,
    PRICE,
    REST,
    ROWS,
    SHARE,
    SLICES,
    STRIDE,
    TIMES,
    TIMES_POINT,
    TRIPS,
)


@inner
def sweep_class(
    costs: F64, decisions: I32, below: F64, rests: F64, allowed: Flags, width: int,
    axes: I64, peels: I64,
) -> int:  # fmt: skip
    """Settle the points of a table that are ``allowed``; others have no program.

    ``below`` is ``costs`` if loops stay in the table; ``rests`` are the best costs.
    """
    for point in range(len(costs) // width):
        row = point * width
        some = False
        for a in range(width):
            some |= allowed[row + a]
        here, chosen = costs[row : row + width], decisions[row : row + width]
        if some:
            for e in range(len(peels)):
                choose_peel(here, chosen, costs, width, peels[e], point)
            for d in range(len(axes)):
                choose_loops(here, chosen, below, rests, width, width, axes[d], point)
        for a in range(width):
            if not allowed[row + a]:
                here[a] = np.inf
    return 0


@inner
def reach(
    excess: F64, times: F64, place: int, candidate: float, runs: float, bound: float
) -> None:
    """Keep what is less at a place, within the bound."""
    if candidate <= bound:
        excess[place] = min(excess[place], candidate)
        times[place] = min(times[place], runs)


@inner
def reach_tiles(
    excess: F64, times: F64, costs: F64, below: F64, far: F64, runs: F64,
    bound: float, width: int, axis: I64, point: int,
) -> None:  # fmt: skip
    """Go on from a point to the tiles of its loops along an axis."""
    begin, end, first, inner = span(axis, point)
    stride, main, rest = axis[STRIDE], integers(axis[MAIN]), integers(axis[REST])
    trips, share, prices = floats(axis[TRIPS]), floats(axis[SHARE]), floats(axis[PRICE])
    for s in range(begin, end):
        t = ((first + main[s]) * stride + inner) * width
        r = ((first + max(rest[s], 0)) * stride + inner) * width
        for a in range(width):
            cost = below[t + a] * trips[s] + prices[s]
            if rest[s] >= 0:
                cost += below[r + a] * share[s]
            k = point * width + a
            candidate = excess[k] + times[k] * (cost - costs[k])
            reach(far, runs, t + a, candidate, times[k] * trips[s], bound)


@inner
def reach_first(
    excess: F64, times: F64, costs: F64, bound: float, width: int, peel: I64, point: int
) -> None:
    """Go on from a point to the first part of a peeled reduction."""
    stride, place, others = peel[STRIDE], peel[PLACE], floats(peel[OTHERS])
    at = point // stride % peel[EXTENT]
    if at <= place:
        return
    first = (point - (at - place) * stride) * width
    for a in range(width):
        k = point * width + a
        cost = others[k] + costs[first + a]
        candidate = excess[k] + times[k] * (cost - costs[k])
        reach(excess, times, first + a, candidate, times[k], bound)


@inner
def reach_loops(
    excess: F64, times: F64, costs: F64, below: F64, far: F64, runs: F64, bound: F64,
    width: int, axes: I64, peels: I64,
) -> int:  # fmt: skip
    """Go on from every point, the largest first, along loops and first parts.

    Where loops stay in the table, ``below``, ``far`` and ``runs`` are ``costs``,
    ``excess`` and ``times``.
    """
    most = bound[0]
    for point in range(len(costs) // width - 1, -1, -1):
        least = np.inf
        for a in range(width):
            least = min(least, excess[point * width + a])
        if least > most:
            continue
        for e in range(len(peels)):
            reach_first(excess, times, costs, most, width, peels[e], point)
        for d in range(len(axes)):
            reach_tiles(
                excess, times, costs, below, far, runs, most, width, axes[d], point
            )
    return 0


@inner
def reach_holes(
    excess: F64, times: F64, costs: F64, sums: F64, bound: F64, near: int, far: int,
    action: I64, holes: I64, leading: I64,
) -> int:  # fmt: skip
    """Go on from every point of a table to the leading holes of an action.

    ``sums`` is room for the costs of a point.
    """
    rows, width, most = integers(action[ROWS]), near * far, bound[0]
    for point in range(action[POINTS]):
        row, least = rows[point], np.inf
        for k in range(width):
            least = min(least, excess[row + k])
        if least > most:
            continue
        if not total(sums, action, holes, point, near, far, False):
            continue
        for e in range(len(leading)):
            hole = holes[action[FIRST] + leading[e, LEADING]]
            place = shorts(hole[AT])[point * hole[AT_POINT]]
            if place == ABSENT or place < 0:
                continue
            begin = np.int64(place) * hole[SLICES]
            begin += shorts(hole[FIXED])[point * hole[FIXED_POINT]]
            runs = floats(hole[TIMES])[point * hole[TIMES_POINT]]
            nearer, farthest = shorts(hole[NEAR]), shorts(hole[FAR])
            to, often = (
                floats(leading[e, LEADING_EXCESS]),
                floats(leading[e, LEADING_TIMES]),
            )
            for i in range(near):
                q = nearer[point * hole[NEAR_POINT] + i * hole[NEAR_CLASS]]
                for j in range(far):
                    k = i * far + j
                    if sums[k] == np.inf or excess[row + k] > most:
                        continue
                    r = farthest[point * hole[FAR_POINT] + j * hole[FAR_CLASS]]
                    m = times[row + k]
                    candidate = excess[row + k] + m * (sums[k] - costs[row + k])
                    reach(to, often, begin + q + r, candidate, m * runs, most)
    return 0
