"""Few rows times integers of 4 bits that have scales, where registers hold no table of
floats: looked up as bytes of bf16.

Four bytes along k of each column are neighbours. Their low halves, and then their high
ones, choose the lower and the upper bytes of numbers of bf16, which hold them exactly;
put together, two of a column lie in 32 bits. A shift and a mask widen them, so that a
vector has two sums of each column, which are added when a block ends.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add, times
from morello.kernels.emitter import Buffer, Value
from morello.kernels.gemv.scaled_code import Places, ScaledCode
from morello.kernels.gemv.scaled_factors import FactorColumns, Factors, factors_ops
from morello.kernels.gemv.scaled_kernel import ScaledKernel
from morello.kernels.gemv.scaled_operands import GROUP, product_of
from morello.spec import Dtype, SpecKey
from morello.spec.elements.dtypes import UPPER_HALVES
from morello.spec.frame import Condition, Frame
from morello.spec.graphs.scaled import ScaledProduct

_STEP = 2 * GROUP
"""Integers of a column along k that are neighbours."""

_ORDER = (0, 4, 2, 6, 1, 5, 3, 7)
"""Places of these in a step: the even and the odd words of low halves, then those of
high halves."""

_LANE = 16
"""Bytes within which instructions look up and interleave bytes."""

_LARGEST_ZERO = 240
"""Integers of 4 bits less whole numbers up to here are numbers of bf16."""

(_HALF,) = UPPER_HALVES
"""The encoding of the integers: upper halves of floats."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScaledPairs(ScaledKernel):
    """out[m,n] = or += sum of a[m,k] * (s * (q[k,n] - z) + o), of a in L1 or L2, the
    others anywhere; q of 4 bits, four bytes along k after one another."""

    def most_rows(self, side: int) -> int:
        """Rows that have registers for sums, two of a vector, and for factors."""
        return self.isa.registers // (2 * side + len(_ORDER) // 2)

    def reads(self, key: SpecKey, product: ScaledProduct) -> bool:
        """Factors with k innermost, and integers in the panels of the kernel."""
        tensors, operands = key.tensors, key.kind.operands
        axes = operands[product.integers].axes
        return (
            self.takes(key, product)
            and tensors[product.factors].layout.innermost
            == operands[product.factors].axis(product.inner)
            and tensors[product.integers].layout
            in self.panels_of_integers(axes, product)
        )

    def takes(self, key: SpecKey, product: ScaledProduct) -> bool:
        """Halves of bytes, in blocks of whole groups, that bf16 holds less a zero."""
        zero = product.zero
        return (
            product.halves
            and key.dtypes[product.integers] is Dtype.U8
            and key.dtypes[product.factors].is_float
            and not product.row_scales
            and (product.block or 0) % _STEP == 0
            and zero == int(zero)
            and abs(zero) <= _LARGEST_ZERO
        )

    def whole(self, frame: Frame, product: ScaledProduct) -> tuple[Condition, ...]:
        """Whole groups."""
        k, name = frame.sizes[product.inner], frame.key.kind.dims[product.inner]
        text = f"takes whole groups of {_STEP} along {name}"
        return (Condition(k % _STEP == 0, text),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Operations for each vector of integers, for each row, and for each block."""
        product = product_of(frame.key)
        assert product is not None
        m, k, vectors, passes, blocks = self.extents(frame, product)
        weights, groups = k * vectors, k // _STEP
        totals = m * blocks * vectors
        parts: list[Ops] = [
            {
                "load": groups * vectors + m * k // 2 * passes,
                "shuffle": weights,
                "vector_op": weights + groups * vectors * 3,
                "fma": weights * m,
            },
            times({"vector_op": 2}, weights * bool(product.zeros)),
            times({"shuffle": 2, "vector_op": 1, "fma": 1}, totals),
            times({"load": 1, "store": 1}, totals * (blocks > 1)),
            times({"fma": 1, "load": 1}, totals * bool(product.offsets)),
            {"load": blocks * vectors * len(product.of_columns)},
        ]
        lines = [
            *(
                self.read(frame, i, passes)
                for i in (product.integers, *product.of_columns)
            ),
            Lines(
                product.factors,
                self.lines(frame, product.factors) * passes,
                Access.OVERLAPPED,
            ),
            Lines(product.out, self.lines(frame, product.out), Access.STORED),
        ]
        ends = self.ends(m, vectors, passes, bool(product.of_columns))
        ordered = times({"load": 1, "shuffle": 2, "store": 1}, m * groups)
        before = add(
            ordered, factors_ops(self.isa, m, k, blocks * bool(product.offsets))
        )
        phases = Phase(before), Phase(add(*parts), {}, tuple(lines)), ends
        return OpCounts(phases, kernels=1, loops=passes * (1 + blocks))

    def writer(self, reads: ScaledCode) -> "_Code":
        """Put the factors in order, and add up those of each block for offsets."""
        ordered = reads.scratch(reads.rows, reads.spec.sizes[reads.product.inner])
        factors = Factors(*reads.fields).prepared(bool(reads.product.offsets))
        code = _Code(*reads.fields, factors, ordered)
        for row in range(reads.rows):
            code.put_in_order(row)
        return code


@dataclasses.dataclass(frozen=True)
class _Code(FactorColumns):
    """Writes the code of some columns: the places along k are groups."""

    ordered: Buffer
    """The factors of each row in f32, in the order in which they are multiplied."""

    def put_in_order(self, row: int) -> None:
        """Store the factors of each group in their order."""
        emitter, factors = self.emitter, self.product.factors
        source = self.operands[factors]

        def group(at: Value, _: Sequence[Value]) -> list[Value]:
            loaded = emitter.load(source, self.index(factors, row, at, 0), _STEP)
            wide = emitter.convert(loaded, source.tensor.dtype, Dtype.F32)
            ordered = emitter.shuffle(wide, wide, _ORDER)
            emitter.store(ordered, self.ordered, (row, at))
            return []

        emitter.loop(0, self.length * _STEP, _STEP, (), group)

    def block(
        self, number: Value, length: int, places: Places, sums: Sequence[Value],
        last: bool,
    ) -> Sequence[Value]:  # fmt: skip
        """Add the scaled sums of a block to the totals."""
        emitter, product = self.emitter, self.product
        zeros = [self._twice(self.beside(product.zeros, 0, number, *p)) for p in places]
        first = emitter.linear([(number, self.factors.each)])

        def group(at: Value, carried: Sequence[Value]) -> Sequence[Value]:
            here = emitter.linear([(first, 1), (at, 1)])
            nbytes = self.lanes * GROUP
            self.prefetch(here, places, nbytes, last, self.length)
            return self._group(here, places, zeros, carried)

        inside: Sequence[Value] = self.zeros(2 * self.rows * len(places))
        if length > 1:
            inside = emitter.loop(0, length, 1, inside, group)
        else:
            inside = group(0, inside)
        scales = [self.beside(product.scales, 0, number, *p) for p in places]
        offsets = [self.offsets(number, *p) for p in places]
        totals = []
        for i, total in enumerate(sums):
            row, j = divmod(i, len(places))
            of_row, offset = self.factors.of_block(row, number), offsets[j]
            if offset is not None and of_row is not None:
                total = emitter.multiply_add(of_row, offset, total)
            inner = self._together(*inside[2 * i : 2 * i + 2])
            totals.append(self.scaled(inner, scales[j], total))
        return totals

    def _group(
        self,
        at: Value,
        places: Places,
        zeros: Sequence[tuple[Value, Value] | None],
        sums: Sequence[Value],
    ) -> list[Value]:
        """Add the products of a group along k."""
        emitter, added = self.emitter, list(sums)
        for half, (j, place) in itertools.product(range(2), enumerate(places)):
            words = self._words(self.quads(at, *place), half)
            pairs = zip(*(emitter.split_bf16(word) for word in words), strict=True)
            for odd, weights in enumerate(pairs):
                if (zero := zeros[j]) is not None:
                    weights = tuple(map(emitter.subtract, weights, zero))
                for row in range(self.rows):
                    factor = self._factor(row, at, 2 * half + odd)
                    first = 2 * (row * len(places) + j)
                    for side, weight in enumerate(weights, first):
                        added[side] = emitter.multiply_add(factor, weight, added[side])
                # LLVM would decode all places first, for which there are no registers.
                added = list(emitter.together(added))
        return added

    def _factor(self, row: int, at: Value, part: int) -> Value:
        """Two factors, again and again."""
        index = row, self.emitter.linear([(at, _STEP), (part, 2)])
        return self.emitter.load_group(self.ordered, index, 2, 2, self.lanes)

    def _words(self, loaded: Value, half: int) -> list[Value]:
        """The halves of bytes as bf16: of the first columns of each part of a vector
        that instructions interleave, and of the last ones."""
        emitter, width = self.emitter, self.lanes * GROUP
        nibbles = emitter.half(loaded, half)
        bits = [_bits_of_bf16(x - int(self.product.zero)) for x in range(16)]
        lower = emitter.lookup_bytes([b & 0xFF for b in bits], nibbles)
        upper = emitter.lookup_bytes([b >> 8 for b in bits], nibbles)
        words = []
        for begin in (0, _LANE // 2):
            order = [
                part + begin + at + side
                for part in range(0, width, _LANE)
                for at in range(_LANE // 2)
                for side in (0, width)
            ]
            mixed = emitter.shuffle(lower, upper, order)
            words.append(emitter.reinterpret(mixed, _HALF))
        return words

    def _twice(self, vector: Value | None) -> tuple[Value, Value] | None:
        """A vector of columns as those of sums, each twice."""
        if vector is None:
            return None
        lanes = _LANE // Dtype.F32.itemsize
        first = [
            part + at // 2
            for part in range(0, self.lanes, lanes)
            for at in range(lanes)
        ]
        second = [lane + lanes // 2 for lane in first]
        shuffle = self.emitter.shuffle
        return shuffle(vector, vector, first), shuffle(vector, vector, second)

    def _together(self, first: Value, second: Value) -> Value:
        """The two sums of each column, added, in the order of columns."""
        lanes = _LANE // Dtype.F32.itemsize
        even = [
            part + side + at
            for part in range(0, self.lanes, lanes)
            for side in (0, self.lanes)
            for at in range(0, lanes, 2)
        ]
        shuffle = self.emitter.shuffle
        odd = [lane + 1 for lane in even]
        return self.emitter.add(
            shuffle(first, second, even), shuffle(first, second, odd)
        )


def _bits_of_bf16(number: int) -> int:
    """The bits of a whole number that bf16 holds."""
    return int(np.array(number, _HALF.numpy).view(np.uint16))
