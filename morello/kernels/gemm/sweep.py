"""GEMM of a few rows by all of rhs, which is in L2: register tiles side by side.

Each tile is computed as `GemmTile` does it. Nothing in its loop waits for what it
loads, so that the core loads lines of rhs from L2 long before their use.
"""

import dataclasses
import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Phase
from morello.kernels.code.unroll import UNROLL
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.gemm.loop import loop_conditions
from morello.kernels.gemm.tiles import part, tile_phases, write_tile
from morello.kernels.predicates import (
    free_vectors,
    in_l1,
    in_l2,
    is_interleaved,
    size_is_one,
)
from morello.kernels.template import Kernel
from morello.machine.isa import Isa
from morello.spec import Dtype, Layout, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.tensors.layout import ceil_div

_ROW_MAJOR = Layout.row_major(3)
_N = 3
"""The columns, among the dimensions of the product."""

WriteTile = Callable[[Value, int, bool], None]
"""Writes a tile: its first column, how many it has, and whether tiles that follow have
use for the next rows of lhs."""


@dataclasses.dataclass(frozen=True)
class GemmSweep(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], f32, over all of k; rhs in L2."""

    of_kind = Matmul

    def accepts(self, key: SpecKey) -> bool:
        """f32; lhs unpacked along k; out row-major; rhs in L2."""
        if not isinstance(key.kind, Matmul) or set(key.dtypes) != {Dtype.F32}:
            return False
        lhs, rhs, out = key.tensors
        return (
            in_l1(lhs, out)
            and in_l2(rhs)
            and out.layout == _ROW_MAJOR
            and lhs.layout.pack(2) == 1
            and not is_interleaved(lhs.layout)
            and self.takes_layouts(key)
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Operations of all tiles; loads of rhs overlap with the products."""
        _, _, k, n = frame.sizes
        width = self.width(frame)
        rhs = frame.key.tensors[1]
        packed = rhs.layout.is_packed
        tiles = (
            dataclasses.replace(
                phase,
                lines=(
                    *phase.lines,
                    Lines(1, rhs.lines((1, k, columns)), Access.OVERLAPPED, rows=k),
                ),
            )
            for phase, columns in zip(
                tile_phases(frame, width, self.isa), (width, n % width), strict=True
            )
        )
        phases = (*tiles, Phase(chain={"fma": 2}))
        loops = 2 if packed else 1
        return OpCounts(phases, kernels=1, loops=loops, trips=n // width)

    @abstractmethod
    def takes_layouts(self, key: SpecKey) -> bool:
        """Whether lhs and rhs have layouts that the loops read."""

    @abstractmethod
    def width(self, frame: Frame) -> Ints:
        """Columns of a tile."""

    @abstractmethod
    def sweep(self, emitter: Emitter, spec: Spec, write: "WriteTile") -> None:
        """Write the loops over tiles, and the columns that are left."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemmRows(GemmSweep):
    """rhs is row-major, without gaps: it need not be packed for that.

    Its rows may lie too far apart to stay in L1. The loop goes through all of them for
    each tile, so that they have to be within reach of address translation.
    """

    most_rows: int
    """Rows of lhs: with more, too few vectors of columns have sums."""
    most_lines: int
    """Lines of rhs that the first level of the TLB reaches."""
    alias_bytes: int
    """Bytes between rows of rhs that fall into the same set of L1."""
    ways: int
    """Rows that such a set holds."""

    def takes_layouts(self, key: SpecKey) -> bool:
        """Whether rhs is row-major and contiguous."""
        rhs = key.tensors[1]
        return rhs.contiguous and rhs.layout == _ROW_MAJOR

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows; rhs within reach; registers."""
        _, m, k, n = frame.sizes
        width = self.width(frame)
        last = part(frame, np.where(n % width, n % width, width))
        aliased = self.alias_bytes // Dtype.F32.itemsize
        return (
            Condition(
                m <= self.most_rows,
                f"takes at most {self.most_rows} rows: tile m smaller",
            ),
            Condition(
                frame.key.tensors[1].lines((1, k, n)) <= self.most_lines,
                f"takes at most {self.most_lines} lines of rhs: tile n smaller, or "
                "split k",
            ),
            Condition(
                (n % aliased != 0) | (k <= self.ways),
                "takes few rows of rhs where they push each other out: pack it",
            ),
            Condition(free_vectors(frame) >= self.isa.registers, "needs all registers"),
            *(
                dataclasses.replace(condition, is_of_settled=True)
                for condition in loop_conditions(last, self.isa)
            ),
        )

    def takes_any(self, spec: Spec) -> bool:
        """Any number of columns."""
        return [one.dims for one in spec.ranges] == [(_N,)]

    def varying_counts(self, frame: Frame, varying: frozenset[int]) -> OpCounts:
        """Counts of the cases for the last columns; their mask may have no register
        beside all sums, and then other vectors come before."""
        if _N not in varying:
            return super().varying_counts(frame, varying)
        _, m, k, n = frame.sizes
        width, lanes = self.width(frame), self.isa.lanes(Dtype.F32)
        rest = n % width
        again = ~self._holds_mask(m, rest) & (rest % lanes != 0) & (rest > lanes)
        often = again * k
        scalars = 2 * (2 + np.log2(2 * width // lanes).astype(int))
        return OpCounts.of({"scalar": scalars, "load": m * often}, kernels=0)

    def _holds_mask(self, m: Ints, columns: Ints) -> Any:
        """Whether a mask has a register beside the sums of some columns."""
        vectors = ceil_div(columns, self.isa.lanes(Dtype.F32))
        mask = 0 if self.isa.mask_registers else 1
        row = np.where(m == 1, np.minimum(vectors, 1), vectors)
        return m * vectors + row + mask + 1 <= self.isa.registers

    def width(self, frame: Frame) -> Ints:
        """Columns whose sums fit in registers, with a row of rhs and a factor."""
        few = np.minimum(frame.sizes[1], self.most_rows)
        vectors = (self.isa.registers - 1) // (few + 1)
        return vectors * self.isa.lanes(Dtype.F32)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over tiles, and the columns that are left."""

        def write(column: Value, columns: int, prefetches: bool) -> None:
            write_tile(emitter, columns_of(spec, columns), operands, column)

        if spec.ranges:
            self._varying(emitter, spec, operands)
        else:
            self.sweep(emitter, spec, write)

    def _varying(
        self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]
    ) -> None:
        """A loop over tiles, and a case for each number of vectors that are left: with
        a mask for the last one, or whole."""
        settled = dataclasses.replace(spec, ranges=())
        width, lanes = int(self.width(Frame.of(settled))), self.isa.lanes(Dtype.F32)

        def write(column: Value, columns: int, last: Value = None) -> None:
            tile = columns_of(settled, columns)
            write_tile(emitter, tile, operands, column, last=last)

        def body(column: Value, carried: Sequence[Value]) -> list[Value]:
            write(column, width)
            return []

        size = emitter.size()
        whole = emitter.linear([(emitter.quotient(size, width), width)])
        emitter.loop(0, whole, width, (), body)
        rest = emitter.difference(size, whole)
        full = emitter.quotient(rest, lanes)
        last = emitter.difference(rest, emitter.linear([(full, lanes)]))

        def masked(vectors: int) -> None:
            before = (vectors - 1) * lanes
            if self._holds_mask(spec.sizes[1], vectors * lanes):
                write(whole, before + 1, last)
                return
            write(whole, before)
            write(emitter.offset(whole, before), 1, last)

        cases: dict[int, Callable[[], None]] = {0: lambda: None}
        for columns in {size % width for size in spec.every_size[0]} - {0}:
            vectors, is_short = ceil_div(columns, lanes), columns % lanes != 0
            case = functools.partial(write, whole, columns)
            if is_short:
                case = functools.partial(masked, vectors)
            cases[2 * vectors - is_short] = case
        above = emitter.quotient(emitter.offset(rest, lanes - 1), lanes)
        emitter.switch(emitter.sum(full, above), cases)

    def sweep(self, emitter: Emitter, spec: Spec, write: WriteTile) -> None:
        """Tiles that have as many columns as there are registers for."""
        n, width = spec.sizes[3], int(self.width(Frame.of(spec)))
        whole = n // width * width

        def body(column: Value, carried: Sequence[Value]) -> list[Value]:
            write(column, width, False)
            return []

        if whole > width:
            emitter.loop(0, whole, width, (), body)
        elif whole:
            write(0, width, False)
        if n > whole:
            write(whole, n - whole, False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemmPanels(GemmSweep):
    """rhs is in panels: of fewer than four rows several panels make a tile.

    Where there are as many panels as rows, the first ones prefetch the ``m`` rows of
    lhs that come next, a line in each trip of the loop, which costs nothing besides its
    products: the lines of a tile are first used one after another, which the hardware
    prefetcher is late for. Behind the last row of lhs the prefetch is in vain.
    """

    panels: tuple[int, ...]
    """Vectors of a panel."""

    def takes_layouts(self, key: SpecKey) -> bool:
        """lhs row-major; rhs in panels."""
        lhs, rhs, _ = key.tensors
        return lhs.layout == _ROW_MAJOR and rhs.layout in self._layouts

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Sizes at which the sums of a panel fit into registers."""
        most = self._sums // (_panel(frame.key) // self.isa.lanes(Dtype.F32))
        return (
            size_is_one(frame, 0),
            Condition(
                frame.sizes[1] <= most, f"takes at most {most} rows: tile m smaller"
            ),
            Condition(free_vectors(frame) >= self.isa.registers, "needs all registers"),
        )

    def width(self, frame: Frame) -> Ints:
        """The columns of the fewest panels that give enough independent sums."""
        panel = _panel(frame.key)
        return panel * _together(frame.sizes[1], panel, self._sums, self.isa)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Tiles that prefetch rows, the other ones, and the last columns."""
        m, panel = spec.sizes[1], _panel(spec.key)
        group = int(_together(m, panel, self._sums, self.isa))
        each = _each(spec)

        def prefetch(number: Value) -> Callable[[Value], None]:
            def extra(at: Value) -> None:
                for further in range(min(group, ceil_div(m, each))):
                    row = emitter.offset(Pack(number, each), m + further * each)
                    emitter.prefetch(operands[0], (0, row, Pack(at, each)))

            return extra

        def write(column: Pack, columns: int, prefetches: bool) -> None:
            extra = prefetch(column.number) if prefetches else None
            tile = columns_of(spec, columns)
            write_tile(emitter, tile, operands, column, extra)

        self.sweep(emitter, spec, write)

    def sweep(self, emitter: Emitter, spec: Spec, write: WriteTile) -> None:
        """Tiles of the panels that go together; the first ones prefetch rows."""
        _, m, _, n = spec.sizes
        panel = _panel(spec.key)
        group = int(_together(m, panel, self._sums, self.isa))
        whole = n // (group * panel) * group
        panels = ceil_div(m, _each(spec))
        prefetching = ceil_div(panels, group) * group if m <= whole else 0

        def run(start: int, end: int, prefetches: bool) -> None:
            def body(number: Value, carried: Sequence[Value]) -> list[Value]:
                write(Pack(number, panel), group * panel, prefetches)
                return []

            if end > start + group:
                emitter.loop(start, end, group, (), body)
            elif end > start:
                body(start, ())

        run(0, prefetching, True)
        run(prefetching, whole, False)
        if n > whole * panel:
            write(Pack(whole, panel), n - whole * panel, False)

    @property
    def _sums(self) -> int:
        """Registers of sums: what three vectors of rhs and a factor, or three factors
        and a vector, leave."""
        return self.isa.registers - 4

    @property
    def _layouts(self) -> tuple[Layout, ...]:
        """The layouts of rhs that the kernel accepts: panels of whole vectors."""
        lanes = self.isa.lanes(Dtype.F32)
        return tuple(Layout.parse(f"[0,2,1,2p{v * lanes}]") for v in self.panels)


def columns_of(spec: Spec, columns: int) -> Spec:
    """The Spec of a tile."""
    return dataclasses.replace(spec, sizes=(*spec.sizes[:3], columns))


def _each(spec: Spec) -> int:
    """Rows of lhs that a panel prefetches. A trip prefetches one line: the next one
    where rows follow each other without gaps, so that these are as many as a trip has
    steps."""
    return UNROLL if spec.key.tensors[0].contiguous else 1


def _panel(key: SpecKey) -> int:
    """Columns of a panel."""
    return key.tensors[1].layout.pack(2)


def _together(m: Ints, panel: int, sums: int, isa: Isa) -> Ints:
    """Number of panels that ``m`` rows are multiplied by at a time, so that there are
    enough sums, as far as registers also hold the vectors of a step, or its factors,
    and one more: of 7 rows by two panels of two vectors they do not."""
    vectors = panel // isa.lanes(Dtype.F32)
    most = np.maximum(sums // vectors // np.maximum(m, 1), 1)
    held = m * vectors * most + np.minimum(m, vectors * most) + 1
    return np.maximum(most - (held > isa.registers), 1)
