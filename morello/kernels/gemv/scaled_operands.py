"""The operands of a product of scaled integers: panels, lines, and places.

`ScaledRows` and `ScaledBytes` are kernels of the same graphs.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from morello.cost.counts import Access, Lines
from morello.kernels.code.vectors import parts
from morello.kernels.emitter import Buffer, Emitter, Index, Pack, Value
from morello.kernels.template import Kernel
from morello.spec import Compose, Dtype, Form, Layout, PhysicalDim, Spec, SpecKey
from morello.spec.frame import Frame, Ints
from morello.spec.graphs.scaled import ScaledProduct, scaled_product
from morello.spec.index_map import IndexMap


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

    def takes(self, key: SpecKey, of: Operands, product: ScaledProduct) -> bool:
        """Whether the kernel is one of the dtypes of the operands."""
        return True

    def panels_of_integers(self, axes: tuple[IndexMap, ...], columns: int) -> Layout:
        """The panels of integers that the kernel reads."""
        return panels(axes, columns, self.columns)

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
        layout = panels(axes, product.columns, self.columns)
        if operand == of.integers:
            layout = self.panels_of_integers(axes, product.columns)
        return (Form(tensor.dtype, layout),)

    def read(self, frame: Frame, operand: int, rows: Ints) -> Lines:
        """The lines of what is streamed: a run in panels, else rows that nothing
        prefetches."""
        lines = self.lines(frame, operand)
        if frame.key.tensors[operand].layout.is_packed:
            return Lines(operand, lines, Access.OVERLAPPED, prefetched=True)
        lines = np.maximum(lines, rows)
        return Lines(operand, lines, Access.DEMAND, starts=rows, hidden=False)

    def code(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        product: ScaledProduct,
    ) -> "ScaledCode":
        """What reads the operands of a Spec."""
        axes = tuple(own.axes for own in spec.kind.operands)
        of = Operands.of(spec.key, product)
        return ScaledCode(emitter, product, of, operands, axes, self.distance)

    def over_panels(
        self,
        emitter: Emitter,
        n: int,
        width: int,
        columns: Callable[[Value, int, bool], None],
    ) -> None:
        """A loop over panels; the last one by itself, which prefetches no more than
        there is.

        Args:
            emitter: writes the code.
            n: columns of the output.
            width: columns that are computed together.
            columns: writes the code of some, by the first, their number, and whether
                no panel follows.
        """
        whole = (n - 1) // self.columns

        def panel(number: Value, carried: Sequence[Value]) -> list[Value]:
            for start in range(0, self.columns, width):
                columns(Pack(number, self.columns, start), width, False)
            return []

        if whole > 1:
            emitter.loop(0, whole, 1, (), panel)
        elif whole:
            panel(0, ())
        begin = whole * self.columns
        for start, count in parts(n - begin, width):
            place = Pack(whole, self.columns, start) if whole else start
            columns(place, count, True)

    def lines(self, frame: Frame, operand: int) -> Ints:
        """The lines of an operand."""
        return frame.key.tensors[operand].lines(frame.operand_sizes(operand))


@dataclasses.dataclass(frozen=True)
class ScaledCode:
    """Reads the operands of a product."""

    emitter: Emitter
    product: ScaledProduct
    of: Operands
    operands: Sequence[Buffer]
    axes: tuple[tuple[IndexMap, ...], ...]
    """The axes of each operand."""
    distance: int
    """Bytes of integers from what is read to what is prefetched; 0 if nothing is."""

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
        found: Value | None = None
        for operand in operands:
            buffer = self.operands[operand]
            dtype, axes = buffer.tensor.dtype, self.axes[operand]
            index = self._index_of_block(axes, row, number, column)
            if any(axis.dim == self.product.columns for axis in axes):
                loaded = self.emitter.load(buffer, index, self.lanes, count)
                vector = self.emitter.convert(loaded, dtype, Dtype.F32)
            else:
                element = self.emitter.load_element(buffer, index)
                element = self.emitter.convert(element, dtype, Dtype.F32)
                vector = self.emitter.broadcast(element, self.lanes)
            found = vector if found is None else self.emitter.multiply(found, vector)
        return found

    def offsets(self, number: Value, column: Value, count: int) -> Value | None:
        """The addend of the scaled integers of a block, for some columns."""
        found = self.beside(self.of.offsets, 0, number, column, count)
        if found is None or not self.product.is_less:
            return found
        zero = self.emitter.constant(Dtype.F32, 0, self.lanes)
        return self.emitter.subtract(zero, found)

    def _index_of_block(
        self, axes: tuple[IndexMap, ...], row: Value, number: Value, column: Value
    ) -> Index:
        found: list[Value] = []
        for axis in axes:
            if axis.dim is not None:
                found.append(column if axis.dim == self.product.columns else row)
            elif axis.terms and self.product.block is not None:
                by = axis.divisor // self.product.block
                found.append(self.emitter.quotient(number, by))
            else:
                found.append(0)
        return tuple(found)

    def index(self, operand: int, row: int, inner: Value, column: Value) -> Index:
        """Index into an operand; ``inner`` counts integers along the inner
        dimension."""
        by = {self.product.inner: inner, self.product.columns: column}
        if self.product.rows is not None:
            by[self.product.rows] = row
        return tuple(
            by[axis.dims[0]] if axis.terms else 0 for axis in self.axes[operand]
        )

    def prefetch(
        self,
        at: Value,
        starts: Sequence[Value],
        width: int,
        most: int | None,
        group: int = 1,
    ) -> None:
        """Ask for the lines of a place further on.

        Args:
            at: the place along the axis of integers that is read.
            starts: the columns at which lines begin there.
            width: bytes of a place.
            most: the last place that may be asked for, if any is.
            group: how many of the axis are a place.
        """
        buffer = self.operands[self.of.integers]
        if not self.distance or not buffer.tensor.level.is_main:
            return
        ahead = self.emitter.offset(at, max(self.distance // width, 1))
        if most is not None:
            ahead = self.emitter.at_most(ahead, most)
        inner = ahead if group == 1 else Pack(ahead, group)
        for start in starts:
            index = self.index(self.of.integers, 0, inner, start)
            self.emitter.prefetch(buffer, index, to_l1=True)
