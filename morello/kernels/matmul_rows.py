"""Matmul of a few rows by all of rhs, which is read in L2 as it lies."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Phase
from morello.kernels.broadcast_loop import loop_conditions
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.matmul_block import block_phases, part, write_block
from morello.kernels.predicates import in_l1, is_interleaved
from morello.kernels.template import Kernel
from morello.machine.isa import Isa
from morello.spec import Dtype, Layout, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints

MOST_M = 6
"""Rows of lhs: with more, too few vectors of columns have sums."""

MOST_LINES = 4096
"""Lines of rhs, 64 pages: what the first level of address translation reaches. The loop
goes through as many rows as rhs has for each vector of columns."""

_FEW = 8
"""Rows of rhs that may fall into the same set of L1."""

_SET = 1024
"""Elements between rows that do."""


@dataclasses.dataclass(frozen=True)
class MatmulRows(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], over all of k; rhs gapless in L2.

    Blocks of columns, each as `matmul_block` computes it. Nothing of its loop waits for
    what it loads, so that the core asks for lines of rhs in L2 long before their use:
    that spares to pack rhs, whose rows may lie too far apart to stay in L1.
    """

    def accepts(self, key: SpecKey) -> bool:
        """f32; lhs unpacked along k; rhs and out row-major."""
        if not isinstance(key.kind, Matmul) or set(key.dtypes) != {Dtype.F32}:
            return False
        lhs, rhs, out = key.tensors
        row_major = Layout.row_major(3)
        return (
            in_l1(lhs, out)
            and rhs.level is Level.L2
            and rhs.contiguous
            and rhs.layout == out.layout == row_major
            and lhs.layout.pack(2) == 1
            and not is_interleaved(lhs.layout)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows; rhs within reach; registers."""
        _, m, k, n = frame.sizes
        width = _width(m, self.isa)
        last = part(frame, np.where(n % width, n % width, width))
        return (
            Condition(m <= MOST_M, f"takes at most {MOST_M} rows: tile m smaller"),
            Condition(
                frame.key.tensors[1].lines((1, k, n)) <= MOST_LINES,
                f"takes at most {MOST_LINES} lines of rhs: tile n smaller, or split k",
            ),
            Condition(
                (n % _SET != 0) | (k <= _FEW),
                "takes few rows of rhs where they push each other out: pack it",
            ),
            Condition(frame.limits.vrf >= self.isa.registers, "needs all registers"),
            *loop_conditions(last, self.isa),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The blocks, and strips of rhs that arrive meanwhile."""
        _, m, k, n = frame.sizes
        width = _width(m, self.isa)
        lines = frame.key.tensors[1].lines((1, k, n))
        arriving = Lines(1, lines, Access.OVERLAPPED, rows=k)
        phases = (
            *block_phases(frame, width, self.isa),
            Phase(chain={"fma": 2}),
            Phase(lines=(arriving,)),
        )
        return OpCounts(phases, kernels=1, loops=1, trips=n // width)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over blocks of columns, and those that are left."""
        b, m, k, n = spec.sizes
        width = int(_width(m, self.isa))
        whole = n // width * width

        def block(columns: int) -> Spec:
            return dataclasses.replace(spec, sizes=(b, m, k, columns))

        def write(column: Value, carried: Sequence[Value]) -> list[Value]:
            write_block(emitter, block(width), operands, column)
            return []

        if whole > width:
            emitter.loop(0, whole, width, (), write)
        elif whole:
            write(0, ())
        if n > whole:
            write_block(emitter, block(n - whole), operands, whole)


def _width(m: Ints, isa: Isa) -> Ints:
    """Columns of a block of ``m`` rows: registers for sums, a row of rhs, a factor."""
    few = np.minimum(m, MOST_M)
    return (isa.registers - 1) // (few + 1) * isa.lanes(Dtype.F32)
