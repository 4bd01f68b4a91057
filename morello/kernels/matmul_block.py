"""Matmul on a block of out in memory: its sums in registers for all of k."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from morello.cost.counts import OpCounts, Ops, Phase
from morello.kernels.broadcast_loop import (
    BroadcastLoop,
    lies_well,
    loop_conditions,
    loop_phase,
    registers_beside,
)
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import in_l1, is_interleaved, within_pack
from morello.kernels.template import Kernel
from morello.kernels.vectors import piece_count, tail_of, vectors_of
from morello.machine.isa import Isa
from morello.spec import Dtype, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import LINE_BYTES, ceil_div

_LINE = LINE_BYTES // Dtype.F32.itemsize
"""Elements of a cache line."""


@dataclasses.dataclass(frozen=True)
class MatmulBlock(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], all in L1, over all of k.

    The lines of out are asked for at the beginning and used at the end: sums begin at
    zero, and out is added to them once they are done. So it need not be near before.
    What is added begins at -0, which changes no number, not even -0.
    """

    def accepts(self, key: SpecKey) -> bool:
        """f32 sums; k unpacked, n innermost in rhs and out."""
        if not isinstance(key.kind, Matmul) or key.dtypes[2] is not Dtype.F32:
            return False
        out = key.tensors[2].layout
        return (
            in_l1(*key.tensors)
            and lies_well(key)
            and out.innermost == 2
            and not is_interleaved(out)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Registers for all that lives in the loop; panels are not crossed."""
        _, m, _, n = frame.sizes
        sums = m * vectors_of(n, self.isa.lanes(Dtype.F32))
        return (
            *loop_conditions(frame, self.isa),
            *within_pack(frame, 2, 1),
            *within_pack(frame, 2, 2),
            Condition(
                frame.limits.vrf >= sums + registers_beside(frame, self.isa),
                "needs free registers for m * ceil(n / 8) sums, a row of rhs and a "
                "factor: tile m or n smaller",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The block; the last sums are waited for."""
        last = Phase(chain={"fma": 2})
        return OpCounts((block_phase(frame, self.isa), last), kernels=1)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Prefetches, the loop, then out row by row."""
        write_block(emitter, spec, operands)


def block_phase(frame: Frame, isa: Isa) -> Phase:
    """A block among others, which begin while its rows are stored: nothing of the loop
    waits for out."""
    _, m, _, n = frame.sizes
    lanes = isa.lanes(Dtype.F32)
    tail = tail_of(n, lanes)
    stores = piece_count(n % lanes, lanes)
    beside: Ops = {
        "store": m * (n // lanes + stores),
        "shuffle": m * (stores - tail),
    }
    if _adds(frame.key):
        loads = m * (n // lanes + _lines(n))
        added: Ops = {
            "fma": m * (n // lanes + tail),
            "load": loads,
            "masked_load": m * tail,
        }
        beside = {**beside, **added}
    return loop_phase(frame, isa, beside)


def block_phases(frame: Frame, width: Ints, isa: Isa) -> tuple[Phase, ...]:
    """Blocks of ``width`` columns, and the columns that are left."""
    n = frame.sizes[3]
    whole, rest = n // width, n % width
    return (
        dataclasses.replace(block_phase(part(frame, width), isa), times=whole),
        dataclasses.replace(
            block_phase(part(frame, np.maximum(rest, 1)), isa), times=rest > 0
        ),
    )


def part(frame: Frame, columns: Ints) -> Frame:
    """The same with so many columns."""
    return Frame(frame.key, (*frame.sizes[:3], columns), frame.limits)


def write_block(
    emitter: Emitter,
    spec: Spec,
    operands: Sequence[Buffer],
    column: Value = 0,
    beside: Callable[[Value], None] | None = None,
) -> None:
    """Prefetches, the loop, then out row by row.

    Args:
        spec: the block: as many columns as its sums have.
        operands: those of the block, or of a Spec with more columns.
        column: where it begins in rhs and out.
        beside: what each trip of the loop does besides, given its first step.
    """
    lhs, rhs, out = operands
    _, m, _, n = spec.sizes
    lanes = emitter.isa.lanes(Dtype.F32)
    adds = _adds(spec.key)
    if adds:
        for i in range(m):
            for start in (*range(0, n - 1, _LINE), n - 1):
                place = emitter.offset(column, start)
                emitter.prefetch(out, (0, i, place), to_l1=True)
    loop = BroadcastLoop(emitter, spec, lhs, rhs, column, beside)
    zero = emitter.constant(Dtype.F32, -0.0 if adds else 0.0, lanes)
    sums = loop.run_to_stores([zero] * len(loop.places))
    for total, (i, (start, count)) in zip(sums, loop.places, strict=True):
        index = (0, i, emitter.offset(column, start))
        if adds:
            total = emitter.add(total, emitter.load(out, index, lanes, count))
        emitter.store(total, out, index, count)


def _adds(key: SpecKey) -> bool:
    return isinstance(key.kind, Matmul) and key.kind.accum


def _lines(n: Ints) -> Ints:
    """Prefetches of a row: a line each, and the last element's, wherever they begin."""
    return ceil_div(n - 1, _LINE) + 1
