"""Move of rows that are neighbours in memory on both sides: vector copies and casts."""

import dataclasses
from collections.abc import Sequence
from itertools import product as every

from morello.cost.counts import OpCounts, add, times
from morello.kernels.casts import cast_lanes, cast_ops
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import (
    in_l1,
    is_interleaved,
    others,
    within_block,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.kernels.vectors import (
    overlapping,
    overlapping_count,
    vectors_of,
)
from morello.spec import Move, Spec, SpecKey
from morello.spec.frame import Condition, Frame


@dataclasses.dataclass(frozen=True)
class MoveRows(Kernel):
    """dst = src in L1, where both have the same dimension innermost.

    Straight-line code. The end of a row that is not a whole vector is copied by a
    vector that overlaps the one before, or by smaller ones.
    """

    def accepts(self, key: SpecKey) -> bool:
        """Any dtypes; one innermost dimension; nothing interleaved."""
        if not isinstance(key.kind, Move) or not in_l1(*key.tensors):
            return False
        src, dst = (t.layout for t in key.tensors)
        return src.innermost == dst.innermost and not (
            is_interleaved(src) or is_interleaved(dst)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """A row stays within one pack on either side; the code stays short."""
        inner = frame.key.tensors[0].layout.innermost
        lanes = cast_lanes(self.isa, *frame.key.dtypes)
        rows = others(frame.sizes, inner)
        return (
            *within_pack(frame, 0, inner),
            *within_pack(frame, 1, inner),
            within_block(rows * vectors_of(frame.sizes[inner], lanes), self.isa),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """For each vector a load, a cast and a store."""
        inner = frame.key.tensors[0].layout.innermost
        lanes = cast_lanes(self.isa, *frame.key.dtypes)
        copies = others(frame.sizes, inner) * overlapping_count(
            frame.sizes[inner], lanes
        )
        each = add({"load": 1, "store": 1}, cast_ops(frame.key.dtypes))
        return OpCounts.of(times(each, copies))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Row by row, vector by vector."""
        src, dst = operands
        dtypes = src.tensor.dtype, dst.tensor.dtype
        inner = src.tensor.layout.innermost
        extents = [range(s) for s in spec.sizes]
        extents[inner] = range(1)
        for start in every(*extents):
            row = overlapping(spec.sizes[inner], cast_lanes(self.isa, *dtypes))
            for column, width in row:
                at = (*start[:inner], column, *start[inner + 1 :])
                vector = emitter.convert(emitter.load(src, at, width), *dtypes)
                emitter.store(vector, dst, at)
