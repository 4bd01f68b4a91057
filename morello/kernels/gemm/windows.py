"""Convolutions: register tiles whose sums stay for all taps of a filter.

``y[v,f] = sum(x[v+j,c] * w[j,c,f])`` is a product of matrices whose k is the channels
of one tap after another: in each step along the taps rows of lhs are other places of
the image. So a tile is computed as `sweep.py` does it, but for where factors lie.
Nothing is copied, and out is written once.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from morello.cost.counts import OpCounts
from morello.kernels.emitter import Buffer, Emitter, Index, Pack, Value
from morello.kernels.gemm.loop import GemmLoop
from morello.kernels.gemm.sweep import GemmSweep, columns_of
from morello.kernels.gemm.tiles import write_sums
from morello.kernels.predicates import product, size_is_one
from morello.kernels.template import Kernel
from morello.spec import Compose, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.graphs.convolution import squeezed
from morello.spec.graphs.graph import Graph


@dataclasses.dataclass(frozen=True)
class Windowed:
    """A contraction as the product of matrices that a kernel computes."""

    graph: Graph
    key: SpecKey
    """The product's: of all rows by all that is summed."""
    values: tuple[int, int, int]
    """The values of the graph that lhs, rhs and out are."""
    operands: tuple[int, ...]
    """The operands of the contraction that they are."""
    rows: tuple[int, ...]
    """The dimensions of the rows, the last one innermost."""
    taps: tuple[int, ...]
    """The dimensions of the taps, outermost first."""
    inner: int
    """The dimension that is summed between two taps."""
    columns: int

    @property
    def others(self) -> tuple[int, ...]:
        """Dimensions of which there is one element."""
        used = {*self.rows, *self.taps, self.inner, self.columns}
        return tuple(d for d in range(self.graph.rank) if d not in used)

    def frame(self, frame: Frame) -> Frame:
        """The product's sizes."""
        sizes = frame.sizes
        rows = product(tuple(sizes[d] for d in self.rows))
        terms = product(tuple(sizes[d] for d in (*self.taps, self.inner)))
        return Frame(self.key, (1, rows, terms, sizes[self.columns]), frame.limits)

    def steps(self, sizes: tuple[Ints, ...]) -> Ints:
        """Loops over the innermost dimension, for each tile."""
        return product(tuple(sizes[d] for d in self.taps))

    def places(self, sizes: tuple[int, ...], row: int) -> dict[int, Any]:
        """The index of a row along each dimension; 0 along those of size 1."""
        at: dict[int, Any] = dict.fromkeys(range(self.graph.rank), 0)
        for dim in reversed(self.rows):
            row, at[dim] = divmod(row, sizes[dim])
        return at


@lru_cache(maxsize=65536)
def windowed(key: SpecKey) -> Windowed | None:
    """The product of matrices that a contraction with taps is; None for all else."""
    if not isinstance(key.kind, Compose):
        return None
    graph = key.kind.graph
    embedding = squeezed(graph)
    if embedding is None:
        return None
    lhs, rhs, out = values = embedding.values
    axes = [axis for value in embedding.values for axis in graph.axes(value)]
    if any(axis.is_divided for axis in axes) or not all(
        axis.is_plain for axis in graph.axes(rhs)
    ):
        return None
    _, _, inner, columns = embedding.dims
    left, right = graph.dims_of(lhs), graph.dims_of(rhs)
    node = graph.node(out)
    taps = tuple(d for d in node.reduced if d != inner)
    rows = tuple(d for d in node.axes if d in left - right)
    if not taps or not {*taps} <= left & right:
        return None
    operands = tuple(map(key.kind.values.index, values))
    tensors = []
    for place, operand in enumerate(operands):
        form = embedding.inward(place, key.tensors[operand])
        if form is None or _steps_along(graph, values[place], key, operand):
            return None
        whole = key.tensors[operand].contiguous
        tensors.append(dataclasses.replace(form, contiguous=whole))
    product = SpecKey(embedding.kind, tuple(tensors), key.serial)
    return Windowed(
        graph, product, (lhs, rhs, out), operands, rows, taps, inner, columns
    )


