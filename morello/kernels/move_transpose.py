"""Move between different innermost dimensions: transposes within registers."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from morello.cost.counts import OpCounts, Ops, add, times
from morello.kernels.casts import cast_ops
from morello.kernels.emitter import Buffer, Emitter, Index
from morello.kernels.predicates import (
    in_l1,
    is_interleaved,
    others,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.kernels.transpose import columns_of, shuffle_count
from morello.kernels.vectors import piece_count, pieces
from morello.spec import Move, Spec, SpecKey
from morello.spec.frame import Condition, Frame

SIDE = 8
"""The most rows and columns of a block."""


@dataclasses.dataclass(frozen=True)
class MoveTranspose(Kernel):
    """dst = src in L1, a block of up to 8 x 8 elements, of 4 bytes in dst.

    Rows are runs of src, columns are runs of dst: rows go in by 8, 4, 2 and 1, and each
    such group becomes, for every column, one store of as many elements.
    """

    def accepts(self, key: SpecKey) -> bool:
        """dst of 4 bytes; different innermost dimensions; nothing interleaved."""
        if not isinstance(key.kind, Move) or not in_l1(*key.tensors):
            return False
        src, dst = key.tensors
        return (
            dst.dtype.itemsize == 4
            and src.layout.innermost != dst.layout.innermost
            and not is_interleaved(src.layout)
            and not is_interleaved(dst.layout)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """A block of two dimensions, within one pack of each operand."""
        src, dst = (t.layout.innermost for t in frame.key.tensors)
        rows, columns = frame.sizes[dst], frame.sizes[src]
        rest = others(frame.sizes, src) // rows
        return (
            Condition(
                (rows <= SIDE) & (columns <= SIDE),
                f"takes a block of at most {SIDE} x {SIDE}: tile it smaller",
            ),
            Condition(
                rest == 1,
                "takes a block of two dimensions: tile the others to 1",
            ),
            *within_pack(frame, 0, src),
            *within_pack(frame, 1, dst),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The slowest of loads of rows, shuffles and casts, and stores of columns."""
        src, dst = (t.layout.innermost for t in frame.key.tensors)
        rows, columns = frame.sizes[dst], frame.sizes[src]
        whole = (columns == 8) | (columns == 4)
        dtypes = frame.key.dtypes
        # Narrow elements have no masked loads: they come in pieces.
        masked = dtypes[0].itemsize == 4
        parts = 0 if masked else piece_count(columns, SIDE)
        own: Ops = {
            "load": rows * np.where(whole, 1, parts),
            "masked_load": rows * np.where(whole, 0, int(masked)),
            "shuffle": rows * np.where(whole, 0, parts) + shuffle_count(rows, columns),
            "store": columns * piece_count(rows, SIDE),
        }
        return OpCounts.of(add(own, times(cast_ops(dtypes), rows)))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Group by group of rows."""
        src, dst = operands
        across, down = src.tensor.layout.innermost, dst.tensor.layout.innermost
        columns = spec.sizes[across]

        def at(row: int, column: int) -> Index:
            index = [0] * len(spec.sizes)
            index[down], index[across] = row, column
            return tuple(index)

        for first, count in pieces(spec.sizes[down]):

            def place(i: int, j: int, first: int = first) -> Index:
                return at(first + i, j)

            turn(emitter, src, dst, place, count, columns)


def turn(
    emitter: Emitter,
    src: Buffer,
    dst: Buffer,
    at: Callable[[int, int], Index],
    rows: int,
    columns: int,
) -> None:
    """Transpose 1, 2, 4 or 8 rows of up to 8 columns; ``at`` has a row and a column."""
    width = SIDE if columns > SIDE // 2 else SIDE // 2
    vectors = [
        emitter.convert(
            emitter.load(src, at(i, 0), width, columns),
            src.tensor.dtype,
            dst.tensor.dtype,
        )
        for i in range(rows)
    ]
    turned = columns_of(emitter, vectors, width)[:columns]
    for column, vector in enumerate(turned):
        emitter.store(vector, dst, at(0, column))
