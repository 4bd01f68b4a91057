"""Few rows times narrow integers that have scales: widened in registers.

The integers are read once, panel after panel, and become floats as they are read. Each
vector of them is scaled, and its offsets are added, once for all rows. Where blocks are
long enough for their rows each block is summed first; offsets are then added by the sum
of the block's factors. The two halves of a byte are neighbours along k, so a vector of
bytes is two vectors of one panel.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add, times
from morello.cost.counts import Op as Counted
from morello.kernels.code.vectors import parts, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemv.scaled_factors import Factors, factors_ops
from morello.kernels.gemv.scaled_operands import (
    Operands,
    ScaledCode,
    ScaledKernel,
    product_of,
    rows_of,
)
from morello.kernels.predicates import free_vectors
from morello.machine.isa import Op
from morello.spec import Dtype, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.scaled import ScaledProduct
from morello.spec.tensors.layout import LINE_BYTES, ceil_div

_CHAINS = 8
"""Sums that hide the latency of a multiply-add."""

_TRIP = 4
"""Places along k of a trip of the loop."""

_ENDS = 40
"""Cycles of a panel besides its products, in steps of a chain."""

_TOTAL_OPS = 3
"""Operations that add the sum of a block to a total, which is in memory meanwhile."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScaledRows(ScaledKernel):
    """out[m,n] = or += sum of a[m,k] * (s * (q[k,n] - z) + o), of a in L1 or L2, the
    others anywhere; q of 8 bits, or of 4 in the halves of bytes."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """Dtypes of operands that are taken together: integer weights beside floats."""
        return ((Dtype.F32, Dtype.F32, Dtype.S8, Dtype.F32),)

    def _most_rows(self, side: int) -> int:
        """Rows whose sums leave registers for words and weights of each vector, a
        factor and a constant."""
        return (self.isa.registers - 2 * side - 2) // side

    def accepts(self, key: SpecKey) -> bool:
        """Integers of 8 bits or less; all with n innermost, in panels or not."""
        product = product_of(key)
        if product is None:
            return False
        of = Operands.of(key, product)
        if key.dtypes[of.integers] not in (Dtype.U8, Dtype.S8):
            return False
        along = (of.integers, *of.of_columns, of.out)
        factors = key.tensors[of.factors].layout
        own = key.kind.operands[of.factors].axis(product.inner)
        return (
            key.dtypes[of.out] is Dtype.F32
            and not product.row_scales
            and not any(t.level.is_registers for t in key.tensors)
            and not key.tensors[of.factors].level.is_main
            and not factors.is_packed
            and (not of.offsets or factors.innermost == own)
            and not key.tensors[of.out].layout.is_packed
            and all(self.fits(key, i, product.columns) for i in along)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Registers for the sums of a vector of each row; whole bytes and blocks."""
        product = product_of(frame.key)
        assert product is not None
        rows = rows_of(product, frame.sizes)
        most = self._most_rows(1)
        name = frame.key.kind.dims[product.inner]
        found = [
            Condition(rows <= most, f"takes at most {most} rows: tile them smaller"),
            Condition(free_vectors(frame) >= self.isa.registers, "needs all registers"),
        ]
        if product.halves:
            even = frame.sizes[product.inner] % 2 == 0
            found.append(Condition(even, f"takes both halves of bytes: {name} is odd"))
        return tuple(found)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Operations for each vector of integers, and for each row that uses it."""
        product = product_of(frame.key)
        assert product is not None
        of, sizes = Operands.of(frame.key, product), frame.sizes
        m, k, n = rows_of(product, sizes), sizes[product.inner], sizes[product.columns]
        vectors, side = vectors_of(n, self.lanes), self._side(m)
        passes = ceil_div(vectors, side)
        bytes_ = k // 2 if product.halves else k
        blocks = ceil_div(k, product.block) if product.block else 1
        apart, has_offsets = _is_apart(of, product, m, k), bool(of.offsets)
        folded = np.where(apart, False, self._folds(frame.key, of, product))
        each: Ops = times(self._widening(of, product, folded), k * vectors)
        scaled = np.where(apart, 0, bool(of.scales) or has_offsets)
        added = np.where(apart, has_offsets, 0)
        before = factors_ops(self.isa, m, k, blocks * added)
        totals = m * blocks * vectors * apart
        fma = k * vectors * (m + scaled) + totals * (1 + has_offsets)
        products: dict[Counted, Ints] = {
            "fma": fma,
            "load": bytes_ * vectors + m * k * passes + totals * (blocks > 1),
            "shuffle": bytes_ * vectors,
            "store": totals * (blocks > 1),
        }
        beside = blocks * (vectors * len(of.of_columns) + m * passes * added)
        products["load"] = products["load"] + beside
        chains = np.maximum(ceil_div(_CHAINS, m * side) // 2, 1)
        chain: Ops = {"fma": passes * (k // np.minimum(chains, 2) + _ENDS)}
        lines = [
            self.read(frame, of.integers, bytes_ * passes),
            Lines(of.factors, self.lines(frame, of.factors) * passes,
                  Access.OVERLAPPED),
            Lines(of.out, self.lines(frame, of.out), Access.STORED),
            *(self.read(frame, i, blocks * passes) for i in of.of_columns),
        ]  # fmt: skip
        ends: Ops = {
            "store": m * vectors,
            "load": m * vectors,
            "vector_op": m * vectors,
        }
        main = Phase(add(products, each), chain, tuple(lines))
        phases = Phase(before), main, Phase(ends)
        return OpCounts(phases, kernels=1, loops=passes * (1 + blocks))

    def _widening(self, of: Operands, product: ScaledProduct, folded: Ints) -> Ops:
        """The operations of a vector of integers beside its load and its scale."""
        is_looked_up = product.halves and self.isa.has(Op.LOOKUP)
        has_zero = bool(of.zeros) or (bool(product.zero) and not is_looked_up)
        zero = np.where(folded, 0, has_zero)
        if is_looked_up:  # by a port of multiply-adds
            return {"vector_op": 1 + zero, "fma": 1}
        return {"vector_op": 1 + zero + (1 if product.halves else 0)}

    def _folds(self, key: SpecKey, of: Operands, product: ScaledProduct) -> bool:
        """Whether zeros can be taken off by the multiply-add that scales: of f16 the
        product of a scale and a zero is exact. A table takes them off for nothing."""
        if len(of.scales) != 1 or of.offsets:
            return False
        scale = key.dtypes[of.scales[0]]
        if scale.computes_in is None or scale.is_upper_half:  # may overflow
            return False
        if of.zeros:
            return key.dtypes[of.zeros[0]] in (Dtype.U8, Dtype.S8)
        is_looked_up = product.halves and self.isa.has(Op.LOOKUP)
        is_whole = product.zero == int(product.zero)
        return is_whole and 0 < abs(product.zero) <= _LARGEST_ZERO and not is_looked_up

    def _side(self, m: Ints) -> Ints:
        """Number of vectors of sums that a row has in registers at a time."""
        narrow = np.where(m <= self._most_rows(2), 2, 1)
        side = np.where(m <= self._most_rows(self.panel), self.panel, narrow)
        return int(side) if np.ndim(side) == 0 else side

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Panel after panel."""
        product = product_of(spec.key)
        assert product is not None
        m, n = rows_of(product, spec.sizes), spec.sizes[product.columns]
        width = int(self._side(m)) * self.lanes
        reads = self.code(emitter, spec, operands, product)
        k, has_offsets = spec.sizes[product.inner], bool(reads.of.offsets)
        is_apart = bool(_is_apart(reads.of, product, m, k))
        is_folded = not is_apart and self._folds(spec.key, reads.of, product)
        factors = Factors(reads, spec).prepared(is_apart and has_offsets)
        code = _Code(emitter, spec, reads, is_apart, is_folded, factors)
        self.over_panels(emitter, n, width, code.columns)


