"""Matmul of one or two rows with rhs in bf16, which goes by once and is widened."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.cost.coefficients import Coefficients
from morello.kernels.axpy_columns import (
    ROWS,
    Columns,
    HalvesColumns,
    prefetch_cost,
    room_to_prefetch,
)
from morello.kernels.base import Kernel
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.rules import in_l1, is_interleaved, line_cost, size_is_one
from morello.kernels.rules import within_pack as packs
from morello.kernels.vectors import as_ints, vectors_of
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

    name: ClassVar[str] = "matmul_axpy_bf16"
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

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """The slowest of instructions, chains and lines, and what each pass adds."""
        c = coefficients
        _, m, k, n = frame.sizes
        lhs, rhs, out = frame.key.tensors
        vectors = vectors_of(n, self.isa.lanes(Dtype.F32))
        passes = 1 if rhs.layout.is_packed else ceil_div(k, ROWS)
        lines = rhs.lines((1, k, n)) * line_cost(rhs.level, c)
        fetched = passes if frame.key.kind.accumulates else passes - 1
        fetched = passes if out.level is Level.MEM else fetched
        exchange = (passes + fetched) * out.lines((1, m, n)) * line_cost(out.level, c)
        slowest = (c.fma * m + c.vector_op) * k * vectors
        chain = k * c.fma_latency + passes * 4 * c.fma_latency
        for other in (chain, lines, exchange):
            slowest = np.maximum(slowest, other)
        # Halves are put together and added to out in each pass.
        ends = m * vectors * (2 * c.shuffle + c.vector_op + c.load + c.store)
        run = c.run if rhs.level is Level.MEM else 0
        runs = (1 if rhs.layout.is_packed else rhs.runs((1, k, n))) * run
        narrow = 2 * c.vector_op if lhs.dtype is Dtype.BF16 else 0
        factors = m * k * (c.load + narrow)
        each = ends + c.loop_setup
        asked: Ints = 0
        if not rhs.layout.is_packed:
            asked = prefetch_cost(frame, n // (2 * self.isa.lanes(rhs.dtype)), c)
        return as_ints(
            c.kernel_setup + slowest + factors + passes * each + runs + asked
        )

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
