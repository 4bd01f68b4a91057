"""Matmul of a few rows: rows of rhs go by once, and each is added to out, scaled.

For each `ROWS` rows of rhs the kernel passes over out once, so that it reads as many
long runs side by side, which is what brings memory to its bandwidth, and loads and
stores out once for all of them. The rows after those are prefetched meanwhile.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from morello.kernels.base import Kernel
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.rules import (
    in_l1,
    is_interleaved,
    line_cost,
    size_is_one,
    within_pack,
)
from morello.kernels.vectors import as_ints, lanes_of, parts, tail_of, vectors_of
from morello.spec import Dtype, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div
from morello.targets.coefficients import Coefficients

ROWS = 8
"""Rows of rhs that are read side by side."""

VECTORS = 2
"""Vectors of each row of out that are in registers at a time: a cache line."""

MOST_M = 6
"""Rows of lhs: each takes `VECTORS` registers."""


@dataclasses.dataclass(frozen=True)
class MatmulAxpy(Kernel):
    """out[0,m,n] in L1 or L2 += lhs[0,m,k] in L1 · rhs[0,k,n], which may be anywhere.

    A single row of lhs has its `ROWS` factors in registers; of more rows each factor is
    loaded where it is used. Columns that are no full vector are read with masks.
    """

    name: ClassVar[str] = "matmul_axpy"

    def accepts(self, key: SpecKey) -> bool:
        """f32 or s32; k unpacked, n unpacked and innermost in rhs and out."""
        if key.kind != Matmul(accum=True):
            return False
        lhs, rhs, out = key.tensors
        return (
            all(t.dtype is out.dtype for t in (lhs, rhs))
            and out.dtype in (Dtype.F32, Dtype.S32)
            and in_l1(lhs)
            and rhs.level is not Level.VRF
            and out.level in (Level.L1, Level.L2)
            and not is_interleaved(lhs.layout)
            and lhs.layout.pack(2) == 1
            and all(t.layout.innermost == 2 for t in (rhs, out))
            and not (rhs.layout.is_packed or out.layout.is_packed)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows, registers for the sums, and room for the rows that come next."""
        m = frame.sizes[1]
        needed = VECTORS * m + np.where(m == 1, ROWS, VECTORS + 1)
        return (
            size_is_one(frame, 0),
            *within_pack(frame, 0, 1),
            Condition(m <= MOST_M, f"takes at most {MOST_M} rows: tile m smaller"),
            Condition(
                frame.limits.vrf >= needed,
                "needs free registers for sums and factors: take fewer",
            ),
            *_room_to_prefetch(frame),
        )

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """The slowest of arithmetic, accesses and chains, and the lines, for each part.

        cost = setup + columns in passes + columns of the tail + runs of rhs. Lines are
        paid beside the arithmetic of several rows, as the moves of other operands are.
        """
        c = coefficients
        _, _, k, n = frame.sizes
        rhs = frame.key.tensors[1]
        step = VECTORS * lanes_of(rhs.dtype)
        run = c.run if rhs.level is Level.GL else 0
        runs = rhs.runs((1, k, n)) * run
        steps = n // step
        whole = np.where(
            steps > 1,
            _passes_cost(frame, np.maximum(steps, 2), c),
            steps * _once_cost(frame, step, c),
        )
        tail = _once_cost(frame, n % step, c)
        return as_ints(c.kernel_setup + whole + tail + runs)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Whole steps of columns in passes over out; the others once, over all of k."""
        columns = _Columns(emitter, spec, *operands)
        n = spec.sizes[3]
        step = VECTORS * columns.lanes
        whole = n // step * step
        if whole > step:
            columns.passes(whole)
        elif whole:
            columns.once(0, whole)
        if n > whole:
            columns.once(whole, n - whole)


def _arithmetic(dtype: Dtype, c: Coefficients) -> tuple[int, int]:
    """Millicycles of a multiply-add, and from one to the next in a chain."""
    if dtype.is_float:
        return c.fma, c.fma_latency
    return c.multiply_add_int, c.multiply_add_int_latency


def _passes_cost(frame: Frame, steps: Ints, c: Coefficients) -> Ints:
    """Millicycles of ``steps`` steps of columns, at least two, in passes over out.

    Each pass begins with factors that are loaded and, of several rows, kept on the
    stack. A sum goes through memory from a pass to the next: four latencies.
    """
    _, m, k, _ = frame.sizes
    _, rhs, out = frame.key.tensors
    fma, latency = _arithmetic(out.dtype, c)
    passes = ceil_div(k, ROWS)
    vectors = steps * VECTORS
    factors = np.where(m == 1, 0, m * k * steps)
    loads = c.load * (vectors * (k + m * passes) + factors)
    arrival = k * steps * line_cost(rhs.level, c)
    exchange = 2 * passes * m * steps * line_cost(out.level, c)
    slowest = loads
    for other in (
        fma * m * k * vectors,
        c.store * m * vectors * passes,
        k * latency + passes * 4 * latency,
    ):
        slowest = np.maximum(slowest, other)
    kept = np.where(m == 1, c.load, c.load + c.store) * m * ROWS
    # A single row leaves room to wait for lines; the sums of several fill it.
    lines = np.maximum(arrival, exchange)
    busy = np.where(m == 1, np.maximum(slowest, lines), slowest + arrival + exchange)
    return busy + passes * (kept + c.loop_setup)


def _once_cost(frame: Frame, columns: Ints, c: Coefficients) -> Ints:
    """Millicycles of up to a step of columns, their sums in registers over all k."""
    _, m, k, _ = frame.sizes
    _, rhs, out = frame.key.tensors
    fma, latency = _arithmetic(out.dtype, c)
    lanes = lanes_of(out.dtype)
    vectors, masked = vectors_of(columns, lanes), tail_of(columns, lanes)
    loads = c.load * (m + vectors - masked) + c.masked_load * masked
    slowest = np.maximum(np.maximum(fma * m * vectors, loads), latency)
    # Lines a row apart, which nothing has asked for in advance.
    slowest = slowest + c.strided_factor * line_cost(rhs.level, c)
    out_once = m * vectors * (c.masked_load + 2 * c.store)
    return np.where(columns > 0, k * slowest + out_once + c.loop_setup, 0)


def _room_to_prefetch(frame: Frame) -> tuple[Condition, ...]:
    """That L2 keeps the rows that are read and the next; nothing if not prefetched."""
    rhs = frame.key.tensors[1]
    if rhs.level is not Level.GL:
        return ()
    lines = 2 * rhs.tiled().lines((1, ROWS, frame.sizes[3]))
    return (
        Condition(
            lines <= frame.limits.l2,
            f"needs room in L2 for twice {ROWS} rows of rhs: tile n smaller",
        ),
    )


@dataclasses.dataclass(frozen=True)
class _Columns:
    """Writes the code of some columns of out."""

    emitter: Emitter
    spec: Spec
    lhs: Buffer
    rhs: Buffer
    out: Buffer

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return lanes_of(self.out.tensor.dtype)

    def passes(self, columns: int) -> None:
        """A loop over blocks of rows; the last is apart, for nothing follows it."""
        k = self.spec.sizes[2]
        far = self.rhs.tensor.level is Level.GL
        last = max(k // ROWS - 1, 0) * ROWS if far else k // ROWS * ROWS

        def block(at: Value, carried: Sequence[Value]) -> list[Value]:
            self.block(at, ROWS, columns, prefetch=far)
            return []

        if last > ROWS:
            self.emitter.loop(0, last, ROWS, (), block)
        elif last:
            block(0, ())
        for at in range(last, k, ROWS):
            self.block(at, min(ROWS, k - at), columns, prefetch=False)

    def block(self, at: Value, rows: int, columns: int, prefetch: bool) -> None:
        """What the rows from ``at`` on add to the first columns of out."""
        step = VECTORS * self.lanes
        alone = self.spec.sizes[1] == 1
        factors = [self.factor(0, at, i) for i in range(rows)] if alone else []

        def write(start: Value, carried: Sequence[Value]) -> list[Value]:
            if prefetch:
                self.prefetch(at, rows, start)
            places = self.places(start, step)
            sums = self.load_sums(places)
            for i in range(rows):
                row = self.emitter.offset(at, i)
                sums = self.add_row(row, places, sums, factors[i : i + 1])
            self.store_sums(places, sums)
            return []

        self.emitter.loop(0, columns, step, (), write)

    def once(self, start: int, columns: int) -> None:
        """Up to a step of columns, their sums in registers over all of k."""
        places = self.places(start, columns)
        k = self.spec.sizes[2]

        def add(at: Value, carried: Sequence[Value]) -> list[Value]:
            return self.add_row(at, places, carried, ())

        sums: Sequence[Value] = self.load_sums(places)
        sums = self.emitter.loop(0, k, 1, sums, add) if k > 1 else add(0, sums)
        self.store_sums(places, sums)

    def places(self, start: Value, columns: int) -> list[tuple[Value, int]]:
        """The first column of each vector, and how many it has."""
        return [
            (self.emitter.offset(start, s), count)
            for s, count in parts(columns, self.lanes)
        ]

    def load_sums(self, places: Sequence[tuple[Value, int]]) -> list[Value]:
        """Vectors of every row of out, row by row."""
        return [
            self.emitter.load(self.out, (0, i, s), self.lanes, count)
            for i in range(self.spec.sizes[1])
            for s, count in places
        ]

    def store_sums(
        self, places: Sequence[tuple[Value, int]], sums: Sequence[Value]
    ) -> None:
        """The reverse of `load_sums`."""
        for index, total in enumerate(sums):
            i, j = divmod(index, len(places))
            s, count = places[j]
            self.emitter.store(total, self.out, (0, i, s), count)

    def add_row(
        self,
        row: Value,
        places: Sequence[tuple[Value, int]],
        sums: Sequence[Value],
        factors: Sequence[Value],
    ) -> list[Value]:
        """Add a row of rhs, scaled; ``factors`` where they are loaded already."""
        emitter = self.emitter
        vectors = [
            emitter.load(self.rhs, (0, row, s), self.lanes, count)
            for s, count in places
        ]
        found = []
        for i in range(self.spec.sizes[1]):
            factor = factors[i] if factors else self.factor(i, row, 0)
            for j, vector in enumerate(vectors):
                total = sums[i * len(places) + j]
                found.append(emitter.multiply_add(factor, vector, total))
        return found

    def factor(self, i: int, row: Value, by: int) -> Value:
        """An element of lhs in every lane."""
        place = (0, i, self.emitter.offset(row, by))
        element = self.emitter.load_element(self.lhs, place)
        return self.emitter.broadcast(element, self.lanes)

    def prefetch(self, at: Value, rows: int, start: Value) -> None:
        """The same columns of the rows after these."""
        for i in range(rows):
            next_row = self.emitter.offset(at, rows + i)
            self.emitter.prefetch(self.rhs, (0, next_row, start))
