"""Sums over the lanes of vectors, several at once, by shuffles that stay in quads.

Two vectors become one with half as many terms of each: first within quads of 16 bytes
(single lanes, then pairs), then by whole quads.
"""

from collections.abc import Iterator, Sequence

from morello.cost.counts import Ops
from morello.kernels.emitter import Emitter, Value
from morello.machine.isa import Isa
from morello.spec import Dtype
from morello.spec.frame import Ints
from morello.spec.tensors.layout import ceil_div

_QUAD = 4
"""Lanes of 16 bytes."""


def horizontal_sums(emitter: Emitter, vectors: Sequence[Value]) -> list[Value]:
    """Vectors whose lanes, in order, are the sums over the lanes of the given ones.

    As many are summed at once as a vector has lanes. What the lanes after the last sum
    hold means nothing.
    """
    lanes, sums = emitter.isa.lanes(Dtype.F32), []
    for first in range(0, len(vectors), lanes):
        group = list(vectors[first : first + lanes])
        for low, high in _stages(lanes):
            if len(group) % 2:
                group.append(group[-1])
            pairs = zip(group[::2], group[1::2], strict=True)
            group = [
                emitter.add(emitter.shuffle(a, b, low), emitter.shuffle(a, b, high))
                for a, b in pairs
            ]
        sums += group
    return sums


def horizontal_sums_ops(count: Ints, isa: Isa) -> Ops:
    """Count of the instructions of `horizontal_sums` for ``count`` vectors."""
    additions: Ints = 0
    for _ in _stages(isa.lanes(Dtype.F32)):
        count = ceil_div(count, 2)
        additions = additions + count
    return {"vector_op": additions, "shuffle": 2 * additions}


def _stages(lanes: int) -> Iterator[tuple[list[int], list[int]]]:
    """Pairs of lane lists, one pair per stage: lanes of two vectors that are added.

    The first stage unpacks single lanes of a quad, the second pairs of them; the others
    take every second quad of both.
    """
    quads = range(0, lanes, _QUAD)
    singles = [at + q for q in quads for at in (0, lanes, 1, lanes + 1)]
    pairs = [at + q for q in quads for at in (0, 1, lanes, lanes + 1)]
    for first in (singles, pairs):
        yield first, [at + 2 for at in first]
    for _ in range((lanes // _QUAD).bit_length() - 1):
        even = [q + i for q in range(0, 2 * lanes, 2 * _QUAD) for i in range(_QUAD)]
        yield even, [at + _QUAD for at in even]
