"""Transposes into rows of memory, whose next lines are asked for meanwhile.

What is stored to lines that are not in L1 waits for them, and loads that lie a multiple
of 4 KiB from a store that waits are held up by it. Stores of transposed blocks go to as
many lines as a block has columns, more than hardware prefetchers foresee.
"""

import dataclasses
import functools
from collections.abc import Sequence

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase
from morello.kernels.emitter import Buffer, Emitter, Index, Value
from morello.kernels.move_transpose import SIDE, turn
from morello.kernels.predicates import others
from morello.kernels.template import Kernel
from morello.kernels.transpose import shuffle_count
from morello.kernels.vectors import piece_count, pieces
from morello.spec import Level, Move, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.layout import LINE_BYTES

STEP = 16
"""Rows of src that fill a line of dst: what a trip of the loop takes."""

AHEAD = 2 * STEP
"""How many elements of each row of dst are on their way."""


@dataclasses.dataclass(frozen=True)
class MoveTransposeAhead(Kernel):
    """dst = src, to memory from anywhere, 8 or 16 columns of src of any length.

    Rows are runs of src, columns are runs of dst, of 4 bytes in dst.
    """

    def accepts(self, key: SpecKey) -> bool:
        """Into memory; different innermost dimensions; nothing packed."""
        if not isinstance(key.kind, Move):
            return False
        src, dst = key.tensors
        return (
            src.level is not Level.VRF
            and dst.level is Level.MEM
            and src.dtype.itemsize == dst.dtype.itemsize == LINE_BYTES // STEP
            and not (src.layout.is_packed or dst.layout.is_packed)
            and src.layout.innermost != dst.layout.innermost
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """8 or 16 columns; two dimensions."""
        src, dst = (t.layout.innermost for t in frame.key.tensors)
        columns = frame.sizes[src]
        rest = others(frame.sizes, src) // frame.sizes[dst]
        return (
            Condition(
                (columns == SIDE) | (columns == 2 * SIDE),
                f"takes {SIDE} or {2 * SIDE} columns: tile it so",
            ),
            Condition(
                rest == 1,
                "takes a block of two dimensions: tile the others to 1",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Loads, shuffles and stores; lines of src, and those of dst, which are
        prefetched. Each row of src is gone to, and each of dst is reached once.
        """
        src, dst = (t.layout.innermost for t in frame.key.tensors)
        rows, columns = frame.sizes[dst], frame.sizes[src]
        blocks = columns // SIDE
        rest = rows % SIDE
        mixed = rows // SIDE * shuffle_count(SIDE, SIDE) + shuffle_count(rest, SIDE)
        stores = rows // SIDE + piece_count(rest, SIDE)
        read, written = (
            t.lines(frame.operand_sizes(i)) for i, t in enumerate(frame.key.tensors)
        )
        ops: Ops = {
            "load": blocks * rows + written,
            "shuffle": blocks * mixed,
            "store": columns * stores,
        }
        lines = (
            Lines(0, read, Access.DEMAND, rows=rows, hidden=False),
            Lines(1, written, Access.STORED, starts=columns, rows=rows, hidden=False),
        )
        trips = rows // STEP
        return OpCounts((Phase(ops, lines=lines),), kernels=1, loops=1, trips=trips)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Two loops over rows: the second has nothing more to ask for."""
        block = _Block(emitter, spec, *operands)
        rows = spec.sizes[operands[1].tensor.layout.innermost]
        whole = rows // STEP * STEP
        more = max(rows - AHEAD, 0) // STEP * STEP

        def followed(row: Value, carried: Sequence[Value]) -> list[Value]:
            block.ask(row)
            block.write(row, STEP)
            return []

        def last(row: Value, carried: Sequence[Value]) -> list[Value]:
            block.write(row, STEP)
            return []

        for start, end, body in ((0, more, followed), (more, whole, last)):
            if end > start + STEP:
                emitter.loop(start, end, STEP, (), body)
            elif end > start:
                body(start, ())
        if rows > whole:
            block.write(whole, rows - whole)


@dataclasses.dataclass(frozen=True)
class _Block:
    """Some rows of src, all columns."""

    emitter: Emitter
    spec: Spec
    src: Buffer
    dst: Buffer

    def at(self, row: Value, column: int) -> Index:
        """The index of an element."""
        index: list[Value] = [0] * len(self.spec.sizes)
        index[self.dst.tensor.layout.innermost] = row
        index[self.src.tensor.layout.innermost] = column
        return tuple(index)

    @property
    def columns(self) -> int:
        """The columns of src."""
        return self.spec.sizes[self.src.tensor.layout.innermost]

    def ask(self, row: Value) -> None:
        """For the lines of dst that the rows after some fill."""
        ahead = self.emitter.offset(row, AHEAD)
        for column in range(self.columns):
            self.emitter.prefetch(self.dst, self.at(ahead, column), to_l1=True)

    def write(self, row: Value, count: int) -> None:
        """Transpose ``count`` rows from ``row`` on."""
        whole = [(first, SIDE) for first in range(0, count - SIDE + 1, SIDE)]
        rest = [(SIDE * len(whole) + at, n) for at, n in pieces(count % SIDE)]
        for first, group in (*whole, *rest):
            start = self.emitter.offset(row, first)
            for column in range(0, self.columns, SIDE):
                place = functools.partial(self._place, start, column)
                turn(self.emitter, self.src, self.dst, place, group, SIDE)

    def _place(self, row: Value, column: int, i: int, j: int) -> Index:
        return self.at(self.emitter.offset(row, i), column + j)
