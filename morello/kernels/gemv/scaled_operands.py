"""The operands of a product of scaled integers: panels, lines, and places.

`ScaledRows` and `ScaledBytes` are kernels of the same graphs.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, Phase
from morello.kernels.code.vectors import parts, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Index, Pack, Value
from morello.kernels.predicates import free_vectors
from morello.kernels.template import Kernel
from morello.lazy import cached_property
from morello.spec import Compose, Dtype, Form, Layout, PhysicalDim, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.scaled import ScaledProduct, scaled_product
from morello.spec.index_map import IndexMap
from morello.spec.tensors.layout import LINE_BYTES, ceil_div


def product_of(key: SpecKey) -> ScaledProduct | None:
    """The product that the graph of a key is; None where it is none."""
    kind = key.kind
    return scaled_product(kind.graph) if isinstance(kind, Compose) else None


def rows_of(product: ScaledProduct, sizes: tuple[Ints, ...]) -> Ints:
    """The number of rows of the output."""
    return 1 if product.rows is None else sizes[product.rows]


def panels(axes: tuple[IndexMap, ...], columns: int, width: int) -> Layout:
    """Panels of columns of an operand, one after another."""
    (own,) = (i for i, axis in enumerate(axes) if axis.dim == columns)
    others = [PhysicalDim(i) for i in range(len(axes)) if i != own]
    return Layout((PhysicalDim(own), *others, PhysicalDim(own, width)))


def quads(axes: tuple[IndexMap, ...], columns: int, width: int) -> Layout:
    """Panels of columns of a matrix, whose neighbours along k go together."""
    own = next(i for i, axis in enumerate(axes) if axis.dim == columns)
    outer = PhysicalDim(own), PhysicalDim(1 - own)
    return Layout((*outer, PhysicalDim(own, width), PhysicalDim(1 - own, GROUP)))


GROUP = 4
"""Bytes along k that are neighbours in `quads`."""


@dataclasses.dataclass(frozen=True)
class Operands:
    """The operands that are the parts of a product, by number."""

    factors: int
    integers: int
    scales: tuple[int, ...]
    row_scales: tuple[int, ...]
    zeros: tuple[int, ...]
    offsets: tuple[int, ...]
    out: int

    @classmethod
    def of(cls, key: SpecKey, product: ScaledProduct) -> "Operands":
        """Inputs of a graph are its first operands, its one output is the last."""
        return cls(
            product.factors,
            product.integers,
            product.scales,
            product.row_scales,
            product.zeros,
            product.offsets,
            len(key.tensors) - 1,
        )

    @property
    def of_columns(self) -> tuple[int, ...]:
        """Operands with a number for each column of a block."""
        return (*self.scales, *self.zeros, *self.offsets)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScaledKernel(Kernel):
    """A kernel of products of scaled integers that reads them in panels of columns."""

    panel: int
    """Vectors of sums in a row of the panels that q may be packed in."""
    distance: int
    """Bytes of q from what is read to what is prefetched; 0 if nothing is."""

    @property
    def lanes(self) -> int:
        """Sums of a vector."""
        return self.isa.lanes(Dtype.F32)

    @property
    def columns(self) -> int:
        """Columns of a panel."""
        return self.panel * self.lanes

    @abstractmethod
    def most_rows(self, side: int) -> int:
        """Rows whose sums, of ``side`` vectors each, leave registers for all else."""

    @abstractmethod
    def reads(self, key: SpecKey, of: Operands, product: ScaledProduct) -> bool:
        """Whether it takes the dtypes and layouts of integers and factors."""

    @abstractmethod
    def whole(self, frame: Frame, product: ScaledProduct) -> tuple[Condition, ...]:
        """Conditions on the length of the sums."""

    @abstractmethod
    def writer(self, reads: "ScaledCode") -> "ScaledColumns":
        """Write what is computed once for all columns; what writes these."""

    def accepts(self, key: SpecKey) -> bool:
        """Operands in memory, factors near; n innermost, in panels or not."""
        product = product_of(key)
        if product is None:
            return False
        of, tensors = Operands.of(key, product), key.tensors
        factors = tensors[of.factors]
        return (
            key.dtypes[of.out] is Dtype.F32
            and self.reads(key, of, product)
            and not any(t.level.is_registers for t in tensors)
            and not factors.level.is_main
            and not factors.layout.is_packed
            and not tensors[of.out].layout.is_packed
            and all(
                self.fits(key, i, product.columns) for i in (*of.of_columns, of.out)
            )
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Registers for the sums of a vector of each row; whole sums."""
        product = product_of(frame.key)
        assert product is not None
        rows, most = rows_of(product, frame.sizes), self.most_rows(1)
        return (
            Condition(rows <= most, f"takes at most {most} rows: tile them smaller"),
            *self.whole(frame, product),
            Condition(free_vectors(frame) >= self.isa.registers, "needs all registers"),
        )

    def side(self, m: Ints) -> Ints:
        """Number of vectors of sums that a row has in registers at a time."""
        narrow = np.where(m <= self.most_rows(2), 2, 1)
        side = np.where(m <= self.most_rows(self.panel), self.panel, narrow)
        return int(side) if np.ndim(side) == 0 else side

    def extents(
        self, frame: Frame, product: ScaledProduct
    ) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """The rows, the integers along k, the vectors of columns, how often the factors
        are read, and the blocks."""
        sizes = frame.sizes
        m, k = rows_of(product, sizes), sizes[product.inner]
        vectors = vectors_of(sizes[product.columns], self.lanes)
        blocks = ceil_div(k, product.block) if product.block else 1
        return m, k, vectors, ceil_div(vectors, self.side(m)), blocks

    @staticmethod
    def ends(m: Ints, vectors: Ints, passes: Ints, checked: Ints) -> Phase:
        """Adding sums to what out holds and storing them; looking at them before, where
        they are checked for infinities."""
        sums = m * vectors
        looks = checked * (sums + 2 * passes)
        return Phase({"store": sums, "load": sums, "vector_op": sums + looks})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """The code for rows alone, then that of each panel."""
        product = product_of(spec.key)
        assert product is not None
        reads = ScaledCode(emitter, spec, operands, product, self.distance)
        writer = self.writer(reads)
        width = int(self.side(writer.rows)) * self.lanes
        self._over_panels(writer, spec.sizes[product.columns], width)

    def takes(self, key: SpecKey, of: Operands, product: ScaledProduct) -> bool:
        """Whether the kernel is one of the dtypes of the operands."""
        return True

    @abstractmethod
    def panels_of_integers(
        self, axes: tuple[IndexMap, ...], product: ScaledProduct
    ) -> tuple[Layout, ...]:
        """The panels of integers that the kernel reads."""

    def fits(self, key: SpecKey, operand: int, columns: int) -> bool:
        """Whether neighbours of an operand lie along n, if it has that, in no panels or
        in those of the kernel."""
        own, layout = key.kind.operands[operand], key.tensors[operand].layout
        if columns not in own.dims:
            return not layout.is_packed
        if own.axis(columns) != layout.innermost:
            return False
        return not layout.is_packed or layout == panels(own.axes, columns, self.columns)

    def forms_beforehand(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels of the integers and of what has blocks of them."""
        product = product_of(key)
        if product is None:
            return ()
        of, tensor = Operands.of(key, product), key.tensors[operand]
        axes = key.kind.operands[operand].axes
        packed = operand in (of.integers, *of.of_columns)
        if not packed or len(axes) < 2 or tensor.layout.is_packed:
            return ()
        if not self.takes(key, of, product):
            return ()
        if not any(axis.dim == product.columns for axis in axes):
            return ()
        layouts: tuple[Layout, ...]
        if operand == of.integers:
            layouts = self.panels_of_integers(axes, product)
        else:
            layouts = (panels(axes, product.columns, self.columns),)
        return tuple(Form(tensor.dtype, layout) for layout in layouts)

    def read(self, frame: Frame, operand: int, rows: Ints) -> Lines:
        """The lines of what is streamed: a run in panels, else rows that nothing
        prefetches."""
        lines = self.lines(frame, operand)
        if frame.key.tensors[operand].layout.is_packed:
            return Lines(operand, lines, Access.OVERLAPPED, prefetched=True)
        lines = np.maximum(lines, rows)
        return Lines(operand, lines, Access.DEMAND, starts=rows, hidden=False)

    def _over_panels(self, writer: "ScaledColumns", n: int, width: int) -> None:
        """A loop over panels; the last one by itself, which prefetches no more than
        there is.

        Args:
            writer: writes the code of some columns.
            n: columns of the output.
            width: columns that are computed together.
        """
        whole = (n - 1) // self.columns

        def panel(number: Value, carried: Sequence[Value]) -> list[Value]:
            for start in range(0, self.columns, width):
                writer.columns(Pack(number, self.columns, start), width, False)
            return []

        if whole > 1:
            writer.emitter.loop(0, whole, 1, (), panel)
        elif whole:
            panel(0, ())
        begin = whole * self.columns
        for start, count in parts(n - begin, width):
            place = Pack(whole, self.columns, start) if whole else start
            writer.columns(place, count, True)

    def lines(self, frame: Frame, operand: int) -> Ints:
        """The lines of an operand."""
        return frame.key.tensors[operand].lines(frame.operand_sizes(operand))


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
        """The arguments of another reader of the same operands."""
        return self.emitter, self.spec, self.operands, self.product, self.distance

    @cached_property
    def of(self) -> Operands:
        """The operands of the product, by number."""
        return Operands.of(self.spec.key, self.product)

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
        of = self.of.integers
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
        of = self.of.integers
        buffer, axes = self.operands[of], self.spec.kind.operands[of].axes
        index = self.index(of, 0, Pack(at, GROUP), column)
        dim = next(i for i, a in enumerate(axes) if a.dim == self.product.columns)
        width = self.lanes * GROUP
        return self.emitter.load_groups(buffer, index, dim, GROUP, width, count)

    def offsets(self, number: Value, column: Value, count: int) -> Value | None:
        """The addend of the scaled integers of a block, for some columns."""
        offset = self.beside(self.of.offsets, 0, number, column, count)
        if offset is None or not self.product.is_less:
            return offset
        zero = self.emitter.constant(Dtype.F32, 0, self.lanes)
        return self.emitter.subtract(zero, offset)

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
        buffer = self.operands[self.of.integers]
        if not self.distance or not buffer.tensor.level.is_main:
            return
        ahead = self.emitter.offset(at, max(self.distance // (nbytes * len(places)), 1))
        if last or not buffer.tensor.layout.is_packed:
            ahead = self.emitter.at_most(ahead, end - 1)
        inner = ahead if self.group == 1 else Pack(ahead, GROUP)
        for start, _ in places[:: max(LINE_BYTES // nbytes, 1)]:
            index = self.index(self.of.integers, 0, inner, start)
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
    @abstractmethod
    def sums_first(self) -> bool:
        """Whether numbers are added up before they are scaled. Where one of them is
        infinite, or a sum is, the result may then be another one."""

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
        emitter, of, step = self.emitter, self.of, self.step
        factors, length = self.operands[of.factors], self.spec.sizes[self.product.inner]
        of_block = max((self.product.block or length) // step, 1)

        def one(at: Value, carried: Sequence[Value]) -> list[Value]:
            (total,), number = carried, emitter.quotient(at, of_block)
            zero = self.beside(of.zeros, 0, number, *place)
            scale = self.beside(of.scales, 0, number, *place)
            offset = self.offsets(number, *place)
            of_row = self.beside(of.row_scales, row, number, 0, 1)
            words = self.words(at, place)
            for part in range(step):
                weight = self.integers(words, part)
                always = emitter.constant(Dtype.F32, self.product.zero, self.lanes)
                weight = emitter.subtract(weight, always if zero is None else zero)
                weight = self.scaled(weight, scale, offset)
                inner = emitter.linear([(at, step), (part, 1)])
                index = self.index(of.factors, row, inner, 0)
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
        buffer = self.operands[self.of.integers]
        index = self.index(self.of.integers, 0, at, place[0])
        loaded = self.emitter.load(buffer, index, self.lanes, place[1])
        return self.emitter.convert(loaded, buffer.tensor.dtype, Dtype.S32)

    def integers(self, words: Value, part: int) -> Value:
        """One integer of each word, in f32."""
        emitter, dtype = self.emitter, self.operands[self.of.integers].tensor.dtype
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
        out = self.operands[self.of.out]
        index = self.index(self.of.out, row, 0, column)
        if self.spec.kind.accumulates:
            held = self.emitter.load(out, index, self.lanes, count)
            total = self.emitter.add(held, total)
        self.emitter.store(total, out, index, count)
