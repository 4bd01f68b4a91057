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

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add, times
from morello.kernels.emitter import Buffer, Index, Value
from morello.kernels.gemv.scaled_code import Places, ScaledCode, ScaledColumns
from morello.kernels.gemv.scaled_kernel import ScaledKernel
from morello.kernels.gemv.scaled_operands import GROUP, product_of
from morello.machine.isa import Op
from morello.spec import Dtype, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.graphs.scaled import ScaledProduct

_TRIP = 4
"""Places along k of a trip of the loop. Of halves they are 32 integers, which sums of
16 bits hold for certain: eight sums of two products, each of at most 15 times 128."""

_ORDERED = 16
"""Bytes that are put in order at a time."""

_Words = Callable[[Value], Sequence[Sequence[Value]]]
"""Gives the integers of each vector of columns at a place: those of each half."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScaledBytes(ScaledKernel):
    """out[m,n] = or += sum of d[m,k/g] * a[m,k] * (s * (q[k,n] - z) + o), of a of s8 in
    L1 or L2, the others anywhere; q in panels, of 4 bits, or of 8 where an instruction
    adds four products to a sum."""

    mixes = ((Dtype.F32, Dtype.S8, Dtype.F32, Dtype.U8, Dtype.F32),)

    def most_rows(self, side: int) -> int:
        """Rows whose sums of a block leave registers for all else."""
        return self.isa.registers // 2 // side

    @property
    def multiplies_broadcasts(self) -> bool:
        """Only the products that are added to 32 bits do."""
        return self.isa.multiplies_broadcasts and self.isa.has(Op.DOT4)

    def reads(self, key: SpecKey, product: ScaledProduct) -> bool:
        """Bytes with k innermost, and integers in the panels of the kernel."""
        tensors, operands = key.tensors, key.kind.operands
        along_k = operands[product.factors].axis(product.inner)
        panels = self.panels_of_integers(operands[product.integers].axes, product)
        return (
            self.takes(key, product)
            and along_k == tensors[product.factors].layout.innermost
            and tensors[product.integers].layout in panels
            and not any(tensors[i].layout.is_packed for i in product.row_scales)
        )

    def takes(self, key: SpecKey, product: ScaledProduct) -> bool:
        """Bytes times narrow integers, in blocks of whole sums."""
        narrow = (Dtype.U8,) if product.halves else (Dtype.U8, Dtype.S8)
        return (
            key.dtypes[product.out] is Dtype.F32
            and key.dtypes[product.factors] is Dtype.S8
            and key.dtypes[product.integers] in narrow
            and (product.halves or self.isa.has(Op.DOT4))
            and (product.block or 0) % _least_block(product) == 0
            and (product.block or 0) <= _most_summed(product)
        )

    def whole(self, frame: Frame, product: ScaledProduct) -> tuple[Condition, ...]:
        """Whole blocks, whose sums fit into 32 bits."""
        k, name = frame.sizes[product.inner], frame.key.kind.dims[product.inner]
        block = product.block or _least_block(product)
        blocks = Condition(
            k % block == 0, f"takes whole blocks of {block} along {name}"
        )
        if product.block is not None:
            return (blocks,)
        most = _most_summed(product)
        text = f"takes at most {most} along {name}: split it"
        return blocks, Condition(k <= most, text)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Dot products for each row and place; the scales for each row and block."""
        product = product_of(frame.key)
        assert product is not None
        halves = 2 if product.halves else 1
        m, k, vectors, passes, blocks = self.extents(frame, product)
        places = k // (GROUP * halves)
        dots = m * places * halves
        each: Ops = {"load": 1, "vector_op": 3 if product.halves else 1}
        each = add(each, {"fma": self.waits(m)})
        offsets = len(product.offsets)
        far = (m * self.side(m) > self.isa.registers * 3 // 8) & (blocks > 1)
        scaled: Ops = {"vector_op": 2, "fma": 2 + bool(offsets)}
        scaled = add(scaled, times({"load": 1, "store": 1}, 1 * far))  # of totals
        inner: list[Ops] = [
            times(each, places * vectors),
            times(self._dot_ops, dots * vectors),
            {"load": dots * passes},
            times(scaled, m * blocks * vectors),
            {"load": blocks * vectors * len(product.of_columns)},
        ]
        streamed = (product.integers, *product.of_columns)
        near = (product.factors, *product.row_scales)
        lines = [
            *(self.read(frame, i, passes * blocks) for i in streamed),
            *(Lines(i, self.lines(frame, i) * passes, Access.OVERLAPPED) for i in near),
            Lines(product.out, self.lines(frame, product.out), Access.STORED),
        ]
        checked = bool(product.of_columns or product.row_scales)
        ends = self.ends(m, vectors, passes, checked)
        before = add(
            times(self._dot_ops, dots),
            {
                "load": dots,
                "shuffle": m * (k // _ORDERED + 2 * blocks),
                "store": m * (k // _ORDERED),
                "scalar": m * blocks * (1 + bool(offsets)),
            },
        )
        phases = Phase(before), Phase(add(*inner), {}, tuple(lines)), ends
        return OpCounts(phases, kernels=1, loops=passes * (1 + blocks))

    @property
    def _dot_ops(self) -> Ops:
        """The instructions of a product of bytes."""
        if self.isa.has(Op.DOT4):
            return {"dot": 1}
        return {"fma": 1, "vector_op": 1}

    def writer(self, reads: ScaledCode) -> "_Code":
        """Put the bytes in order, and add up those of each block."""
        product, rows = reads.product, reads.rows
        length = reads.spec.sizes[product.inner]
        factors = reads.scratch(1, rows * length, Dtype.S8)
        blocks = length // (product.block or length)
        sums = reads.scratch(rows, blocks)
        scaled = reads.scratch(rows, blocks) if product.offsets else None
        code = _Code(*reads.fields, factors, sums, scaled)
        for row in range(rows):
            code.put_in_order(row)
        for row in range(rows):
            code.add_up(row)
        return code


@dataclasses.dataclass(frozen=True)
class _Code(ScaledColumns):
    """Writes the code of some columns."""

    factors: Buffer
    """The bytes of all rows in the order in which they are multiplied, some of each row
    after another: rows at a distance of a power of two would push each other out of
    L1."""
    sums: Buffer
    """For each row and block, less the sum of its bytes, in f32."""
    scaled_sums: Buffer | None
    """For each row and block, the sum of its bytes times their scale, where there are
    offsets."""

    @property
    def length(self) -> int:
        """Integers along k."""
        return self.spec.sizes[self.product.inner]

    @property
    def blocks(self) -> tuple[int, int, int]:
        """The blocks that share scales; nothing is left."""
        return self.length // self.each, self.each // self.step, 0

    @property
    def halves(self) -> int:
        """Integers of a byte."""
        return 2 if self.product.halves else 1

    @property
    def each(self) -> int:
        """Integers along k of a block."""
        return self.product.block or self.length

    @property
    def width(self) -> int:
        """Bytes of a vector."""
        return self.emitter.isa.lanes(Dtype.S8)

    def put_in_order(self, row: int) -> None:
        """Store the bytes of a row; where they multiply halves, the even ones of eight
        and then the odd ones."""
        source, halves = self.operands[self.product.factors], self.halves
        order = [
            first + half + at
            for first in range(0, _ORDERED, self.step)
            for half in range(halves)
            for at in range(0, self.step, halves)
        ]

        def some(at: Value, _: Sequence[Value]) -> list[Value]:
            index = self.index(self.product.factors, row, at, 0)
            loaded = self.emitter.load(source, index, _ORDERED)
            if halves > 1:
                loaded = self.emitter.shuffle(loaded, loaded, order)
            place = self.emitter.linear([(at, self.rows), (row, _ORDERED)])
            self.emitter.store(loaded, self.factors, (0, place))
            return []

        self.emitter.loop(0, self.length, _ORDERED, (), some)

    def add_up(self, row: int) -> None:
        """Store less the sum of the bytes of each block, and the sum in its scale."""
        ones = self.emitter.constant(Dtype.U8, 1, self.width)

        def one(number: Value, _: Sequence[Value]) -> list[Value]:
            everywhere = [[ones] * self.halves]
            (total,) = self._dots(number, lambda _: everywhere, [row], width=1)
            total = self.emitter.convert(total, Dtype.S32, Dtype.F32)
            minus = self.emitter.constant(Dtype.F32, -1, self.lanes)
            less = self.emitter.extract(self.emitter.multiply(total, minus), 0)
            self.emitter.store_element(less, self.sums, (row, number))
            if self.scaled_sums is not None:
                scale = self.beside(self.product.row_scales, row, number, 0, 1)
                if scale is not None:
                    total = self.emitter.multiply(total, scale)
                scalar = self.emitter.extract(total, 0)
                self.emitter.store_element(scalar, self.scaled_sums, (row, number))
            return []

        blocks = self.blocks[0]
        if blocks > 1:
            self.emitter.loop(0, blocks, 1, (), one)
        else:
            one(0, ())

    def block(
        self, number: Value, length: int, places: Places, totals: Sequence[Value],
        last: bool,
    ) -> list[Value]:  # fmt: skip
        """Add the scaled sums of a block to the totals."""
        emitter, product = self.emitter, self.product
        end = self.length // self.step

        def words(at: Value) -> list[list[Value]]:
            self.prefetch(at, places, self.width, last, end)
            return [self._integers(at, place) for place in places]

        sums = self._dots(number, words, range(self.rows), len(places))
        scales = [self.beside(product.scales, 0, number, *p) for p in places]
        zeros = [self.beside(product.zeros, 0, number, *p) for p in places]
        offsets = [self.offsets(number, *p) for p in places]
        added = []
        for row in range(self.rows):
            of_row = self.beside(product.row_scales, row, number, 0, 1)
            less = emitter.load_element(self.sums, (row, number))
            less = emitter.broadcast(less, self.lanes)
            for j, (scale, zero) in enumerate(zip(scales, zeros, strict=True)):
                at = row * len(places) + j
                value = emitter.convert(sums[at], Dtype.S32, Dtype.F32)
                value = self._without_zero(value, zero, less)
                if of_row is not None and scale is not None:
                    value = emitter.multiply(value, of_row)
                by = scale if scale is not None else of_row
                total = self._with_offset(totals[at], row, number, offsets[j])
                added.append(
                    emitter.add(total, value)
                    if by is None
                    else emitter.multiply_add(value, by, total)
                )
        return added

    def _with_offset(
        self, total: Value, row: int, number: Value, offset: Value | None
    ) -> Value:
        """A total and what the offset adds to it in a block."""
        if offset is None or self.scaled_sums is None:
            return total
        of_row = self.emitter.load_element(self.scaled_sums, (row, number))
        of_row = self.emitter.broadcast(of_row, self.lanes)
        return self.emitter.multiply_add(of_row, offset, total)

    def _without_zero(self, value: Value, zero: Value | None, less: Value) -> Value:
        """The sum of products with integers less what stands for zero."""
        always = self.product.zero + (128 if self._is_signed else 0)
        if always:
            number = self.emitter.constant(Dtype.F32, always, self.lanes)
            value = self.emitter.multiply_add(number, less, value)
        return value if zero is None else self.emitter.multiply_add(zero, less, value)

    @property
    def _is_signed(self) -> bool:
        return self.operands[self.product.integers].tensor.dtype is Dtype.S8

    def _dots(
        self, number: Value, words: _Words, rows: Sequence[int], width: int
    ) -> Sequence[Value]:
        """The sums of a block, for each row and vector of columns."""
        emitter, lanes = self.emitter, self.lanes
        zero = emitter.constant(Dtype.S32, 0, lanes)
        sums: Sequence[Value] = [zero] * (len(rows) * width)
        places = self.each // self.step

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
                    index = self._index(row, first, by * self.step + half * GROUP)
                    factor = emitter.load_group(
                        self.factors, index, GROUP, GROUP, self.width
                    )
                    for j, vector in enumerate(vectors):
                        one = i * len(vectors) + j
                        held[one] = self._dot(held[one], vector[half], factor)
            # LLVM would broadcast the factors of all places first, and spill them.
            held = list(emitter.together(held))
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

    def _index(self, row: int, first: Value, byte: int) -> Index:
        """Index of the bytes of a row that are multiplied together, so many after those
        of the first place of a trip."""
        chunk, rest = divmod(byte, _ORDERED)
        at = (chunk * self.rows + row) * _ORDERED + rest
        return 0, self.emitter.linear([(first, self.step * self.rows), (at, 1)])

    def _integers(self, at: Value, place: tuple[Value, int]) -> list[Value]:
        """The integers at a place: those of the low halves, and of the high ones."""
        emitter, loaded = self.emitter, self.quads(at, *place)
        if self.product.halves:
            return [emitter.half(loaded, half) for half in range(2)]
        if not self._is_signed:
            return [loaded]
        return [emitter.add(loaded, emitter.constant(Dtype.S8, -128, self.width))]


def _most_summed(product: ScaledProduct) -> int:
    """Products whose sum 32 bits hold, whatever the bytes are."""
    return (1 << 31) // (128 * (15 if product.halves else 255))


def _least_block(product: ScaledProduct) -> int:
    """The integers of a trip of the loop: blocks are multiples of it."""
    return _TRIP * GROUP * (2 if product.halves else 1)
