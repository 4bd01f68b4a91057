"""Code for columns of a product of scaled integers: blocks along k, and their sums.

A block that is added up before it is scaled may be infinite where the product is not:
such columns are computed once more, as the graph says.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence

from morello.kernels.code.vectors import parts
from morello.kernels.emitter import Buffer, Emitter, Index, Pack, Value
from morello.kernels.gemv.scaled_operands import GROUP, rows_of
from morello.spec import Dtype, Layout, Spec, TensorSpec
from morello.spec.graphs.scaled import ScaledProduct
from morello.spec.index_map import IndexMap
from morello.spec.tensors.layout import LINE_BYTES


@dataclasses.dataclass(frozen=True)
class ScaledCode:
    """Reads the operands of a product."""

    emitter: Emitter
    spec: Spec
    operands: Sequence[Buffer]
    product: ScaledProduct
    distance: int
    """Bytes of integers from what is read to what is prefetched; 0 if nothing is."""

    @property
    def fields(self) -> tuple[Emitter, Spec, Sequence[Buffer], ScaledProduct, int]:
        """The arguments with which another reader of the same operands is made."""
        return self.emitter, self.spec, self.operands, self.product, self.distance

    @property
    def rows(self) -> int:
        """Rows of factors."""
        return int(rows_of(self.product, self.spec.sizes))

    @property
    def lanes(self) -> int:
        """Sums of a vector."""
        return self.emitter.isa.lanes(Dtype.F32)

    def beside(
        self, operands: tuple[int, ...], row: Value, number: Value, column: Value,
        count: int,
    ) -> Value | None:  # fmt: skip
        """The product of some operands in a block, for columns of a row; None of no
        operands."""
        product: Value | None = None
        for operand in operands:
            buffer = self.operands[operand]
            dtype = buffer.tensor.dtype
            axes = self.spec.kind.operands[operand].axes
            index = self._index_of_block(axes, row, number, column)
            if any(axis.dim == self.product.columns for axis in axes):
                loaded = self.emitter.load(buffer, index, self.lanes, count)
                vector = self.emitter.convert(loaded, dtype, Dtype.F32)
            else:
                element = self.emitter.load_element(buffer, index)
                element = self.emitter.convert(element, dtype, Dtype.F32)
                vector = self.emitter.broadcast(element, self.lanes)
            if product is not None:
                vector = self.emitter.multiply(product, vector)
            product = vector
        return product

    @property
    def group(self) -> int:
        """Bytes of a column along k that are neighbours."""
        of = self.product.integers
        inner = self.operands[of].tensor.layout.innermost
        return (
            GROUP
            if self.spec.kind.operands[of].axes[inner].dim != self.product.columns
            else 1
        )

    @property
    def step(self) -> int:
        """Integers of a column along k that are neighbours."""
        return self.group * (2 if self.product.halves else 1)

    def quads(self, at: Value, column: Value, count: int) -> Value:
        """Bytes of the group at a place along k, of some columns."""
        of = self.product.integers
        buffer, axes = self.operands[of], self.spec.kind.operands[of].axes
        index = self.index(of, 0, Pack(at, GROUP), column)
        dim = next(i for i, a in enumerate(axes) if a.dim == self.product.columns)
        width = self.lanes * GROUP
        return self.emitter.load_groups(buffer, index, dim, GROUP, width, count)

    def offsets(self, number: Value, column: Value, count: int) -> Value | None:
        """The addend of the scaled integers of a block, for some columns."""
        offset = self.beside(self.product.offsets, 0, number, column, count)
        if offset is None or not self.product.is_less:
            return offset
        zero = self.emitter.constant(Dtype.F32, 0, self.lanes)
        return self.emitter.subtract(zero, offset)

    def scratch(self, rows: int, columns: int, dtype: Dtype = Dtype.F32) -> Buffer:
        """Memory for numbers, where the factors are."""
        near = self.operands[self.product.factors].tensor.level
        form = TensorSpec(dtype, near, Layout.row_major(2), contiguous=True)
        return self.emitter.scratch(form, (rows, columns))

    def _index_of_block(
        self, axes: tuple[IndexMap, ...], row: Value, number: Value, column: Value
    ) -> Index:
        index: list[Value] = []
        for axis in axes:
            if axis.dim is not None:
                index.append(column if axis.dim == self.product.columns else row)
            elif axis.terms and self.product.block is not None:
                by = axis.divisor // self.product.block
                index.append(self.emitter.quotient(number, by))
            else:
                index.append(0)
        return tuple(index)

    def index(self, operand: int, row: Value, inner: Value, column: Value) -> Index:
        """Index into an operand; ``inner`` counts integers along the inner
        dimension."""
        by: dict[int, Value] = {self.product.inner: inner, self.product.columns: column}
        if self.product.rows is not None:
            by[self.product.rows] = row
        axes = self.spec.kind.operands[operand].axes
        return tuple(by[axis.dims[0]] if axis.terms else 0 for axis in axes)

    def prefetch(
        self, at: Value, places: "Places", nbytes: int, last: bool, end: int
    ) -> None:
        """Ask for the lines of a place further on.

        Args:
            at: the place along the axis of integers that is read.
            places: the columns that are read there.
            nbytes: of a vector of columns.
            last: whether no panel follows.
            end: the number of places: where no panel follows, or there are none, later
                ones are not asked for.
        """
        buffer = self.operands[self.product.integers]
        if not self.distance or not buffer.tensor.level.is_main:
            return
        ahead = self.emitter.offset(at, max(self.distance // (nbytes * len(places)), 1))
        if last or not buffer.tensor.layout.is_packed:
            ahead = self.emitter.at_most(ahead, end - 1)
        inner = ahead if self.group == 1 else Pack(ahead, GROUP)
        for start, _ in places[:: max(LINE_BYTES // nbytes, 1)]:
            index = self.index(self.product.integers, 0, inner, start)
            self.emitter.prefetch(buffer, index, to_l1=True)


Places = Sequence[tuple[Value, int]]
"""The first column of each vector of columns, and how many it has."""


@dataclasses.dataclass(frozen=True)
class ScaledColumns(ScaledCode, ABC):
    """Writes the code of some columns: sums of blocks of k, one after another."""

    @property
    @abstractmethod
    def blocks(self) -> tuple[int, int, int]:
        """The whole blocks, the places along k of one, and those of the rest."""

    @abstractmethod
    def block(
        self, number: Value, length: int, places: Places, sums: Sequence[Value],
        last: bool,
    ) -> Sequence[Value]:  # fmt: skip
        """Add the products of so many places along k, a block, to the sums."""

    def sets(self, width: int) -> int:
        """Sums of each column that take turns."""
        return 1

    @property
    def sums_first(self) -> bool:
        """Whether numbers are added up before they are scaled. Where one of them is
        infinite, or a sum is, the result may then be another one."""
        return bool(self.product.of_columns or self.product.row_scales)

    def zeros(self, count: int) -> list[Value]:
        """Sums that begin."""
        return [self.emitter.constant(Dtype.F32, 0, self.lanes)] * count

    def total(self, sums: Sequence[Value], place: int, width: int) -> Value:
        """The sum of all sets."""
        turns = sums[place::width]
        return turns[0] if len(turns) == 1 else self.emitter.add(*turns)

    def columns(self, start: Value, count: int, last: bool) -> None:
        """All of k for some columns of every row.

        Args:
            last: whether no panel follows.
        """
        emitter = self.emitter
        places = [
            (emitter.offset(start, at), length)
            for at, length in parts(count, self.lanes)
        ]
        width = self.rows * len(places)
        sums: Sequence[Value] = self.zeros(width)
        sums = [*sums] * self.sets(width)
        blocks, length, rest = self.blocks

        def one(number: Value, carried: Sequence[Value]) -> Sequence[Value]:
            return self.block(number, length, places, carried, last)

        sums = emitter.loop(0, blocks, 1, sums, one) if blocks > 1 else one(0, sums)
        if rest:
            sums = self.block(blocks, rest, places, sums, last)
        totals = [self.total(sums, at, width) for at in range(width)]

        def as_summed() -> None:
            for at, total in enumerate(totals):
                row, place = divmod(at, len(places))
                self._store(row, *places[place], total)

        if not self.sums_first:
            as_summed()
            return
        total = totals[0]
        for other in totals[1:]:
            total = emitter.add(total, other)
        is_infinite = emitter.has_nan(emitter.subtract(total, total))
        emitter.switch(is_infinite, {0: as_summed, 1: lambda: self._in_order(places)})

    def _in_order(self, places: Places) -> None:
        """Compute some columns of every row as the graph says: numbers are scaled
        before they are added up."""

        def row(number: Value, _: Sequence[Value]) -> list[Value]:
            for place in places:
                self._store(number, *place, self._sum_in_order(number, place))
            return []

        self.emitter.loop(0, self.rows, 1, (), row)

    def _sum_in_order(self, row: Value, place: tuple[Value, int]) -> Value:
        """The sum of a row for a vector of columns."""
        emitter, product, step = self.emitter, self.product, self.step
        factors, length = (
            self.operands[product.factors],
            self.spec.sizes[self.product.inner],
        )
        of_block = max((self.product.block or length) // step, 1)

        def one(at: Value, carried: Sequence[Value]) -> list[Value]:
            (total,), number = carried, emitter.quotient(at, of_block)
            zero = self.beside(product.zeros, 0, number, *place)
            scale = self.beside(product.scales, 0, number, *place)
            offset = self.offsets(number, *place)
            of_row = self.beside(product.row_scales, row, number, 0, 1)
            words = self.words(at, place)
            for part in range(step):
                weight = self.integers(words, part)
                always = emitter.constant(Dtype.F32, self.product.zero, self.lanes)
                weight = emitter.subtract(weight, always if zero is None else zero)
                weight = self.scaled(weight, scale, offset)
                inner = emitter.linear([(at, step), (part, 1)])
                index = self.index(product.factors, row, inner, 0)
                factor = emitter.load_element(factors, index)
                factor = emitter.convert(factor, factors.tensor.dtype, Dtype.F32)
                factor = emitter.broadcast(factor, self.lanes)
                if of_row is not None:
                    factor = emitter.multiply(of_row, factor)
                total = emitter.multiply_add(factor, weight, total)
            return [total]

        (total,) = emitter.loop(0, length // step, 1, self.zeros(1), one)
        return total

    def words(self, at: Value, place: tuple[Value, int]) -> Value:
        """The bytes at a place along k of some columns, as words."""
        if self.group > 1:
            return self.emitter.reinterpret(self.quads(at, *place), Dtype.S32)
        buffer = self.operands[self.product.integers]
        index = self.index(self.product.integers, 0, at, place[0])
        loaded = self.emitter.load(buffer, index, self.lanes, place[1])
        return self.emitter.convert(loaded, buffer.tensor.dtype, Dtype.S32)

    def integers(self, words: Value, part: int) -> Value:
        """One integer of each word, in f32."""
        emitter, dtype = self.emitter, self.operands[self.product.integers].tensor.dtype
        if self.product.halves:
            number, half = divmod(part, 2)
            words = emitter.shift_right(words, 8 * number) if number else words
            words = emitter.half(words, half)
        elif self.group > 1:
            words = emitter.shift_right(words, 8 * part) if part else words
            words = emitter.convert(words, Dtype.S32, dtype)
            return emitter.convert(words, dtype, Dtype.F32)
        return emitter.convert(words, Dtype.S32, Dtype.F32)

    def scaled(self, value: Value, scale: Value | None, added: Value | None) -> Value:
        """A value in its scale, and what is added to it."""
        if scale is None:
            return value if added is None else self.emitter.add(value, added)
        if added is None:
            return self.emitter.multiply(value, scale)
        return self.emitter.multiply_add(value, scale, added)

    def _store(self, row: Value, column: Value, count: int, total: Value) -> None:
        out = self.operands[self.product.out]
        index = self.index(self.product.out, row, 0, column)
        if self.spec.kind.accumulates:
            held = self.emitter.load(out, index, self.lanes, count)
            total = self.emitter.add(held, total)
        self.emitter.store(total, out, index, count)
