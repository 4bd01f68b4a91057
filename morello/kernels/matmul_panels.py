"""Matmul of a few rows by panels of rhs in L2, while the rows that come next are asked
for.

A tile of few rows of lhs is used for as long as it takes to go over all panels, and its
lines are first used one after another: what brings them by itself is late for a part of
them. They are known a tile before, when nothing else is wanted from beyond L2.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Phase
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.matmul_block import block_phases, write_block
from morello.kernels.predicates import in_l1, size_is_one
from morello.kernels.template import Kernel
from morello.kernels.unroll import TOGETHER
from morello.machine.isa import Isa
from morello.spec import Dtype, Layout, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div

_PANELS = tuple(Layout.parse(f"[0,2,1,2p{columns}]") for columns in (16, 24))

_SUMS = 12
"""Registers of sums: as many chains as keep two units for multiply-adds busy, and what
three vectors of rhs and a factor, or three factors and a vector, leave."""


@dataclasses.dataclass(frozen=True)
class MatmulPanels(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], over all of k; rhs in panels in L2.

    Panel after panel, of fewer than four rows several at a time, each as `matmul_block`
    computes a block. Where there are as many panels as rows, the first ones ask for the
    ``m`` rows of lhs that come next, for a line in each trip of the loop, which costs
    nothing beside its products. Behind the last row of lhs they ask in vain.
    """

    def accepts(self, key: SpecKey) -> bool:
        """f32; lhs and out row-major; rhs in panels of 16 or 24 columns."""
        if not isinstance(key.kind, Matmul) or set(key.dtypes) != {Dtype.F32}:
            return False
        lhs, rhs, out = key.tensors
        row_major = Layout.row_major(3)
        return (
            in_l1(lhs, out)
            and rhs.level is Level.L2
            and rhs.layout in _PANELS
            and lhs.layout == out.layout == row_major
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Registers for the sums of a panel."""
        m = frame.sizes[1]
        panel = _panel(frame.key)
        most = _SUMS * self.isa.lanes(Dtype.F32) // panel
        return (
            size_is_one(frame, 0),
            Condition(m <= most, f"takes at most {most} rows: tile m smaller"),
            Condition(frame.limits.vrf >= self.isa.registers, "needs all registers"),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The blocks, and panels of rhs that arrive meanwhile."""
        _, m, k, n = frame.sizes
        panel = _panel(frame.key)
        width = panel * _together(m, panel, self.isa)
        lines = frame.key.tensors[1].lines((1, k, n))
        phases = (
            *block_phases(frame, width, self.isa),
            Phase(chain={"fma": 2}),
            Phase(lines=(Lines(1, lines, Access.SEQUENTIAL),)),
        )
        return OpCounts(phases, kernels=1, loops=2, trips=n // width)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Groups of panels that ask for rows, the other ones, and the last columns."""
        _, m, _, n = spec.sizes
        panel = _panel(spec.key)
        group = int(_together(m, panel, self.isa))
        whole = n // (group * panel) * group
        # A trip asks for one line: the next one where rows follow each other without
        # gaps, so that a panel asks for as many rows as a trip has steps.
        each = TOGETHER if spec.key.tensors[0].contiguous else 1
        panels = ceil_div(m, each)
        asking = ceil_div(panels, group) * group if m <= whole else 0

        def ask(number: Value) -> Callable[[Value], None]:
            def beside(at: Value) -> None:
                for further in range(min(group, panels)):
                    row = emitter.offset(Pack(number, each), m + further * each)
                    emitter.prefetch(operands[0], (0, row, Pack(at, each)))

            return beside

        def write(number: Value, columns: int, asks: bool = False) -> None:
            block = dataclasses.replace(spec, sizes=(*spec.sizes[:3], columns))
            beside = ask(number) if asks else None
            write_block(emitter, block, operands, Pack(number, panel), beside)

        def run(start: int, end: int, asks: bool) -> None:
            def body(number: Value, carried: Sequence[Value]) -> list[Value]:
                write(number, group * panel, asks)
                return []

            if end > start + group:
                emitter.loop(start, end, group, (), body)
            elif end > start:
                body(start, ())

        run(0, asking, True)
        run(asking, whole, False)
        if n > whole * panel:
            write(whole, n - whole * panel)


def _panel(key: SpecKey) -> int:
    """Columns of a panel."""
    return key.tensors[1].layout.pack(2)


def _together(m: Ints, panel: int, isa: Isa) -> Ints:
    """Panels that ``m`` rows are multiplied by at a time, for enough sums."""
    return np.maximum(_SUMS * isa.lanes(Dtype.F32) // panel // np.maximum(m, 1), 1)
