"""Matmul of one row with bf16: rows, or narrow panels, far from each other."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from morello.cost.counts import OpCounts
from morello.kernels.axpy_columns import Columns, HalvesColumns
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.matmul_axpy_bf16 import MatmulAxpyBf16, widened_counts
from morello.kernels.predicates import size_is_one
from morello.kernels.predicates import within_pack as packs
from morello.kernels.streams import RUNS, WIDENED, apart, calls_of
from morello.kernels.vectors import vectors_of
from morello.spec import Layout, Level, Spec, SpecKey
from morello.spec.frame import Condition, Frame

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

    def op_counts(self, frame: Frame) -> OpCounts:
        """The products of a few rows, or of a few panels, at a time."""
        _, _, k, n = frame.sizes
        if frame.key.tensors[1].layout.is_packed:
            calls = calls_of(vectors_of(n, COLUMNS))
            phases = widened_counts(frame, self.isa, 1, calls * (k + 4), calls)
        else:
            calls = calls_of(k)
            phases = widened_counts(frame, self.isa, calls, k + 4 * calls, 1)
        return OpCounts(phases, kernels=1, loops=calls)

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
