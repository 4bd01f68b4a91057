"""GEMV in its axpy form: rows of rhs are read once, and each is added to out, scaled.

For a few rows of rhs the kernel passes over out once: it reads as many streams side by
side, which brings memory to its bandwidth, and loads and stores out once for all of
them. Lines that come next are prefetched meanwhile.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, Op, OpCounts, Ops, Phase
from morello.kernels.code.prefetch import NextRows, OwnRows, Prefetch, halves_of_rows
from morello.kernels.code.vectors import tail_of, vectors_of
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.gemv.columns import Columns, prefetched_from, room_to_prefetch
from morello.kernels.predicates import (
    free_vectors,
    in_l1,
    is_interleaved,
    size_is_one,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.machine.isa import Isa
from morello.spec import L1, Dtype, Matmul, Memory, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import LINE_BYTES, ceil_div

_UNSPILLED = 5
"""Rows of lhs with which LLVM keeps all sums in registers."""

_SPILLS = 2
"""How many sums it stores and loads for each row of rhs with more."""

_HIDES_L2 = 4
"""Rows of out whose sums take as long as a line of L2."""

_IN_FLIGHT = 16
"""Steps of a chain that out-of-order execution overlaps with what precedes them."""


_N = 3
"""Of the dimensions of the product."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvAxpy(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] in L1 · rhs[0,k,n], both of these anywhere.

    A single row of lhs has its factors in registers; of more rows each factor is loaded
    where it is used. Columns that are no full vector are read with masks.
    """

    streams: int
    """Rows of rhs that are read side by side."""
    prefetch: Prefetch
    """What is prefetched of rhs, where it is beyond L2."""
    rows: tuple[int, int] = (1, 6)
    """The fewest and the most rows of lhs: each takes a line in registers."""
    far: bool = True
    """Whether rhs has to be beyond L2, with two blocks of rows or more."""
    scattered: bool = False
    """Whether the rows that are read side by side are far from each other: they are
    read on to their neighbours, so that rhs has no gaps."""

    def accepts(self, key: SpecKey) -> bool:
        """f32 or s32; k unpacked, n unpacked and innermost in rhs and out."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            all(t.dtype is out.dtype for t in (lhs, rhs))
            and out.dtype in (Dtype.F32, Dtype.S32)
            and in_l1(lhs)
            and not (rhs.level.is_registers or out.level.is_registers)
            and not is_interleaved(lhs.layout)
            and lhs.layout.pack(2) == 1
            and all(t.layout.innermost == 2 for t in (rhs, out))
            and not (rhs.layout.is_packed or out.layout.is_packed)
            and (rhs.level.is_main or not self.far)
            and (rhs.contiguous or not self.scattered)
        )

    def levels_needed(self, key: SpecKey) -> frozenset[Memory]:
        """L2, where the next rows are prefetched."""
        if not isinstance(self.prefetch, NextRows):
            return frozenset()
        return prefetched_from(key, (Dtype.F32, Dtype.S32))

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows, registers for the sums, and room for what is prefetched."""
        m = frame.sizes[1]
        line = self.isa.line_vectors
        needed = line * m + np.where(m == 1, self.streams, line + 1)
        fewest, most = self.rows
        return (
            size_is_one(frame, 0),
            *within_pack(frame, 0, 1),
            Condition(
                m <= most,
                f"takes at most {most} rows: tile m smaller"
                if most > 1
                else "takes one row: tile m to 1",
            ),
            Condition(
                free_vectors(frame) >= needed,
                "needs free registers for sums and factors: take fewer",
            ),
            *self._room(frame),
            *_beside_rhs(frame),
            *(
                [Condition(m >= fewest, "takes more than one row: use gemv_axpy")]
                if fewest > 1
                else []
            ),
            *self._two_blocks(frame),
        )

    def _room(self, frame: Frame) -> tuple[Condition, ...]:
        """Room for the next rows, or rows long enough to prefetch their own lines."""
        match self.prefetch:
            case NextRows():
                return room_to_prefetch(frame, self.streams)
            case OwnRows() as own:
                itemsize = frame.key.tensors[1].dtype.itemsize
                step = LINE_BYTES // itemsize
                distance = own.distance(self.streams, itemsize, step)
                return (halves_of_rows(frame, _N, distance, step),)
        return ()

    def _two_blocks(self, frame: Frame) -> tuple[Condition, ...]:
        """Twice the rows of rhs that are read side by side, where it is far."""
        least = 2 * self.streams
        return (
            (
                Condition(
                    frame.sizes[2] >= least,
                    f"takes at least {least} rows of rhs: use gemv_axpy",
                ),
            )
            if self.far
            else ()
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Columns in passes over out, or once over all of k; those left once."""
        n = frame.sizes[3]
        step = self.isa.line_vectors * self.isa.lanes(frame.key.tensors[1].dtype)
        steps = n // step
        own = isinstance(self.prefetch, OwnRows) and self.prefetch.to_l1
        passes = _passes(frame, np.maximum(steps, 2), self.isa, self.streams, own)
        parts = (
            *(dataclasses.replace(p, times=p.times * (steps > 1)) for p in passes),
            *_once(frame, step, self.isa, steps == 1),
            *_once(frame, n % step, self.isa, n % step > 0),
        )
        loops = (steps == 1) * 1 + (n % step > 0)
        loops = loops + (steps > 1) * ceil_div(frame.sizes[2], self.streams)
        return OpCounts(parts, kernels=1, loops=loops)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Whole lines of columns in passes over out; the others once, over all of k."""
        own = self.prefetch if isinstance(self.prefetch, OwnRows) else None
        columns = Columns(emitter, spec, operands, self.streams, own)
        n = spec.sizes[3]
        step = columns.step
        whole = n // step * step
        if whole > step:
            (columns.passes_far if self.scattered else columns.passes)(whole)
        elif whole:
            columns.once(0, whole)
        if n > whole:
            columns.once(whole, n - whole)


def multiply_add_of(dtype: Dtype) -> Op:
    """The instruction that multiplies and adds."""
    return "fma" if dtype.is_float else "multiply_add_int"


def _passes(
    frame: Frame, steps: Ints, isa: Isa, rows: int, own: bool
) -> tuple[Phase, ...]:
    """``steps`` steps of columns, at least two, in passes over out.

    ``own``: rows of rhs prefetch their own lines to L1.

    A sum goes through memory from a pass to the next: four latencies. A single row
    waits for its lines; those of several arrive beside arithmetic, but for a few rows
    it is shorter. Lines of out that go back hide behind arithmetic where it takes two
    vectors a line.
    """
    _, m, k, _ = frame.sizes
    op = multiply_add_of(frame.key.dtypes[2])
    passes = ceil_div(k, rows)
    vectors = steps * isa.line_vectors
    fetched = passes if frame.key.kind.accumulates else passes - 1
    kept = k // rows * _kept(m, rows, isa) + _kept(m, k % rows, isa)
    # Sums that do not stay in registers go to the stack and come back.
    spilled = (m > _UNSPILLED) * _SPILLS * k * steps
    lines, one = k * steps, m == 1
    products = Phase(
        {
            op: m * k * vectors,
            "load": vectors * (k + m * fetched) + steps * kept + spilled,
            "store": m * vectors * passes + spilled,
        },
        {op: k + 4 * passes},
        (
            Lines(1, lines * one, Access.DEMAND, prefetched=own),
            Lines(
                1,
                lines * (m > 1),
                Access.STREAMED,
                rows=m + rows,
                prefetched=own,
            ),
            Lines(2, fetched * m * steps, Access.OVERLAPPED),
            Lines(2, passes * m * steps, Access.STORED, hidden=isa.line_vectors > 1),
        ),
    )
    columns = vectors * isa.lanes(frame.key.dtypes[1])
    runs = frame.key.tensors[1].runs((1, k, columns))
    starts = Lines(1, 0, Access.DEMAND, starts=runs, hidden=False)
    factors = Phase({"load": m * k}, lines=(starts,))
    return products, factors, Phase({"store": kept})


def _kept(m: Ints, rows: Ints, isa: Isa) -> Ints:
    """The factors of some rows of rhs that are on the stack: registers are too few.

    Beside them are sums, a row of rhs, and zeros or a factor that comes from there.
    """
    return np.maximum(m * rows - (isa.registers - isa.line_vectors * (m + 1) - 1), 0)


def _once(frame: Frame, columns: Ints, isa: Isa, times: Ints) -> tuple[Phase, ...]:
    """Up to a step of columns, their sums in registers over all of k.

    It reads a strip of rhs, a line or two a row, that nothing prefetches.
    """
    _, m, k, _ = frame.sizes
    rhs, out = frame.key.tensors[1:]
    op, lanes = multiply_add_of(out.dtype), isa.lanes(out.dtype)
    vectors, masked = vectors_of(columns, lanes), tail_of(columns, lanes)
    fetched = 1 if frame.key.kind.accumulates else 0
    several = np.asarray(m >= _HIDES_L2) * 1
    strip, runs = rhs.lines((1, k, columns)), rhs.runs((1, k, columns))
    lines = out.lines((1, m, columns))
    ops: Ops = {
        op: k * m * vectors,
        "load": k * (m + vectors - masked),
        "masked_load": k * masked,
    }
    read = (
        Lines(1, strip * (1 - several), Access.DEMAND, runs, k, hidden=False),
        Lines(1, strip * several, Access.OVERLAPPED, rows=k, hidden=False),
        Lines(2, fetched * lines, Access.OVERLAPPED, hidden=False),
        Lines(2, lines, Access.STORED, hidden=False),
    )
    # Out-of-order execution hides the latency of a short chain.
    chain: Ops = {op: k - np.minimum(k, _IN_FLIGHT)}
    # Nothing of a sum overlaps with loading it, nor with storing it.
    ends = Phase({"load": m * vectors * fetched}), Phase({"store": 2 * m * vectors})
    return (
        Phase(ops, chain, read, times),
        *(dataclasses.replace(end, times=times) for end in ends),
    )


def _beside_rhs(frame: Frame) -> tuple[Condition, ...]:
    """Condition that rows of out from beyond L1 do not evict a tile of rhs from it."""
    _, rhs, out = frame.key.tensors
    if not in_l1(rhs) or in_l1(out):
        return ()
    lines = out.lines(frame.operand_sizes(2))
    return (
        Condition(
            lines <= frame.limits[L1],
            "needs room in L1 for its rows of out beside rhs: tile n smaller",
        ),
    )
