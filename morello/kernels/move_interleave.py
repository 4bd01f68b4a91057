"""Move of rows into panels of pairs or quads: some rows become one of neighbours."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.cost.counts import OpCounts, Ops, add, times
from morello.kernels.casts import cast_ops
from morello.kernels.emitter import Buffer, Emitter, Index, Value
from morello.kernels.predicates import (
    GROUPS,
    PAIR,
    QUAD,
    grouped,
    in_l1,
    is_interleaved,
    within_block,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.kernels.vectors import (
    overlapping,
    overlapping_count,
    vectors_of,
)
from morello.spec import Move, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints


@dataclasses.dataclass(frozen=True)
class MoveInterleave(Kernel):
    """dst = src in L1, from rows into panels that end in pairs of rows.

    Rows go in two by two; their elements take turns. The end of a row is covered by
    vectors that overlap.
    """

    group: ClassVar[int] = PAIR
    """Rows that become one of neighbours: a power of two."""
    bytes: ClassVar[int] = 2
    """The most bytes of an element of dst."""

    def accepts(self, key: SpecKey) -> bool:
        """dst of few bytes, src no wider; columns innermost but for the groups."""
        if not isinstance(key.kind, Move) or not in_l1(*key.tensors):
            return False
        src, dst = key.tensors
        found = grouped(dst.layout, self.group)
        return (
            found is not None
            and src.layout.innermost == found[1]
            and src.layout.pack(found[0]) == 1
            and not is_interleaved(src.layout)
            and src.dtype.itemsize <= dst.dtype.itemsize <= self.bytes
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Whole groups of rows, within a pack of columns; the code stays short."""
        down, across = self._dims(frame.key)
        rows, columns = frame.sizes[down], frame.sizes[across]
        rest = [s for d, s in enumerate(frame.sizes) if d not in (down, across)]
        one: Ints = True
        for size in rest:
            one = one & (size == 1)
        lanes = self.isa.lanes(frame.key.tensors[1].dtype)
        number = (
            "an even number" if self.group == PAIR else f"a multiple of {self.group}"
        )
        return (
            Condition(one, "takes a block of two dimensions: tile the others to 1"),
            Condition(
                rows % self.group == 0,
                f"takes {GROUPS[self.group]} of rows: tile to {number}",
            ),
            *within_pack(frame, 0, across),
            *within_pack(frame, 1, across),
            within_block(rows * vectors_of(columns, lanes), self.isa),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """For each vector the slowest of loads, shuffles and casts, and stores.

        Whole vectors are shuffled within their halves, then the halves.
        """
        down, across = self._dims(frame.key)
        lanes = self.isa.lanes(frame.key.tensors[1].dtype)
        rows, columns = frame.sizes[down], frame.sizes[across]
        steps = rows * overlapping_count(columns, lanes)
        shuffles = np.where(columns < lanes, self.group // 2, self.group)
        each: Ops = {"load": 1, "shuffle": shuffles, "store": 1}
        return OpCounts.of(times(add(each, cast_ops(frame.key.dtypes)), steps))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Group by group of rows, vector by vector."""
        down, across = self._dims(spec.key)
        src, dst = operands
        lanes = self.isa.lanes(dst.tensor.dtype)

        def at(row: int, column: int) -> Index:
            index = [0] * len(spec.sizes)
            index[down], index[across] = row, column
            return tuple(index)

        for row in range(0, spec.sizes[down], self.group):
            for start, width in overlapping(spec.sizes[across], lanes):
                rows = [
                    emitter.load(src, at(row + i, start), width)
                    for i in range(self.group)
                ]
                # Half vectors stay so: their shuffles cross no halves.
                most = lanes if width == lanes else max(width, lanes // 2)
                mixed = _mixed(emitter, rows, width, most)
                for place, vector in enumerate(mixed):
                    vector = emitter.convert(vector, src.tensor.dtype, dst.tensor.dtype)
                    column = start + place * width // len(mixed)
                    emitter.store(vector, dst, at(row, column))

    def _dims(self, key: SpecKey) -> tuple[int, int]:
        """The dimension of the groups, and that of the columns."""
        found = grouped(key.tensors[1].layout, self.group)
        return found if found is not None else (0, 0)


@dataclasses.dataclass(frozen=True)
class MoveInterleaveQuads(MoveInterleave):
    """`move_interleave` of bytes, four by four, into panels that end in quads."""

    group: ClassVar[int] = QUAD
    bytes: ClassVar[int] = 1


def _mixed(
    emitter: Emitter, rows: Sequence[Value], width: int, lanes: int
) -> list[Value]:
    """Elements of some rows by turns, in vectors that fit: as many columns in each.

    First neighbours take turns, then the pairs that were made, and so on.
    """
    level = [[row] for row in rows]
    unit, size = 1, width
    while len(level) > 1:
        level = [
            [
                vector
                for first, second in zip(level[i], level[i + 1], strict=True)
                for vector in _turns(emitter, first, second, unit, size, lanes)
            ]
            for i in range(0, len(level), 2)
        ]
        unit, size = 2 * unit, min(2 * size, lanes)
    return level[0]


def _turns(
    emitter: Emitter, first: Value, second: Value, unit: int, size: int, lanes: int
) -> list[Value]:
    """Runs of ``unit`` lanes of two vectors by turns: one vector, or two of a half."""
    order = [
        lane
        for at in range(0, size, unit)
        for begin in (at, size + at)
        for lane in range(begin, begin + unit)
    ]
    each = 2 * size if 2 * size <= lanes else size
    return [
        emitter.shuffle(first, second, order[start : start + each])
        for start in range(0, 2 * size, each)
    ]
