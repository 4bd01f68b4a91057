"""GEMV in its axpy form with rhs in bf16, which is read once and widened.

Even and odd columns are widened by a shift and a mask, each into vectors of their own:
cheaper than widening the columns in their order.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, times
from morello.kernels.code.prefetch import NextRows, OwnRows, halves_of_rows
from morello.kernels.code.vectors import vectors_of
from morello.kernels.emitter import Buffer, Emitter, Pack, Value
from morello.kernels.gemv.columns import (
    Columns,
    WidenedColumns,
    prefetched_from,
    room_to_prefetch,
)
from morello.kernels.gemv.streams import run_streams
from morello.kernels.predicates import (
    free_vectors,
    in_l1,
    is_interleaved,
    size_is_one,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.machine.isa import Isa
from morello.spec import Dtype, Form, Layout, Matmul, Memory, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div

_WORKING = 4
"""Registers besides sums: a vector of rhs, its two halves, a factor."""

_N = 3
"""Of the dimensions of the product."""

_MOST_ROWS = 2
"""Rows of lhs: each takes four registers for a line of rhs."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvBf16(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], in f32, of rhs in bf16.

    The parts that its forms share.
    """

    panel: int
    """Vectors of rhs in a row of the panels that rhs may be packed in."""

    @property
    def columns(self) -> int:
        """Columns of a panel."""
        return self.panel * self.isa.lanes(Dtype.BF16)

    @property
    def layout(self) -> Layout:
        """Such panels: one run of memory that is read from end to end."""
        return Layout.parse(f"[0,2,1,2p{self.columns}]")

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """bf16 or f32 times bf16."""
        return tuple((lhs, Dtype.BF16, Dtype.F32) for lhs in (Dtype.F32, Dtype.BF16))

    def accepts(self, key: SpecKey) -> bool:
        """bf16 or f32 times bf16; n innermost, rhs unpacked or in panels."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            rhs.dtype is Dtype.BF16
            and out.dtype is Dtype.F32
            and in_l1(lhs)
            and not (rhs.level.is_registers or out.level.is_registers)
            and not is_interleaved(lhs.layout)
            and lhs.layout.pack(2) == 1
            and all(t.layout.innermost == 2 for t in (rhs, out))
            and (not rhs.layout.is_packed or rhs.layout == self.layout)
            and not out.layout.is_packed
        )

    def one_row(self, frame: Frame, least: int) -> tuple[Condition, ...]:
        """One row of lhs, ``least`` rows of rhs, all registers."""
        return (
            size_is_one(frame, 0),
            size_is_one(frame, 1),
            Condition(
                frame.sizes[2] >= least, f"takes at least {least} k: do not split k"
            ),
            *within_pack(frame, 0, 1),
            Condition(free_vectors(frame) >= self.isa.registers, "needs all registers"),
        )

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """lhs in f32, and panels of rhs, where rhs is in bf16."""
        if not isinstance(key.kind, Matmul):
            return ()
        _, rhs, out = key.tensors
        if rhs.dtype is not Dtype.BF16 or out.dtype is not Dtype.F32:
            return ()
        if operand == 0:
            return (Form(Dtype.F32, Layout.row_major(3)),)
        return (Form(Dtype.BF16, self.layout),) if operand == 1 else ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvAxpyBf16(GemvBf16):
    """rhs from anywhere: rows side by side, or one panel from end to end."""

    streams: int
    """Rows of rhs that are read side by side, where it is unpacked."""
    prefetch: NextRows | OwnRows
    """What is prefetched of an unpacked rhs beyond L2; with its own lines it has to be
    one."""

    def accepts(self, key: SpecKey) -> bool:
        """bf16 or f32 times bf16; rhs in rows beyond L2 if these prefetch their own
        lines."""
        if not super().accepts(key):
            return False
        rhs = key.tensors[1]
        beyond = rhs.level.is_main and not rhs.layout.is_packed
        return beyond or isinstance(self.prefetch, NextRows)

    def levels_needed(self, key: SpecKey) -> frozenset[Memory]:
        """L2, where the next rows are prefetched."""
        if isinstance(self.prefetch, OwnRows):
            return frozenset()
        return prefetched_from(key, (Dtype.BF16,))

    def _room(self, frame: Frame) -> tuple[Condition, ...]:
        """Room for the next rows, or rows long enough to prefetch their own lines."""
        if isinstance(self.prefetch, NextRows):
            return room_to_prefetch(frame, self.streams)
        step = self.isa.line_vectors * self.isa.lanes(Dtype.BF16)
        distance = self.prefetch.distance(self.streams, Dtype.BF16.itemsize, step)
        return (
            halves_of_rows(frame, _N, distance, step),
            Condition(
                frame.sizes[2] >= self.streams,
                f"takes at least {self.streams} rows of rhs: use gemv_axpy_bf16",
            ),
        )

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """No panels of rhs where it is read in rows alone."""
        if operand == 1 and isinstance(self.prefetch, OwnRows):
            return ()
        return super().forms(key, operand)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows, free registers; of panels, one, and few sums."""
        _, m, _, n = frame.sizes
        packed = frame.key.tensors[1].layout.is_packed
        sums = m * vectors_of(n, self.isa.lanes(Dtype.F32))
        most = self.isa.registers // 2
        line = 2 * self.isa.line_vectors
        needed = np.where(m == 1, self.streams + line, line * m) + _WORKING
        return (
            size_is_one(frame, 0),
            *within_pack(frame, 0, 1),
            *within_pack(frame, 1, 2),
            Condition(
                m <= _MOST_ROWS, f"takes at most {_MOST_ROWS} rows: tile m smaller"
            ),
            *(
                [
                    Condition(
                        sums <= most,
                        f"takes at most {most} vectors of sums: tile m or n smaller",
                    )
                ]
                if packed
                else self._room(frame)
            ),
            Condition(
                free_vectors(frame) >= np.minimum(needed, self.isa.registers),
                "needs free registers for sums and factors: take fewer",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Products, whose operands are widened; what each pass over out adds."""
        k = frame.sizes[2]
        packed = frame.key.tensors[1].layout.is_packed
        passes = 1 if packed else ceil_div(k, self.streams)
        own = isinstance(self.prefetch, OwnRows)
        phases = _counts(frame, self.isa, passes, k + 4 * passes, 1, own)
        return OpCounts(phases, kernels=1, loops=passes)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Full registers of rhs are widened; the columns after them as they are."""
        own = self.prefetch if isinstance(self.prefetch, OwnRows) else None
        widened = WidenedColumns(emitter, spec, operands, self.streams, own)
        rest = Columns(emitter, spec, operands, self.streams)
        n = spec.sizes[3]
        if operands[1].tensor.layout.is_packed:
            (rest if n % widened.unit else widened).once(0, n)
            return
        whole = n // widened.step * widened.step
        if whole > widened.step:
            widened.passes(whole)
        elif whole:
            widened.once(0, whole)
        for start in range(whole, n, rest.step):
            rest.once(start, min(rest.step, n - start))


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvAxpyBf16Panels(GemvBf16):
    """rhs in panels beyond L2, of one row: panel after panel, lines prefetched into L1.

    The panels of an operand are one run of memory. The hardware prefetcher stops at
    pages of 4 KiB; a loop that prefetches goes on over them, and from panel to panel.
    Nothing behind the operand is prefetched.
    """

    distance: int
    """Rows of a panel from what is read to what is prefetched."""

    def accepts(self, key: SpecKey) -> bool:
        """bf16 or f32 times panels of bf16 that are not known to be in a cache."""
        if not super().accepts(key):
            return False
        rhs = key.tensors[1]
        return rhs.layout.is_packed and rhs.level.is_main

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row; panels from which the prefetch reaches the next one at most."""
        return self.one_row(frame, self.distance)

    def op_counts(self, frame: Frame) -> OpCounts:
        """The products of each panel, one panel after another."""
        _, _, k, n = frame.sizes
        panels = ceil_div(n, self.columns)
        phases = _counts(frame, self.isa, 1, panels * (k + 4), panels)
        return OpCounts(phases, kernels=1, loops=panels)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over panels; the last rows of the last one prefetch nothing."""
        widened = WidenedColumns(emitter, spec, operands, streams=1)
        rest = Columns(emitter, spec, operands, streams=1)
        _, _, k, n = spec.sizes
        columns, distance = self.columns, self.distance
        last = (n - 1) // columns

        def panel(number: Value, carried: Sequence[Value]) -> list[Value]:
            widened.once(Pack(number, columns), columns, distance, k)
            return []

        if last > 1:
            emitter.loop(0, last, 1, (), panel)
        elif last:
            panel(0, ())
        width = n - last * columns
        code = rest if width % widened.unit else widened
        code.once(Pack(last, columns), width, distance, k - distance)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvAxpyBf16Streams(GemvBf16):
    """rhs beyond L2, of one row: rows or panels far from each other, side by side.

    Rows and panels are read on to their neighbours, and prefetch their own lines.
    """

    streams: int
    """Rows, or panels, that are read side by side."""
    prefetch: OwnRows
    """How they prefetch."""

    def accepts(self, key: SpecKey) -> bool:
        """bf16 or f32 times bf16 that is not known to be in a cache, without gaps."""
        if not super().accepts(key):
            return False
        rhs = key.tensors[1]
        return rhs.level.is_main and (rhs.layout.is_packed or rhs.contiguous)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row, all registers, and more of rhs than it reads at a time."""
        return self.one_row(frame, 2 * self.streams)

    def op_counts(self, frame: Frame) -> OpCounts:
        """The products of a few rows, or of a few panels, at a time."""
        _, _, k, n = frame.sizes
        if frame.key.tensors[1].layout.is_packed:
            calls = ceil_div(vectors_of(n, self.columns), self.streams)
            phases = _counts(frame, self.isa, 1, calls * (k + 4), calls)
        else:
            calls = ceil_div(k, self.streams)
            phases = _counts(frame, self.isa, calls, k + 4 * calls, 1)
        return OpCounts(phases, kernels=1, loops=calls)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Full registers of rhs are widened; the columns after them as they are."""
        widened = WidenedColumns(
            emitter, spec, operands, self.streams, own=self.prefetch
        )
        rest = Columns(emitter, spec, operands, self.streams)
        n = spec.sizes[3]
        if operands[1].tensor.layout.is_packed:
            self._panels(emitter, widened, rest, n)
            return
        whole = n // widened.step * widened.step
        if whole:
            widened.passes_far(whole)
        for start in range(whole, n, rest.step):
            rest.once(start, min(rest.step, n - start))

    def _panels(
        self, emitter: Emitter, widened: WidenedColumns, rest: Columns, n: int
    ) -> None:
        """A loop over full panels, then one that is not."""
        columns = self.columns

        def panels(numbers: Sequence[Value], after: int) -> None:
            following = [emitter.offset(number, after) for number in numbers]
            widened.at_places(
                [(Pack(number, columns), columns) for number in numbers],
                [Pack(number, columns) for number in following] if after else [],
            )

        whole, left = divmod(n, columns)
        run_streams(emitter, self.streams, whole, panels, prefetches=True)
        if left:
            rest.once(Pack(whole, columns), left)


def _counts(
    frame: Frame,
    isa: Isa,
    passes: Ints,
    chain: Ints,
    factors: Ints,
    own: bool = False,
) -> tuple[Phase, ...]:
    """The phases of products with rhs in bf16, in ``passes`` over out.

    Args:
        frame: the products.
        isa: what they are written in.
        passes: how often each sum goes through memory.
        chain: multiply-adds one after another.
        factors: how often each element of lhs is loaded.
        own: whether rows of rhs prefetch their own lines to L1.
    """
    _, m, k, n = frame.sizes
    lhs, rhs, out = frame.key.tensors
    vectors = vectors_of(n, isa.lanes(Dtype.F32))
    fetched = passes if frame.key.kind.accumulates else passes - 1
    fetched = passes if out.level.is_main else fetched
    written = out.lines((1, m, n))
    starts = 1 if rhs.layout.is_packed else rhs.runs((1, k, n))
    access = Access.OVERLAPPED if rhs.layout.is_packed else Access.DEMAND
    products = Phase(
        {"fma": m * k * vectors, "vector_op": k * vectors},
        {"fma": chain},
        (
            Lines(1, rhs.lines((1, k, n)), access, prefetched=own),
            Lines(2, fetched * written, Access.OVERLAPPED),
            Lines(2, passes * written, Access.STORED),
        ),
    )
    # Halves are put together and added to out in each pass.
    ends: Ops = {"shuffle": 2, "vector_op": 1, "load": 1, "store": 1}
    narrow = 2 if lhs.dtype is Dtype.BF16 else 0
    row = m * k * factors
    loaded = Lines(1, 0, Access.DEMAND, starts, hidden=False)
    return (
        products,
        Phase(times(ends, passes * m * vectors)),
        Phase({"load": row, "vector_op": narrow * row}, lines=(loaded,)),
    )
