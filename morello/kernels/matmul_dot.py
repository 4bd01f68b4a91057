"""Matmul by dot products: both operands go by along k, eight at a time.

For few rows of one operand against many of the other. Of the many, as many run side by
side as there are registers for their sums, and those that follow are prefetched.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from morello.kernels.base import Kernel
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.lane_sums import lane_sums, lane_sums_cost
from morello.kernels.rules import line_cost, size_is_one
from morello.kernels.vectors import as_ints, lanes_of, parts, tail_of, vectors_of
from morello.spec import Dtype, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div
from morello.targets.coefficients import Coefficients

MANY = (0, 8, 5, 3, 2)
"""How many rows of the one operand run side by side, by the rows of the other."""

CHAINS = 8
"""Sums that are under way at a time, at least: fewer rows have several each."""

_BESIDE = 2
"""Registers beside the sums and the few rows."""


@dataclasses.dataclass(frozen=True)
class MatmulDot(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], over all of k, from any memory.

    The smaller of m and n is at most 4; the operand that has the other one is read
    once. k is innermost in both operands: rhs is column-major, or a single column.
    """

    name: ClassVar[str] = "matmul_dot"

    def accepts(self, key: SpecKey) -> bool:
        """f32 or s32; unpacked; k innermost, or rhs one gapless array."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            all(t.dtype is out.dtype for t in (lhs, rhs))
            and out.dtype in (Dtype.F32, Dtype.S32)
            and all(t.level is not Level.VRF for t in key.tensors)
            and out.level is not Level.GL
            and not any(t.layout.is_packed for t in key.tensors)
            and lhs.layout.innermost == 2
            and (rhs.layout.innermost == 1 or rhs.contiguous)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows on one side; a row-major rhs has one column; free registers."""
        _, m, _, n = frame.sizes
        few = np.minimum(m, n)
        rows = np.minimum(_rows(few), np.maximum(m, n))
        column = frame.key.tensors[1].layout.innermost == 1
        sums = np.maximum(few * rows, CHAINS)
        return (
            size_is_one(frame, 0),
            Condition(
                few < len(MANY),
                f"takes at most {len(MANY) - 1} rows or columns: tile m or n smaller",
            ),
            *(
                []
                if column
                else [
                    Condition(n == 1, "needs n = 1 where rhs is row-major: tile n to 1")
                ]
            ),
            Condition(
                frame.limits.vrf >= sums + few + _BESIDE,
                "needs free registers for its sums: take fewer",
            ),
        )

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """The slower of the instructions and the lines, and the sums over lanes.

        cost = setup + max(instructions, lines) + blocks · (loop + sums) + runs.
        """
        c = coefficients
        _, m, _, n = frame.sizes
        few, many = np.minimum(m, n), np.maximum(m, n)
        side = _rows(few)
        rest = many % side
        blocks = ceil_div(many, side)
        steps = many // side * _steps(frame, few, side, c) + np.where(
            rest > 0, _steps(frame, few, np.maximum(rest, 1), c), 0
        )
        lines = [
            frame.key.tensors[i].lines(frame.operand_sizes(i))
            * line_cost(frame.key.tensors[i].level, c)
            for i in (0, 1)
        ]
        again = np.where(
            m >= n, lines[0] + blocks * lines[1], lines[1] + blocks * lines[0]
        )
        runs = [
            t.runs(frame.operand_sizes(i)) * (c.run if t.level is Level.GL else 0)
            for i, t in enumerate(frame.key.tensors[:2])
        ]
        sums = lane_sums_cost(few * side, c) + few * side * (
            c.shuffle + c.store + c.load
        )
        return as_ints(
            c.kernel_setup
            + np.maximum(steps, again)
            + blocks * (c.loop_setup + sums)
            + np.where(m >= n, runs[0], runs[1])
        )

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Blocks of rows of the longer side, in a loop."""
        _, m, _, n = spec.sizes
        few, many = min(m, n), max(m, n)
        side = MANY[few]
        lhs, rhs, out = operands
        if rhs.tensor.layout.innermost != 1:
            rhs = emitter.as_column_major(rhs)
        block = _Block(emitter, spec, lhs, rhs, out)
        far = operands[0 if m >= n else 1].tensor.level is Level.GL
        whole = many // side * side
        last = whole - side if far and whole == many else whole

        def ahead(at: Value, carried: Sequence[Value]) -> list[Value]:
            block.write(at, side, prefetch=far)
            return []

        if last > side:
            emitter.loop(0, last, side, (), ahead)
        elif last > 0:
            ahead(0, ())
        for at in range(max(last, 0), many, side):
            block.write(at, min(side, many - at), prefetch=False)


def _rows(few: Ints) -> Ints:
    """`MANY`, for sizes that are too large as well."""
    return np.asarray(MANY)[np.minimum(few, len(MANY) - 1)]


def _steps(frame: Frame, few: Ints, rows: Ints, c: Coefficients) -> Ints:
    """Millicycles of one block along k."""
    dtype = frame.key.tensors[2].dtype
    k, lanes = frame.sizes[2], lanes_of(dtype)
    arithmetic, latency = (
        (c.fma, c.fma_latency)
        if dtype.is_float
        else (c.multiply_add_int, c.multiply_add_int_latency)
    )
    loads = c.load * (few + rows)
    chained = latency // _chains(few * rows)
    step = np.maximum(np.maximum(arithmetic * few * rows, loads), chained)
    masked = tail_of(k, lanes) * (c.masked_load - c.load) * (few + rows)
    return vectors_of(k, lanes) * step + masked


def _chains(sums: Any) -> Any:
    """How many chains each sum is split into: a power of two."""
    return np.where(sums >= CHAINS, 1, np.where(sums > 3, 2, np.where(sums > 1, 4, 8)))


@dataclasses.dataclass(frozen=True)
class _Block:
    """Some rows of the longer side against all of the shorter."""

    emitter: Emitter
    spec: Spec
    lhs: Buffer
    rhs: Buffer
    out: Buffer

    @property
    def lanes(self) -> int:
        return lanes_of(self.out.tensor.dtype)

    @property
    def by_rows(self) -> bool:
        """Whether lhs is the longer side."""
        return self.spec.sizes[1] >= self.spec.sizes[3]

    def many(self, row: Value, k: Value) -> tuple[Buffer, tuple[Value, ...]]:
        """An element of the longer side."""
        return (self.lhs, (0, row, k)) if self.by_rows else (self.rhs, (0, k, row))

    def few(self, row: int, k: Value) -> tuple[Buffer, tuple[Value, ...]]:
        """An element of the shorter side."""
        return (self.rhs, (0, k, row)) if self.by_rows else (self.lhs, (0, row, k))

    def write(self, at: Value, rows: int, prefetch: bool) -> None:
        """The rows from ``at`` on."""
        emitter = self.emitter
        _, m, k, n = self.spec.sizes
        sums = rows * min(m, n)
        chains = int(_chains(sums))
        zero = emitter.constant(self.out.tensor.dtype, 0, self.lanes)
        totals: Sequence[Value] = [zero] * (chains * sums)
        width = max(chains, 2)
        step = width * self.lanes

        def along(start: Value, carried: Sequence[Value]) -> list[Value]:
            if prefetch:
                self.prefetch(at, rows, start, width)
            found = list(carried)
            for v, (s, count) in enumerate(parts(step, self.lanes)):
                chain = v % chains * sums
                place = emitter.offset(start, s)
                found[chain : chain + sums] = self.products(
                    at, rows, place, count, found[chain : chain + sums]
                )
            return found

        whole = k // step * step
        if whole > step:
            totals = emitter.loop(0, whole, step, totals, along)
        elif whole:
            totals = along(0, totals)
        found = list(totals)
        for start, count in parts(k - whole, self.lanes):
            found[:sums] = self.products(at, rows, whole + start, count, found[:sums])
        while len(found) > sums:
            half = len(found) // 2
            pairs = zip(found[:half], found[half:], strict=True)
            found = [emitter.add(a, b) for a, b in pairs]
        self.add(at, rows, lane_sums(emitter, found))

    def products(
        self, at: Value, rows: int, k: Value, count: int, sums: Sequence[Value]
    ) -> list[Value]:
        """One vector along k of every row, multiplied and added."""
        emitter, few = self.emitter, min(self.spec.sizes[1], self.spec.sizes[3])

        def load(place: tuple[Buffer, tuple[Value, ...]]) -> Value:
            return emitter.load(*place, self.lanes, count)

        kept = [load(self.few(j, k)) for j in range(few)]
        found = []
        for i in range(rows):
            row = load(self.many(emitter.offset(at, i), k))
            for j in range(few):
                total = sums[i * few + j]
                found.append(emitter.multiply_add(row, kept[j], total))
        return found

    def prefetch(self, at: Value, rows: int, start: Value, width: int) -> None:
        """The same places of the rows after these, a cache line apart."""
        for i in range(rows):
            row = self.emitter.offset(at, rows + i)
            for v in range(0, width, 2):
                place = self.emitter.offset(start, v * self.lanes)
                self.emitter.prefetch(*self.many(row, place))

    def add(self, at: Value, rows: int, sums: Sequence[Value]) -> None:
        """Write the sums to out, or add them to what it holds."""
        emitter, few = self.emitter, min(self.spec.sizes[1], self.spec.sizes[3])
        for i in range(rows):
            for j in range(few):
                lane = i * few + j
                total = emitter.extract(sums[lane // self.lanes], lane % self.lanes)
                row = emitter.offset(at, i)
                place = (0, row, j) if self.by_rows else (0, j, row)
                if self.spec.kind.accumulates:
                    held = emitter.load_element(self.out, place)
                    total = emitter.add(held, total)
                emitter.store_element(total, self.out, place)
