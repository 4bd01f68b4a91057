"""Matmul of a few rows: rows of rhs go by once, and each is added to out, scaled.

For each 8 or 4 rows of rhs the kernel passes over out once, so that it reads as many
long runs side by side, which is what brings memory to its bandwidth, and loads and
stores out once for all of them. The rows after those are prefetched meanwhile.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.cost.coefficients import Coefficients
from morello.kernels.axpy_columns import (
    ROWS,
    VECTORS,
    Columns,
    prefetch_cost,
    room_to_prefetch,
)
from morello.kernels.base import Kernel
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.rules import (
    hidden_cost,
    in_l1,
    is_interleaved,
    line_cost,
    size_is_one,
    within_pack,
)
from morello.kernels.vectors import as_ints, tail_of, vectors_of
from morello.machine.isa import Isa
from morello.spec import Dtype, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import LINE_BYTES, ceil_div

_WAYS = 8
"""Rows a power of two apart that L1 holds side by side."""

MOST_M = 6
"""Rows of lhs: each takes `VECTORS` registers."""

_UNSPILLED = 5
"""Rows of lhs with which LLVM keeps all sums in registers."""

_SPILLS = 2
"""How many sums it stores and loads for each row of rhs with more."""

_HIDES_L2 = 4
"""Rows of out whose sums take as long as a line of L2."""

_AHEAD = 16
"""Steps of a chain that the core has in view beside what comes before them."""

_BESIDE = 4
"""Loads of factors for each that takes its time, where multiply-adds are the limit."""


@dataclasses.dataclass(frozen=True)
class MatmulAxpy(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] in L1 · rhs[0,k,n], both of these anywhere.

    A single row of lhs has its 8 factors in registers; of more rows each factor is
    loaded where it is used. Columns that are no full vector are read with masks.
    """

    name: ClassVar[str] = "matmul_axpy"
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

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """The slowest of arithmetic, accesses and chains, and the lines, of each part.

        cost = setup + columns in passes + columns of the tail + runs of rhs.
        """
        c = coefficients
        _, _, k, n = frame.sizes
        rhs = frame.key.tensors[1]
        step = VECTORS * self.isa.lanes(rhs.dtype)
        run = c.run if rhs.level is Level.MEM else 0
        runs = rhs.runs((1, k, n)) * run
        steps = n // step
        several = np.maximum(steps, 2)
        asked = self.asking_cost(frame, several, c) if self.asks else 0
        whole = np.where(
            steps > 1,
            _passes_cost(frame, several, self.isa, c, self.rows) + asked,
            steps * _once_cost(frame, step, self.isa, c),
        )
        tail = _once_cost(frame, n % step, self.isa, c)
        return as_ints(c.kernel_setup + whole + tail + runs)

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

    def asking_cost(self, frame: Frame, lines: Ints, c: Coefficients) -> Ints:
        """Millicycles of asking for so many lines of each row of rhs."""
        return prefetch_cost(frame, lines, c, self.rows)

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

    name: ClassVar[str] = "matmul_axpy_four"
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


def _arithmetic(dtype: Dtype, c: Coefficients) -> tuple[int, int]:
    """Millicycles of a multiply-add, and from one to the next in a chain."""
    if dtype.is_float:
        return c.fma, c.fma_latency
    return c.multiply_add_int, c.multiply_add_int_latency


