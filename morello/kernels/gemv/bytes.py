"""Element rows of bytes: u8 times s8 into s32, by instructions that add neighbours.

Neighbours along k are multiplied and added by one instruction: fours of u8 and s8 where
there is one, else pairs that are widened to 16 bits. Rows of a group are interleaved
within quads of 16 bytes, which leaves four columns of each quad in a vector of sums;
the sums are put in order once a pass.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.cost.counts import Access, Lines, Ops, Phase, add, times
from morello.cost.counts import Op as OpName
from morello.kernels.code.casts import cast_ops
from morello.kernels.code.vectors import end_count
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.gemv.elements import (
    Dtypes,
    Stepped,
    fetched_in,
    lines_of_out,
    starts_of,
)
from morello.machine.isa import Isa, Op
from morello.spec import Dtype
from morello.spec.frame import Frame, Ints
from morello.spec.tensors.layout import ceil_div

_QUAD = 16
"""Elements of one byte within which `_unpacked` interleaves."""

_PARTS = 4
"""Vectors of sums of a vector of bytes."""


@dataclasses.dataclass(frozen=True)
class Bytes(Stepped):
    """Pairs of u8 and s8, widened to 16 bits; `Quads` where an instruction has them.

    Sums are from zero on: when they are in order they are added to out.
    """

    parts: ClassVar[int] = _PARTS
    working: ClassVar[int] = 8
    group: ClassVar[int] = 2
    mixed: ClassVar[Ops] = {"shuffle": 2 + _PARTS, "vector_op": _PARTS}
    """The instructions that interleave a unit of a group."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """u8 times s8 into s32."""
        return ((Dtype.U8, Dtype.S8, Dtype.S32),)

    @property
    def unit(self) -> int:
        """Columns of a vector of rhs."""
        return self.isa.lanes(Dtype.S8)

    units = 1
    """A vector of bytes has enough sums."""

    @property
    def run(self) -> int:
        """Elements of a run: a vector of them, widened to 16 bits."""
        return self.isa.lanes(Dtype.S16)

    beside = 1
    """A factor."""

    def rows_of(self, row: Value) -> tuple[Value, ...]:
        """The rows of a group."""
        present = range(self.present or self.group)
        return tuple(Pack(row, self.group, by) for by in present)

    def read(
        self, emitter: Emitter, rhs: Buffer, row: Value, start: Value, count: int
    ) -> tuple[Value, ...]:
        """The rows of a group, with zeros in the place of missing ones."""
        rows = tuple(
            emitter.load(rhs, (0, one, start), self.unit, count)
            for one in self.rows_of(row)
        )
        zero = emitter.constant(Dtype.S8, 0, self.unit)
        return (*rows, *[zero] * (self.group - len(rows)))

    def widen(self, emitter: Emitter, loaded: Sequence[Value]) -> Sequence[Value]:
        """Groups: in vector q the columns 4q to 4q + 3 of each quad."""
        first, second = loaded
        return [
            emitter.shift_right(emitter.reinterpret(vector, Dtype.S16), 8)
            for half in _unpacked(emitter, first, second, 1)
            for vector in _unpacked(emitter, half, half, 1)
        ]

    def factor(self, emitter: Emitter, lhs: Buffer, i: int, row: Value) -> Value:
        """Load a group of lhs, broadcast to all lanes."""
        return self.in_words(emitter, self._group(emitter, lhs, i, row, self.run), lhs)

    def _group(
        self, emitter: Emitter, lhs: Buffer, i: int, row: Value, width: int
    ) -> Value:
        index, present = (0, i, Pack(row, self.group)), self.present or self.group
        return emitter.load_group(lhs, index, self.group, present, width)

    def in_words(self, emitter: Emitter, vector: Value, operand: Buffer) -> Value:
        """Bytes of an operand as the instruction takes them."""
        return emitter.convert(vector, operand.tensor.dtype, Dtype.S16)

    def multiply_add(
        self, emitter: Emitter, lhs: Value, rhs: Value, total: Value
    ) -> Value:
        """The products of each group, added."""
        return emitter.add(total, emitter.dot(Op.DOT2, lhs, rhs))

    def ordered(self, emitter: Emitter, sums: Sequence[Value]) -> Sequence[Value]:
        """Neighbouring columns."""
        return _in_order(emitter, sums, self.lanes)

    def along(
        self, emitter: Emitter, buffer: Buffer, index: tuple[Value, ...], count: int
    ) -> tuple[Value, ...]:
        """A run of bytes, as the instruction takes them."""
        loaded = emitter.load(buffer, index, self.run, count)
        return (self.in_words(emitter, loaded, buffer),)

    def multiply_add_ops(self, dtypes: Dtypes) -> tuple[Ops, OpName]:
        """A product of pairs, and an addition."""
        return {"fma": 1, "vector_op": 1}, "vector_op"

    def widening_ops(self, dtypes: Dtypes, operand: int) -> Ops:
        """The cast to 16 bits."""
        return cast_ops((dtypes[operand], Dtype.S16))

    @property
    def masked(self) -> bool:
        """Whether one instruction reads the end of a run."""
        return self.isa.loads_masked(Dtype.S8)

    def passes_of(
        self, frame: Frame, columns: Ints, streams: int, ahead: bool
    ) -> tuple[Phase, ...]:
        """The phases of units of columns in passes over out."""
        groups = ceil_div(frame.sizes[2], self.group)
        return self._columns(frame, columns, ceil_div(groups, streams), ahead)

    def once_of(self, frame: Frame, columns: Ints, ahead: bool) -> tuple[Phase, ...]:
        """The phases of some columns in one pass."""
        return self._columns(frame, columns, 1, ahead)

    def _columns(
        self, frame: Frame, columns: Ints, passes: Ints, ahead: bool
    ) -> tuple[Phase, ...]:
        """Some columns, whose sums go through memory in each of ``passes``."""
        _, m, k, _ = frame.sizes
        rhs, out = frame.key.tensors[1:]
        groups = ceil_div(k, self.group)
        units, whole = ceil_div(columns, self.unit), columns // self.unit
        ends = end_count(columns, self.unit, self.masked)
        one = np.asarray(m == 1) * 1
        product, chain = self.multiply_add_ops(frame.key.dtypes)
        loads: Ops = {"load": k * whole, "masked_load": k * ends}
        factors: Ops = {"load": m * groups * np.where(m == 1, 1, units)}
        ordering: Ops = {"shuffle": _ordering(self.isa), "store": _PARTS}
        held: Ops = {"load": _PARTS, "vector_op": _PARTS}
        fetched = fetched_in(frame, passes)
        work = add(
            loads,
            factors,
            times(self.mixed, groups * units),
            times(product, _PARTS * m * groups * units),
            times(ordering, m * units * passes),
            times(held, m * units * fetched),
        )
        strip = rhs.lines((1, k, columns))
        lines = (
            Lines(1, strip * one, Access.DEMAND, prefetched=ahead),
            Lines(1, strip * (1 - one), Access.STREAMED),
            *lines_of_out(fetched, passes, out.lines((1, m, columns))),
        )
        waits: Ops = {chain: groups}
        return Phase(work, waits, lines), Phase(lines=starts_of(frame, columns))


@dataclasses.dataclass(frozen=True)
class Quads(Bytes):
    """Fours of u8 and s8, which one instruction takes as they are."""

    group: ClassVar[int] = 4
    mixed: ClassVar[Ops] = {"shuffle": 2 * _PARTS}

    @property
    def run(self) -> int:
        """A vector of bytes."""
        return self.unit

    def widen(self, emitter: Emitter, loaded: Sequence[Value]) -> Sequence[Value]:
        """Groups: in vector q the columns 4q to 4q + 3 of each quad."""
        (low, high), (low_2, high_2) = (
            _unpacked(emitter, a, b, 1) for a, b in _pairs(loaded)
        )
        return [
            *_unpacked(emitter, low, low_2, 2),
            *_unpacked(emitter, high, high_2, 2),
        ]

    def in_words(self, emitter: Emitter, vector: Value, operand: Buffer) -> Value:
        """Bytes as they are."""
        return vector

    def multiply_add(
        self, emitter: Emitter, lhs: Value, rhs: Value, total: Value
    ) -> Value:
        """The products of each four, added."""
        return emitter.dot_add(Op.DOT4, total, lhs, rhs)

    def multiply_add_ops(self, dtypes: Dtypes) -> tuple[Ops, OpName]:
        """One instruction."""
        return {"dot": 1}, "dot"

    def widening_ops(self, dtypes: Dtypes, operand: int) -> Ops:
        """None."""
        return {}


@dataclasses.dataclass(frozen=True)
class Alike(Bytes):
    """Pairs of bytes with the same sign, or of s8 and u8, for the dot form alone."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """All mixes of bytes that `Bytes` lacks."""
        pairs = ((Dtype.S8, Dtype.S8), (Dtype.U8, Dtype.U8), (Dtype.S8, Dtype.U8))
        return tuple((*pair, Dtype.S32) for pair in pairs)


def dots_of(isa: Isa) -> tuple[Bytes, ...]:
    """The rows of bytes for the dot form."""
    return bytes_of(isa), Alike(isa)


def bytes_of(isa: Isa) -> Bytes:
    """The row of bytes of an instruction set."""
    return Quads(isa) if isa.has(Op.DOT4) else Bytes(isa)


def _pairs(rows: Sequence[Value]) -> list[tuple[Value, Value]]:
    return list(zip(rows[::2], rows[1::2], strict=True))


def _unpacked(emitter: Emitter, a: Value, b: Value, nbytes: int) -> list[Value]:
    """Elements of ``nbytes`` of two vectors of bytes by turns: those of the lower half
    of each quad, then those of the upper half."""
    dtype = {1: Dtype.S8, 2: Dtype.S16}[nbytes]
    first, second = (emitter.reinterpret(v, dtype) for v in (a, b))
    lanes, quad = emitter.isa.lanes(dtype), _QUAD // nbytes
    halves = []
    for half in (0, quad // 2):
        order = [
            lane
            for at in range(half, lanes, quad)
            for i in range(at, at + quad // 2)
            for lane in (i, lanes + i)
        ]
        mixed = emitter.shuffle(first, second, order)
        halves.append(emitter.reinterpret(mixed, Dtype.S8))
    return halves


def _in_order(emitter: Emitter, sums: Sequence[Value], lanes: int) -> list[Value]:
    """Vectors of neighbouring columns, of those that `Bytes.widen` has.

    Quad p of vector q has the columns from 16p + 4q on: quads are transposed.
    """
    quad = _QUAD // 4
    quads = lanes // quad

    def chosen(a: Value, b: Value, places: Sequence[int]) -> Value:
        order = [quad * place + i for place in places for i in range(quad)]
        return emitter.shuffle(a, b, order)

    if quads == 2:
        return [
            chosen(sums[q], sums[q + 1], (p, quads + p))
            for p in range(quads)
            for q in (0, 2)
        ]
    halves = [
        [chosen(a, b, (p, p + 1, quads + p, quads + p + 1)) for a, b in _pairs(sums)]
        for p in (0, 2)
    ]
    return [
        chosen(low, high, (by, by + 2, quads + by, quads + by + 2))
        for low, high in halves
        for by in (0, 1)
    ]


def _ordering(isa: Isa) -> int:
    """The shuffles of `_in_order`."""
    return _PARTS if isa.lanes(Dtype.S32) == 2 * _QUAD // 4 else 2 * _PARTS
