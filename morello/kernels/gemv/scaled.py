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
from morello.kernels.emitter import Value
from morello.kernels.gemv.scaled_code import Places, ScaledCode
from morello.kernels.gemv.scaled_factors import FactorColumns, Factors, factors_ops
from morello.kernels.gemv.scaled_kernel import CHAINS, ScaledKernel
from morello.kernels.gemv.scaled_operands import (
    GROUP,
    panels,
    product_of,
    quads,
    rows_of,
)
from morello.machine.isa import Op
from morello.spec import Dtype, Layout, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.scaled import ScaledProduct
from morello.spec.index_map import IndexMap

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

    mixes = ((Dtype.F32, Dtype.F32, Dtype.S8, Dtype.F32),)
    """Dtypes of operands that are taken together: integer weights beside floats."""

    def most_rows(self, side: int) -> int:
        """Rows whose sums leave registers for words and weights of each vector, a
        factor and a constant."""
        return (self.isa.registers - 2 * side - 2) // side

    def reads(self, key: SpecKey, product: ScaledProduct) -> bool:
        """Integers of 8 bits or less; all with n innermost, in panels or not."""
        along_k = key.kind.operands[product.factors].axis(product.inner)
        return (
            key.dtypes[product.integers] in (Dtype.U8, Dtype.S8)
            and not product.row_scales
            and (
                not product.offsets
                or key.tensors[product.factors].layout.innermost == along_k
            )
            and (
                self._group(key, product) > 1
                or self.fits(key, product.integers, product.columns)
            )
        )

    def panels_of_integers(
        self, axes: tuple[IndexMap, ...], product: ScaledProduct
    ) -> tuple[Layout, ...]:
        """Panels of columns; with neighbours along k together where words of them are
        looked up."""
        layouts = (panels(axes, product.columns, self.columns),)
        whole = (product.block or 0) % (2 * GROUP) == 0
        if product.halves and whole and self.isa.has(Op.LOOKUP):
            return (quads(axes, product.columns, self.columns), *layouts)
        return layouts

    def _group(self, key: SpecKey, product: ScaledProduct) -> int:
        """Bytes of a column along k that are neighbours."""
        axes = key.kind.operands[product.integers].axes
        *together, _ = self.panels_of_integers(axes, product)
        return GROUP if key.tensors[product.integers].layout in together else 1

    def whole(self, frame: Frame, product: ScaledProduct) -> tuple[Condition, ...]:
        """Condition that k is whole bytes, or whole groups of them, of integers of 4
        bits."""
        if not product.halves:
            return ()
        name, k = frame.key.kind.dims[product.inner], frame.sizes[product.inner]
        step = 2 * self._group(frame.key, product)
        return (Condition(k % step == 0, f"takes whole groups of {step} along {name}"),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Operations for each vector of integers, and for each row that uses it."""
        product = product_of(frame.key)
        assert product is not None
        m, k, vectors, passes, blocks = self.extents(frame, product)
        bytes_ = k // 2 if product.halves else k
        group = self._group(frame.key, product)
        apart, has_offsets = _is_apart(product, m, k), bool(product.offsets)
        folded = np.where(apart, False, self._folds(frame.key, product))
        each: Ops = times(self._widening(product, folded, m), k * vectors)
        scaled = np.where(apart, 0, bool(product.scales) or has_offsets)
        added = np.where(apart, has_offsets, 0)
        before = factors_ops(self.isa, m, k, blocks * added)
        totals = m * blocks * vectors * apart
        fma = k * vectors * (m + scaled) + totals * (1 + has_offsets)
        products: dict[Counted, Ints] = {
            "fma": fma,
            "load": bytes_ // group * vectors
            + totals * (blocks > 1)
            + self.loads(m) * k * passes,
            "shuffle": bytes_ * vectors * (group == 1),
            "store": totals * (blocks > 1),
        }
        beside = blocks * (vectors * len(product.of_columns) + m * passes * added)
        products["load"] = products["load"] + beside
        sets = np.where(2 * m * self.side(m) <= CHAINS, 2, 1)
        chain: Ops = {"fma": passes * (k // sets + _ENDS)}
        lines = [
            self.read(frame, product.integers, bytes_ * passes),
            Lines(product.factors, self.lines(frame, product.factors) * passes,
                  Access.OVERLAPPED),
            Lines(product.out, self.lines(frame, product.out), Access.STORED),
            *(self.read(frame, i, blocks * passes) for i in product.of_columns),
        ]  # fmt: skip
        main = Phase(add(products, each), chain, tuple(lines))
        ends = self.ends(m, vectors, passes, apart | folded)
        phases = Phase(before), main, ends
        return OpCounts(phases, kernels=1, loops=passes * (1 + blocks))

    def _widening(self, product: ScaledProduct, folded: Ints, m: Ints) -> Ops:
        """The operations of a vector of integers beside its load and its scale."""
        is_looked_up = product.halves and self.isa.has(Op.LOOKUP)
        has_zero = bool(product.zeros) or (bool(product.zero) and not is_looked_up)
        zero = np.where(folded, 0, has_zero)
        if is_looked_up:
            return {"vector_op": 1 + zero, "shuffle": 1, "fma": self.waits(m)}
        return {"vector_op": 1 + zero + (1 if product.halves else 0)}

    def _folds(self, key: SpecKey, product: ScaledProduct) -> bool:
        """Whether zeros can be taken off by the multiply-add that scales: of f16 the
        product of a scale and a zero is exact. A table takes them off for nothing."""
        if len(product.scales) != 1 or product.offsets:
            return False
        scale = key.dtypes[product.scales[0]]
        if scale.computes_in is None or scale.is_upper_half:  # may overflow
            return False
        if product.zeros:
            return key.dtypes[product.zeros[0]] in (Dtype.U8, Dtype.S8)
        is_looked_up = product.halves and self.isa.has(Op.LOOKUP)
        is_whole = product.zero == int(product.zero)
        return is_whole and 0 < abs(product.zero) <= _LARGEST_ZERO and not is_looked_up

    def writer(self, reads: ScaledCode) -> "_Code":
        """Write the sums of factors, or the copy of them, that columns need."""
        product, spec = reads.product, reads.spec
        m, k = rows_of(product, spec.sizes), spec.sizes[product.inner]
        is_apart = bool(_is_apart(product, m, k))
        is_folded = not is_apart and self._folds(spec.key, product)
        factors = Factors(*reads.fields).prepared(is_apart and bool(product.offsets))
        return _Code(*reads.fields, factors, is_apart, is_folded)


@dataclasses.dataclass(frozen=True)
class _Code(FactorColumns):
    """Writes the code of some columns."""

    is_apart: bool
    """Whether each block of integers is summed by itself before it is scaled."""
    is_folded: bool
    """Whether zeros are taken off by the multiply-add that scales."""

    @property
    def sums_first(self) -> bool:
        """Whether sums over blocks, or over factors for zero points, are computed
        first."""
        return self.is_apart or self.is_folded

    def sets(self, width: int) -> int:
        """The number of sets of sums: two for few columns, unless blocks are summed
        apart."""
        return 1 if self.is_apart else self._sets(width)

    def _sets(self, width: int) -> int:
        return 2 if 2 * width <= CHAINS and self.length * self.step > 1 else 1

    def block(
        self, number: Value, length: int, places: Places, sums: Sequence[Value],
        last: bool,
    ) -> Sequence[Value]:  # fmt: skip
        """Add the products of rows that share a block of scales, which are loaded
        once."""
        first = self.emitter.linear([(number, self.factors.each)])
        zeros = [self.beside(self.product.zeros, 0, number, *p) for p in places]
        if not self.is_apart:
            beside = self._beside(number, places)
            if self.is_folded:
                beside = self._folded(beside, zeros)
                zeros = [None] * len(places)
            return self._products(first, length, places, beside, zeros, sums, last)
        none: list[_Beside] = [(None, None)] * len(places)
        width = self.rows * len(places)
        inside: Sequence[Value] = self.zeros(width * self._sets(width))
        inside = self._products(first, length, places, none, zeros, inside, last)
        beside = self._beside(number, places)
        totals = []
        for row in range(self.rows):
            of_row = self.factors.of_block(row, number)
            for j, (scale, offset) in enumerate(beside):
                at = row * len(places) + j
                total = sums[at]
                if offset is not None and of_row is not None:
                    total = self.emitter.multiply_add(of_row, offset, total)
                inner = self.total(inside, at, width)
                totals.append(self.scaled(inner, scale, total))
        return totals

    def _products(
        self,
        first: Value,
        length: int,
        places: Places,
        beside: list["_Beside"],
        zeros: list[Value | None],
        sums: Sequence[Value],
        last: bool,
    ) -> Sequence[Value]:
        """Add the products of some places along k to sums."""
        group = self.group
        each = _TRIP // group

        def trip(at: Value, carried: Sequence[Value]) -> Sequence[Value]:
            place = self.emitter.linear([(first, 1), (at, 1)])
            added = list(carried)
            for by in range(min(each, length)):
                here = self.emitter.offset(place, by)
                self.prefetch(here, places, self.lanes * group, last, self.length)
                self._place(here, by, places, beside, zeros, added)
            return added

        whole = length // each * each
        if whole > each:
            sums = self.emitter.loop(0, whole, each, sums, trip)
        elif whole:
            sums = trip(0, sums)
        totals = list(sums)
        for at in range(whole, length):
            here = self.emitter.linear([(first, 1), (at, 1)])
            self._place(here, at, places, beside, zeros, totals)
        return totals

    def _place(
        self,
        at: Value,
        number: int,
        places: Places,
        beside: list["_Beside"],
        zeros: list[Value | None],
        sums: list[Value],
    ) -> None:
        """Add the products of a place along k to the sums, in turns to each set."""
        emitter, width = self.emitter, self.rows * len(places)
        words = [self.words(at, place) for place in places]
        for half in range(self.step):
            inner = emitter.linear([(at, self.step), (half, 1)])
            begin = (number * self.step + half) % (len(sums) // width) * width
            weights = [
                self._weight(word, half, scale, zero)
                for word, scale, zero in zip(words, beside, zeros, strict=True)
            ]
            for i in range(self.rows):
                factor = self.factors.vector(i, inner)
                for j, weight in enumerate(weights):
                    one = begin + i * len(places) + j
                    sums[one] = emitter.multiply_add(factor, weight, sums[one])

    def _weight(
        self, word: Value, half: int, beside: "_Beside", zero: Value | None
    ) -> Value:
        """The scaled numbers of a vector of words."""
        emitter, always = self.emitter, self.product.zero
        if self.product.halves and emitter.isa.has(Op.LOOKUP):
            word = emitter.shift_right(word, 4 * half) if half else word
            weight = emitter.lookup([x - always for x in range(16)], word)
        else:
            weight = self.integers(word, half)
            if always and not self.is_folded:
                zero = emitter.constant(Dtype.F32, always, self.lanes)
        if zero is not None:
            weight = emitter.subtract(weight, zero)
        return self.scaled(weight, *beside)

    def _folded(
        self, beside: list["_Beside"], zeros: list[Value | None]
    ) -> list["_Beside"]:
        """The scales, and less the zeros in their scales as offsets."""
        emitter, minus = self.emitter, -(self.product.zero or 1)
        less = emitter.constant(Dtype.F32, minus, self.lanes)
        folded: list[_Beside] = []
        for (scale, _), zero in zip(beside, zeros, strict=True):
            assert scale is not None
            offset = emitter.multiply(scale, less)
            offset = offset if zero is None else emitter.multiply(offset, zero)
            folded.append((scale, offset))
        return folded

    def _beside(self, number: Value, places: Places) -> list["_Beside"]:
        """The scales and the offsets of some columns in a block."""
        scales = self.product.scales
        return [
            (self.beside(scales, 0, number, *p), self.offsets(number, *p))
            for p in places
        ]


_Beside = tuple[Value | None, Value | None]
"""The scales of a vector of columns, and their offsets."""


def _is_apart(product: ScaledProduct, m: Ints, k: Ints) -> Ints:
    """Whether to sum each block before it is scaled: where it has more weights in a
    column than adding its sums of all rows to totals has operations."""
    block = k if product.block is None else np.minimum(product.block, k)
    return bool(product.scales or product.offsets) & (_TOTAL_OPS * m < block)


_LARGEST_ZERO = 2.0**11
"""Whole numbers up to here, times numbers of f16, are numbers of f32."""