@dataclasses.dataclass(frozen=True)
class _Code:
    """Writes the code of some columns."""

    emitter: Emitter
    spec: Spec
    reads: ScaledCode
    is_apart: bool
    """Whether each block of integers is summed by itself before it is scaled."""
    is_folded: bool
    """Whether zeros are taken off by the multiply-add that scales."""
    factors: Factors

    @property
    def product(self) -> ScaledProduct:
        """The product that is computed."""
        return self.reads.product

    @property
    def of(self) -> Operands:
        """The operands of the product, by number."""
        return self.reads.of

    @property
    def operands(self) -> Sequence[Buffer]:
        """Their memory."""
        return self.reads.operands

    @property
    def lanes(self) -> int:
        """Sums of a vector."""
        return self.reads.lanes

    @property
    def step(self) -> int:
        """Integers along k of a place."""
        return self.factors.step

    @property
    def length(self) -> int:
        """Places along k."""
        return self.factors.length

    @property
    def rows(self) -> int:
        """Rows of factors."""
        return self.factors.rows

    def columns(self, start: Value, count: int, last: bool) -> None:
        """All of k for some columns of every row."""
        emitter = self.emitter
        places = [
            (emitter.offset(start, at), length)
            for at, length in parts(count, self.lanes)
        ]
        width = self.rows * len(places)
        sums: Sequence[Value] = self._zeros(width)
        if not self.is_apart:
            sums = [*sums] * self._sets(width)
        each = self.factors.each

        def one(number: Value, carried: Sequence[Value]) -> Sequence[Value]:
            first = emitter.linear([(number, each)])
            return self._block(number, first, each, places, carried, last)

        blocks, rest = divmod(self.length, each)
        sums = emitter.loop(0, blocks, 1, sums, one) if blocks > 1 else one(0, sums)
        if rest:
            sums = self._block(blocks, blocks * each, rest, places, sums, last)
        for i in range(self.rows):
            for j, (column, length) in enumerate(places):
                total = self._total(sums, i * len(places) + j, width)
                self._store(i, column, length, total)

    def _sets(self, width: int) -> int:
        """Sums of each column that take turns."""
        return 2 if 2 * width <= _CHAINS and self.length * self.step > 1 else 1

    def _zeros(self, count: int) -> list[Value]:
        return [self.emitter.constant(Dtype.F32, 0, self.lanes)] * count

    def _total(self, sums: Sequence[Value], place: int, width: int) -> Value:
        """The sum of all sets."""
        own = sums[place::width]
        return own[0] if len(own) == 1 else self.emitter.add(*own)

    def _store(self, row: int, column: Value, count: int, total: Value) -> None:
        out = self.operands[self.of.out]
        index = self.reads.index(self.of.out, row, 0, column)
        if self.spec.kind.accumulates:
            held = self.emitter.load(out, index, self.lanes, count)
            total = self.emitter.add(held, total)
        self.emitter.store(total, out, index, count)

    def _block(
        self,
        number: Value,
        first: Value,
        length: int,
        places: list[tuple[Value, int]],
        sums: Sequence[Value],
        last: bool,
    ) -> Sequence[Value]:
        """Add the products of rows that share a block of scales, which are loaded
        once."""
        zeros = [self.reads.beside(self.of.zeros, 0, number, *p) for p in places]
        if not self.is_apart:
            beside = self._beside(number, places)
            if self.is_folded:
                beside = self._folded(beside, zeros)
                zeros = [None] * len(places)
            return self._products(first, length, places, beside, zeros, sums, last)
        none: list[_Beside] = [(None, None)] * len(places)
        width = self.rows * len(places)
        inside: Sequence[Value] = self._zeros(width * self._sets(width))
        inside = self._products(first, length, places, none, zeros, inside, last)
        beside = self._beside(number, places)
        found = []
        for row in range(self.rows):
            of_row = self.factors.of_block(row, number)
            for j, (scale, offset) in enumerate(beside):
                at = row * len(places) + j
                total = sums[at]
                if offset is not None and of_row is not None:
                    total = self.emitter.multiply_add(of_row, offset, total)
                found.append(self._scaled(self._total(inside, at, width), scale, total))
        return found

    def _products(
        self,
        first: Value,
        length: int,
        places: list[tuple[Value, int]],
        beside: list["_Beside"],
        zeros: list[Value | None],
        sums: Sequence[Value],
        last: bool,
    ) -> Sequence[Value]:
        """Add the products of some places along k to sums."""

        def trip(at: Value, carried: Sequence[Value]) -> Sequence[Value]:
            place = self.emitter.linear([(first, 1), (at, 1)])
            found = list(carried)
            for by in range(min(_TRIP, length)):
                here = self.emitter.offset(place, by)
                self._prefetch(here, places, last)
                self._place(here, by, places, beside, zeros, found)
            return found

        whole = length // _TRIP * _TRIP
        if whole > _TRIP:
            sums = self.emitter.loop(0, whole, _TRIP, sums, trip)
        elif whole:
            sums = trip(0, sums)
        found = list(sums)
        for at in range(whole, length):
            here = self.emitter.linear([(first, 1), (at, 1)])
            self._place(here, at, places, beside, zeros, found)
        return found

    def _place(
        self,
        at: Value,
        number: int,
        places: list[tuple[Value, int]],
        beside: list["_Beside"],
        zeros: list[Value | None],
        sums: list[Value],
    ) -> None:
        """Add the products of a place along k to the sums, in turns to each set."""
        emitter, width = self.emitter, self.rows * len(places)
        words = [self._words(at, place) for place in places]
        for half in range(self.step):
            inner = emitter.linear([(at, self.step), (half, 1)])
            begin = (number * self.step + half) % (len(sums) // width) * width
            weights = [
                self._weight(word, half, own, zero)
                for word, own, zero in zip(words, beside, zeros, strict=True)
            ]
            for i in range(self.rows):
                factor = self.factors.vector(i, inner)
                for j, weight in enumerate(weights):
                    own = begin + i * len(places) + j
                    sums[own] = emitter.multiply_add(factor, weight, sums[own])

    def _words(self, at: Value, place: tuple[Value, int]) -> Value:
        """The bytes at a place, as words."""
        buffer = self.operands[self.of.integers]
        index = self.reads.index(self.of.integers, 0, at, place[0])
        loaded = self.emitter.load(buffer, index, self.lanes, place[1])
        return self.emitter.convert(loaded, buffer.tensor.dtype, Dtype.S32)

    def _weight(
        self, word: Value, half: int, beside: "_Beside", zero: Value | None
    ) -> Value:
        """The scaled numbers of a vector of words."""
        emitter, always = self.emitter, self.product.zero
        if self.product.halves and emitter.isa.has(Op.LOOKUP):
            word = emitter.shift_right(word, 4) if half else word
            weight = emitter.lookup([x - always for x in range(16)], word)
        else:
            if self.product.halves:
                word = emitter.half(word, half)
            weight = emitter.convert(word, Dtype.S32, Dtype.F32)
            if always and not self.is_folded:
                zero = emitter.constant(Dtype.F32, always, self.lanes)
        if zero is not None:
            weight = emitter.subtract(weight, zero)
        return self._scaled(weight, *beside)

    def _scaled(self, value: Value, scale: Value | None, added: Value | None) -> Value:
        """A value in its scale, and what is added to it."""
        if scale is None:
            return value if added is None else self.emitter.add(value, added)
        if added is None:
            return self.emitter.multiply(value, scale)
        return self.emitter.multiply_add(value, scale, added)

    def _folded(
        self, beside: list["_Beside"], zeros: list[Value | None]
    ) -> list["_Beside"]:
        """The scales, and less the zeros in their scales as offsets."""
        emitter, minus = self.emitter, -(self.product.zero or 1)
        less = emitter.constant(Dtype.F32, minus, self.lanes)
        found: list[_Beside] = []
        for (scale, _), zero in zip(beside, zeros, strict=True):
            assert scale is not None
            offset = emitter.multiply(scale, less)
            offset = offset if zero is None else emitter.multiply(offset, zero)
            found.append((scale, offset))
        return found

    def _beside(
        self, number: Value, places: list[tuple[Value, int]]
    ) -> list["_Beside"]:
        """The scales and the offsets of some columns in a block."""
        of = self.of.scales
        return [
            (self.reads.beside(of, 0, number, *p), self.reads.offsets(number, *p))
            for p in places
        ]

    def _prefetch(self, at: Value, places: list[tuple[Value, int]], last: bool) -> None:
        """Ask for the lines of a place further on; no farther than the last one of the
        columns, where no panel follows."""
        packed = self.operands[self.of.integers].tensor.layout.is_packed
        starts = [start for start, _ in places[:: max(LINE_BYTES // self.lanes, 1)]]
        most = self.length - 1 if last or not packed else None
        self.reads.prefetch(at, starts, self.lanes * len(places), most)


_Beside = tuple[Value | None, Value | None]
"""The scales of a vector of columns, and their offsets."""


def _is_apart(of: Operands, product: ScaledProduct, m: Ints, k: Ints) -> Ints:
    """Whether to sum each block before it is scaled: where it has more weights in a
    column than adding its sums of all rows to totals has operations."""
    block = k if product.block is None else np.minimum(product.block, k)
    return bool(of.scales or of.offsets) & (_TOTAL_OPS * m < block)


_LARGEST_ZERO = 2.0**11
"""Whole numbers up to here, times numbers of f16, are numbers of f32."""
