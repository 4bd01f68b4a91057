"""The loop over k of products that broadcast lhs: what its kernels share.

Each of the m · ceil(n/8) sums is one register for the whole loop. For each k it loads a
row of rhs, broadcasts one element of lhs after another, and multiplies and adds.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from morello.cost.counts import Op, Ops, Phase, add, times
from morello.kernels.code.casts import cast_ops
from morello.kernels.code.unroll import run_steps, trip
from morello.kernels.code.vectors import parts, tail_of, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import is_interleaved, size_is_one, within_pack
from morello.machine.isa import Isa
from morello.spec import Dtype, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints

_INTEGER_REGISTERS = 3
"""Registers besides accumulators and a row of rhs: a factor and two products. A float
multiply-add needs the factor alone."""

_LAST = 4
"""Steps at the end that are done by rows, where sums are stored next."""

_ROWS = 2
"""Rows that do them together."""

_SHORT = 256
"""Steps of the longest loop that ends so. It saves some 25 cycles, of 6 a step, and
costs 16 loads more."""

_SPILLED: Ops = {"shuffle": 1, "store": 1, "load": 1}
"""The instructions of a factor that is cast, besides, where LLVM loads several at once
and registers do not hold them: upper halves of a step beside sums and a row of rhs;
other floats, which go through the unit of shuffles, of more steps."""

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


def working_registers(frame: Frame, isa: Isa) -> Ints:
    """Registers that the loop needs besides its sums: a mask of short columns, too."""
    _, m, _, n = frame.sizes
    dtype = frame.key.tensors[2].dtype
    lanes = isa.lanes(dtype)
    vectors = vectors_of(n, lanes)
    mask = 0 if isa.mask_registers else tail_of(n, lanes)
    # A single row takes its columns straight from memory, but for a masked one.
    row: Ints = np.where(m == 1, np.minimum(vectors, 1), vectors)
    return row + mask + (1 if dtype.is_float else _INTEGER_REGISTERS)


def loop_conditions(frame: Frame, isa: Isa) -> tuple[Condition, ...]:
    """Everything that lives in the loop has a register; panels are not crossed."""
    _, m, k, n = frame.sizes
    lanes = isa.lanes(frame.key.tensors[2].dtype)
    vectors = vectors_of(n, lanes)
    return (
        size_is_one(frame, 0),
        *_no_groups(frame, k),
        *within_pack(frame, 0, 1),
        *within_pack(frame, 1, 2),
        Condition(
            m * vectors + working_registers(frame, isa) <= isa.registers,
            f"needs registers for m * ceil(n / {lanes}) sums, a row of rhs, a factor "
            f"and a mask, in all {isa.registers}: tile m or n smaller",
        ),
    )


def loop_phase(frame: Frame, isa: Isa, extra: Ops | None = None) -> Phase:
    """The products, loads and casts of all k, and the chain of a sum.

    Args:
        frame: the products.
        isa: what they are written in.
        extra: instructions that overlap with the loop.
    """
    _, m, k, n = frame.sizes
    dtype = frame.key.tensors[2].dtype
    lanes = isa.lanes(dtype)
    vectors = vectors_of(n, lanes)
    op: Op = "fma" if dtype.is_float else "multiply_add_int"
    lhs, rhs, _ = frame.key.dtypes
    step: Ops = {
        op: m * vectors,
        "load": m + n // lanes,
        "masked_load": tail_of(n, lanes),
    }
    factor = cast_ops((lhs, dtype))
    casts = add(times(factor, m), times(cast_ops((rhs, dtype)), vectors))
    if lhs.is_float and factor:
        held = m * vectors + vectors + m <= isa.registers
        spilled = np.where(held & lhs.is_upper_half, 0, m)
        casts = add(casts, times(_SPILLED, spilled))
    ops = times(add(step, casts), k)
    return Phase(add(ops, extra or {}), {op: k})


@dataclasses.dataclass(frozen=True)
class GemmLoop:
    """The code of the loop for one Spec."""

    emitter: Emitter
    spec: Spec
    lhs: Buffer
    rhs: Buffer
    column: Value = 0
    """The first column in rhs."""
    extra: Callable[[Value], None] | None = None
    """Code that each trip runs besides, given its first step."""
    row: Value = 0
    """The first row in lhs."""
    copy: Buffer | None = None
    """A buffer to which elements of rhs are also written, from the first column on."""
    last: Value = None
    """The columns of the last vector where a call says them; the Spec has a number that
    is no whole vector."""

    @property
    def places(self) -> list[tuple[int, tuple[int, Value]]]:
        """The row, the first column and the number of columns of each sum, in order."""
        return [(row, run) for row in range(self.spec.sizes[1]) for run in self._runs]

    @property
    def _runs(self) -> list[tuple[int, Value]]:
        """The first column and the number of columns of each vector."""
        lanes = self.emitter.isa.lanes(self.spec.dtypes[2])
        runs: list[tuple[int, Value]] = [*parts(self.spec.sizes[3], lanes)]
        if self.last is not None:
            runs[-1] = runs[-1][0], self.last
        return runs

    def run(self, sums: Sequence[Value]) -> Sequence[Value]:
        """The loop: the sums after it; written out for a short one."""
        return self._steps(self.spec.sizes[2], sums)

    def run_to_stores(self, sums: Sequence[Value]) -> Sequence[Value]:
        """Run the loop for sums that are stored next; the first rows finish early.

        Stores wait for sums. If all sums were done in the last step, so many stores
        would wait that the next block's products could not start meanwhile. So the last
        steps are done two rows at a time, by code that reads rhs once for each pair.
        """
        _, m, k, n = self.spec.sizes
        plain = (
            set(self.spec.dtypes) == {Dtype.F32}
            and n % self.emitter.isa.lanes(Dtype.F32) == 0
        )
        short = 2 * _LAST <= k <= _SHORT
        may_read_again = self._holds_columns and self.copy is None
        if not (plain and short and may_read_again) or m <= _ROWS:
            return self.run(sums)
        totals = list(self._steps(k - _LAST, sums))
        each = len(sums) // m
        at: Value = k - _LAST
        for start in range(0, m, _ROWS):
            at = self.emitter.again(at)
            for by in range(_LAST):
                place = self.emitter.offset(at, by)
                columns = self._columns(place)
                for i in range(start, min(start + _ROWS, m)):
                    mine = slice(i * each, (i + 1) * each)
                    totals[mine] = self._row(i, place, columns, totals[mine])
        return totals

    def _steps(self, count: int, sums: Sequence[Value]) -> Sequence[Value]:
        dtype = self.spec.dtypes[2]
        vectors = len(self._runs)
        known = self.emitter.knows_strides(self.lhs)
        each = trip(dtype, self.spec.sizes[1], vectors, known)
        return run_steps(self.emitter, count, sums, self._step, each, self.extra)

    @property
    def _holds_columns(self) -> bool:
        """Whether a row of rhs has registers besides the sums and a factor."""
        _, m, _, n = self.spec.sizes
        vectors = int(vectors_of(n, self.emitter.isa.lanes(self.spec.dtypes[2])))
        return m == 1 or (m + 1) * vectors < self.emitter.isa.registers

    @property
    def _has_spare(self) -> bool:
        """Whether a register is left besides the sums, a row of rhs and a factor: LLVM
        loads the next factor before it needs it."""
        _, m, _, n = self.spec.sizes
        vectors = int(vectors_of(n, self.emitter.isa.lanes(self.spec.dtypes[2])))
        return (m + 1) * vectors + 1 < self.emitter.isa.registers

    def _step(self, at: Value, carried: Sequence[Value]) -> list[Value]:
        if not self._holds_columns:
            return self._step_by_columns(at, carried)
        columns = self._columns(at)
        each = len(columns)
        sums: list[Value] = []
        for i in range(self.spec.sizes[1]):
            sums += self._row(i, at, columns, carried[i * each : (i + 1) * each])
        return sums

    def _step_by_columns(self, at: Value, carried: Sequence[Value]) -> list[Value]:
        """The factors are held, and vectors of rhs used as they come."""
        m = self.spec.sizes[1]
        factors = [self._factor(i, at) for i in range(m)]
        sums = list(carried)
        for j, run in enumerate(self._runs):
            column = self._column(at, run)
            for i, factor in enumerate(factors):
                place = i * len(self._runs) + j
                sums[place] = self.emitter.multiply_add(factor, column, sums[place])
        return sums

    def _columns(self, at: Value) -> list[Value]:
        """A row of rhs, in the dtype of out."""
        return [self._column(at, run) for run in self._runs]

    def _column(self, at: Value, run: tuple[int, Value]) -> Value:
        """A vector of a row of rhs, in the dtype of out."""
        _, rhs, dtype = self.spec.dtypes
        start, count = run
        place = (0, at, self.emitter.offset(self.column, start))
        loaded = self.emitter.load(
            self.rhs, place, self.emitter.isa.lanes(dtype), count
        )
        if self.copy is not None:
            self.emitter.store(loaded, self.copy, (0, at, start), count)
        return self.emitter.convert(loaded, rhs, dtype)

    def _factor(self, i: int, at: Value) -> Value:
        """An element of a row of lhs in every lane, in the dtype of out."""
        lhs, _, dtype = self.spec.dtypes
        row = self.emitter.offset(self.row, i)
        element = self.emitter.load_element(self.lhs, (0, row, at))
        lanes = self.emitter.isa.lanes(dtype)
        is_half = lhs.is_upper_half and dtype is not lhs
        if is_half and self._has_spare and not self.emitter.isa.broadcasts_general:
            # Both halves of each lane are the element, and one shift is left.
            pairs = self.emitter.broadcast(element, 2 * lanes)
            return self.emitter.split_bf16(pairs)[0]
        if lhs.is_float and not lhs.is_upper_half:
            element = self.emitter.broadcast(element, lanes)
            return self.emitter.convert(element, lhs, dtype)
        element = self.emitter.convert(element, lhs, dtype)
        return self.emitter.broadcast(element, lanes)

    def _row(
        self, i: int, at: Value, columns: Sequence[Value], chains: Sequence[Value]
    ) -> list[Value]:
        """Sums of a row of lhs after one more step along k."""
        factor = self._factor(i, at)
        return [
            self.emitter.multiply_add(factor, column, chain)
            for column, chain in zip(columns, chains, strict=True)
        ]


def _no_groups(frame: Frame, k: Ints) -> tuple[Condition, ...]:
    """Condition that k is 1 if the kind combines groups of neighbours along k."""
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
