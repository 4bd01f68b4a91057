"""Max over columns that are runs in memory: vectors of rows, a loop over columns."""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import OpCounts, Phase
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import in_l1, is_interleaved, maximum_ops, within_pack
from morello.kernels.template import Kernel
from morello.kernels.vectors import (
    overlapping,
    overlapping_count,
    vectors_of,
)
from morello.spec import Layout, Max, Spec, SpecKey
from morello.spec.frame import Condition, Frame

VECTORS = 8
"""The most accumulators: the maximum of floats needs the other registers."""


@dataclasses.dataclass(frozen=True)
class MaxColumns(Kernel):
    """out[m] = max(out[m], src[m,n]) in L1, m innermost in both, over all of n."""

    def accepts(self, key: SpecKey) -> bool:
        """f32 or s32; m innermost in src and n unpacked; out one run."""
        if key.kind != Max(accum=True) or not in_l1(*key.tensors):
            return False
        src, out = (t.layout for t in key.tensors)
        return (
            src.innermost == 0
            and src.pack(1) == 1
            and not is_interleaved(src)
            and out == Layout.row_major(1)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """The accumulators fit; m stays within a pack."""
        vectors = vectors_of(frame.sizes[0], self.isa.lanes(frame.key.tensors[0].dtype))
        return (
            Condition(
                vectors <= VECTORS,
                f"takes at most {VECTORS} vectors of rows: tile m smaller",
            ),
            *within_pack(frame, 0, 0),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Loads and maxima, or the chains' latency, for each column."""
        m, n = frame.sizes
        runs = overlapping_count(m, self.isa.lanes(frame.key.tensors[0].dtype))
        ops, chain = maximum_ops(frame.key.tensors[0].dtype)
        column = Phase(
            {"load": runs, "vector_op": runs * ops}, {"vector_op": chain}, times=n
        )
        ends = Phase({"load": runs}), Phase({"store": runs})
        return OpCounts((column, *ends), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over n that carries a vector for each run of rows."""
        src, out = operands
        dtype = src.tensor.dtype
        m, n = spec.sizes
        runs = overlapping(m, self.isa.lanes(dtype))

        def step(at: Value, carried: Sequence[Value]) -> list[Value]:
            return [
                emitter.maximum(dtype, best, emitter.load(src, (start, at), width))
                for best, (start, width) in zip(carried, runs, strict=True)
            ]

        # All of out is read before any is written: runs may overlap.
        best: Sequence[Value] = [
            emitter.load(out, (start,), width) for start, width in runs
        ]
        best = emitter.loop(0, n, 1, best, step)
        for vector, (start, _) in zip(best, runs, strict=True):
            emitter.store(vector, out, (start,))
