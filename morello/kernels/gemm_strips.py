"""GEMM of some rows by an unpacked rhs, strip by strip of its columns.

A copy of rhs in panels pays where many rows use it. Of fewer, the first rows read rhs
from beyond L2 where it lies, while they compute; it stays in L2 for the others. A strip
takes a line or two of each row of rhs, which no hardware prefetcher follows far enough,
so that each row prefetches its place in a row to come.
"""

import dataclasses
from collections.abc import Sequence

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
    """Rows of rhs from what is read to what is prefetched. Of less than four times as
    many rows, each prefetches its place in the next strip."""

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
        """Blocks of both sizes; lines of rhs, prefetched, which come from L2 for all
        blocks but the first; lhs and out."""
        _, m, k, n = frame.sizes
        lhs, rhs, out = frame.key.tensors
        blocks = ceil_div(m, self.most_rows)
        large = m % blocks
        phases: tuple[Phase, ...] = ()
        trips: Ints = 0
        strips = ceil_div(n, self._width(ceil_div(m, blocks)))
        for rows, count in ((m // blocks, blocks - large), (m // blocks + 1, large)):
            phases += self._block(frame, rows, count)
            trips = trips + count * (n // self._width(rows))
        written, fetched = out.lines((1, m, n)), frame.key.kind.accumulates * 1
        lines = (
            Lines(0, lhs.lines((1, m, k)), Access.OVERLAPPED),
            Lines(
                1,
                rhs.lines((1, k, n)),
                Access.OVERLAPPED,
                prefetched=True,
                parts=k * strips,
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

    def _block(self, frame: Frame, rows: Ints, count: Ints) -> tuple[Phase, ...]:
        """``count`` blocks of rows; a prefetch takes the place of a load. That of the
        line in which a row ends takes one that no product needs."""
        _, _, k, n = frame.sizes
        width = self._width(rows)
        block = Frame(frame.key, (1, rows, k, n), frame.limits)
        prefetches: Ops = {"load": k * (width // _LINE)}
        return tuple(
            dataclasses.replace(
                phase, ops=add(phase.ops, prefetches), times=count * phase.times
            )
            for phase in tile_phases(block, width, self.isa)
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
        """Loops over blocks of rows, and over strips in each."""
        m = spec.sizes[1]
        blocks = -(-m // self.most_rows)
        small, large = divmod(m, blocks)
        at = 0
        for rows, count in ((small + 1, large), (small, blocks - large)):

            def block(row: Value, _: Sequence[Value], rows: int = rows) -> list[Value]:
                self._strips(emitter, spec, operands, row, rows)
                return []

            if count > 1:
                emitter.loop(at, at + count * rows, rows, (), block)
            elif count:
                block(at, ())
            at += count * rows

    def _strips(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        row: Value,
        rows: int,
    ) -> None:
        """All columns of some rows of out; those that are no strip prefetch nothing."""
        _, _, k, n = spec.sizes
        width = int(self._width(rows))
        whole = n // width * width
        each = trip(Dtype.F32, rows, width // self.isa.lanes(Dtype.F32))

        short = k < 4 * self.ahead
        rows_on, columns_on = (0, width) if short else (self.ahead, 0)

        def write(column: Value, columns: int, prefetches: bool = True) -> None:
            def ahead(at: Value) -> None:
                for by in range(each):
                    further = emitter.offset(at, rows_on + by)
                    # Rows that begin within a line end in one more.
                    end = columns_on + columns
                    for start in (*range(columns_on, end, _LINE), end - 1):
                        place = (0, further, emitter.offset(column, start))
                        emitter.prefetch(operands[1], place, to_l1=True)

            tile = dataclasses.replace(spec, sizes=(1, rows, k, columns))
            extra = ahead if prefetches else None
            write_tile(emitter, tile, operands, column, extra, row)

        def strip(column: Value, _: Sequence[Value]) -> list[Value]:
            write(column, width)
            return []

        if whole > width:
            emitter.loop(0, whole, width, (), strip)
        elif whole:
            write(0, width)
        if n > whole:
            write(whole, n - whole, prefetches=False)
