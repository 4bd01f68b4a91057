"""Move of rows into panels of pairs: two rows become one of neighbours."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from morello.kernels.base import Kernel
from morello.kernels.casts import cast_cost
from morello.kernels.emitter import Buffer, Emitter, Index, Value
from morello.kernels.rules import (
    PAIR,
    in_l1,
    is_interleaved,
    paired,
    slowest,
    within_block,
    within_pack,
)
from morello.kernels.vectors import (
    as_ints,
    lanes_of,
    overlapping,
    overlapping_count,
    vectors_of,
)
from morello.spec import Move, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.targets.coefficients import Coefficients


@dataclasses.dataclass(frozen=True)
class MoveInterleave(Kernel):
    """dst = src in L1, from rows into panels that end in pairs of rows.

    Rows go in two by two; their elements take turns. The end of a row is covered by
    vectors that overlap.
    """

    name: ClassVar[str] = "move_interleave"

    def accepts(self, key: SpecKey) -> bool:
        """dst of at most 2 bytes, src no wider; columns innermost but for the pairs."""
        if not isinstance(key.kind, Move) or not in_l1(*key.tensors):
            return False
        src, dst = key.tensors
        pair = paired(dst.layout)
        return (
            pair is not None
            and src.layout.innermost == pair[1]
            and src.layout.pack(pair[0]) == 1
            and not is_interleaved(src.layout)
            and src.dtype.itemsize <= dst.dtype.itemsize <= PAIR
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Pairs of rows, within a pack of columns; the code stays short."""
        down, across = _dims(frame.key)
        rows, columns = frame.sizes[down], frame.sizes[across]
        rest = [s for d, s in enumerate(frame.sizes) if d not in (down, across)]
        one: Ints = True
        for size in rest:
            one = one & (size == 1)
        lanes = lanes_of(frame.key.tensors[1].dtype)
        return (
            Condition(one, "takes a block of two dimensions: tile the others to 1"),
            Condition(rows % PAIR == 0, "takes pairs of rows: tile to an even number"),
            *within_pack(frame, 0, across),
            *within_pack(frame, 1, across),
            within_block(rows * vectors_of(columns, lanes)),
        )

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """For each two vectors the slowest of loads, shuffles and casts, and stores."""
        c = coefficients
        down, across = _dims(frame.key)
        lanes = lanes_of(frame.key.tensors[1].dtype)
        rows = frame.sizes[down]
        steps = rows * overlapping_count(frame.sizes[across], lanes)
        mixed = 2 * c.shuffle + cast_cost(frame.key.dtypes, c)
        each = slowest(c.load, mixed, c.store)
        return as_ints(steps * each)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Pair by pair of rows, vector by vector."""
        down, across = _dims(spec.key)
        lanes = lanes_of(operands[1].tensor.dtype)

        def at(row: int, column: int) -> Index:
            index = [0] * len(spec.sizes)
            index[down], index[across] = row, column
            return tuple(index)

        for row in range(0, spec.sizes[down], PAIR):
            for start, width in overlapping(spec.sizes[across], lanes):
                src, dst = operands
                first = emitter.load(src, at(row, start), width)
                second = emitter.load(src, at(row + 1, start), width)
                for place, mixed in _mixed(emitter, first, second, width, lanes):
                    vector = emitter.convert(mixed, src.tensor.dtype, dst.tensor.dtype)
                    emitter.store(vector, dst, at(row, start + place))


def _dims(key: SpecKey) -> tuple[int, int]:
    """The dimension of the pairs, and that of the columns."""
    pair = paired(key.tensors[1].layout)
    return pair if pair is not None else (0, 0)


def _mixed(
    emitter: Emitter, first: Value, second: Value, width: int, lanes: int
) -> list[tuple[int, Value]]:
    """Elements of two vectors by turns, in vectors that fit: the column of each."""
    order = [lane for i in range(width) for lane in (i, width + i)]
    if PAIR * width <= lanes:
        return [(0, emitter.shuffle(first, second, order))]
    return [
        (start // PAIR, emitter.shuffle(first, second, order[start : start + width]))
        for start in (0, width)
    ]
