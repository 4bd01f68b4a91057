"""GEMM of few k: rows of out one after another, whose lines are prefetched.

Such a product takes as long as writing out does. A line that is written is loaded
first (write-allocate), and arrives in time only where it was prefetched.
"""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import Access, Lines, Op, OpCounts, Phase
from morello.kernels.code.prefetch import (
    Prefetcher,
    long_rows,
    parts_along_rows,
    run_parts,
)
from morello.kernels.code.vectors import parts, tail_of, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import free_vectors, in_l1, is_interleaved, size_is_one
from morello.kernels.template import Kernel
from morello.spec import Dtype, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.tensors.layout import LINE_BYTES

_N = 3
"""The columns, among the dimensions of the product."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemmOuter(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], of few k in L1; out beyond L2.

    The factors of a row of out are in registers; rows of rhs are read for each.
    """

    of_kind = Matmul

    most_k: int
    """Rows of rhs: of more, arithmetic takes longer than a line of out."""
    distance: int
    """Lines of out from what is written to what is prefetched."""

    def accepts(self, key: SpecKey) -> bool:
        """f32 or s32; nothing packed, n innermost in rhs and out."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            all(t.dtype is out.dtype for t in (lhs, rhs))
            and out.dtype in (Dtype.F32, Dtype.S32)
            and in_l1(lhs, rhs)
            and out.level.is_main
            and all(t.layout.innermost == 2 for t in (rhs, out))
            and not any(
                t.layout.is_packed or is_interleaved(t.layout) for t in key.tensors
            )
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few k, several rows, all of them long; registers for factors and sums."""
        _, m, k, _ = frame.sizes
        line = LINE_BYTES // frame.key.dtypes[2].itemsize
        return (
            size_is_one(frame, 0),
            Condition(k <= self.most_k, f"takes at most {self.most_k} k: split k"),
            Condition(m >= 2, "takes two rows or more: use gemv_axpy"),
            long_rows(frame, _N, self.distance * line),
            Condition(
                free_vectors(frame) >= self.most_k + 2 * self.isa.line_vectors,
                "needs free registers for factors and sums: take fewer",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The products, and the lines of out, which are prefetched."""
        _, m, k, n = frame.sizes
        out = frame.key.tensors[2]
        lanes = self.isa.lanes(out.dtype)
        vectors, masked = vectors_of(n, lanes), tail_of(n, lanes)
        op: Op = "fma" if out.dtype.is_float else "multiply_add_int"
        held = 1 if frame.key.kind.accumulates else 0
        written = out.lines(frame.operand_sizes(2))
        products = Phase(
            {
                op: m * k * vectors,
                "load": m * (k + held) * (vectors - masked),
                "masked_load": m * (k + held) * masked,
                "store": m * vectors,
            },
            lines=(
                Lines(2, written, Access.STORED),
                Lines(2, held * written, Access.OVERLAPPED),
            ),
        )
        return OpCounts((products, Phase({"load": m * k})), kernels=1, loops=3 * m)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """A loop over rows; the last one has none after it to prefetch."""
        row = _Row(emitter, spec, operands, self.distance)
        last = spec.sizes[1] - 1

        def before(at: Value, carried: Sequence[Value]) -> list[Value]:
            row.write(at, following=1)
            return []

        emitter.loop(0, last, 1, (), before)
        row.write(last, following=0)


@dataclasses.dataclass(frozen=True)
class _Row:
    """Writes the code of a row of out."""

    emitter: Emitter
    spec: Spec
    operands: Sequence[Buffer]
    distance: int
    """Lines from what is written to what is prefetched."""

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.emitter.isa.lanes(self.spec.dtypes[2])

    def write(self, row: Value, following: int) -> None:
        """Lines in a loop, then what is left; ``following``: rows to the next, or 0."""
        emitter, out = self.emitter, self.operands[2]
        _, _, k, n = self.spec.sizes
        step = emitter.isa.line_vectors * self.lanes
        whole = n // step * step
        factors = [self._factor(row, i) for i in range(k)]

        def part(after: int, start: Value) -> None:
            place = (0, emitter.offset(row, after), start)
            emitter.prefetch(out, place, to_l1=True)

        def body(
            start: Value, carried: Sequence[Value], prefetch: Prefetcher | None
        ) -> Sequence[Value]:
            if prefetch:
                prefetch(start)
            self._add(row, start, step, factors)
            return ()

        places = parts_along_rows(
            emitter, step, self.distance * step, following, whole, part
        )
        run_parts(emitter, step, places, (), body)
        if n > whole:
            self._add(row, whole, n - whole, factors)

    def _factor(self, row: Value, k: int) -> Value:
        element = self.emitter.load_element(self.operands[0], (0, row, k))
        return self.emitter.broadcast(element, self.lanes)

    def _add(
        self, row: Value, start: Value, columns: int, factors: Sequence[Value]
    ) -> None:
        """Up to a line of the row."""
        emitter = self.emitter
        _, rhs, out = self.operands
        for at, count in parts(columns, self.lanes):
            column = emitter.offset(start, at)
            total = emitter.constant(self.spec.dtypes[2], 0, self.lanes)
            if self.spec.kind.accumulates:
                total = emitter.load(out, (0, row, column), self.lanes, count)
            for k, factor in enumerate(factors):
                vector = emitter.load(rhs, (0, k, column), self.lanes, count)
                total = emitter.multiply_add(factor, vector, total)
            emitter.store(total, out, (0, row, column), count)
