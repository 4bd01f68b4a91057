"""The recurrence of counting programs: sums of products, all as -log2.

For each point p in order, and each of its limits i, with the tiles t and remainders r
of the loops of p::

    T[p, i] = -log2(2^-T[p, i] + sum of 2^-(H[t, i] + H[r, i]))

Terms below 2^-60 of the greatest change nothing and cost no exponential.
"""

import numpy as np

from morello.search.compiled.jit import inner
from morello.search.compiled.pointers import floats, integers
from morello.search.compiled.tiling import F64, I64, span
from morello.search.compiled.words import EXTENT, MAIN, OTHERS, PLACE, REST, STRIDE

LEAST = -60.0


@inner
def add_term(low: F64, sums: F64, a: int, term: float, first: bool) -> None:
    """Look for the greatest term, the first time; add it up, the second."""
    if first:
        low[a] = min(low[a], term)
    elif low[a] - term > LEAST:
        sums[a] += np.exp2(low[a] - term)


@inner
def add_loops(
    low: F64, sums: F64, below: F64, axis: I64, point: int, first: bool
) -> None:
    """Add the programs that begin with a loop along an axis."""
    width = len(low)
    begin, end, outer, inner = span(axis, point)
    stride, main, rest = axis[STRIDE], integers(axis[MAIN]), integers(axis[REST])
    for s in range(begin, end):
        t = ((outer + main[s]) * stride + inner) * width
        for a in range(width):
            term = below[t + a]
            if rest[s] >= 0:
                term += below[((outer + rest[s]) * stride + inner) * width + a]
            add_term(low, sums, a, term, first)


@inner
def add_peel(
    low: F64, sums: F64, table: F64, peel: I64, point: int, first: bool
) -> None:
    """Add the programs that begin with a peeled reduction."""
    width, stride, place = len(low), peel[STRIDE], peel[PLACE]
    at = point // stride % peel[EXTENT]
    if at <= place:
        return
    start = (point - (at - place) * stride) * width
    others = floats(peel[OTHERS])
    for a in range(width):
        add_term(low, sums, a, others[point * width + a] + table[start + a], first)


@inner
def sweep_counts(
    counts: F64, below: F64, low: F64, sums: F64, axes: I64, peels: I64
) -> int:
    """Count every point of a table; ``below`` is ``counts`` if loops stay in it.

    ``low`` and ``sums`` are room for a point.
    """
    width = len(low)
    for point in range(len(counts) // width):
        point_counts = counts[point * width : point * width + width]
        for a in range(width):
            low[a] = point_counts[a]
        for first in (True, False):
            if not first:
                for a in range(width):
                    sums[a] = (
                        np.exp2(low[a] - point_counts[a]) if low[a] != np.inf else 0.0
                    )
            for e in range(len(peels)):
                add_peel(low, sums, counts, peels[e], point, first)
            for d in range(len(axes)):
                add_loops(low, sums, below, axes[d], point, first)
        for a in range(width):
            if low[a] != np.inf:
                point_counts[a] = low[a] - np.log2(sums[a])
    return 0
