"""Kernels of products of scaled integers: the forms, lines and registers they have.

`ScaledRows`, `ScaledPairs` and `ScaledBytes` are kernels of the same graphs.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, Phase
from morello.kernels.code.vectors import parts, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.gemv.scaled_code import ScaledCode, ScaledColumns
from morello.kernels.gemv.scaled_operands import (
    panels,
    product_of,
    quads,
    rows_of,
)
from morello.kernels.predicates import free_vectors
from morello.kernels.template import Kernel
from morello.spec import Compose, Dtype, Form, Layout, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.scaled import ScaledProduct
from morello.spec.index_map import IndexMap
from morello.spec.tensors.layout import ceil_div

CHAINS = 8
"""Sums that hide the latency of a multiply-add."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScaledKernel(Kernel):
    """A kernel of products of scaled integers that reads them in panels of columns."""

    of_kind = Compose

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
    def reads(self, key: SpecKey, product: ScaledProduct) -> bool:
        """Whether it takes the dtypes and layouts of integers and factors."""

    @abstractmethod
    def whole(self, frame: Frame, product: ScaledProduct) -> tuple[Condition, ...]:
        """Conditions on the length of the sums."""

    @abstractmethod
    def writer(self, reads: ScaledCode) -> ScaledColumns:
        """Write what is computed once for all columns; what writes these."""

    def accepts(self, key: SpecKey) -> bool:
        """Operands in memory, factors near; n innermost, in panels or not."""
        product = product_of(key)
        if product is None:
            return False
        tensors = key.tensors
        factors = tensors[product.factors]
        return (
            key.dtypes[product.out] is Dtype.F32
            and self.reads(key, product)
            and not any(t.level.is_registers for t in tensors)
            and not factors.level.is_main
            and not factors.layout.is_packed
            and not tensors[product.out].layout.is_packed
            and all(
                self.fits(key, i, product.columns)
                for i in (*product.of_columns, product.out)
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

    @property
    def multiplies_broadcasts(self) -> bool:
        """Whether products can read their factors from memory themselves, each one for
        a single vector of columns."""
        return self.isa.multiplies_broadcasts

    def waits(self, m: Ints) -> Ints:
        """Products that a vector of integers delays: one where these can read their
        factors, but loads of several vectors' factors take dispatch slots beside it."""
        return np.where(self.side(m) > 1, int(self.multiplies_broadcasts), 0)

    def loads(self, m: Ints) -> Ints:
        """Loads of the factors of some rows, in those of vectors: where products read
        an element of 4 bytes each, two take the time of one."""
        alone = self.multiplies_broadcasts & (np.asarray(self.side(m)) == 1)
        return np.where(alone, ceil_div(m, 2), m)

    def side(self, m: Ints) -> Ints:
        """Number of vectors of sums that a row has in registers at a time."""
        narrow = np.where(m <= self.most_rows(2), 2, 1)
        side = np.where(m <= self.most_rows(self.panel), self.panel, narrow)
        if self.multiplies_broadcasts:
            side = np.where(np.asarray(m) < CHAINS, side, 1)
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

    def takes(self, key: SpecKey, product: ScaledProduct) -> bool:
        """Whether the kernel is one of the dtypes of the operands."""
        return True

    def panels_of_integers(
        self, axes: tuple[IndexMap, ...], product: ScaledProduct
    ) -> tuple[Layout, ...]:
        """The panels of integers that the kernel reads: of columns, four neighbours
        along k after one another."""
        return (quads(axes, product.columns, self.columns),)

    def fits(self, key: SpecKey, operand: int, columns: int) -> bool:
        """Whether neighbours of an operand lie along n, if it has that, in no panels or
        in those of the kernel."""
        form, layout = key.kind.operands[operand], key.tensors[operand].layout
        if columns not in form.dims:
            return not layout.is_packed
        if form.axis(columns) != layout.innermost:
            return False
        return not layout.is_packed or layout == panels(
            form.axes, columns, self.columns
        )

    def forms_beforehand(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels for the integers, their scales and their zero points."""
        product = product_of(key)
        if product is None:
            return ()
        tensor = key.tensors[operand]
        axes = key.kind.operands[operand].axes
        packed = operand in (product.integers, *product.of_columns)
        if not packed or len(axes) < 2 or tensor.layout.is_packed:
            return ()
        if not self.takes(key, product):
            return ()
        if not any(axis.dim == product.columns for axis in axes):
            return ()
        layouts: tuple[Layout, ...]
        if operand == product.integers:
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

    def _over_panels(self, writer: ScaledColumns, n: int, width: int) -> None:
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
