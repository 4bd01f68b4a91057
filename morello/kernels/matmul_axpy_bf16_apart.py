"""Matmul of one row with bf16: rows, or narrow panels, far from each other."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from morello.cost.coefficients import Coefficients
from morello.kernels.apart import RUNS, WIDENED, apart, calls_of
from morello.kernels.axpy_columns import Columns, HalvesColumns
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.matmul_axpy_bf16 import MatmulAxpyBf16
from morello.kernels.rules import line_cost, size_is_one, slowest
from morello.kernels.rules import within_pack as packs
from morello.kernels.vectors import as_ints, vectors_of
from morello.spec import Dtype, Layout, Level, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints

COLUMNS = 16
"""Columns of a panel of rhs: a register."""

LEAST = 2 * RUNS
"""Rows that are worth it."""


@dataclasses.dataclass(frozen=True)
class MatmulAxpyBf16Apart(MatmulAxpyBf16):
    """`matmul_axpy_bf16` of one row, by 5 rows or panels far from each other.

    Panels have 16 columns. Rows and panels are read on to their neighbours, and ask for
    their own lines a little before.
    """

    name: ClassVar[str] = "matmul_axpy_bf16_apart"
    panel: ClassVar[Layout] = Layout.parse(f"[0,2,1,2p{COLUMNS}]")

    def accepts(self, key: SpecKey) -> bool:
        """bf16 or f32 times bf16 that is not known to be in a cache, without gaps."""
        if not super().accepts(key):
            return False
        rhs = key.tensors[1]
        return rhs.level is Level.MEM and (rhs.layout.is_packed or rhs.contiguous)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row, all registers, and more of rhs than it reads at a time."""
        return (
            size_is_one(frame, 0),
            size_is_one(frame, 1),
            *packs(frame, 0, 1),
            Condition(
                frame.sizes[2] >= LEAST, f"takes at least {LEAST} k: do not split k"
            ),
            Condition(frame.limits.vrf >= self.isa.registers, "needs all registers"),
        )

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """The slowest of instructions, chains and lines, of out's beside those of rhs.

        To ask for a line costs nothing: it is used where `matmul_axpy_bf16` would wait.
        """
        c = coefficients
        _, _, k, n = frame.sizes
        lhs, rhs, out = frame.key.tensors
        vectors = vectors_of(n, self.isa.lanes(Dtype.F32))
        if rhs.layout.is_packed:
            calls, passes = calls_of(vectors_of(n, COLUMNS)), 1
        else:
            calls = passes = calls_of(k)
        fetched = passes if frame.key.kind.accumulates else passes - 1
        fetched = passes if out.level is Level.MEM else fetched
        ends = vectors * (2 * c.shuffle + c.vector_op + c.load + c.store)
        loop = slowest(
            (c.fma + c.vector_op) * k * vectors + passes * ends,
            (calls * (k + 4) if rhs.layout.is_packed else k + 4 * calls)
            * c.fma_latency,
            rhs.lines((1, k, n)) * line_cost(rhs.level, c)
            + (passes + fetched) * out.lines((1, 1, n)) * line_cost(out.level, c),
        )
        narrow = 2 * c.vector_op if lhs.dtype is Dtype.BF16 else 0
        factors = k * (c.load + narrow) * (calls if rhs.layout.is_packed else 1)
        around = factors + calls * c.loop_setup
        return as_ints(c.kernel_setup + RUNS * c.run + loop + around)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Full registers of rhs in halves, the columns after them as they are."""
        halves = HalvesColumns(emitter, spec, operands, ahead=WIDENED)
        rest = Columns(emitter, spec, operands)
        n = spec.sizes[3]
        if operands[1].tensor.layout.is_packed:
            self._panels(emitter, halves, rest, n)
            return
        whole = n // halves.step * halves.step
        if whole:
            halves.passes_apart(whole)
        for start in range(whole, n, rest.step):
            rest.once(start, min(rest.step, n - start))

    def _panels(
        self, emitter: Emitter, halves: HalvesColumns, rest: Columns, n: int
    ) -> None:
        """A loop over full panels, then one that is not."""

        def panels(numbers: Sequence[Value], after: int) -> None:
            following = [emitter.offset(number, after) for number in numbers]
            halves.beside(
                [(Pack(number, COLUMNS), COLUMNS) for number in numbers],
                [Pack(number, COLUMNS) for number in following] if after else [],
            )

        whole, left = divmod(n, COLUMNS)
        apart(emitter, whole, panels, asks=True)
        if left:
            rest.once(Pack(whole, COLUMNS), left)
