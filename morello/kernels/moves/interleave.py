"""Interleaves: moves of rows into panels whose neighbours come from several rows, and
of rows into odd-even packs."""

import dataclasses
from collections.abc import Sequence
from itertools import product as every

import numpy as np

from morello.cost.counts import OpCounts, Ops, add, times
from morello.kernels.code.casts import cast_ops
from morello.kernels.code.vectors import overlapping, overlapping_count, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Index, Value
from morello.kernels.predicates import (
    GROUPS,
    PAIR,
    grouped,
    in_l1,
    is_interleaved,
    others,
    within_block,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.spec import Dtype, Move, PhysicalDim, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.tensors.layout import ceil_div

WORD = 4
"""The most bytes of a group of neighbours."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Interleave(Kernel):
    """dst = src in L1, from rows into panels that end in groups of rows.

    A group of rows goes in at a time; their elements take turns. The end of a row is
    covered by vectors that overlap.
    """

    of_kind = Move

    group: int
    """Rows that become one of neighbours: a power of two."""

    def accepts(self, key: SpecKey) -> bool:
        """dst of few bytes, src no wider; columns innermost but for the groups."""
        if not isinstance(key.kind, Move) or not in_l1(*key.tensors):
            return False
        src, dst = key.tensors
        pair = grouped(dst.layout, self.group)
        return (
            pair is not None
            and src.layout.innermost == pair[1]
            and src.layout.pack(pair[0]) == 1
            and not is_interleaved(src.layout)
            and src.dtype.itemsize <= dst.dtype.itemsize <= WORD // self.group
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
        """Emit a loop over groups of rows, and within it over vectors."""
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
                mixed = _by_turns(emitter, rows, width, most)
                for place, vector in enumerate(mixed):
                    vector = emitter.convert(vector, src.tensor.dtype, dst.tensor.dtype)
                    column = start + place * width // len(mixed)
                    emitter.store(vector, dst, at(row, column))

    def _dims(self, key: SpecKey) -> tuple[int, int]:
        """The dimension of the groups, and that of the columns."""
        return grouped(key.tensors[1].layout, self.group) or (0, 0)


def _by_turns(
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
                for vector in _two_by_turns(emitter, first, second, unit, size, lanes)
            ]
            for i in range(0, len(level), 2)
        ]
        unit, size = 2 * unit, min(2 * size, lanes)
    return level[0]


def _two_by_turns(
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


@dataclasses.dataclass(frozen=True)
class Deinterleave(Kernel):
    """dst = src in L1, from rows of floats into odd-even packs of f32.

    A pack is two vectors: the even elements, then the odd ones. Neighbours of bf16 are
    words: shifted they are the even elements as f32, masked the odd ones. Of a row that
    ends within a pack, the rest is for other kernels.
    """

    of_kind = Move

    def accepts(self, key: SpecKey) -> bool:
        """dst of f32 that ends in odd-even packs; src in rows of the same."""
        if not isinstance(key.kind, Move) or not in_l1(*key.tensors):
            return False
        src, dst = key.tensors
        last = dst.layout.dims[-1]
        return (
            dst.dtype is Dtype.F32
            and src.dtype.is_float
            and last == PhysicalDim(last.dim, self._pack, odd_even=True)
            and sum(d.pack > 0 for d in dst.layout.dims) == 1
            and src.layout.innermost == last.dim
            and src.layout.pack(last.dim) == 1
            and not is_interleaved(src.layout)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Whole packs, so that no padding is written; the code stays short."""
        pack, most = self._pack, self.isa.block // 2
        inner = frame.key.tensors[1].layout.innermost
        rows, length = others(frame.sizes, inner), frame.sizes[inner]
        return (
            Condition(
                length % pack == 0, f"takes whole packs: tile to a multiple of {pack}"
            ),
            Condition(
                rows * (length // pack) <= most,
                f"takes at most {most} packs of {pack}: tile it smaller",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """For each pack the slowest of loads, operations and two stores."""
        inner = frame.key.tensors[1].layout.innermost
        rows, length = others(frame.sizes, inner), frame.sizes[inner]
        each: Ops = {"load": 2, "shuffle": 4, "store": 2}
        if frame.key.dtypes[0].is_upper_half:
            each = {"load": 1, "vector_op": 2, "store": 2}
        elif frame.key.dtypes[0].computes_in:
            each = add(each, times(cast_ops((frame.key.dtypes[0], Dtype.F32)), 2))
        return OpCounts.of(times(each, rows * ceil_div(length, self._pack)))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Row by row, pack by pack."""
        src, dst = operands
        inner = dst.tensor.layout.innermost
        extents = [range(size) for size in spec.sizes]
        extents[inner] = range(1)
        for row in every(*extents):
            for start in range(0, spec.sizes[inner], self._pack):
                at = (*row[:inner], start, *row[inner + 1 :])
                even, odd = self._parts(emitter, src, at)
                emitter.store(even, dst, at)
                emitter.store(odd, dst, (*row[:inner], start + 1, *row[inner + 1 :]))

    @property
    def _pack(self) -> int:
        """Elements of a pack: two vectors of f32."""
        return 2 * self.isa.lanes(Dtype.F32)

    def _parts(self, emitter: Emitter, src: Buffer, at: Index) -> tuple[Value, Value]:
        """The even and the odd elements of a pack."""
        if src.tensor.dtype.is_upper_half:
            return emitter.split_bf16(emitter.load(src, at, self._pack))
        half = self._pack // 2
        inner = src.tensor.layout.innermost
        after = (*at[:inner], at[inner] + half, *at[inner + 1 :])
        low, high = (
            emitter.convert(emitter.load(src, where, half), src.tensor.dtype, Dtype.F32)
            for where in (at, after)
        )
        lanes = range(0, self._pack, 2)
        even = emitter.shuffle(low, high, lanes)
        return even, emitter.shuffle(low, high, [lane + 1 for lane in lanes])
