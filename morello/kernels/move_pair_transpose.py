"""Move of rows into panels of rows, pairs of neighbours staying together."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import OpCounts, Ops, add, times
from morello.kernels.casts import cast_ops
from morello.kernels.emitter import Buffer, Emitter, Index, Value
from morello.kernels.predicates import (
    PAIR,
    in_l1,
    is_interleaved,
    others,
    paired,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.kernels.transpose import columns_of, shuffle_count
from morello.kernels.vectors import piece_count, pieces
from morello.spec import Dtype, Move, Spec, SpecKey
from morello.spec.frame import Condition, Frame

SIDE = 8
"""The most rows, and the most pairs of a row, of a block."""


@dataclasses.dataclass(frozen=True)
class MovePairTranspose(Kernel):
    """dst = src in L1, a block of up to 8 rows of 16 elements, transposed by pairs.

    As `move_transpose`, with pairs of neighbours for elements: in dst the rows of a
    panel stand side by side, each with a pair.
    """

    def accepts(self, key: SpecKey) -> bool:
        """dst of at most 2 bytes, src no wider; rows of src have pairs together."""
        if not isinstance(key.kind, Move) or not in_l1(*key.tensors):
            return False
        src, dst = key.tensors
        found = paired(dst.layout)
        return (
            found is not None
            and src.layout.innermost == found[0]
            and src.layout.pack(found[0]) == 1
            and not is_interleaved(src.layout)
            and src.dtype.itemsize <= dst.dtype.itemsize <= PAIR
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """A block of two dimensions, within a pack of rows, of whole pairs."""
        across, down = _dims(frame.key)
        rows, columns = frame.sizes[down], frame.sizes[across]
        return (
            Condition(
                (rows <= SIDE) & (columns <= PAIR * SIDE),
                f"takes a block of at most {SIDE} x {PAIR * SIDE}: tile it smaller",
            ),
            Condition(
                columns % PAIR == 0, "takes pairs along rows: tile to an even number"
            ),
            Condition(
                others(frame.sizes, across) // rows == 1,
                "takes a block of two dimensions: tile the others to 1",
            ),
            *within_pack(frame, 0, down),
            *within_pack(frame, 1, down),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The slowest of loads of rows, shuffles and casts, and stores of pairs."""
        across, down = _dims(frame.key)
        rows, columns = frame.sizes[down], frame.sizes[across]
        pairs = columns // PAIR
        pieces_of = piece_count(columns, PAIR * SIDE)
        narrow = frame.key.tensors[1].dtype.itemsize == 1
        spread = rows + pairs if narrow else 0
        joined = rows * np.maximum(pieces_of - 1, 0)
        own: Ops = {
            "load": rows * pieces_of,
            "shuffle": joined + spread + shuffle_count(rows, pairs),
            "store": pairs * piece_count(rows, SIDE),
        }
        return OpCounts.of(add(own, times(cast_ops(frame.key.dtypes), rows)))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Group by group of rows."""
        src, dst = operands
        across, down = _dims(spec.key)
        columns = spec.sizes[across]
        width = SIDE if columns > SIDE else SIDE // 2

        def at(row: int, column: int) -> Index:
            index = [0] * len(spec.sizes)
            index[down], index[across] = row, column
            return tuple(index)

        for first, count in pieces(spec.sizes[down]):
            rows = []
            for row in range(first, first + count):
                loaded = emitter.load(src, at(row, 0), PAIR * width, columns)
                cast = emitter.convert(loaded, src.tensor.dtype, dst.tensor.dtype)
                rows.append(_words(emitter, cast, dst.tensor.dtype))
            turned = columns_of(emitter, rows, width)
            for pair in range(columns // PAIR):
                vector = _elements(emitter, turned[pair], dst.tensor.dtype)
                emitter.store(vector, dst, at(first, PAIR * pair))


def _words(emitter: Emitter, row: Value, dtype: Dtype) -> Value:
    """A row as lanes of 4 bytes, a pair in each."""
    if dtype.itemsize == PAIR:
        return emitter.reinterpret(row, Dtype.U32)
    return emitter.convert(emitter.reinterpret(row, Dtype.U16), Dtype.U16, Dtype.U32)


def _elements(emitter: Emitter, words: Value, dtype: Dtype) -> Value:
    """The pairs in lanes of 4 bytes, one after another."""
    if dtype.itemsize < PAIR:
        words = emitter.convert(words, Dtype.U32, Dtype.U16)
    return emitter.reinterpret(words, dtype)


def _dims(key: SpecKey) -> tuple[int, int]:
    """The dimension along rows, and that across them."""
    found = paired(key.tensors[1].layout)
    return found if found is not None else (0, 0)
