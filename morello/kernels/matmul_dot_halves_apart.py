"""Dot products of one row with columns of bf16, several of which are read at a time."""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from morello.kernels.apart import RUNS, apart, calls_of
from morello.kernels.base import Kernel
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.lane_sums import lane_sums_cost
from morello.kernels.matmul_dot_halves import LHS, PACK, RHS, forms_of, write_columns
from morello.kernels.rules import in_l1, line_cost, size_is_one, slowest
from morello.kernels.vectors import as_ints
from morello.spec import Dtype, Form, Level, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div
from morello.targets.coefficients import Coefficients

_NEEDED = RUNS + 2 + 3
"""Registers: sums, lhs in halves, those of a column, and a mask."""


@dataclasses.dataclass(frozen=True)
class MatmulDotHalvesApart(Kernel):
    """out[0,0,n] = or += lhs[0,0,k] · rhs[0,k,n], over all of k, 16 at a time.

    lhs is f32 in odd-even packs of 16, rhs column-major bf16 in memory: five columns at
    a time that are far from each other, which are read on to their neighbours.
    """

    name: ClassVar[str] = "matmul_dot_halves_apart"

    def accepts(self, key: SpecKey) -> bool:
        """Its layouts and dtypes; an rhs that is not known to be in a cache."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            key.dtypes == (Dtype.F32, Dtype.BF16, Dtype.F32)
            and in_l1(lhs)
            and lhs.layout == LHS
            and rhs.level is Level.GL
            and rhs.layout == RHS
            and out.level is not Level.VRF
            and not out.layout.is_packed
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """One row, and registers for its sums."""
        return (
            size_is_one(frame, 0),
            size_is_one(frame, 1),
            Condition(frame.sizes[2] > 1, "takes neighbours along k: k = 1 has none"),
            Condition(frame.limits.vrf >= _NEEDED, f"needs {_NEEDED} free registers"),
        )

    def cost(self, frame: Frame, coefficients: Coefficients) -> Ints:
        """The slowest of instructions, chains and lines; then the sums over lanes."""
        c = coefficients
        _, _, k, n = frame.sizes
        _, rhs, out = frame.key.tensors
        calls = calls_of(n)
        exchanges = 2 if frame.key.kind.accumulates or out.level is Level.GL else 1
        loop = slowest(
            (2 * c.fma + c.vector_op) * ceil_div(k, PACK) * n,
            c.load * ceil_div(k, PACK) * (n + 2 * calls),
            calls * (ceil_div(k, PACK) + 2) * 2 * c.fma_latency,
            rhs.lines((1, k, n)) * line_cost(rhs.level, c),
            exchanges * out.lines((1, 1, n)) * line_cost(out.level, c),
        )
        each = lane_sums_cost(RUNS, c) + RUNS * (c.shuffle + c.load + c.store)
        return as_ints(c.kernel_setup + c.run + loop + calls * (each + c.loop_setup))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over columns."""

        def columns(numbers: Sequence[Value]) -> None:
            write_columns(emitter, spec, operands, numbers)

        apart(emitter, spec.sizes[3], columns)

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Odd-even packs of lhs, where rhs is column-major bf16."""
        return forms_of(key, operand)
