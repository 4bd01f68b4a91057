"""GEMM in tiles: registers of rows, of which an instruction multiplies two.

A tile of lhs has 16 rows of 64 bytes along k as they lie. A tile of rhs has groups of
neighbours along k (pairs of bf16, quads of bytes) of 16 columns, which panels for dot
products are made of. Four tiles of sums, of two tiles of lhs and two of rhs, stay in
tiles over all of k: each that is loaded is used twice.

Edges have tiles with fewer rows and bytes, so that nothing is read or written beside
them. Tiles become zero when they are configured, so the last part of k, which is
shorter, is added to what out has by then.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence

from morello.cost.counts import Access, Lines, OpCounts, Phase
from morello.kernels.emitter import Buffer, Emitter, Index, Pack, Value
from morello.kernels.predicates import GROUPS, in_l1, in_l2, size_is_one
from morello.kernels.template import Kernel, wanted_forms
from morello.machine.isa import Op
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey, TensorSpec
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.tensors.layout import ceil_div

ROWS, ROW_BYTES = 16, 64
"""Rows of a whole tile, and bytes of each."""

SUM_BYTES = 4

COLUMNS = ROW_BYTES // SUM_BYTES
"""Columns of a tile of sums."""

_GROUPS = ROW_BYTES // SUM_BYTES
"""Groups along k of a tile of rhs, which are its rows."""

_EACH = 2
"""Tiles of lhs, and of rhs, at a time."""

_LHS, _RHS = _EACH * _EACH, _EACH * _EACH + _EACH
"""The numbers of their first tiles; sums come before."""

_ROW_MAJOR = Layout.row_major(3)


@dataclasses.dataclass(frozen=True)
class _Blocks:
    """Blocks of rows, or of columns, that have tiles of the same sizes."""

    start: int
    """The first block."""
    end: int
    """The block after the last."""
    tiles: tuple[int, ...]
    """The rows, or columns, of each tile of a block."""


@dataclasses.dataclass(frozen=True)
class _Region:
    """A part of a product whose tiles share one configuration."""

    groups: tuple[int, int]
    """The groups along k where it begins and ends."""
    k_bytes: int
    """Bytes along k of a tile of lhs."""
    rows: _Blocks
    columns: _Blocks

    @property
    def steps(self) -> int:
        """Tiles of lhs along k."""
        return -(-(self.groups[1] - self.groups[0]) // _GROUPS)

    @property
    def sums(self) -> Iterator[tuple[int, int, int]]:
        """The number of each tile of sums, and which tile it is down and across."""
        for i, _ in enumerate(self.rows.tiles):
            for j, _ in enumerate(self.columns.tiles):
                yield _EACH * i + j, i, j

    @property
    def shapes(self) -> dict[int, tuple[int, int]]:
        """Rows and bytes in a row of each tile."""
        rows, columns = self.rows.tiles, self.columns.tiles
        sums = {t: (rows[i], SUM_BYTES * columns[j]) for t, i, j in self.sums}
        lhs = {_LHS + i: (count, self.k_bytes) for i, count in enumerate(rows)}
        groups = self.k_bytes // SUM_BYTES
        rhs = {_RHS + j: (groups, SUM_BYTES * count) for j, count in enumerate(columns)}
        return {**sums, **lhs, **rhs}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TileDot(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n] in L1 or L2, over all of k, in tiles.

    Integers wrap as the Spec has it. Floats are added up as the instruction does it,
    which takes denormals for zero.
    """

    of_kind = Matmul

    dtypes: tuple[Dtype, Dtype, Dtype]
    """Dtypes of lhs, rhs and out."""
    instruction: Op

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """The only dtype combination of this kernel."""
        return (self.dtypes,)

    def accepts(self, key: SpecKey) -> bool:
        """lhs and out row-major, rhs in panels of groups, each in L1 or L2."""
        return (
            self._computes(key)
            and key.dtypes == self.dtypes
            and all(in_l1(tensor) or in_l2(tensor) for tensor in key.tensors)
            and _takes(0, key.tensors[0])
            and key.tensors[1].layout == self._panels
            and _takes(2, key.tensors[2])
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Whole groups along k: what follows in rows of lhs belongs to others."""
        return (
            size_is_one(frame, 0),
            Condition(
                frame.sizes[2] % self._group == 0,
                f"takes whole {GROUPS[self._group]} along k: split k so",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Products, rows that are loaded, lines that are prefetched, sums that are
        stored, and configurations.

        The chain is that of a block of sums, which waits for each product in turn where
        it has few of them.
        """
        _, m, k, n = frame.sizes
        lhs, rhs, out = frame.key.tensors
        steps, groups = ceil_div(k, self._step), k // self._group
        rows, columns = ceil_div(m, ROWS), ceil_div(n, COLUMNS)
        blocks, panels = ceil_div(m, _EACH * ROWS), ceil_div(n, _EACH * COLUMNS)
        parts = _parts(k, self._step)
        regions = parts * _parts(m, _EACH * ROWS) * _parts(n, _EACH * COLUMNS)
        first = 0 if frame.key.kind.accumulates else 1
        products = Phase(
            {
                "tile_dot": steps * rows * columns,
                "tile_row": steps * m * panels + groups * columns * blocks,
                "load": in_l2(rhs) * groups * _EACH * panels
                + in_l2(out) * 2 * m * columns,
            },
            {"tile_dot": steps * blocks * panels},
            (
                Lines(
                    0,
                    lhs.lines((1, m, k)),
                    Access.OVERLAPPED,
                    rows=m,
                    passes=panels - 1,
                ),
                Lines(1, rhs.lines((1, k, n)), Access.OVERLAPPED, passes=blocks - 1),
            ),
        )
        written = Lines(2, m * columns * parts, Access.STORED)
        sums = Phase(
            {"store": m * columns * parts, "load": m * columns * (parts - first)},
            lines=(written,),
        )
        return OpCounts(
            (products, sums, Phase({"tile_config": regions})),
            kernels=1,
            loops=regions,
            trips=steps * blocks * panels,
        )

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """The regions one after another: panels, blocks of rows, steps along k."""
        for region in self._regions(spec):
            emitter.configure_tiles(region.shapes)
            loads = spec.kind.accumulates or region.groups[0] > 0
            self._write(emitter, operands, region, loads)

    def _regions(self, spec: Spec) -> Iterator[_Region]:
        """Whole tiles, and those at the edges."""
        _, m, k, n = spec.sizes
        whole = k - k % self._step
        lengths = []
        if whole:
            lengths.append((0, whole, ROW_BYTES))
        if k > whole:
            lengths.append((whole, k, (k - whole) * self.dtypes[0].itemsize))
        for start, end, k_bytes in lengths:
            groups = start // self._group, end // self._group
            for rows, columns in itertools.product(_edges(m, ROWS), _edges(n, COLUMNS)):
                yield _Region(groups, k_bytes, rows, columns)

    def _write(
        self, emitter: Emitter, operands: Sequence[Buffer], region: _Region, loads: bool
    ) -> None:
        """The loops over a region, whose sums begin with what out has or with zero."""
        rows, columns = region.rows, region.columns

        def panel(number: Value) -> None:
            def block(row: Value) -> None:
                self._block(emitter, operands, region, (row, number), loads)

            _loop(emitter, rows.start, rows.end, 1, block)

        _loop(emitter, columns.start, columns.end, 1, panel)

    def _block(
        self,
        emitter: Emitter,
        operands: Sequence[Buffer],
        region: _Region,
        place: tuple[Value, Value],
        loads: bool,
    ) -> None:
        """The sums of a block of rows and a panel."""
        lhs, rhs, out = operands
        sums = [(t, (0, *_tile(place, i, j)), i, j) for t, i, j in region.sums]
        for tile, index, _, _ in sums:
            if loads:
                emitter.load_tile(tile, out, index, 1)
            else:
                emitter.zero_tile(tile)

        def step(number: Value) -> None:
            group = emitter.linear([(number, _GROUPS), (region.groups[0], 1)])
            k = Pack(group, self._group)
            asked = list(self._asked(emitter, operands, region, place, number))
            for at, (tile, (_, row, column), i, j) in enumerate(sums):
                if i == 0:
                    emitter.load_tile(_RHS + j, rhs, (0, k, column), 1)
                if j == 0:
                    emitter.load_tile(_LHS + i, lhs, (0, row, k), 1)
                emitter.dot_tiles(self.instruction, tile, _LHS + i, _RHS + j)
                for buffer, index in asked[at :: len(sums)]:
                    emitter.prefetch(buffer, index, to_l1=buffer is out)

        _loop(emitter, 0, region.steps, 1, step)
        for tile, index, _, _ in sums:
            emitter.store_tile(tile, out, index, 1)

    def _asked(
        self,
        emitter: Emitter,
        operands: Sequence[Buffer],
        region: _Region,
        place: tuple[Value, Value],
        step: Value,
    ) -> Iterator[tuple[Buffer, Index]]:
        """Lines that a step prefetches: of the rows of out that the block is written
        to, in the first half of the steps, and of the panel of rhs after this one, of
        which each block of rows has a share.

        An operand that is said to be in L2 may be on its way there.
        """
        _, rhs, out = operands
        (row, panel), rows = place, region.rows
        if in_l2(rhs.tensor) and rows.start == 0:
            each = ceil_div(_GROUPS, rows.end)
            terms = [(step, _GROUPS), (row, each), (region.groups[0], 1)]
            group, after = emitter.linear(terms), emitter.offset(panel, 1)
            for i, j in itertools.product(range(each), range(_EACH)):
                k = Pack(emitter.offset(group, i), self._group)
                yield rhs, (0, k, Pack(after, _EACH * COLUMNS, COLUMNS * j))
        if in_l2(out.tensor):
            each = ceil_div(2 * sum(rows.tiles), region.steps)
            first = emitter.linear([(row, _EACH * ROWS), (step, each)])
            for i, j in itertools.product(
                range(each), range(len(region.columns.tiles))
            ):
                column = Pack(panel, _EACH * COLUMNS, COLUMNS * j)
                yield out, (0, emitter.offset(first, i), column)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Panels of groups for rhs, rows for lhs, where out is what it writes."""
        if not self._computes(key) or key.tensors[2].dtype is not self.dtypes[2]:
            return ()
        lhs, rhs, _ = self.dtypes
        forms: dict[int, tuple[Form, ...]] = {
            0: (Form(lhs, _ROW_MAJOR),),
            1: (Form(rhs, self._panels),),
        }
        return wanted_forms(key, operand, forms, _takes)

    def _computes(self, key: SpecKey) -> bool:
        """Whether a Spec is a product of the kernel's kind, accumulating or not."""
        kind = key.kind
        return isinstance(kind, Matmul) and (kind.saturating, kind.flushing) == (
            False,
            self.dtypes[2].is_float,
        )

    @property
    def _group(self) -> int:
        """Neighbours along k that are taken together."""
        return SUM_BYTES // self.dtypes[0].itemsize

    @property
    def _step(self) -> int:
        """Elements along k of a tile of lhs."""
        return ROW_BYTES // self.dtypes[0].itemsize

    @property
    def _panels(self) -> Layout:
        """Panels of groups, as wide as a block."""
        return Layout.parse(f"[0,2,1,2p{_EACH * COLUMNS},1p{self._group}]")


def _tile(place: tuple[Value, Value], i: int, j: int) -> tuple[Pack, Pack]:
    """The first row and column of a tile of a block."""
    row, panel = place
    return Pack(row, _EACH * ROWS, ROWS * i), Pack(panel, _EACH * COLUMNS, COLUMNS * j)


def _takes(operand: int, tensor: TensorSpec) -> bool:
    """Whether rows of an operand lie as tiles of it do."""
    return operand != 1 and tensor.layout == _ROW_MAJOR


def _parts(size: Ints, each: int) -> Ints:
    """Whole parts count once together, and the rest once."""
    return (size >= each) + (size % each > 0)


def _edges(size: int, tile: int) -> Iterator[_Blocks]:
    """Blocks of whole tiles, and the last block."""
    block = _EACH * tile
    whole = size // block
    if whole:
        yield _Blocks(0, whole, (tile,) * _EACH)
    if size % block:
        rest = range(whole * block, size, tile)
        yield _Blocks(whole, whole + 1, tuple(min(tile, size - at) for at in rest))


def _loop(
    emitter: Emitter, start: int, end: int, step: int, body: Callable[[Value], None]
) -> None:
    """Run ``body`` from start, by step, to below end; without a loop for one trip."""

    def trip(at: Value, carried: Sequence[Value]) -> Sequence[Value]:
        body(at)
        return carried

    if end > start + step:
        emitter.loop(start, end, step, (), trip)
    else:
        body(start)
