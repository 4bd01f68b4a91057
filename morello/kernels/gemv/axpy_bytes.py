"""GEMV in its axpy form of bytes: rows of rhs are added to out in groups.

Neighbours along k are multiplied and added by one instruction: fours of u8 and s8 where
there is one, else pairs that are widened to 16 bits. Rows of a group are interleaved
within quads of 16 bytes, which leaves four columns of each quad in a vector of sums;
the sums are put in order once a pass.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add, times
from morello.kernels.code.prefetch import NextRows, OwnRows, halves_of_rows
from morello.kernels.code.vectors import end_count
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.gemv.block import BYTES
from morello.kernels.gemv.columns import Columns, prefetched_from, room_to_prefetch
from morello.kernels.predicates import (
    free_vectors,
    in_l1,
    in_l2,
    is_interleaved,
    size_is_one,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.machine.isa import Isa, Op
from morello.spec import Dtype, Matmul, Memory, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div

_QUAD = 16
"""Elements of one byte within which `_unpacked` interleaves."""

_PARTS = 4
"""Vectors of sums of a vector of bytes."""

_WORKING = 8
"""Registers besides sums and factors: rows of a group, and what they become."""

_N = 3
"""Of the dimensions of the product."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvAxpyBytes(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] in L1 · rhs[0,k,n], of u8 and s8 into s32."""

    streams: int
    """Groups of rows of rhs that are read side by side."""
    prefetch: NextRows | OwnRows
    """What is prefetched of rhs, where it is beyond L2."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """Bytes."""
        return (BYTES,)

    @property
    def group(self) -> int:
        """Rows of rhs that are added as one."""
        return _group(self.isa)

    @property
    def unit(self) -> int:
        """Columns that are taken at a time."""
        return self.isa.lanes(Dtype.S8)

    def accepts(self, key: SpecKey) -> bool:
        """Bytes; k innermost in lhs, n in rhs and out, none packed along them.

        rhs is not in L2: who reads it again and again from there, a line a row, which
        nothing prefetches, waits longer than a packed copy takes.
        """
        if not isinstance(key.kind, Matmul) or key.dtypes != BYTES:
            return False
        lhs, rhs, out = key.tensors
        return (
            not key.kind.saturating
            and in_l1(lhs)
            and not (rhs.level.is_registers or out.level.is_registers)
            and not is_interleaved(lhs.layout)
            and lhs.layout.pack(2) == 1
            and all(t.layout.innermost == 2 for t in (lhs, rhs, out))
            and not (rhs.layout.is_packed or out.layout.is_packed)
            and not in_l2(rhs)
            and (rhs.level.is_main or isinstance(self.prefetch, NextRows))
        )

    def levels_needed(self, key: SpecKey) -> frozenset[Memory]:
        """L2, where the next rows are prefetched."""
        if isinstance(self.prefetch, OwnRows):
            return frozenset()
        return prefetched_from(key, (Dtype.S8,))

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Registers for sums and factors, and room for what is prefetched."""
        _, m, k, _ = frame.sizes
        factors = np.where(m == 1, self.streams, 1)
        return (
            size_is_one(frame, 0),
            *within_pack(frame, 0, 1),
            Condition(
                k >= self.group,
                f"takes {self.group} rows of rhs as one: k is smaller",
            ),
            Condition(
                _PARTS * m + factors + _WORKING <= free_vectors(frame),
                "needs free registers for sums and factors: tile m smaller, or take "
                "fewer",
            ),
            *self._room(frame),
        )

    def _room(self, frame: Frame) -> tuple[Condition, ...]:
        """Room for the next rows, or rows long enough to prefetch their own lines."""
        side = self.streams * self.group
        if isinstance(self.prefetch, NextRows):
            return room_to_prefetch(frame, side)
        distance = self.prefetch.distance(side, 1, self.unit)
        return (halves_of_rows(frame, _N, distance, self.unit),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Units of columns in passes over out, or once over all of k; those left
        once."""
        n, unit = frame.sizes[3], self.unit
        units, rest = n // unit, n % unit
        groups = ceil_div(frame.sizes[2], self.group)
        passes = ceil_div(groups, self.streams)
        several = (units > 1) * 1
        parts = (
            *self._columns(frame, units * unit, passes, several),
            *self._columns(frame, unit, 1, (units == 1) * 1),
            *self._columns(frame, rest, 1, (rest > 0) * 1),
        )
        loops = several * passes + (units == 1) + (rest > 0)
        return OpCounts(parts, kernels=1, loops=loops)

    def _columns(
        self, frame: Frame, columns: Ints, passes: Ints, times_run: Ints
    ) -> tuple[Phase, ...]:
        """Some columns, whose sums go through memory in each of ``passes``."""
        _, m, k, _ = frame.sizes
        rhs, out = frame.key.tensors[1:]
        groups = ceil_div(k, self.group)
        fetched = passes if frame.key.kind.accumulates else passes - 1
        whole = columns // self.unit
        ends = end_count(columns, self.unit, self.isa.loads_masked(Dtype.S8))
        units = ceil_div(columns, self.unit)
        strip, written = rhs.lines((1, k, columns)), out.lines((1, m, columns))
        own, one = isinstance(self.prefetch, OwnRows), np.asarray(m == 1) * 1
        mixed, products, chain = _group_ops(self.isa)
        loads: Ops = {"load": k * whole, "masked_load": k * ends}
        factors: Ops = {"load": m * groups * np.where(m == 1, 1, units)}
        ordering: Ops = {
            "shuffle": _ordering(self.isa),
            "store": _PARTS,
        }
        held: Ops = {"load": _PARTS, "vector_op": _PARTS}
        work = add(
            loads,
            factors,
            times(mixed, groups * units),
            times(products, m * groups * units),
            times(ordering, m * units * passes),
            times(held, m * units * fetched),
        )
        starts = Lines(
            1, 0, Access.DEMAND, starts=rhs.runs((1, k, columns)), hidden=False
        )
        lines = (
            Lines(1, strip * one, Access.DEMAND, prefetched=own),
            Lines(1, strip * (1 - one), Access.STREAMED),
            Lines(2, fetched * written, Access.OVERLAPPED),
            Lines(2, passes * written, Access.STORED),
        )
        return (
            Phase(work, times(chain, groups), lines, times_run),
            Phase(lines=(starts,), times=times_run),
        )

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Units of columns in passes over out; the others once, over all of k."""
        own = self.prefetch if isinstance(self.prefetch, OwnRows) else None
        columns = GroupedColumns(emitter, spec, operands, self.streams, own)
        n, unit = spec.sizes[3], self.unit
        whole = n // unit * unit
        if whole > unit:
            columns.passes(whole)
        elif whole:
            columns.once(0, whole)
        if n > whole:
            columns.once(whole, n - whole)
        left = spec.sizes[2] % self.group
        if left:
            columns.last_rows(left)


@dataclasses.dataclass(frozen=True)
class GroupedColumns(Columns):
    """Columns of groups of rows; the rows of a group that is not whole come last.

    Sums are from zero on: when they are in order they are added to out.
    """

    present: int = 0
    """Rows of the group, if not all."""

    @property
    def group(self) -> int:
        """Rows that are added as one."""
        return _group(self.emitter.isa)

    @property
    def unit(self) -> int:
        """Columns of a vector of rhs."""
        return self.emitter.isa.lanes(self.rhs.tensor.dtype)

    @property
    def step(self) -> int:
        """A vector of rhs."""
        return self.unit

    @property
    def length(self) -> int:
        """Whole groups."""
        return self.spec.sizes[2] // self.group

    @property
    def rows(self) -> int:
        """Rows that a group has."""
        return self.present or self.group

    def rows_of(self, row: Value) -> tuple[Value, ...]:
        """The rows of a group."""
        return tuple(Pack(row, self.group, by) for by in range(self.rows))

    def last_rows(self, count: int) -> None:
        """Add the ``count`` rows after the whole groups."""
        last = dataclasses.replace(self, present=count, own=None)
        n, row = self.spec.sizes[3], self.length
        whole = n // self.unit * self.unit
        if whole:
            last.block([row], whole)
        if n > whole:
            places = last.places(whole, n - whole)
            sums = last.load_sums(places, held=True)
            last.store_sums(places, last.add_row(row, places, sums, ()), held=True)

    def places(self, start: Value, columns: int) -> list[tuple[Value, int]]:
        """`Columns.places`, by vectors of rhs."""
        return [
            (self.emitter.offset(start, s), min(self.unit, columns - s))
            for s in range(0, columns, self.unit)
        ]

    def load_sums(self, places: Sequence[tuple[Value, int]], held: bool) -> list[Value]:
        """Zero, whatever out holds."""
        zero = self.emitter.constant(self.out.tensor.dtype, 0, self.lanes)
        return [zero] * (_PARTS * len(places) * self.spec.sizes[1])

    def load_row(self, row: Value, places: Sequence[tuple[Value, int]]) -> list[Value]:
        """Groups of each place: in vector q the columns 4q to 4q + 3 of each quad."""
        emitter, found = self.emitter, []
        for start, count in places:
            rows = [
                emitter.load(self.rhs, (0, one, start), self.unit, count)
                for one in self.rows_of(row)
            ]
            zero = emitter.constant(Dtype.S8, 0, self.unit)
            rows += [zero] * (self.group - len(rows))
            mixed = [_unpacked(emitter, a, b, 1) for a, b in _pairs(rows)]
            if self.group == _PARTS:
                (low, high), (low_2, high_2) = mixed
                found += [
                    *_unpacked(emitter, low, low_2, 2),
                    *_unpacked(emitter, high, high_2, 2),
                ]
            else:
                found += [
                    _high_bytes(emitter, vector)
                    for half in mixed[0]
                    for vector in _unpacked(emitter, half, half, 1)
                ]
        return found

    def factor(self, i: int, row: Value) -> Value:
        """A group of lhs, again and again."""
        emitter, lanes = self.emitter, self.emitter.isa.lanes
        index = (0, i, Pack(row, self.group))
        if self.group == _PARTS:
            width = lanes(Dtype.U8)
            return emitter.load_group(self.lhs, index, self.group, self.rows, width)
        width = lanes(Dtype.S16)
        found = emitter.load_group(self.lhs, index, self.group, self.rows, width)
        return emitter.convert(found, Dtype.U8, Dtype.S16)

    def multiply_add(self, factor: Value, vector: Value, total: Value) -> Value:
        """The products of a group, added."""
        emitter = self.emitter
        if self.group == _PARTS:
            return emitter.dot_add(Op.DOT4, total, factor, vector)
        return emitter.add(total, emitter.dot(Op.DOT2, factor, vector))

    def store_sums(
        self, places: Sequence[tuple[Value, int]], sums: Sequence[Value], held: bool
    ) -> None:
        """In order, added to what out holds."""
        emitter = self.emitter
        for index in range(len(places) * self.spec.sizes[1]):
            i, j = divmod(index, len(places))
            start, columns = places[j]
            ordered = _in_order(emitter, sums[_PARTS * index :][:_PARTS], self.lanes)
            for part, vector in enumerate(ordered):
                count = min(self.lanes, columns - part * self.lanes)
                if count <= 0:
                    break
                at = (0, i, emitter.offset(start, part * self.lanes))
                if held:
                    before = emitter.load(self.out, at, self.lanes, count)
                    vector = emitter.add(before, vector)
                emitter.store(vector, self.out, at, count)


def _group(isa: Isa) -> int:
    """Rows that one instruction multiplies and adds."""
    return 4 if isa.has(Op.DOT4) else 2


def _group_ops(isa: Isa) -> tuple[Ops, Ops, Ops]:
    """For a group of a unit of columns: how it is interleaved; its products with a row
    of lhs; what the next group waits for."""
    if isa.has(Op.DOT4):
        return {"shuffle": 2 * _PARTS}, {"dot": _PARTS}, {"dot": 1}
    mixed: Ops = {"shuffle": 2 + _PARTS, "vector_op": _PARTS}
    return mixed, {"fma": _PARTS, "vector_op": _PARTS}, {"vector_op": 1}


def _pairs(rows: Sequence[Value]) -> list[tuple[Value, Value]]:
    return list(zip(rows[::2], rows[1::2], strict=True))


def _unpacked(emitter: Emitter, a: Value, b: Value, nbytes: int) -> list[Value]:
    """Elements of ``nbytes`` of two vectors of bytes by turns: those of the lower half
    of each quad, then those of the upper half."""
    dtype = {1: Dtype.S8, 2: Dtype.S16}[nbytes]
    first, second = (emitter.reinterpret(v, dtype) for v in (a, b))
    lanes, quad = emitter.isa.lanes(dtype), _QUAD // nbytes
    found = []
    for half in (0, quad // 2):
        order = [
            lane
            for at in range(half, lanes, quad)
            for i in range(at, at + quad // 2)
            for lane in (i, lanes + i)
        ]
        mixed = emitter.shuffle(first, second, order)
        found.append(emitter.reinterpret(mixed, Dtype.S8))
    return found


def _high_bytes(emitter: Emitter, vector: Value) -> Value:
    """The upper byte of each two, as s16."""
    return emitter.shift_right(emitter.reinterpret(vector, Dtype.S16), 8)


def _in_order(emitter: Emitter, sums: Sequence[Value], lanes: int) -> list[Value]:
    """Vectors of neighbouring columns, of those that `GroupedColumns.load_row` has.

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
