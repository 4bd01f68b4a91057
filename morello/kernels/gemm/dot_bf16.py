"""Matmul by dot products with a column-major rhs of bf16, whose words are halved.

16 neighbours of bf16 along k are 8 words; a shift makes the even ones f32, a mask the
odd ones, where widening them in order takes shuffles. So lhs is wanted in f32 with
even elements before odd ones, too: it is brought there once for many columns.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import OpCounts, Phase, add, times
from morello.kernels.code.horizontal_sum import horizontal_sums, horizontal_sums_ops
from morello.kernels.emitter import Buffer, Emitter, Index, Pack, Value
from morello.kernels.predicates import free_vectors, in_l1, size_is_one
from morello.kernels.template import Kernel
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey
from morello.spec.elements.dtypes import UPPER_HALVES
from morello.spec.frame import Condition, Frame
from morello.spec.tensors.layout import ceil_div

PACK = 16
"""Neighbours along k that are taken together."""

COLUMNS = 8
"""The most columns of rhs side by side."""

_WORKING = 3
"""Registers besides the sums and lhs: both halves of a column, and a mask."""

_LHS = Layout.parse(f"[0,1,2,2oe{PACK}]")
_RHS = Layout.parse("[0,2,1]")


@dataclasses.dataclass(frozen=True)
class GemmDotBf16(Kernel):
    """out[0,m,n] += lhs[0,m,k] · rhs[0,k,n], all in L1, over all of k, 16 at a time.

    lhs is f32 in odd-even packs of 16, rhs column-major bf16.
    """

    of_kind = Matmul

    mixes = tuple((Dtype.F32, half, Dtype.F32) for half in UPPER_HALVES)
    """Accepted dtypes: f32, but rhs in an upper half of f32, such as bf16."""

    def accepts(self, key: SpecKey) -> bool:
        """Check the kind, dtypes and layouts; all operands must be in L1."""
        if key.kind != Matmul(accum=True) or not in_l1(*key.tensors):
            return False
        lhs, rhs, out = key.tensors
        return (
            key.dtypes in self.mixes
            and lhs.layout == _LHS
            and rhs.layout == _RHS
            and not out.layout.is_packed
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """A few columns; registers for all sums, and for lhs besides."""
        _, m, k, n = frame.sizes
        taken = m * n + 2 * m + _WORKING
        return (
            size_is_one(frame, 0),
            Condition(k > 1, "takes neighbours along k: k = 1 has none"),
            Condition(
                n <= COLUMNS, f"takes at most {COLUMNS} columns: tile n to {COLUMNS}"
            ),
            Condition(
                (taken <= self.isa.registers) & (taken <= free_vectors(frame)),
                "needs free registers for m * n sums, two vectors of each row of lhs "
                f"and {_WORKING} more, in all {self.isa.registers}: "
                "tile m or n smaller",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """For each 16 of k products, loads and chains; then the sums."""
        _, m, k, n = frame.sizes
        step = Phase(
            {"fma": 2 * m * n, "vector_op": n, "load": 2 * m + n},
            {"fma": 2},
            times=ceil_div(k, PACK),
        )
        short = np.where(k % PACK, n, 0)
        ends = times({"shuffle": 1, "load": 1, "store": 1}, m * n)
        return OpCounts(
            (
                step,
                Phase({"load": short, "shuffle": 2 * short}),
                Phase(add(horizontal_sums_ops(m * n, self.isa), ends)),
            ),
            kernels=1,
        )

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over packs of k that carries the sums; then each over its lanes.

        Sums begin at -0, which changes nothing that it is added to.
        """
        _, m, k, n = spec.sizes
        zero = emitter.constant(Dtype.F32, -0.0, _lanes(emitter))
        sums: Sequence[Value] = [zero] * (m * n)

        def step(at: Value, carried: Sequence[Value], count: int = PACK) -> list[Value]:
            return self._step(emitter, operands, spec, at, carried, count)

        whole, rest = divmod(k, PACK)
        if whole > 1:
            sums = emitter.loop(0, whole, 1, sums, step)
        elif whole:
            sums = step(0, sums)
        if rest:
            sums = step(whole, sums, rest)
        totals, lanes = horizontal_sums(emitter, sums), self.isa.lanes(Dtype.F32)
        for place in range(m * n):
            at = (0, place // n, place % n)
            total = emitter.extract(totals[place // lanes], place % lanes)
            held = emitter.load_element(operands[2], at)
            emitter.store_element(emitter.add(held, total), operands[2], at)

    def _step(
        self,
        emitter: Emitter,
        operands: Sequence[Buffer],
        spec: Spec,
        at: Value,
        carried: Sequence[Value],
        count: int,
    ) -> list[Value]:
        """Add the products of pack ``at`` of k, of which ``count`` are there."""
        lhs, rhs, _ = operands
        _, m, _, n = spec.sizes
        # Nothing is known of padding: of a short pack both factors are masked.
        rows = [
            [
                _load_half(emitter, lhs, (0, i, Pack(at, PACK, first)), length)
                for first, length in enumerate(((count + 1) // 2, count // 2))
            ]
            for i in range(m)
        ]
        totals = list(carried)
        for j in range(n):
            words = emitter.load(rhs, (0, Pack(at, PACK), j), PACK, count)
            for half, column in enumerate(emitter.split_bf16(words)):
                for i in range(m):
                    place = i * n + j
                    totals[place] = emitter.multiply_add(
                        rows[i][half], column, totals[place]
                    )
        return totals

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Odd-even packs of lhs, where rhs is column-major bf16."""
        if operand or not isinstance(key.kind, Matmul):
            return ()
        _, rhs, out = key.tensors
        fits = (
            rhs.dtype.is_upper_half
            and rhs.layout == _RHS
            and out.dtype is Dtype.F32
            and not out.layout.is_packed
        )
        return (Form(Dtype.F32, _LHS),) if fits else ()


def _load_half(emitter: Emitter, lhs: Buffer, index: Index, count: int) -> Value:
    """Elements, and -0 behind them, whose product with the +0 there is -0."""
    rest = emitter.constant(Dtype.F32, -0.0, _lanes(emitter))
    return emitter.load(lhs, index, _lanes(emitter), count, rest) if count else rest


def _lanes(emitter: Emitter) -> int:
    return emitter.isa.lanes(Dtype.F32)
