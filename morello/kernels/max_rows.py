"""Max of rows: vectors along the row, then one horizontal reduction."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import OpCounts, Phase
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import in_l1, is_interleaved, maximum_ops, within_pack
from morello.kernels.template import Kernel
from morello.kernels.vectors import (
    tail_of,
    vectors_of,
)
from morello.spec import Max, Spec, SpecKey
from morello.spec.frame import Condition, Frame

ROWS = 4
"""The most rows."""

CHAINS = 8
"""Accumulators in the loop over n, of all rows together, at most."""

_STEPS = 3
"""Steps of a horizontal reduction: a shuffle and a maximum each."""


@dataclasses.dataclass(frozen=True)
class MaxRows(Kernel):
    """out[m] = max(out[m], src[m,n]) in L1, n innermost, over all of n.

    The last vector of a row overlaps the one before: an element that is counted twice
    does not change a maximum. Rows shorter than a vector are read with a mask, and the
    lanes after them hold the neutral element.
    """

    def accepts(self, key: SpecKey) -> bool:
        """f32 or s32; n innermost in src; nothing interleaved."""
        if key.kind != Max(accum=True) or not in_l1(*key.tensors):
            return False
        src, out = (t.layout for t in key.tensors)
        return src.innermost == 1 and not (is_interleaved(src) or is_interleaved(out))

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows; each within a pack."""
        return (
            Condition(
                frame.sizes[0] <= ROWS,
                f"takes at most {ROWS} rows: tile m smaller",
            ),
            *within_pack(frame, 0, 1),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Loads and maxima, or the chains' latency; then the reductions."""
        m, n = frame.sizes
        lanes = self.isa.lanes(frame.key.tensors[0].dtype)
        vectors = vectors_of(n, lanes)
        masked = tail_of(n, lanes) * (n < lanes)
        chains = np.minimum(vectors, CHAINS // np.minimum(m, ROWS))
        ops, chain = maximum_ops(frame.key.tensors[0].dtype)
        body = Phase(
            {
                "load": m * (vectors - masked),
                "masked_load": m * masked,
                "vector_op": m * ops * vectors,
            },
            {"vector_op": chain * -(-vectors // chains)},
        )
        ends = (
            Phase(chain={"vector_op": chain}),
            Phase({"shuffle": m * _STEPS, "vector_op": m * ops * (_STEPS + 1)}),
            Phase({"scalar": 2 * m}),
        )
        return OpCounts((body, *ends), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over groups of vectors where there are enough, then what is left."""
        src, out = operands
        dtype = src.tensor.dtype
        for row, vector in enumerate(_reduce(emitter, src, *spec.sizes)):
            found = emitter.reduce_maximum(dtype, vector)
            held = emitter.load_element(out, (row,))
            best = emitter.maximum(dtype, held, found)
            emitter.store_element(best, out, (row,))


def _reduce(emitter: Emitter, src: Buffer, m: int, n: int) -> list[Value]:
    """One vector for each row whose greatest lane is the row's maximum."""
    dtype = src.tensor.dtype
    lanes = emitter.isa.lanes(dtype)
    if n < lanes:
        neutral = emitter.constant(dtype, dtype.lowest, lanes)
        return [emitter.load(src, (i, 0), lanes, n, neutral) for i in range(m)]
    chains = min(n // lanes, CHAINS // m)
    group = chains * lanes

    def load(at: Value, chain: int) -> list[Value]:
        column = emitter.offset(at, chain * lanes)
        return [emitter.load(src, (i, column), lanes) for i in range(m)]

    def step(at: Value, carried: Sequence[Value]) -> list[Value]:
        loaded = [v for chain in range(chains) for v in load(at, chain)]
        return [
            emitter.maximum(dtype, a, b) for a, b in zip(carried, loaded, strict=True)
        ]

    best: Sequence[Value] = [v for chain in range(chains) for v in load(0, chain)]
    whole = n // group * group
    if whole > 2 * group:
        best = emitter.loop(group, whole, group, best, step)
    elif whole == 2 * group:
        best = step(group, best)
    rows = [list(best[i::m]) for i in range(m)]
    for start in range(whole, n, lanes):
        column = min(start, n - lanes)
        for i, row in enumerate(rows):
            row.append(emitter.load(src, (i, column), lanes))
    return [_tree(emitter, src, row) for row in rows]


def _tree(emitter: Emitter, src: Buffer, vectors: list[Value]) -> Value:
    """The lane-wise maximum of vectors, in pairs."""
    while len(vectors) > 1:
        pairs = [
            emitter.maximum(src.tensor.dtype, a, b)
            for a, b in zip(vectors[::2], vectors[1::2], strict=False)
        ]
        vectors = pairs + vectors[len(vectors) & ~1 :]
    return vectors[0]
