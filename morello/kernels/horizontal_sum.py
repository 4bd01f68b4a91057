"""Sums over the lanes of vectors, several at once, by shuffles that stay in halves."""

from collections.abc import Sequence

from morello.cost.counts import Ops, times
from morello.kernels.emitter import Emitter, Value
from morello.spec.frame import Ints
from morello.spec.layout import ceil_div

LANES = 8
"""Lanes of the vectors, and how many of them are summed at once."""

_STAGES = (
    ((0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)),
    ((0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)),
    ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)),
)
"""How two vectors become one with half as many terms of each: unpack floats, unpack
pairs, exchange halves."""


def horizontal_sums(emitter: Emitter, vectors: Sequence[Value]) -> list[Value]:
    """Vectors whose lanes, in order, are the sums over the lanes of the given ones.

    What the lanes after the last sum hold means nothing.
    """
    found = []
    for first in range(0, len(vectors), LANES):
        group = list(vectors[first : first + LANES])
        for low, high in _STAGES:
            if len(group) % 2:
                group.append(group[-1])
            pairs = zip(group[::2], group[1::2], strict=True)
            group = [
                emitter.add(emitter.shuffle(a, b, low), emitter.shuffle(a, b, high))
                for a, b in pairs
            ]
        found += group
    return found


def horizontal_sums_ops(count: Ints) -> Ops:
    """The instructions of `horizontal_sums` of ``count`` vectors, at most."""
    return times({"vector_op": 7, "shuffle": 14}, ceil_div(count, LANES))