def _steps_along(graph: Graph, value: int, key: SpecKey, operand: int) -> bool:
    """Whether neighbours of an operand lie along a window."""
    layout = key.tensors[operand].layout
    return not graph.axes(value)[layout.innermost].is_plain


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemmWindows(Kernel):
    """out (+)= a product whose lhs is read through windows, over all taps and channels.

    The image and out are in L1, the filters in L2.
    """

    of_kind = Compose

    sweeps: tuple[GemmSweep, ...]
    """Kernels of the product, each for some layouts of the filters."""

    def accepts(self, key: SpecKey) -> bool:
        """Contractions with taps, of which the product is a sweep's."""
        product = windowed(key)
        return product is not None and self._sweep(product) is not None

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One element along what is no dimension of the product, whose sizes fit."""
        product, sweep = self._of(frame.key)
        whole = product.frame(frame)
        ones = (size_is_one(frame, dim) for dim in product.others)
        one_matrix = size_is_one(whole, 0)  # it is one always
        sizes = [c for c in sweep.conditions(whole) if c.reason != one_matrix.reason]
        return (*ones, *sizes)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Operations of the product, and a loop for each tap of each tile."""
        product, sweep = self._of(frame.key)
        whole = product.frame(frame)
        counts = sweep.op_counts(whole)
        phases = tuple(
            dataclasses.replace(
                phase,
                lines=tuple(
                    dataclasses.replace(lines, operand=product.operands[lines.operand])
                    for lines in phase.lines
                ),
            )
            for phase in counts.phases
        )
        taps = product.steps(frame.sizes) * -(-whole.sizes[3] // sweep.width(whole))
        return dataclasses.replace(counts, phases=phases, loops=counts.loops + taps)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Tiles, as the sweep has them."""
        product, sweep = self._of(spec.key)
        whole = product.frame(Frame.of(spec)).spec()
        lhs, rhs, out = (operands[operand] for operand in product.operands)

        def write(column: Value, columns: int, prefetches: bool) -> None:
            loop = WindowLoop(
                emitter,
                columns_of(whole, columns),
                lhs,
                rhs,
                column,
                window=product,
                sizes=spec.sizes,
            )
            write_sums(loop, out, loop.place_of_out, loop.run)

        sweep.sweep(emitter, whole, write)

    def _sweep(self, product: Windowed) -> GemmSweep | None:
        return next((s for s in self.sweeps if s.accepts(product.key)), None)

    def _of(self, key: SpecKey) -> tuple[Windowed, GemmSweep]:
        product = windowed(key)
        assert product is not None
        sweep = self._sweep(product)
        assert sweep is not None
        return product, sweep


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowLoop(GemmLoop):
    """The loops over taps, around the one over channels."""

    window: Windowed
    sizes: tuple[int, ...]
    """Sizes of the contraction's dimensions."""
    taps: Mapping[int, Value] = dataclasses.field(default_factory=dict)
    """The place along each dimension of taps, within their loops."""

    def run(self, sums: Sequence[Value]) -> Sequence[Value]:
        """All taps: the sums after them."""
        return self._over(self.window.taps, sums)

    def _over(self, dims: tuple[int, ...], sums: Sequence[Value]) -> Sequence[Value]:
        if not dims:
            return self._steps(self.sizes[self.window.inner], sums)
        dim, *rest = dims

        def inside(tap: Value, carried: Sequence[Value]) -> Sequence[Value]:
            loop = dataclasses.replace(self, taps={**self.taps, dim: tap})
            return loop._over(tuple(rest), carried)

        if self.sizes[dim] == 1:
            return inside(0, sums)
        return self.emitter.loop(0, self.sizes[dim], 1, sums, inside)

    def place_of_out(self, row: int, column: int) -> Index:
        """The place of a row and a column of the tile in out."""
        return self._index(2, row, self.emitter.offset(self.column, column), 0)

    def _column(self, at: Value, run: tuple[int, int]) -> Value:
        start, count = run
        place = self._index(1, 0, self.emitter.offset(self.column, start), at)
        lanes = self.emitter.isa.lanes(self.spec.dtypes[2])
        return self.emitter.load(self.rhs, place, lanes, count)

    def _factor(self, i: int, at: Value) -> Value:
        element = self.emitter.load_element(self.lhs, self._index(0, i, 0, at))
        return self.emitter.broadcast(
            element, self.emitter.isa.lanes(self.spec.dtypes[2])
        )

    def _index(self, operand: int, row: int, column: Value | Pack, at: Value) -> Index:
        """The place in lhs, rhs or out."""
        window = self.window
        points = {
            **window.places(self.sizes, row),
            **self.taps,
            window.inner: at,
            window.columns: column,
        }
        value = window.values[operand]
        return tuple(
            points[axis.dim]
            if axis.dim is not None
            else self.emitter.linear([(points[dim], step) for dim, step in axis.terms])
            for axis in window.graph.axes(value)
        )
