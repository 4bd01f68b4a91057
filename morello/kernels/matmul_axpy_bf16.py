"""Matmul of one or two rows with rhs in bf16, which goes by once and is widened."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, times
from morello.kernels.axpy_columns import (
    ROWS,
    Columns,
    HalvesColumns,
    room_to_prefetch,
)
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import in_l1, is_interleaved, size_is_one
from morello.kernels.predicates import within_pack as packs
from morello.kernels.template import Kernel
from morello.kernels.vectors import vectors_of
from morello.machine.isa import Isa
from morello.spec import Dtype, Form, Layout, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div

MOST_M = 2
"""Rows of lhs: each takes four registers."""

COLUMNS = 64
"""Columns of a panel of rhs."""

PANEL = Layout.parse(f"[0,2,1,2p{COLUMNS}]")
"""One run of memory that is read from end to end: eight sums for a row of lhs."""

_SUMS = 8
"""Vectors of out that are in registers, of a panel."""

_BESIDE = 4
"""Registers beside sums: a vector of rhs, its halves, a factor."""


@dataclasses.dataclass(frozen=True)
class MatmulAxpyBf16(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], in f32, of rhs in bf16 from anywhere.

    Even and odd columns are widened apart, by a shift and a mask. Of a row-major rhs
    `ROWS` rows are read side by side; a panel is read from end to end.
    """

    panel: ClassVar[Layout] = PANEL
    """The packed layout that it reads rhs in."""

    def accepts(self, key: SpecKey) -> bool:
        """bf16 or f32 times bf16; n innermost, rhs unpacked or in panels."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            rhs.dtype is Dtype.BF16
            and out.dtype is Dtype.F32
            and in_l1(lhs)
            and Level.VRF not in (rhs.level, out.level)
            and not is_interleaved(lhs.layout)
            and lhs.layout.pack(2) == 1
            and all(t.layout.innermost == 2 for t in (rhs, out))
            and (not rhs.layout.is_packed or rhs.layout == self.panel)
            and not out.layout.is_packed
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows, free registers; of panels, one, and few sums."""
        _, m, _, n = frame.sizes
        packed = frame.key.tensors[1].layout.is_packed
        sums = m * vectors_of(n, self.isa.lanes(Dtype.F32))
        needed = np.where(m == 1, ROWS + 4, 4 * m) + _BESIDE
        return (
            size_is_one(frame, 0),
            *packs(frame, 0, 1),
            *packs(frame, 1, 2),
            Condition(m <= MOST_M, f"takes at most {MOST_M} rows: tile m smaller"),
            *(
                [
                    Condition(
                        sums <= _SUMS,
                        f"takes at most {_SUMS} vectors of sums: tile m or n smaller",
                    )
                ]
                if packed
                else room_to_prefetch(frame)
            ),
            Condition(
                frame.limits.vrf >= np.minimum(needed, self.isa.registers),
                "needs free registers for sums and factors: take fewer",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Products, whose operands are widened; what each pass over out adds."""
        k = frame.sizes[2]
        packed = frame.key.tensors[1].layout.is_packed
        passes = 1 if packed else ceil_div(k, ROWS)
        phases = widened_counts(frame, self.isa, passes, k + 4 * passes, 1)
        return OpCounts(phases, kernels=1, loops=passes)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Full registers of rhs in halves, the columns after them as they are."""
        halves = HalvesColumns(emitter, spec, operands)
        rest = Columns(emitter, spec, operands)
        n = spec.sizes[3]
        if operands[1].tensor.layout.is_packed:
            (rest if n % halves.unit else halves).once(0, n)
            return
        whole = n // halves.step * halves.step
        if whole > halves.step:
            halves.passes(whole)
        elif whole:
            halves.once(0, whole)
        for start in range(whole, n, rest.step):
            rest.once(start, min(rest.step, n - start))

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """lhs in f32, and panels of rhs, where rhs is in bf16."""
        if not isinstance(key.kind, Matmul):
            return ()
        _, rhs, out = key.tensors
        if rhs.dtype is not Dtype.BF16 or out.dtype is not Dtype.F32:
            return ()
        if operand == 0:
            return (Form(Dtype.F32, Layout.row_major(3)),)
        return (Form(Dtype.BF16, self.panel),) if operand == 1 else ()


def widened_counts(
    frame: Frame, isa: Isa, passes: Ints, chain: Ints, factors: Ints
) -> tuple[Phase, ...]:
    """The phases of products with rhs in bf16, in ``passes`` over out.

    Args:
        frame: the products.
        isa: what they are written in.
        passes: how often each sum goes through memory.
        chain: multiply-adds one after another.
        factors: how often each element of lhs is loaded.
    """
    _, m, k, n = frame.sizes
    lhs, rhs, out = frame.key.tensors
    vectors = vectors_of(n, isa.lanes(Dtype.F32))
    fetched = passes if frame.key.kind.accumulates else passes - 1
    fetched = passes if out.level is Level.MEM else fetched
    written = out.lines((1, m, n))
    starts = 1 if rhs.layout.is_packed else rhs.runs((1, k, n))
    access = Access.SEQUENTIAL if rhs.layout.is_packed else Access.DEMAND
    products = Phase(
        {"fma": m * k * vectors, "vector_op": k * vectors},
        {"fma": chain},
        (
            Lines(1, rhs.lines((1, k, n)), access),
            Lines(2, fetched * written, Access.OVERLAPPED),
            Lines(2, passes * written, Access.STORED),
        ),
    )
    # Halves are put together and added to out in each pass.
    ends: Ops = {"shuffle": 2, "vector_op": 1, "load": 1, "store": 1}
    narrow = 2 if lhs.dtype is Dtype.BF16 else 0
    row = m * k * factors
    loaded = Lines(1, 0, Access.DEMAND, starts, hidden=False)
    return (
        products,
        Phase(times(ends, passes * m * vectors)),
        Phase({"load": row, "vector_op": narrow * row}, lines=(loaded,)),
    )
