"""Few rows of bytes times narrow integers, both scaled: dot products of integers.

The products of a block of k are added as integers, which is exact; the sum becomes a
float and is scaled. What stands for zero is taken off, and offsets are added, by the
sum of the bytes of the block, which is computed once for all columns.

The integers lie in panels of columns, in which four bytes along k are neighbours. The
halves of these are of the even and of the odd integers of eight: the bytes of the other
factor are put into that order first.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add, times
from morello.kernels.code.vectors import parts, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Index, Pack, Value
from morello.kernels.gemv.scaled_operands import (
    Operands,
    ScaledCode,
    ScaledKernel,
    product_of,
    rows_of,
)
from morello.kernels.predicates import free_vectors
from morello.machine.isa import Op
from morello.spec import Dtype, Layout, PhysicalDim, Spec, SpecKey, TensorSpec
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.scaled import ScaledProduct
from morello.spec.index_map import IndexMap
from morello.spec.tensors.layout import LINE_BYTES, ceil_div

_GROUP = 4
"""Bytes along k that an instruction multiplies and adds."""

_TRIP = 4
"""Places along k of a trip of the loop. Of halves they are 32 integers, which sums of
16 bits hold for certain: eight sums of two products, each of at most 15 times 128."""

_ORDERED = 16
"""Bytes that are put in order at a time."""

_ROW_MAJOR = Layout((PhysicalDim(0), PhysicalDim(1)))

_Words = Callable[[Value], Sequence[Sequence[Value]]]
"""Gives the integers of each vector of columns at a place: those of each half."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScaledBytes(ScaledKernel):
    """out[m,n] = or += sum of d[m,k/g] * a[m,k] * (s * (q[k,n] - z) + o), of a of s8 in
    L1 or L2, the others anywhere; q in panels, of 4 bits, or of 8 where an instruction
    adds four products to a sum."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """Dtypes of operands that are taken together."""
        return ((Dtype.F32, Dtype.S8, Dtype.F32, Dtype.U8, Dtype.F32),)

    @property
    def most_sums(self) -> int:
        """Vectors of sums that leave registers for as many of a block and all else."""
        return self.isa.registers * 3 // 8

    def accepts(self, key: SpecKey) -> bool:
        """Bytes times integers in the panels of the kernel."""
        product = product_of(key)
        if product is None:
            return False
        of, tensors = Operands.of(key, product), key.tensors
        own, layout = key.kind.operands[of.factors], tensors[of.factors].layout
        integers = key.kind.operands[of.integers].axes
        return (
            self.takes(key, of, product)
            and not any(t.level.is_registers for t in tensors)
            and not tensors[of.factors].level.is_main
            and not layout.is_packed
            and own.axis(product.inner) == layout.innermost
            and tensors[of.integers].layout
            == self.panels_of_integers(integers, product.columns)
            and not tensors[of.out].layout.is_packed
            and not any(tensors[i].layout.is_packed for i in of.row_scales)
            and all(
                self.fits(key, i, product.columns) for i in (*of.of_columns, of.out)
            )
        )

    def takes(self, key: SpecKey, of: Operands, product: ScaledProduct) -> bool:
        """Bytes times narrow integers, in blocks of whole sums."""
        narrow = (Dtype.U8,) if product.halves else (Dtype.U8, Dtype.S8)
        return (
            key.dtypes[of.out] is Dtype.F32
            and key.dtypes[of.factors] is Dtype.S8
            and key.dtypes[of.integers] in narrow
            and (product.halves or self.isa.has(Op.DOT4))
            and (product.block or 0) % _least_block(product) == 0
            and (product.block or 0) <= _most_summed(product)
        )

    def panels_of_integers(self, axes: tuple[IndexMap, ...], columns: int) -> Layout:
        """Panels of columns, four neighbours along k after one another."""
        own = next(i for i, axis in enumerate(axes) if axis.dim == columns)
        outer = PhysicalDim(own), PhysicalDim(1 - own)
        return Layout(
            (*outer, PhysicalDim(own, self.columns), PhysicalDim(1 - own, _GROUP))
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Registers for the sums of a vector of each row; whole blocks, whose sums fit
        into 32 bits."""
        product = product_of(frame.key)
        assert product is not None
        rows, k = rows_of(product, frame.sizes), frame.sizes[product.inner]
        name = frame.key.kind.dims[product.inner]
        block = product.block or _least_block(product)
        most = _most_summed(product)
        found = [
            Condition(
                rows <= self.most_sums,
                f"takes at most {self.most_sums} rows: tile them smaller",
            ),
            Condition(k % block == 0, f"takes whole blocks of {block} along {name}"),
            Condition(free_vectors(frame) >= self.isa.registers, "needs all registers"),
        ]
        if product.block is None:
            text = f"takes at most {most} along {name}: split it"
            found.append(Condition(k <= most, text))
        return tuple(found)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Dot products for each row and place; the scales for each row and block."""
        product = product_of(frame.key)
        assert product is not None
        of, sizes = Operands.of(frame.key, product), frame.sizes
        m, k, n = rows_of(product, sizes), sizes[product.inner], sizes[product.columns]
        vectors, side = vectors_of(n, self.lanes), self._side(m)
        passes, halves = ceil_div(vectors, side), 2 if product.halves else 1
        places = k // (_GROUP * halves)
        blocks = ceil_div(k, product.block) if product.block else 1
        dots = m * places * halves
        each: Ops = {"load": 1, "vector_op": 3 if product.halves else 1}
        offsets = len(of.offsets)
        scaled: Ops = {"vector_op": 2, "fma": 2 + bool(offsets)}
        inner: list[Ops] = [
            times(each, places * vectors),
            times(self._dot_ops, dots * vectors),
            {"load": dots * passes},
            times(scaled, m * blocks * vectors),
            {"load": blocks * vectors * len(of.of_columns)},
        ]
        total: Ops = {}
        for ops in inner:
            total = add(total, ops)
        streamed = (of.integers, *of.of_columns)
        near = (of.factors, *of.row_scales)
        lines = [
            *(self.read(frame, i, passes * blocks) for i in streamed),
            *(Lines(i, self.lines(frame, i) * passes, Access.OVERLAPPED) for i in near),
            Lines(of.out, self.lines(frame, of.out), Access.STORED),
        ]
        ends: Ops = {"store": m * vectors, "load": m * vectors}
        before = add(
            times(self._dot_ops, dots),
            {
                "load": dots,
                "shuffle": m * (k // _ORDERED + 2 * blocks),
                "store": m * (k // _ORDERED),
                "scalar": m * blocks * (1 + bool(offsets)),
            },
        )
        phases = Phase(before), Phase(total, {}, tuple(lines)), Phase(ends)
        return OpCounts(phases, kernels=1, loops=passes * (1 + blocks))

    @property
    def _dot_ops(self) -> Ops:
        """The instructions of a product of bytes."""
        if self.isa.has(Op.DOT4):
            return {"dot": 1}
        return {"fma": 1, "vector_op": 1}

    def _side(self, m: Ints) -> Ints:
        """Number of vectors of sums that a row has in registers at a time."""
        side = np.where(
            m * self.panel <= self.most_sums,
            self.panel,
            np.where(2 * m <= self.most_sums, 2, 1),
        )
        return int(side) if np.ndim(side) == 0 else side

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """The code for rows alone, then that of each panel."""
        product = product_of(spec.key)
        assert product is not None
        reads = self.code(emitter, spec, operands, product)
        code = _Code.of(reads, spec)
        self.over_panels(
            emitter,
            spec.sizes[product.columns],
            int(self._side(code.rows)) * self.lanes,
            code.columns,
        )


@dataclasses.dataclass(frozen=True)
class _Code:
    """Writes the code of some columns."""

    reads: ScaledCode
    rows: int
    length: int
    """Integers along k."""
    accumulates: bool
    factors: Buffer
    """The bytes of each row, in the order in which they are multiplied."""
    sums: Buffer
    """For each row and block, less the sum of its bytes, in f32."""
    scaled_sums: Buffer | None
    """For each row and block, the sum of its bytes times their scale, where there are
    offsets."""

    @classmethod
    def of(cls, reads: ScaledCode, spec: Spec) -> "_Code":
        """Put the bytes in order, and add up those of each block."""
        product, emitter = reads.product, reads.emitter
        rows, length = int(rows_of(product, spec.sizes)), spec.sizes[product.inner]
        factors = reads.operands[reads.of.factors]
        near = factors.tensor.level
        if product.halves:
            form = TensorSpec(Dtype.S8, near, _ROW_MAJOR, contiguous=True)
            factors = emitter.scratch(form, (rows, length))
        form = TensorSpec(Dtype.F32, near, _ROW_MAJOR, contiguous=True)
        blocks = length // (product.block or length)
        sums = emitter.scratch(form, (rows, blocks))
        scaled = emitter.scratch(form, (rows, blocks)) if product.offsets else None
        code = cls(reads, rows, length, spec.kind.accumulates, factors, sums, scaled)
        for row in range(rows):
            if product.halves:
                code._put_in_order(row)
            code._add_up(row)
        return code

    @property
    def emitter(self) -> Emitter:
        """Writes instructions."""
        return self.reads.emitter

    @property
    def halves(self) -> int:
        """Integers of a byte."""
        return 2 if self.reads.product.halves else 1

    @property
    def step(self) -> int:
        """Integers along k of a place."""
        return _GROUP * self.halves

    @property
    def block(self) -> int:
        """Integers along k of a block."""
        return self.reads.product.block or self.length

    @property
    def width(self) -> int:
        """Bytes of a vector."""
        return self.emitter.isa.lanes(Dtype.S8)

    def _put_in_order(self, row: int) -> None:
        """Store the even ones of eight bytes, then the odd ones."""
        source = self.reads.operands[self.reads.of.factors]
        order = [
            first + at
            for first in range(0, _ORDERED, self.step)
            for at in (*range(0, self.step, 2), *range(1, self.step, 2))
        ]

        def some(at: Value, _: Sequence[Value]) -> list[Value]:
            index = self.reads.index(self.reads.of.factors, row, at, 0)
            loaded = self.emitter.load(source, index, _ORDERED)
            ordered = self.emitter.shuffle(loaded, loaded, order)
            self.emitter.store(ordered, self.factors, (row, at))
            return []

        self.emitter.loop(0, self.length, _ORDERED, (), some)

    def _add_up(self, row: int) -> None:
        """Store less the sum of the bytes of each block, and the sum in its scale."""
        ones = self.emitter.constant(Dtype.U8, 1, self.width)

        def one(number: Value, _: Sequence[Value]) -> list[Value]:
            everywhere = [[ones] * self.halves]
            (total,) = self._dots(number, lambda _: everywhere, [row], width=1)
            total = self.emitter.convert(total, Dtype.S32, Dtype.F32)
            minus = self.emitter.constant(Dtype.F32, -1, self.reads.lanes)
            less = self.emitter.extract(self.emitter.multiply(total, minus), 0)
            self.emitter.store_element(less, self.sums, (row, number))
            if self.scaled_sums is not None:
                scale = self.reads.beside(self.reads.of.row_scales, row, number, 0, 1)
                if scale is not None:
                    total = self.emitter.multiply(total, scale)
                scalar = self.emitter.extract(total, 0)
                self.emitter.store_element(scalar, self.scaled_sums, (row, number))
            return []

        blocks = self.length // self.block
        if blocks > 1:
            self.emitter.loop(0, blocks, 1, (), one)
        else:
            one(0, ())

    def columns(self, start: Value, count: int, last: bool) -> None:
        """All of k for some columns of every row."""
        emitter, lanes = self.emitter, self.reads.lanes
        places = [
            (emitter.offset(start, at), length) for at, length in parts(count, lanes)
        ]
        zero = emitter.constant(Dtype.F32, 0, lanes)
        totals: Sequence[Value] = [zero] * (self.rows * len(places))

        def one(number: Value, carried: Sequence[Value]) -> Sequence[Value]:
            return self._block(number, places, carried, last)

        blocks = self.length // self.block
        loops = blocks > 1
        totals = emitter.loop(0, blocks, 1, totals, one) if loops else one(0, totals)
        out = self.reads.operands[self.reads.of.out]
        for i in range(self.rows):
            for j, (column, length) in enumerate(places):
                total = totals[i * len(places) + j]
                index = self.reads.index(self.reads.of.out, i, 0, column)
                if self.accumulates:
                    held = emitter.load(out, index, lanes, length)
                    total = emitter.add(held, total)
                emitter.store(total, out, index, length)

    def _block(
        self,
        number: Value,
        places: list[tuple[Value, int]],
        totals: Sequence[Value],
        last: bool,
    ) -> list[Value]:
        """Add the scaled sums of a block to the totals."""
        emitter, of = self.emitter, self.reads.of

        def words(at: Value) -> list[list[Value]]:
            self._prefetch(at, places, last)
            return [self._integers(at, place) for place in places]

        sums = self._dots(number, words, range(self.rows), len(places))
        scales = [self.reads.beside(of.scales, 0, number, *p) for p in places]
        zeros = [self.reads.beside(of.zeros, 0, number, *p) for p in places]
        offsets = [self.reads.offsets(number, *p) for p in places]
        found = []
        for row in range(self.rows):
            of_row = self.reads.beside(of.row_scales, row, number, 0, 1)
            less = emitter.load_element(self.sums, (row, number))
            less = emitter.broadcast(less, self.reads.lanes)
            for j, (scale, zero) in enumerate(zip(scales, zeros, strict=True)):
                at = row * len(places) + j
                value = emitter.convert(sums[at], Dtype.S32, Dtype.F32)
                value = self._without_zero(value, zero, less)
                if of_row is not None and scale is not None:
                    value = emitter.multiply(value, of_row)
                by = scale if scale is not None else of_row
                total = self._with_offset(totals[at], row, number, offsets[j])
                found.append(
                    emitter.add(total, value)
                    if by is None
                    else emitter.multiply_add(value, by, total)
                )
        return found

    def _with_offset(
        self, total: Value, row: int, number: Value, offset: Value | None
    ) -> Value:
        """A total and what the offset adds to it in a block."""
        if offset is None or self.scaled_sums is None:
            return total
        of_row = self.emitter.load_element(self.scaled_sums, (row, number))
        of_row = self.emitter.broadcast(of_row, self.reads.lanes)
        return self.emitter.multiply_add(of_row, offset, total)

    def _without_zero(self, value: Value, zero: Value | None, less: Value) -> Value:
        """The sum of products with integers less what stands for zero."""
        always = self.reads.product.zero + (128 if self._is_signed else 0)
        if always:
            number = self.emitter.constant(Dtype.F32, always, self.reads.lanes)
            value = self.emitter.multiply_add(number, less, value)
        return value if zero is None else self.emitter.multiply_add(zero, less, value)

    @property
    def _is_signed(self) -> bool:
        return self.reads.operands[self.reads.of.integers].tensor.dtype is Dtype.S8

    def _dots(
        self, number: Value, words: _Words, rows: Sequence[int], width: int
    ) -> Sequence[Value]:
        """The sums of a block, for each row and vector of columns."""
        emitter, lanes = self.emitter, self.reads.lanes
        zero = emitter.constant(Dtype.S32, 0, lanes)
        sums: Sequence[Value] = [zero] * (len(rows) * width)
        places = self.block // self.step

        def some(at: Value, carried: Sequence[Value]) -> list[Value]:
            first = emitter.linear([(number, places), (at, 1)])
            return self._trip(first, words, rows, carried)

        if places == _TRIP:
            return some(0, sums)
        return emitter.loop(0, places, _TRIP, sums, some)

    def _trip(
        self, first: Value, words: _Words, rows: Sequence[int], sums: Sequence[Value]
    ) -> list[Value]:
        """Add the products of some places; in 16 bits first, where no instruction adds
        to 32."""
        emitter = self.emitter
        wide = emitter.isa.has(Op.DOT4)
        held: list[Value | None] = [*sums] if wide else [None] * len(sums)
        for by in range(_TRIP):
            place = emitter.offset(first, by)
            vectors = words(place)
            for i, row in enumerate(rows):
                for half in range(self.halves):
                    index = self._index(row, place, half)
                    factor = emitter.load_group(
                        self.factors, index, _GROUP, _GROUP, self.width
                    )
                    for j, vector in enumerate(vectors):
                        own = i * len(vectors) + j
                        held[own] = self._dot(held[own], vector[half], factor)
        if wide:
            return held
        ones = emitter.constant(Dtype.S16, 1, self.width // 2)
        return [
            emitter.add(total, emitter.dot(Op.DOT2, narrow, ones))
            for total, narrow in zip(sums, held, strict=True)
        ]

    def _dot(self, total: Value | None, integers: Value, factor: Value) -> Value:
        if self.emitter.isa.has(Op.DOT4):
            return self.emitter.dot_add(Op.DOT4, total, integers, factor)
        product = self.emitter.dot(Op.DOT2_SATURATING, integers, factor)
        return product if total is None else self.emitter.add(total, product)

    def _index(self, row: int, place: Value, half: int) -> Index:
        """Index of the bytes of a row that are multiplied together."""
        at = self.emitter.linear([(place, self.step), (half, _GROUP)])
        if self.reads.product.halves:
            return row, at
        return self.reads.index(self.reads.of.factors, row, at, 0)

    def _integers(self, at: Value, place: tuple[Value, int]) -> list[Value]:
        """The integers at a place: those of the low halves, and of the high ones."""
        emitter, integers = self.emitter, self.reads.of.integers
        buffer = self.reads.operands[integers]
        index = self.reads.index(integers, 0, Pack(at, _GROUP), place[0])
        by = self.reads.axes[integers]
        dim = next(i for i, a in enumerate(by) if a.dim == self.reads.product.columns)
        loaded = emitter.load_groups(buffer, index, dim, _GROUP, self.width, place[1])
        if self.reads.product.halves:
            return [emitter.half(loaded, half) for half in range(2)]
        if not self._is_signed:
            return [loaded]
        return [emitter.add(loaded, emitter.constant(Dtype.S8, -128, self.width))]

    def _prefetch(self, at: Value, places: list[tuple[Value, int]], last: bool) -> None:
        """Ask for the lines of a place further on."""
        starts = [start for start, _ in places[:: max(LINE_BYTES // self.width, 1)]]
        most = self.length // self.step - 1 if last else None
        self.reads.prefetch(at, starts, self.width * len(places), most, _GROUP)


def _most_summed(product: ScaledProduct) -> int:
    """Products whose sum 32 bits hold, whatever the bytes are."""
    return (1 << 31) // (128 * (15 if product.halves else 255))


def _least_block(product: ScaledProduct) -> int:
    """The integers of a trip of the loop: blocks are multiples of it."""
    return _TRIP * _GROUP * (2 if product.halves else 1)
