"""GEMM of some rows by an unpacked rhs, strip by strip of its columns.

A copy of rhs in panels pays where many rows use it. Of fewer, rhs is read from beyond
L2 where it lies, once: all rows are multiplied by a strip before the next. A strip
takes a line or two of each row of rhs, which no hardware prefetcher follows far enough,
so that the kernel prefetches: the first rows what they read next, the others what the
next strip reads, a part each.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemm import tile_phases, write_tile
from morello.kernels.predicates import size_is_one
from morello.kernels.template import Kernel
from morello.kernels.unroll import trip
from morello.spec import Dtype, Layout, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import LINE_BYTES, ceil_div

_ROW_MAJOR = Layout.row_major(3)

_LEAST = 8
"""Rows of rhs for which sums stay in registers: of fewer, out is the traffic."""

_FEW = 4
"""Rows of lhs whose products do not hide what memory takes: `GemvAxpy` reads rhs along
its rows, which hardware follows, and is the faster."""

_LINE = LINE_BYTES // Dtype.F32.itemsize
"""Elements of a cache line."""

_Extra = Callable[[Value], None] | None
"""What each trip of a loop over k does besides, given its first step."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemmStrips(Kernel):
    """out[0,m,n] (+)= lhs[0,m,k] · rhs[0,k,n], f32, over all of k."""

    most_rows: int
    """Rows of lhs that are multiplied by a strip at a time; all are divided into blocks
    that differ by one row at most."""
    most_k: int
    """Rows of rhs: each may be a page of its own, which the second level of the TLB has
    to reach in every strip, beside those of other operands. What that takes longer than
    the first level is hidden."""
    most_far_k: int
    """The same of rows with gaps between them, beyond L2."""
    ahead: int
    """Rows of rhs from what is read to what is prefetched of the same strip. Of less
    than four times as many rows each block prefetches the next strip."""

    def accepts(self, key: SpecKey) -> bool:
        """f32, all row-major; rhs beyond L1."""
        if not isinstance(key.kind, Matmul) or set(key.dtypes) != {Dtype.F32}:
            return False
        lhs, rhs, out = key.tensors
        return (
            rhs.level in (Level.L2, Level.MEM)
            and Level.VRF not in (lhs.level, out.level)
            and all(tensor.layout == _ROW_MAJOR for tensor in key.tensors)
        )

    def levels_needed(self, key: SpecKey) -> frozenset[Level]:
        """L2, where rhs stays."""
        if not isinstance(key.kind, Matmul) or set(key.dtypes) != {Dtype.F32}:
            return frozenset()
        rhs, out = key.tensors[1:]
        reads = rhs.level is Level.MEM and not rhs.layout.is_packed
        fits = reads and out.level is not Level.VRF
        return frozenset({Level.L2}) if fits else frozenset()

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Room for rhs in L2, rows enough of it to prefetch, registers."""
        _, _, k, n = frame.sizes
        rhs = frame.key.tensors[1]
        far = rhs.level is Level.MEM and not rhs.contiguous
        most = self.most_far_k if far else self.most_k
        return (
            size_is_one(frame, 0),
            Condition(
                frame.sizes[1] > _FEW,
                f"takes more than {_FEW} rows of lhs, whose products hide few lines: "
                "use a kernel that reads rhs along its rows",
            ),
            Condition(
                k >= _LEAST,
                f"takes at least {_LEAST} rows of rhs: do not split k",
            ),
            Condition(
                k <= most,
                f"takes at most {most} rows of rhs: split k",
            ),
            Condition(
                frame.limits.vrf >= self.isa.registers, "needs all registers: take none"
            ),
            *(
                [
                    Condition(
                        rhs.lines((1, k, n)) <= frame.limits.l2,
                        "needs room in L2 for rhs: tile n smaller, or split k",
                    )
                ]
                if rhs.level is Level.MEM
                else []
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Blocks of both sizes; lhs and out. Lines of rhs, prefetched, arrive while all
        blocks of a strip are computed; else the first block waits for them."""
        _, m, k, n = frame.sizes
        lhs, rhs, out = frame.key.tensors
        blocks = ceil_div(m, self.most_rows)
        large = m % blocks
        phases: tuple[Phase, ...] = ()
        trips: Ints = 0
        strips = ceil_div(n, self._width(ceil_div(m, blocks)))
        for rows, count in ((m // blocks, blocks - large), (m // blocks + 1, large)):
            phases += self._block(frame, rows, count, blocks)
            trips = trips + count * (n // self._width(rows))
        written, fetched = out.lines((1, m, n)), frame.key.kind.accumulates * 1
        alone = 1 - self._is_joined(m, k) * 1
        lines = (
            Lines(0, lhs.lines((1, m, k)), Access.OVERLAPPED),
            Lines(
                1,
                alone * rhs.lines((1, k, n)),
                Access.OVERLAPPED,
                prefetched=True,
                parts=alone * k * strips,
                passes=blocks - 1,
            ),
            Lines(2, fetched * written, Access.OVERLAPPED),
            Lines(2, written, Access.STORED),
        )
        return OpCounts(
            (*phases, *(Phase(lines=(one,)) for one in lines)),
            kernels=1,
            loops=blocks,
            trips=trips,
        )

    def _block(
        self, frame: Frame, rows: Ints, count: Ints, blocks: Ints
    ) -> tuple[Phase, ...]:
        """``count`` blocks of rows; a prefetch takes the place of a load. That of the
        line in which a row ends takes one that no product needs."""
        _, _, k, n = frame.sizes
        width = self._width(rows)
        block = Frame(frame.key, (1, rows, k, n), frame.limits)
        prefetches: Ops = {"load": k * (width // _LINE)}

        def arriving(columns: Ints) -> Lines:
            lines = frame.key.tensors[1].lines((1, k, columns))
            joined = self._is_joined(frame.sizes[1], k) * 1
            return Lines(
                1,
                joined * ceil_div(lines, blocks),
                Access.OVERLAPPED,
                prefetched=True,
                parts=joined * ceil_div(k, blocks),
                passes=blocks - 1,
            )

        tiles = zip(
            tile_phases(block, width, self.isa), (width, n % width), strict=True
        )
        return tuple(
            dataclasses.replace(
                phase,
                ops=add(phase.ops, prefetches),
                lines=(arriving(columns),),
                times=count * phase.times,
            )
            for phase, columns in tiles
        )

    def _width(self, rows: Ints) -> Ints:
        """Columns of a strip: of whole lines, beside a row of rhs and a factor."""
        vectors = (self.isa.registers - 1) // (rows + 1)
        lanes = self.isa.lanes(Dtype.F32)
        return np.minimum(vectors, self._most_vectors) * lanes

    @property
    def _most_vectors(self) -> int:
        return 2

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over strips. Of a few rows of rhs, out is most of what is written: it
        is written along its rows, block by block."""
        m = spec.sizes[1]
        if not self._is_joined(*spec.sizes[1:3]):
            for rows, first, count in self._blocks(m):

                def block(
                    row: Value, _: Sequence[Value], rows: int = rows
                ) -> list[Value]:
                    part = dataclasses.replace(spec, sizes=(1, rows, *spec.sizes[2:]))
                    self._strips(emitter, part, operands, row)
                    return []

                if count > 1:
                    emitter.loop(first, first + count * rows, rows, (), block)
                elif count:
                    block(first, ())
        else:
            self._strips(emitter, spec, operands, 0)

    def _strips(
        self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer], row: Value
    ) -> None:
        """All strips of the rows from ``row`` on, and the columns that are left, which
        prefetch nothing."""
        n, width = spec.sizes[3], int(self._width(self._most(spec.sizes[1])))
        whole = n // width * width

        def strip(column: Value, _: Sequence[Value]) -> list[Value]:
            self._strip(emitter, spec, operands, row, column, width)
            return []

        if whole > width:
            emitter.loop(0, whole, width, (), strip)
        elif whole:
            strip(0, ())
        if n > whole:
            columns = n - whole
            self._strip(emitter, spec, operands, row, whole, columns, prefetches=False)

    def _strip(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        row: Value,
        column: Value,
        columns: int,
        prefetches: bool = True,
    ) -> None:
        """All rows from ``row`` on, block by block; the first prefetches otherwise."""
        _, m, k, _ = spec.sizes
        own, of_next = self._prefetches(emitter, spec, operands[1], column, columns)

        def block(rows: int, further: Value, extra: _Extra) -> None:
            tile = dataclasses.replace(spec, sizes=(1, rows, k, columns))
            place = emitter.linear([(row, 1), (further, 1)])
            write_tile(
                emitter, tile, operands, column, extra if prefetches else None, place
            )

        block(self._most(m), 0, own)
        number = 0
        for rows, first, count in self._blocks(m, without_first=True):

            def others(
                at: Value,
                _: Sequence[Value],
                rows: int = rows,
                first: int = first,
                number: int = number,
            ) -> list[Value]:
                further = emitter.offset(emitter.linear([(at, rows)]), first)
                block(rows, further, of_next(emitter.offset(at, number)))
                return []

            if count > 1:
                emitter.loop(0, count, 1, (), others)
            elif count:
                others(0, ())
            number += count

    def _prefetches(
        self, emitter: Emitter, spec: Spec, rhs: Buffer, column: Value, columns: int
    ) -> tuple[_Extra, Callable[[Value], _Extra]]:
        """What trips of the loop over k prefetch: those of the first block, and those
        of any other, given how many of these come before it.

        The first block brings lines of its strip to L1, some rows ahead. Each other one
        brings a part of the next strip to L2, so that memory has the time of all of
        them. Of a few rows of rhs each block brings the next strip.
        """
        _, m, k, _ = spec.sizes
        lanes = emitter.isa.lanes(Dtype.F32)
        each = trip(Dtype.F32, self._most(m), ceil_div(columns, lanes))
        is_short = k < 4 * self.ahead
        rows_on, columns_on = (0, columns) if is_short else (self.ahead, 0)
        part = ceil_div(k, max(ceil_div(m, self.most_rows) - 1, 1))

        def lines(row: Value, on: int, to_l1: bool) -> None:
            # Rows that begin within a line end in one more.
            end = on + columns
            for by in range(each):
                for start in (*range(on, end, _LINE), end - 1):
                    at = (0, emitter.offset(row, by), emitter.offset(column, start))
                    emitter.prefetch(rhs, at, to_l1=to_l1)

        def own(at: Value) -> None:
            lines(emitter.offset(at, rows_on), columns_on, to_l1=True)

        def of_next(before: Value) -> _Extra:
            def extra(at: Value) -> None:
                within = emitter.at_most(at, part - 1)
                row = emitter.linear([(before, part), (within, 1)])
                lines(row, columns, to_l1=False)

            return extra

        return own, of_next

    def _is_joined(self, m: Ints, k: Ints) -> Any:
        """Whether all blocks of rows are multiplied by a strip before the next."""
        return (m > self.most_rows) & (k >= 4 * self.ahead)

    def _blocks(
        self, m: int, without_first: bool = False
    ) -> tuple[tuple[int, int, int], ...]:
        """Rows of a block, where the first begins, and how many there are."""
        blocks, most = ceil_div(m, self.most_rows), self._most(m)
        large = m % blocks or blocks
        at = most * without_first
        count = large - without_first
        return (most, at, count), (most - 1, most * large, blocks - large)

    def _most(self, m: int) -> int:
        """Rows of the largest block."""
        return int(ceil_div(m, ceil_div(m, self.most_rows)))
