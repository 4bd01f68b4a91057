"""Matmul of one row with panels of bf16, whose lines are asked for into L1 beforehand.

A panel is one run of memory, and the panels of an operand are one run as well. What
fetches lines by itself stops at pages of 4 KiB; a loop that asks goes on over them, and
from panel to panel.
"""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import OpCounts
from morello.kernels.axpy_columns import Columns, HalvesColumns
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.matmul_axpy_bf16 import COLUMNS, MatmulAxpyBf16, widened_counts
from morello.kernels.predicates import size_is_one
from morello.kernels.predicates import within_pack as packs
from morello.spec import Level, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.layout import ceil_div

AHEAD = 48
"""Rows of a panel, of two lines each, from what is read to what is asked for: what
memory brings in some 200 ns."""


@dataclasses.dataclass(frozen=True)
class MatmulAxpyBf16Ahead(MatmulAxpyBf16):
    """out[0,0,n] = or += lhs[0,0,k] · rhs[0,k,n], in f32, of rhs in panels in memory.

    Panel after panel, as `matmul_axpy_bf16` computes one, from end to end. Nothing
    behind the operand is asked for.
    """

    def accepts(self, key: SpecKey) -> bool:
        """bf16 or f32 times panels of bf16 that are not known to be in a cache."""
        return (
            super().accepts(key)
            and key.tensors[1].layout.is_packed
            and key.tensors[1].level is Level.MEM
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row; panels in which what is asked for is in the next one at most."""
        return (
            size_is_one(frame, 0),
            size_is_one(frame, 1),
            Condition(
                frame.sizes[2] >= AHEAD, f"takes at least {AHEAD} k: do not split k"
            ),
            *packs(frame, 0, 1),
            Condition(frame.limits.vrf >= self.isa.registers, "needs all registers"),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The products of each panel, one panel after another."""
        _, _, k, n = frame.sizes
        panels = ceil_div(n, COLUMNS)
        phases = widened_counts(frame, self.isa, 1, panels * (k + 4), panels)
        return OpCounts(phases, kernels=1, loops=panels)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over panels; of the last one the last rows have nothing to ask for."""
        halves = HalvesColumns(emitter, spec, operands)
        rest = Columns(emitter, spec, operands)
        _, _, k, n = spec.sizes
        last = (n - 1) // COLUMNS

        def panel(number: Value, carried: Sequence[Value]) -> list[Value]:
            halves.once(Pack(number, COLUMNS), COLUMNS, AHEAD, k)
            return []

        if last > 1:
            emitter.loop(0, last, 1, (), panel)
        elif last:
            panel(0, ())
        width = n - last * COLUMNS
        columns = rest if width % halves.unit else halves
        columns.once(Pack(last, COLUMNS), width, AHEAD, k - AHEAD)
