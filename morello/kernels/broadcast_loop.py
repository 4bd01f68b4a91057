"""The loop over k of products that broadcast lhs: what its kernels share.

Each of the m · ceil(n/8) sums is one register for the whole loop. For each k it loads a
row of rhs, broadcasts one element of lhs after another, and multiplies and adds.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.kernels.casts import cast_cost
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.rules import is_interleaved, size_is_one, within_pack
from morello.kernels.steps import run_steps, trip
from morello.kernels.vectors import REGISTERS, lanes_of, parts, tail_of, vectors_of
from morello.spec import Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.targets.coefficients import Coefficients

_INTEGER_REGISTERS = 3
"""Registers beside accumulators and a row of rhs: a factor and two products. A float
multiply-add needs the factor alone."""

_K = 2


def lies_well(key: SpecKey) -> bool:
    """Whether lhs is unpacked along k, and n is innermost in an unpacked rhs."""
    lhs, rhs, _ = key.tensors
    return (
        not is_interleaved(lhs.layout)
        and not is_interleaved(rhs.layout)
        and lhs.layout.pack(2) == 1
        and rhs.layout.pack(1) == 1
        and rhs.layout.innermost == 2
    )


def registers_beside(frame: Frame) -> Ints:
    """Registers that the loop needs beside its sums: a mask of short columns, too."""
    _, m, _, n = frame.sizes
    dtype = frame.key.tensors[2].dtype
    lanes = lanes_of(dtype)
    vectors, mask = vectors_of(n, lanes), tail_of(n, lanes)
    # A single row takes its columns straight from memory, but for a masked one.
    row: Ints = np.where(m == 1, np.minimum(vectors, 1), vectors)
    return row + mask + (1 if dtype.is_float else _INTEGER_REGISTERS)


def loop_conditions(frame: Frame) -> tuple[Condition, ...]:
    """Everything that lives in the loop has a register; panels are not crossed."""
    _, m, k, n = frame.sizes
    vectors = vectors_of(n, lanes_of(frame.key.tensors[2].dtype))
    return (
        size_is_one(frame, 0),
        *_no_groups(frame, k),
        *within_pack(frame, 0, 1),
        *within_pack(frame, 1, 2),
        Condition(
            m * vectors + registers_beside(frame) <= REGISTERS,
            "needs registers for m * ceil(n / 8) sums, a row of rhs, a factor and a "
            f"mask, in all {REGISTERS}: tile m or n smaller",
        ),
    )


def loop_loads(frame: Frame, coefficients: Coefficients) -> Ints:
    """Millicycles of the loop's loads: a row of rhs and a column of lhs for each k."""
    c = coefficients
    _, m, k, n = frame.sizes
    lanes = lanes_of(frame.key.tensors[2].dtype)
    masked = tail_of(n, lanes)
    return k * (c.load * (m + n // lanes) + c.masked_load * masked)


def loop_cost(frame: Frame, coefficients: Coefficients) -> Ints:
    """The slowest of arithmetic, loads and the accumulator chains, for each k."""
    c = coefficients
    _, m, k, n = frame.sizes
    dtype = frame.key.tensors[2].dtype
    vectors = vectors_of(n, lanes_of(dtype))
    arithmetic, latency = (
        (c.fma, c.fma_latency)
        if dtype.is_float
        else (c.multiply_add_int, c.multiply_add_int_latency)
    )
    lhs, rhs, _ = frame.key.dtypes
    casts = m * cast_cost((lhs, dtype), c) + vectors * cast_cost((rhs, dtype), c)
    busy = arithmetic * m * vectors + casts // 2  # beside, on other ports
    return np.maximum(k * np.maximum(busy, latency), loop_loads(frame, c))


@dataclasses.dataclass(frozen=True)
class BroadcastLoop:
    """The code of the loop for one Spec."""

    emitter: Emitter
    spec: Spec
    lhs: Buffer
    rhs: Buffer
    column: Value = 0
    """Where its columns begin in rhs."""

    @property
    def places(self) -> list[tuple[int, tuple[int, int]]]:
        """Of each sum its row, and the first column and how many; in their order."""
        _, m, _, n = self.spec.sizes
        runs = parts(n, lanes_of(self.spec.dtypes[2]))
        return [(row, run) for row in range(m) for run in runs]

    def run(self, sums: Sequence[Value]) -> Sequence[Value]:
        """The loop: the sums after it; written out for a short one."""
        _, m, k, n = self.spec.sizes
        out = self.spec.dtypes[2]
        together = trip(out, m, len(parts(n, lanes_of(out))))
        return run_steps(self.emitter, k, sums, self._step, together)

    def _step(self, at: Value, carried: Sequence[Value]) -> list[Value]:
        emitter, (lhs, rhs, dtype) = self.emitter, self.spec.dtypes
        _, m, _, n = self.spec.sizes
        lanes = lanes_of(dtype)
        runs = parts(n, lanes)
        row = [
            emitter.convert(
                emitter.load(self.rhs, (0, at, first), lanes, count), rhs, dtype
            )
            for first, count in (
                (emitter.offset(self.column, start), count) for start, count in runs
            )
        ]
        sums = []
        for i in range(m):
            element = emitter.load_element(self.lhs, (0, i, at))
            factor = emitter.broadcast(emitter.convert(element, lhs, dtype), lanes)
            chains = carried[i * len(runs) : (i + 1) * len(runs)]
            sums += [
                emitter.multiply_add(factor, column, chain)
                for column, chain in zip(row, chains, strict=True)
            ]
        return sums


def _no_groups(frame: Frame, k: Ints) -> tuple[Condition, ...]:
    """That k is 1 where neighbours along it are taken together."""
    if not isinstance(frame.key.kind, Matmul):
        return ()
    grain = frame.key.kind.grain(_K)
    if grain == 1:
        return ()
    return (
        Condition(
            k == 1,
            f"takes each k by itself, where {frame.key.kind.label} takes {grain} "
            "together: use k = 1, or a kernel that saturates",
        ),
    )
