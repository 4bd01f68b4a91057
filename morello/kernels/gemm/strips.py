"""GEMM of some rows by an unpacked rhs, strip by strip of its columns.

A copy of rhs in panels pays where many rows use it. Of fewer, rhs is read from beyond
L2 where it lies, once: all rows are multiplied by a strip before the next. A strip
takes a few vectors of each row of rhs, which no hardware prefetcher follows far enough,
so that each block of rows prefetches a part of the next strip. The first of several
blocks copies the strip while it reads it: rows a power of two apart would push each
other out of L1 before the others read them.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add
from morello.kernels.code.unroll import trip
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemm.tiles import ColumnsCopy, tile_phases, write_tile
from morello.kernels.predicates import free_vectors, in_l2, size_is_one
from morello.kernels.template import Kernel
from morello.spec import (
    L1,
    L2,
    Dtype,
    Layout,
    Matmul,
    Memory,
    Spec,
    SpecKey,
    TensorSpec,
)
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.tensors.layout import LINE_BYTES, ceil_div

_ROW_MAJOR = Layout.row_major(3)

_LEAST = 8
"""Rows of rhs for which sums stay in registers: of fewer, out is the traffic."""

_FEW = 4
"""Rows of lhs whose products do not hide what memory takes: `GemvAxpy` reads rhs along
its rows, which hardware follows, and is the faster."""

_LINE = LINE_BYTES // Dtype.F32.itemsize
"""Elements of a cache line."""

_MANY = 4
"""Blocks from which on their number changes no code: each prefetches a step."""

_BRINGS = 8192
"""Products of a strip that take as long as the first lines of the next one, which are
prefetched meanwhile, are on their way from DRAM: after fewer they are waited for."""

_TRIP = 4
"""Rows that a trip prefetches of the first strip."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemmStrips(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], f32, over all of k."""

    of_kind = Matmul

    most_rows: int
    """Rows of lhs that are multiplied by a strip at a time; all are divided into blocks
    that differ by one row at most."""
    most_vectors: int
    """The most vectors of columns of a strip."""
    most_k: int
    """Rows of rhs: each may be a page of its own, which the second level of the TLB has
    to reach in every strip, beside those of other operands. What that takes longer than
    the first level is hidden."""
    least_k: int
    """Rows of rhs of which a strip is copied; of fewer, out is most of what is written:
    it is written along its rows, block by block."""

    def accepts(self, key: SpecKey) -> bool:
        """f32, all row-major; rhs beyond L1; lhs near, which each strip goes over."""
        if not isinstance(key.kind, Matmul) or set(key.dtypes) != {Dtype.F32}:
            return False
        lhs, rhs, out = key.tensors
        return (
            not rhs.level.is_near
            and lhs.level.is_cache
            and not out.level.is_registers
            and all(tensor.layout == _ROW_MAJOR for tensor in key.tensors)
        )

    def levels_needed(self, key: SpecKey) -> frozenset[Memory]:
        """L2, where rhs stays."""
        if not isinstance(key.kind, Matmul) or set(key.dtypes) != {Dtype.F32}:
            return frozenset()
        rhs, out = key.tensors[1:]
        reads = rhs.level.is_main and not rhs.layout.is_packed
        fits = reads and not out.level.is_registers
        return frozenset({L2}) if fits else frozenset()

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Room for rhs in L2, rows enough of it to prefetch, registers."""
        k, rhs = frame.sizes[2], frame.key.tensors[1]
        return (
            size_is_one(frame, 0),
            Condition(
                frame.sizes[1] > _FEW,
                f"takes more than {_FEW} rows of lhs, whose products hide few lines: "
                "use a kernel that reads rhs along its rows",
            ),
            Condition(
                k >= _LEAST, f"takes at least {_LEAST} rows of rhs: do not split k"
            ),
            Condition(
                k <= self.most_k, f"takes at most {self.most_k} rows of rhs: split k"
            ),
            Condition(
                free_vectors(frame) >= self.isa.registers,
                "needs all registers: take none",
            ),
            *(
                [
                    Condition(
                        self._lines_in_l2(frame) <= frame.limits[L2],
                        "needs room in L2 for what is read again of rhs: tile n "
                        "smaller, or split k",
                    )
                ]
                if rhs.level.is_main
                else []
            ),
        )

    def _lines_in_l2(self, frame: Frame) -> Ints:
        """Lines of rhs that stay in L2: a strip and the next, or all where each block
        of rows reads them."""
        _, m, k, n = frame.sizes
        most = self._most(m)
        strips = 2 * k * ceil_div(self._width(most), _LINE)
        lines = frame.key.tensors[1].lines((1, k, n))
        return np.where(self._is_short(m, k), lines, np.minimum(strips, lines))

    def op_counts(self, frame: Frame) -> OpCounts:
        """Blocks of both sizes; lhs and out. Lines of rhs, prefetched, arrive while the
        strip before is computed; not those of the first one, nor of short ones."""
        _, m, k, n = frame.sizes
        rhs, out = frame.key.tensors[1:]
        blocks = ceil_div(m, self.most_rows)
        most = self._most(m)
        fewer = most * blocks - m
        phases = (
            *self._block(frame, most, 1, is_first=True),
            *self._block(frame, most, blocks - fewer - 1),
            *self._block(frame, np.maximum(most - 1, 1), fewer),
        )
        width, short = self._width(most), self._is_short(m, k)
        columns = np.where(short, n, np.minimum(n, width))
        written, fetched = out.lines((1, m, n)), frame.key.kind.accumulates * 1
        first = rhs.lines((1, k, columns))
        waited = np.where(short, self._is_waited(m, k), 1)
        lines = (
            *(
                Lines(
                    1,
                    part * first,
                    access,
                    parts=part * k * ceil_div(columns, width),
                    passes=short * (blocks - 1),
                )
                for part, access in (
                    (waited, Access.DEMAND),
                    (1 - waited, Access.OVERLAPPED),
                )
            ),
            Lines(2, fetched * written, Access.OVERLAPPED, beside=k),
            Lines(2, written, Access.STORED),
        )
        return OpCounts(
            (*phases, *(Phase(lines=(one,)) for one in lines)),
            kernels=1,
            loops=blocks,
            trips=blocks * (n // width),
        )

    def _block(
        self, frame: Frame, rows: Ints, count: Ints, is_first: bool = False
    ) -> tuple[Phase, ...]:
        """``count`` blocks of rows; a prefetch takes the place of a load. That of the
        line in which a row ends takes one that no product needs."""
        _, m, k, n = frame.sizes
        lhs, rhs = frame.key.tensors[:2]
        lanes = self.isa.lanes(Dtype.F32)
        short = self._is_short(m, k)
        width: Ints = np.where(short, self._width(rows), self._width(self._most(m)))
        blocks = ceil_div(m, self.most_rows)
        copies = (blocks > 1) * (1 - short)
        all_prefetch = k * (ceil_div(width, _LINE) + 1)
        copy = k * width // _LINE
        crossing = (1 if is_first else 1 - copies) * k * ceil_div(width, _LINE)
        is_read = copies * (is_first | (2 * copy > frame.limits[L1]))
        near = in_l2(rhs)
        waited, strips = self._is_waited(m, k), 1 - short

        def phases(one: Phase, columns: Ints) -> tuple[Phase, ...]:
            stores = copies * is_first * k * ceil_div(columns, lanes)
            seen = stores * (near and lanes == _LINE)
            ops: Ops = {
                "load": ceil_div(all_prefetch, np.where(short, 1, blocks)),
                "store": stores - seen,
            }
            share = ceil_div(rhs.lines((1, k, columns)), blocks)
            lines = (
                *(
                    Lines(
                        1,
                        part * share,
                        access,
                        ahead=k * strips,
                        hidden=access is Access.STREAMED,
                        parts=part * ceil_div(k, blocks),
                    )
                    for part, access in (
                        (strips * waited, Access.DEMAND),
                        (strips * (1 - waited), Access.STREAMED),
                    )
                ),
                Lines(1, 0, Access.OVERLAPPED, crossing=crossing),
                Lines(1, is_read * copy, Access.OVERLAPPED, copied=True),
                # Each strip goes over all of lhs.
                Lines(0, lhs.lines((1, rows, k)), Access.OVERLAPPED, hidden=not near),
            )
            often = count * one.times
            return (
                dataclasses.replace(
                    one, ops=add(one.ops, ops), lines=lines, times=often
                ),
                Phase({"store": seen}, times=often),
            )

        block = Frame(frame.key, (1, rows, k, n), frame.limits)
        whole, rest = tile_phases(block, width, self.isa)
        return (*phases(whole, width), *phases(rest, n % width))

    def _width(self, rows: Ints) -> Ints:
        """Columns of a strip: registers hold sums, a row of rhs and a factor."""
        vectors = (self.isa.registers - 1) // (rows + 1)
        lanes = self.isa.lanes(Dtype.F32)
        return np.minimum(vectors, self.most_vectors) * lanes

    def takes_any(self, spec: Spec) -> bool:
        """Any number of rows: code for each number of rows that a block has."""
        return [one.dims for one in spec.ranges] == [(1,)]

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over strips. Of a few rows of rhs, out is most of what is written: it
        is written along its rows, block by block."""
        if not spec.ranges:
            self._divided(emitter, spec, operands, self._division(spec.sizes[1]))
            return
        m, most_rows = emitter.size(), self.most_rows
        settled = dataclasses.replace(spec, ranges=())
        blocks = emitter.quotient(emitter.offset(m, most_rows - 1), most_rows)
        above = emitter.offset(emitter.sum(m, blocks), -1)
        few = emitter.offset(emitter.at_most(blocks, _MANY), -1)
        case = emitter.sum(
            emitter.linear([(few, most_rows + 1)]), emitter.ratio(above, blocks)
        )

        def write(division: _Division) -> None:
            if division.blocks > 1:
                whole = emitter.linear([(blocks, division.most)])
                fewer = emitter.difference(whole, m)
                large = emitter.difference(blocks, fewer)
                division = dataclasses.replace(division, large=large, fewer=fewer)
            self._divided(emitter, settled, operands, division)

        cases: dict[int, Callable[[], None]] = {}
        for size in spec.ranges[0].sizes(spec.greatest[0]):
            division = self._division(size)
            few_blocks = min(division.blocks, _MANY)
            number = (few_blocks - 1) * (most_rows + 1) + division.most
            cases[number] = functools.partial(write, division)
        emitter.switch(case, cases)

    def _divided(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        division: "_Division",
    ) -> None:
        """All strips of all blocks."""
        if not (division.blocks > 1 and spec.sizes[2] < self.least_k):
            self._strips(emitter, spec, operands, 0, division)
            return
        most, large = division.most, division.large
        middle = emitter.linear([(large, most)])
        end = emitter.linear([(large, most), (division.fewer, most - 1)])
        for rows, first, last, count in (
            (most, 0, middle, large),
            (most - 1, middle, end, division.fewer),
        ):

            def block(row: Value, _: Sequence[Value], rows: int = rows) -> list[Value]:
                part = dataclasses.replace(spec, sizes=(1, rows, *spec.sizes[2:]))
                self._strips(emitter, part, operands, row, _Division(rows))
                return []

            if not isinstance(count, int) or count > 1:
                emitter.loop(first, last, rows, (), block)
            elif count:
                block(first, ())

    def _strips(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        row: Value,
        division: "_Division",
    ) -> None:
        """All strips of the rows from ``row`` on, and the columns that are left, which
        prefetch nothing."""
        k, n = spec.sizes[2:]
        width = int(self._width(division.most))
        whole = n // width * width
        copy = None
        if division.blocks > 1:
            form = TensorSpec(Dtype.F32, L1, _ROW_MAJOR, contiguous=True)
            copy = emitter.scratch(form, (1, k, min(n, width)))

        def first_strip(at: Value, _: Sequence[Value]) -> list[Value]:
            self._prefetch(emitter, operands[1], at, _TRIP, 0, min(n, width))
            return []

        def write(column: Value, columns: int, prefetches: bool = True) -> None:
            strip = _Strip(copy, row, column, columns, prefetches)
            self._strip(emitter, spec, operands, strip, division)

        def strip(column: Value, _: Sequence[Value]) -> list[Value]:
            write(column, width)
            return []

        emitter.loop(0, k, _TRIP, (), first_strip)
        if whole > width:
            emitter.loop(0, whole, width, (), strip)
        elif whole:
            strip(0, ())
        if n > whole:
            write(whole, n - whole, prefetches=False)

    def _strip(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        strip: "_Strip",
        division: "_Division",
    ) -> None:
        """All rows of a strip, block by block; the first copies the strip for the
        others. Each prefetches a part of the next strip, as long as there are parts:
        memory has the time of all."""
        k, most = spec.sizes[2], division.most
        copy, column, columns = strip.copy, strip.column, strip.columns
        vectors = ceil_div(columns, emitter.isa.lanes(Dtype.F32))
        each = trip(Dtype.F32, most, vectors)
        share = ceil_div(each, division.blocks)
        steps = each // share

        def block(rows: int, number: Value, further: Value, is_first: bool) -> None:
            def prefetch(at: Value) -> None:
                there = emitter.linear([(at, 1), (number, share)])
                begin = emitter.offset(column, columns)
                self._prefetch(emitter, operands[1], there, share, begin, columns)

            def write(prefetches: bool) -> None:
                write_tile(
                    emitter,
                    dataclasses.replace(spec, sizes=(1, rows, k, columns)),
                    operands,
                    column,
                    prefetch if prefetches else None,
                    emitter.linear([(strip.row, 1), (further, 1)]),
                    ColumnsCopy(copy, is_filled=not is_first) if copy else None,
                )

            # Of more blocks than a trip has steps, the others prefetch nothing: a line
            # whose set is full would come again for each.
            if not strip.prefetches or division.blocks <= steps:
                write(strip.prefetches)
            else:
                _by_number(emitter, number, steps, write)

        block(most, 0, 0, is_first=True)
        large, fewer = division.large, division.fewer
        for rows, first, before, count in (
            (most, most, 1, emitter.offset(large, -1)),
            (most - 1, emitter.linear([(large, most)]), large, fewer),
        ):

            def others(
                at: Value,
                _: Sequence[Value],
                rows: int = rows,
                first: Value = first,
                before: Value = before,
            ) -> list[Value]:
                further = emitter.sum(emitter.linear([(at, rows)]), first)
                block(rows, emitter.sum(at, before), further, is_first=False)
                return []

            if not isinstance(count, int) or count > 1:
                emitter.loop(0, count, 1, (), others)
            elif count:
                others(0, ())

    def _prefetch(
        self,
        emitter: Emitter,
        rhs: Buffer,
        row: Value,
        rows: int,
        column: Value,
        columns: int,
    ) -> None:
        """Lines of a few rows of a strip that are prefetched to L2, as few can be on
        their way to L1; a row that is not aligned has one more."""
        for by in range(rows):
            for start in (*range(0, columns, _LINE), columns - 1):
                at = (0, emitter.offset(row, by), emitter.offset(column, start))
                emitter.prefetch(rhs, at)

    def _is_waited(self, m: Ints, k: Ints) -> Any:
        """1 where lines of a strip are still on their way when it begins, else 0."""
        most = self._most(m)
        rows = np.where(self._is_short(m, k), most, m)
        return (rows * k * self._width(most) < _BRINGS) * 1

    def _is_short(self, m: Ints, k: Ints) -> Any:
        """1 where each block goes through all strips before the next begins, else 0."""
        return (m > self.most_rows) * (k < self.least_k) * 1

    def _division(self, m: int) -> "_Division":
        """The blocks of so many rows."""
        blocks, most = ceil_div(m, self.most_rows), int(self._most(m))
        fewer = most * blocks - m
        return _Division(most, blocks, blocks - fewer, fewer)

    def _most(self, m: Any) -> Any:
        """Rows of the largest block."""
        return ceil_div(m, ceil_div(m, self.most_rows))


def _by_number(
    emitter: Emitter, number: Value, count: int, write: Callable[[bool], None]
) -> None:
    """Code of one sort for the first ``count`` numbers, of another for the rest."""
    if isinstance(number, int):
        write(number < count)
        return
    late = emitter.quotient(emitter.at_most(number, count), count)
    emitter.switch(
        late, {0: functools.partial(write, True), 1: functools.partial(write, False)}
    )


@dataclasses.dataclass(frozen=True)
class _Division:
    """Rows that are divided into blocks.

    Args:
        most: the rows of a large block; another has one less.
        blocks: how many there are; of a range of sizes as many, or `_MANY` for more.
        large: the large blocks, which come first: a number, or a value.
        fewer: the others.
    """

    most: int
    blocks: int = 1
    large: Value = 1
    fewer: Value = 0


@dataclasses.dataclass(frozen=True)
class _Strip:
    """Columns of rhs by which rows are multiplied.

    Args:
        copy: room for a copy of them; None where no other block reads them.
        row: the first row of lhs.
        column: the first column.
        columns: how many.
        prefetches: whether there is a next strip.
    """

    copy: Buffer | None
    row: Value
    column: Value
    columns: int
    prefetches: bool
