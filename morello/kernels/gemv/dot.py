"""GEMV in its dot form: both operands are read along k, a vector at a time.

For few rows of one operand against many of the other. As many of the longer side run
side by side as there are registers for their sums. `block.py` has the code of
such a block.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, Op, OpCounts, Ops, Phase, add, times
from morello.kernels.code.casts import cast_ops
from morello.kernels.code.horizontal_sum import horizontal_sums_ops
from morello.kernels.code.prefetch import OwnRows, Prefetch, halves_of_rows
from morello.kernels.code.vectors import end_count, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemv.block import (
    BYTES,
    CHAINS,
    NEXT,
    GemvBlock,
    chains_of,
    products_of,
    run_of,
    step_of,
    unit_of,
)
from morello.kernels.gemv.streams import run_streams
from morello.kernels.predicates import free_vectors, size_is_one
from morello.kernels.template import Kernel
from morello.machine.isa import Isa
from morello.machine.isa import Op as Instruction
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.layout import ceil_div

MANY = {16: (0, 8, 5, 3, 2), 32: (0, 8, 8, 8, 6, 5, 4, 3, 2)}
"""By registers, how many rows of the one operand run side by side, by the rows of the
other: as many as have registers for their sums."""

MANY_WIDENED = {16: (0, 4, 2), 32: (0, 8, 8, 6, 4)}
"""The same where an operand is widened: a row takes two registers."""

_K = 2
"""Of the dimensions of lhs."""

COLUMNS = Layout.parse("[0,2,1]")
"""rhs as the kernel reads more than one column of it."""

_WORKING = 2
"""Registers besides the sums and the few rows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvDot(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], over all of k, from any memory.

    The smaller of m and n is at most what `MANY` has; the operand that has the other
    one is read once. k is innermost in both operands: rhs is column-major, or a single
    column.
    """

    streams: int
    """Rows of the longer side that are read side by side, at most."""
    prefetch: Prefetch
    """What is prefetched of the longer side, where it is beyond L2."""
    far: bool = True
    """Whether an operand has to be beyond L2."""
    scattered: bool = False
    """Whether the rows that are read side by side are far from each other, and all
    ``streams`` of them read on to their neighbours, for one row of the shorter side.
    Then only rows that are widened prefetch: others arrive in time by themselves."""
    of_bytes: bool = False
    """Whether it multiplies u8 by s8 into s32, and nothing else."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """Bytes."""
        return (BYTES,) if self.of_bytes else ()

    def rows(self, key: SpecKey, few: Ints) -> Ints:
        """How many rows of the longer side run side by side, for any ``few``."""
        if self.scattered:
            return self.streams
        many = _many(key, self.isa)
        rows = np.asarray(many)[np.minimum(few, len(many) - 1)]
        return np.minimum(rows, self.streams)

    def runs(self, frame: Frame, operand: int) -> Ints:
        """How often an operand is begun to be read anew."""
        if self.scattered:
            return self.streams
        return frame.key.tensors[operand].runs(frame.operand_sizes(operand))

    def accepts(self, key: SpecKey) -> bool:
        """f32 (of bf16 too) or s32, or bytes; k innermost, or rhs contiguous."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            self._takes(key)
            and all(not t.level.is_registers for t in key.tensors)
            and not out.level.is_main
            and not any(t.layout.is_packed for t in key.tensors)
            and lhs.layout.innermost == _K
            and (rhs.layout.innermost == 1 or rhs.contiguous)
            and (lhs.level.is_main or rhs.level.is_main or not self.far)
        )

    def _takes(self, key: SpecKey) -> bool:
        """Whether it has products of these dtypes."""
        if self.of_bytes:
            return key.dtypes == BYTES
        lhs, rhs, out = key.dtypes
        if out is Dtype.F32:
            return all(d is Dtype.F32 or d.is_upper_half for d in (lhs, rhs))
        return lhs is rhs is out is Dtype.S32

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows on one side; a row-major rhs has one column; free registers."""
        _, m, _, n = frame.sizes
        few = np.minimum(m, n)
        rows = np.minimum(self.rows(frame.key, few), np.maximum(m, n))
        column = frame.key.tensors[1].layout.innermost == 1
        sums = np.maximum(few * rows, CHAINS)
        widened = _is_widened(frame.key, self.isa)
        most = len(_many(frame.key, self.isa)) - 1
        return (
            size_is_one(frame, 0),
            Condition(
                few <= most,
                f"takes at most {most} rows or columns: tile m or n smaller",
            ),
            *(
                []
                if column
                else [
                    Condition(n == 1, "needs n = 1 where rhs is row-major: tile n to 1")
                ]
            ),
            Condition(
                free_vectors(frame) >= sums + few * (2 if widened else 1) + _WORKING,
                "needs free registers for its sums: take fewer",
            ),
            *(self._scattered(frame) if self.scattered else self._own_rows(frame)),
        )

    def _own_rows(self, frame: Frame) -> tuple[Condition, ...]:
        """Long rows beyond L2, twice as many of them as are read side by side, where
        they prefetch their own lines."""
        if not isinstance(self.prefetch, OwnRows):
            return ()
        _, m, _, n = frame.sizes
        few, many = np.minimum(m, n), np.maximum(m, n)
        side = self.rows(frame.key, few)
        lhs, rhs, _ = frame.key.tensors
        far = np.where(m >= n, lhs.level.is_main, rhs.level.is_main)
        unit = unit_of(frame.key.dtypes, self.isa)
        chains = chains_of(few * side, products_of(frame.key.dtypes, self.isa))
        step = step_of(chains, unit)
        distance = np.where(
            m >= n,
            self.prefetch.distance(side, lhs.dtype.itemsize, step),
            self.prefetch.distance(side, rhs.dtype.itemsize, step),
        )
        return (
            Condition(far, "needs the longer side beyond L2: use gemv_dot"),
            halves_of_rows(frame, _K, distance, step),
            Condition(
                many >= 2 * side,
                "takes twice the rows that it reads side by side: use gemv_dot",
            ),
        )

    def _scattered(self, frame: Frame) -> tuple[Condition, ...]:
        """One row or column, and more of the others than are read side by side."""
        _, m, _, n = frame.sizes
        least = 2 * self.streams
        return (
            Condition(np.minimum(m, n) == 1, "takes one row or column: use gemv_dot"),
            Condition(
                np.maximum(m, n) >= least,
                f"takes at least {least} of the others: use gemv_dot",
            ),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Blocks of rows of the longer side along k, and their sums over lanes.

        A single row or column waits for the lines of the other side; the sums of
        several hide most of that.
        """
        _, m, _, n = frame.sizes
        few, many = np.minimum(m, n), np.maximum(m, n)
        side = self.rows(frame.key, few)
        rest, blocks = many % side, ceil_div(many, side)
        last = np.maximum(rest, 1)
        phases = (
            *_block(frame, few, side, self.isa, many // side),
            *_block(frame, few, last, self.isa, rest > 0),
            Phase(lines=self._lines(frame, blocks)),
            Phase(self._sums(frame, few, side), times=many // side),
            Phase(self._sums(frame, few, last), times=rest > 0),
        )
        return OpCounts(phases, kernels=1, loops=blocks)

    def _sums(self, frame: Frame, few: Ints, many: Ints) -> Ops:
        """The end of a block: sums over lanes, and runs of them to out."""
        _, m, _, n = frame.sizes
        layout, longer = frame.key.tensors[2].layout, np.asarray(m >= n)
        run = run_of(layout, longer, few, many, self.scattered)
        runs: Ops = {"shuffle": 1, "store": 1, "load": 1}
        sums = few * many
        written = times(runs, sums // np.maximum(run, 1))
        return add(horizontal_sums_ops(sums, self.isa), written)

    def _lines(self, frame: Frame, blocks: Ints) -> tuple[Lines, ...]:
        """All lines of the longer side once, of the other for each block."""
        _, m, _, n = frame.sizes
        alone = np.asarray(np.minimum(m, n) == 1) * 1
        own = isinstance(self.prefetch, OwnRows) and self.prefetch.to_l1
        found = []
        for operand, longer in enumerate((np.asarray(m >= n), np.asarray(m < n))):
            tensor = frame.key.tensors[operand]
            lines = tensor.lines(frame.operand_sizes(operand))
            lines = lines * np.where(longer, 1, blocks)
            starts = self.runs(frame, operand) * longer
            found += [
                Lines(operand, lines * alone, Access.DEMAND, starts, prefetched=own),
                Lines(operand, lines * (1 - alone), Access.OVERLAPPED),
            ]
        return tuple(found)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Blocks of rows of the longer side, in a loop."""
        lhs, rhs, out = operands
        if rhs.tensor.layout.innermost != 1:
            rhs = emitter.as_column_major(rhs)
        longer = lhs if spec.sizes[1] >= spec.sizes[3] else rhs
        own = self.prefetch if isinstance(self.prefetch, OwnRows) else None
        if self.scattered and not longer.tensor.dtype.is_upper_half:
            own = None
        block = GemvBlock(emitter, spec, lhs, rhs, out, own, self.scattered)
        if self.scattered:
            many, prefetches = max(spec.sizes[1], spec.sizes[3]), own is not None
            run_streams(emitter, self.streams, many, block.write, prefetches=prefetches)
        else:
            self._blocks(block, longer.tensor.level.is_main)

    def _blocks(self, block: GemvBlock, far: bool) -> None:
        """The loops over blocks: the last ones have none after them to prefetch."""
        _, m, _, n = block.spec.sizes
        few, many = min(m, n), max(m, n)
        side = int(self.rows(block.spec.key, few))
        whole = many // side * side
        followed = self._followed(many, side) if far else 0

        def prefetching(at: Value, carried: Sequence[Value]) -> list[Value]:
            block.write(block.neighbours(at, side), following=side)
            return []

        def alone(at: Value, carried: Sequence[Value]) -> list[Value]:
            block.write(block.neighbours(at, side))
            return []

        for start, end, body in ((0, followed, prefetching), (followed, whole, alone)):
            if end > start + side:
                block.emitter.loop(start, end, side, (), body)
            elif end > start:
                body(start, ())
        if many > whole:
            block.write(block.neighbours(whole, many - whole))

    def _followed(self, many: int, side: int) -> int:
        """Rows of the longer side that have others to prefetch meanwhile."""
        if isinstance(self.prefetch, OwnRows):
            return (many // side - 1) * side
        return max(many - NEXT, 0) // side * side

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """A column-major rhs, of f32, in a cache: few columns then waste no lanes.

        Where rhs is in memory no program of least cost was seen to bring it that far.
        """
        if self.far or operand != 1 or not isinstance(key.kind, Matmul):
            return ()
        lhs, rhs, out = key.tensors
        fits = (
            set(key.dtypes) == {Dtype.F32}
            and lhs.layout.innermost == _K
            and rhs.level.is_cache
            and out.level.is_cache
            and not any(t.layout.is_packed for t in key.tensors)
        )
        return (Form(rhs.dtype, COLUMNS),) if fits else ()

    def forms_beforehand(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """Columns of bf16: scattered streams of them are faster than rows."""
        if not self.scattered or operand != 1 or not isinstance(key.kind, Matmul):
            return ()
        rhs, out = key.dtypes[1:]
        fits = rhs.is_upper_half and out is Dtype.F32
        return (Form(rhs, COLUMNS),) if fits else ()


def _is_widened(key: SpecKey, isa: Isa) -> bool:
    """Whether an operand is narrower than the sums, so that a row takes two
    registers."""
    return products_of(key.dtypes, isa) > 1


def _many(key: SpecKey, isa: Isa) -> tuple[int, ...]:
    return (MANY_WIDENED if _is_widened(key, isa) else MANY)[isa.registers]


def _block(
    frame: Frame, few: Ints, rows: Ints, isa: Isa, times_run: Ints
) -> tuple[Phase, ...]:
    """One block along k, ``times_run`` times: whole vectors, then a masked one."""
    dtypes = frame.key.dtypes
    k, unit = frame.sizes[2], unit_of(dtypes, isa)
    products = products_of(dtypes, isa)
    _, m, _, n = frame.sizes
    of_lhs: Ints = np.where(m >= n, rows, few)
    of_rhs: Ints = np.where(m >= n, few, rows)
    multiply_add, chain = _multiply_add(dtypes, isa)
    step: Ops = times(multiply_add, products * few * rows)
    for dtype, count in zip(dtypes, (of_lhs, of_rhs), strict=False):
        step = add(step, {"load": count * ceil_div(unit, isa.lanes(dtype))})
        step = add(step, times(_widening(dtypes, dtype, isa), count))
    units = vectors_of(k, unit)
    chained = units * products // chains_of(few * rows, products)
    masked = dtypes != BYTES or all(map(isa.loads_masked, dtypes[:2]))
    ends = end_count(k, unit, masked)
    tail: Ops = {"masked_load": ends * (few + rows)}
    return (
        Phase(times(step, units), {chain: chained}, times=times_run),
        Phase(tail, times=times_run),
    )


def _multiply_add(dtypes: Sequence[Dtype], isa: Isa) -> tuple[Ops, Op]:
    """The instructions of a product and its sum, and which one the next waits for."""
    if dtypes != BYTES:
        op: Op = "fma" if dtypes[2].is_float else "multiply_add_int"
        return {op: 1}, op
    if isa.has(Instruction.DOT4):
        return {"dot": 1}, "dot"
    return {"fma": 1, "vector_op": 1}, "vector_op"


def _widening(dtypes: Sequence[Dtype], dtype: Dtype, isa: Isa) -> Ops:
    """The operations that widen one unit of a row."""
    if dtypes == BYTES:
        narrow = unit_of(dtypes, isa) < isa.lanes(dtype)
        return cast_ops((dtype, Dtype.S16)) if narrow else {}
    if products_of(dtypes, isa) == 1:
        return {}
    return {"vector_op": 2} if dtype.is_upper_half else {"shuffle": 4}
