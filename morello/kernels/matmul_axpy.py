"""Matmul of a few rows: rows of rhs go by once, and each is added to out, scaled.

For each 8 or 4 rows of rhs the kernel passes over out once, so that it reads as many
long runs side by side, which is what brings memory to its bandwidth, and loads and
stores out once for all of them. The rows after those are prefetched meanwhile.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.cost.counts import Access, Lines, Op, OpCounts, Ops, Phase
from morello.kernels.axpy_columns import (
    ROWS,
    VECTORS,
    Columns,
    room_to_prefetch,
)
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import (
    in_l1,
    is_interleaved,
    size_is_one,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.kernels.vectors import tail_of, vectors_of
from morello.machine.isa import Isa
from morello.spec import Dtype, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div

MOST_M = 6
"""Rows of lhs: each takes `VECTORS` registers."""

_UNSPILLED = 5
"""Rows of lhs with which LLVM keeps all sums in registers."""

_SPILLS = 2
"""How many sums it stores and loads for each row of rhs with more."""

_HIDES_L2 = 4
"""Rows of out whose sums take as long as a line of L2."""

_IN_FLIGHT = 16
"""Steps of a chain that out-of-order execution overlaps with what precedes them."""


@dataclasses.dataclass(frozen=True)
class MatmulAxpy(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] in L1 · rhs[0,k,n], both of these anywhere.

    A single row of lhs has its 8 factors in registers; of more rows each factor is
    loaded where it is used. Columns that are no full vector are read with masks.
    """

    rows: ClassVar[int] = ROWS
    """Rows of rhs that are read side by side."""
    asks: ClassVar[bool] = True
    """Whether the rows after those are asked for, where they are beyond L2."""

    def accepts(self, key: SpecKey) -> bool:
        """f32 or s32; k unpacked, n unpacked and innermost in rhs and out."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            all(t.dtype is out.dtype for t in (lhs, rhs))
            and out.dtype in (Dtype.F32, Dtype.S32)
            and in_l1(lhs)
            and Level.VRF not in (rhs.level, out.level)
            and not is_interleaved(lhs.layout)
            and lhs.layout.pack(2) == 1
            and all(t.layout.innermost == 2 for t in (rhs, out))
            and not (rhs.layout.is_packed or out.layout.is_packed)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows, registers for the sums, and room for the rows that come next."""
        m = frame.sizes[1]
        needed = VECTORS * m + np.where(m == 1, self.rows, VECTORS + 1)
        return (
            size_is_one(frame, 0),
            *within_pack(frame, 0, 1),
            Condition(m <= MOST_M, f"takes at most {MOST_M} rows: tile m smaller"),
            Condition(
                frame.limits.vrf >= needed,
                "needs free registers for sums and factors: take fewer",
            ),
            *(self.room(frame) if self.asks else ()),
        )

    def room(self, frame: Frame) -> tuple[Condition, ...]:
        """Room for the rows that are asked for."""
        return room_to_prefetch(frame, self.rows)

    def op_counts(self, frame: Frame) -> OpCounts:
        """Columns in passes over out, or once over all of k; those left once."""
        n = frame.sizes[3]
        step = VECTORS * self.isa.lanes(frame.key.tensors[1].dtype)
        steps = n // step
        passes = _passes(frame, np.maximum(steps, 2), self.isa, self.rows)
        parts = (
            *(dataclasses.replace(p, times=p.times * (steps > 1)) for p in passes),
            *_once(frame, step, self.isa, steps == 1),
            *_once(frame, n % step, self.isa, n % step > 0),
        )
        loops = (steps == 1) * 1 + (n % step > 0)
        loops = loops + (steps > 1) * ceil_div(frame.sizes[2], self.rows)
        return OpCounts(parts, kernels=1, loops=loops)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Whole steps of columns in passes over out; the others once, over all of k."""
        columns = self.columns(emitter, spec, operands)
        n = spec.sizes[3]
        step = columns.step
        whole = n // step * step
        if whole > step:
            self.passes(columns, whole)
        elif whole:
            columns.once(0, whole)
        if n > whole:
            columns.once(whole, n - whole)

    def columns(
        self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]
    ) -> Columns:
        """What writes its code."""
        return Columns(emitter, spec, operands, self.rows)

    def passes(self, columns: Columns, count: int) -> None:
        """Write the passes over the first ``count`` columns."""
        columns.passes(count)


@dataclasses.dataclass(frozen=True)
class MatmulAxpyFour(MatmulAxpy):
    """`matmul_axpy` by 4 rows of rhs at a time, beside rows of out in the same sets.

    It is for rows that are prefetched. Others are taken 4 at a time by splitting k.
    """

    rows: ClassVar[int] = 4

    def accepts(self, key: SpecKey) -> bool:
        """The same, with rhs beyond L2."""
        return super().accepts(key) and key.tensors[1].level is Level.MEM

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """More rows of out than one, and of rhs than it reads at a time."""
        _, m, k, _ = frame.sizes
        return (
            *super().conditions(frame),
            Condition(m > 1, "takes more than one row: use matmul_axpy"),
            Condition(
                k >= 2 * self.rows,
                f"takes at least {2 * self.rows} rows of rhs: use matmul_axpy",
            ),
        )


def multiply_add_of(dtype: Dtype) -> Op:
    """The instruction that multiplies and adds."""
    return "fma" if dtype.is_float else "multiply_add_int"


def _passes(frame: Frame, steps: Ints, isa: Isa, rows: int) -> tuple[Phase, ...]:
    """``steps`` steps of columns, at least two, in passes over out.

    A sum goes through memory from a pass to the next: four latencies. A single row
    waits for its lines; the sums of several hide most of that.
    """
    _, m, k, _ = frame.sizes
    op = multiply_add_of(frame.key.dtypes[2])
    passes = ceil_div(k, rows)
    vectors = steps * VECTORS
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
            Lines(1, lines * one, Access.DEMAND),
            Lines(1, lines * (m > 1), Access.OVERLAPPED, rows=m + rows, hidden=False),
            Lines(2, fetched * m * steps, Access.OVERLAPPED),
            Lines(2, passes * m * steps, Access.STORED),
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
    return np.maximum(m * rows - (isa.registers - VECTORS * (m + 1) - 1), 0)


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