def _passes_cost(
    frame: Frame, steps: Ints, isa: Isa, c: Coefficients, rows: int
) -> Ints:
    """Millicycles of ``steps`` steps of columns, at least two, in passes over out.

    A sum goes through memory from a pass to the next: four latencies.
    """
    _, m, k, _ = frame.sizes
    _, rhs, out = frame.key.tensors
    fma, latency = _arithmetic(out.dtype, c)
    passes = ceil_div(k, rows)
    vectors = steps * VECTORS
    fetched = passes if frame.key.kind.accumulates else passes - 1
    kept = k // rows * _kept(m, rows, isa) + _kept(m, k % rows, isa)
    slowest: Ints = c.load * (vectors * (k + m * fetched) + steps * kept)
    for other in (
        fma * m * k * vectors + c.load * steps * kept // _BESIDE,
        c.store * m * vectors * passes,
        k * latency + passes * 4 * latency,
    ):
        slowest = np.maximum(slowest, other)
    # Sums that do not stay in registers go to the stack and come back.
    slowest = slowest + (m > _UNSPILLED) * _SPILLS * (c.load + c.store) * k * steps
    arrival = k * steps * line_cost(rhs.level, c)
    waits = fetched * m * steps * line_cost(out.level, c)
    exchange = waits + m * steps * _unread(out.level, m, passes, fetched, c)
    # Rows of rhs that are not brought to L1 by a move meet those of out there.
    together = m + np.minimum(k, rows)
    crowded = (m > 1) & (together > _WAYS) & (rhs.level is not Level.L1)
    crowd = c.crowd_l1 * crowded * k * steps
    # A single row leaves room to wait for lines; the sums of several fill it, and what
    # is prefetched comes meanwhile, but no sooner than memory brings it.
    hidden = k * steps * hidden_cost(c) if rhs.level is Level.MEM else arrival
    far = np.maximum(arrival, exchange)
    several = np.maximum(far, slowest + crowd + np.maximum(hidden, waits))
    # What is beyond L2 is prefetched; lines of L2 are asked for when they are used.
    hides = rhs.level is not Level.L2
    alone = np.maximum(slowest, far) if hides else slowest + far
    first = c.load * m * k + c.store * kept + passes * c.loop_setup
    return np.where(m == 1, alone, several) + first


def _kept(m: Ints, rows: Ints, isa: Isa) -> Ints:
    """The factors of some rows of rhs that are on the stack: registers are too few.

    Beside them are sums, a row of rhs, and zeros or a factor that comes from there.
    """
    return np.maximum(m * rows - (isa.registers - VECTORS * (m + 1) - 1), 0)


def _unread(
    level: Level, m: Ints, passes: Ints, fetched: Ints, c: Coefficients
) -> Ints:
    """Millicycles of a line of out that is not waited for: it goes back each pass.

    Beyond L2 it is brought, too, where it is written and was not loaded before; several
    rows are so in turn.
    """
    if level is not Level.MEM:
        return passes * line_cost(level, c)
    brought = hidden_cost(c) + (m > 1) * c.turn_gl
    return passes * (c.store_gl + c.store_l2) + (passes - fetched) * brought


def _lines_of_step(frame: Frame) -> Ints:
    """Lines that a step of columns may be in: two unless rows of rhs start lines.

    Strided rows may start anywhere.
    """
    rhs = frame.key.tensors[1]
    ends = frame.sizes[3] % (LINE_BYTES // rhs.dtype.itemsize) == 0
    return as_ints(2 - (rhs.contiguous & ends))


def _once_cost(frame: Frame, columns: Ints, isa: Isa, c: Coefficients) -> Ints:
    """Millicycles of up to a step of columns, their sums in registers over all k."""
    _, m, k, _ = frame.sizes
    out = frame.key.tensors[2]
    fma, latency = _arithmetic(out.dtype, c)
    lanes = isa.lanes(out.dtype)
    vectors, masked = vectors_of(columns, lanes), tail_of(columns, lanes)
    loads = c.load * (m + vectors - masked) + c.masked_load * masked
    slowest = k * np.maximum(fma * m * vectors, loads)
    # What a short chain waits for, the core finds in what comes before and after.
    slowest = np.maximum(slowest, (k - np.minimum(k, _AHEAD)) * latency)
    slowest = slowest + k * _waits_for_rhs(frame, c)
    fetched = 1 if frame.key.kind.accumulates else 0
    lines = fetched * line_cost(out.level, c) + _unread(out.level, m, 1, fetched, c)
    exchange = m * lines * columns // (VECTORS * lanes)
    out_once = m * vectors * (fetched * c.masked_load + 2 * c.store) + exchange
    return np.where(columns > 0, slowest + out_once + c.loop_setup, 0)


def _waits_for_rhs(frame: Frame, c: Coefficients) -> Ints:
    """Millicycles of a step's lines of a row of rhs, which nothing has asked for.

    The sums of several rows leave time for those of L2. What is beyond L2 is not nearer
    than that: in a goal that stays there, it costs as much.
    """
    rhs = frame.key.tensors[1]
    alone: Ints = c.strided_factor * line_cost(rhs.level, c)
    if rhs.level is Level.L1:
        return alone
    beside: Ints = _lines_of_step(frame) * c.hidden_l2
    if rhs.level is Level.MEM:
        beside = np.maximum(alone, beside)
    return np.where(frame.sizes[1] >= _HIDES_L2, beside, alone)
