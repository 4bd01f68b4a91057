"""GEMV in its dot form: both operands are read along k, a vector at a time.

For few rows of one operand against many of the other. As many of the longer side run
side by side as there are registers for their sums. `block.py` has the code of
such a block.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add, times
from morello.kernels.code.horizontal_sum import horizontal_sums_ops
from morello.kernels.code.prefetch import NEXT_ROWS, AlongRows, Prefetch, halves_of_rows
from morello.kernels.code.vectors import end_count, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemv.block import (
    CHAINS,
    NEXT,
    GemvBlock,
    chains_of,
    run_of,
    step_of,
)
from morello.kernels.gemv.elements import Element
from morello.kernels.gemv.streams import run_streams
from morello.kernels.predicates import free_vectors, size_is_one
from morello.kernels.template import Kernel
from morello.spec import Dtype, Form, Layout, Matmul, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints
from morello.spec.tensors.layout import ceil_div

_K = 2
"""The place of k among the dimensions of lhs."""

COLUMNS = Layout.parse("[0,2,1]")
"""rhs as the kernel reads more than one column of it."""

_WORKING = 2
"""Registers besides the sums and the few rows."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GemvDot(Kernel):
    """out[0,m,n] = or += lhs[0,m,k] · rhs[0,k,n], over all of k, from any memory.

    The smaller of m and n is at most what `Element.many` has; the operand that has the
    other one is read once. k is innermost in both operands: rhs is column-major, or a
    single column.
    """

    of_kind = Matmul

    elements: tuple[Element, ...]
    """The products that it has, and how elements become them."""
    streams: int = 8
    """Rows of the longer side that are read side by side, at most."""
    prefetch: Prefetch = NEXT_ROWS
    """The prefetches of the longer side, where it is beyond L2."""
    far: bool = True
    """Whether an operand has to be beyond L2."""
    scattered: bool = False
    """Whether the rows that are read side by side are far from each other, and all
    ``streams`` of them read on to their neighbours, for one row of the shorter side.
    Then only rows that are widened prefetch: others arrive in time by themselves."""

    @property
    def mixes(self) -> tuple[tuple[Dtype, ...], ...]:
        """Combinations of dtypes that it takes."""
        return tuple(mix for element in self.elements for mix in element.mixes)

    def element(self, key: SpecKey) -> Element:
        """The row that has a product which the kernel takes."""
        return next(e for e in self.elements if e.takes(key.dtypes))

    def rows(self, key: SpecKey, few: Ints) -> Ints:
        """How many rows of the longer side run side by side, for any ``few``."""
        if self.scattered:
            return self.streams
        many = self.element(key).many[self.isa.registers]
        rows = np.asarray(many)[np.minimum(few, len(many) - 1)]
        return np.minimum(rows, self.streams)

    def runs(self, frame: Frame, operand: int) -> Ints:
        """How often an operand is begun to be read anew."""
        if self.scattered:
            return self.streams
        return frame.key.tensors[operand].runs(frame.operand_sizes(operand))

    def accepts(self, key: SpecKey) -> bool:
        """Products that it has; k innermost, or rhs contiguous."""
        if not isinstance(key.kind, Matmul):
            return False
        lhs, rhs, out = key.tensors
        return (
            any(element.takes(key.dtypes) for element in self.elements)
            and all(not t.level.is_registers for t in key.tensors)
            and not out.level.is_main
            and not any(t.layout.is_packed for t in key.tensors)
            and lhs.layout.innermost == _K
            and (rhs.layout.innermost == 1 or rhs.contiguous)
            and (lhs.level.is_main or rhs.level.is_main or not self.far)
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Few rows on one side; a row-major rhs has one column; free registers."""
        _, m, _, n = frame.sizes
        few = np.minimum(m, n)
        rows = np.minimum(self.rows(frame.key, few), np.maximum(m, n))
        column = frame.key.tensors[1].layout.innermost == 1
        sums = np.maximum(few * rows, CHAINS)
        element = self.element(frame.key)
        most = len(element.many[self.isa.registers]) - 1
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
                free_vectors(frame) >= sums + few * element.vectors + _WORKING,
                "needs free registers for its sums: take fewer",
            ),
            *(self._scattered(frame) if self.scattered else self._long_rows(frame)),
        )

    def _long_rows(self, frame: Frame) -> tuple[Condition, ...]:
        """Long rows beyond L2, twice as many of them as are read side by side, where
        they prefetch their own lines."""
        if not isinstance(self.prefetch, AlongRows):
            return ()
        _, m, _, n = frame.sizes
        few, many = np.minimum(m, n), np.maximum(m, n)
        side = self.rows(frame.key, few)
        lhs, rhs, _ = frame.key.tensors
        far = np.where(m >= n, lhs.level.is_main, rhs.level.is_main)
        element = self.element(frame.key)
        step = step_of(chains_of(few * side, element.vectors), element.run)
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
        element = self.element(frame.key)
        phases = (
            *_block(frame, element, few, side, many // side),
            *_block(frame, element, few, last, rest > 0),
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
        ahead = isinstance(self.prefetch, AlongRows) and self.prefetch.to_l1
        all_lines = []
        for operand, longer in enumerate((np.asarray(m >= n), np.asarray(m < n))):
            tensor = frame.key.tensors[operand]
            lines = tensor.lines(frame.operand_sizes(operand))
            lines = lines * np.where(longer, 1, blocks)
            starts = self.runs(frame, operand) * longer
            all_lines += [
                Lines(operand, lines * alone, Access.DEMAND, starts, prefetched=ahead),
                Lines(operand, lines * (1 - alone), Access.OVERLAPPED),
            ]
        return tuple(all_lines)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Blocks of rows of the longer side, in a loop."""
        lhs, rhs, out = operands
        if rhs.tensor.layout.innermost != 1:
            rhs = emitter.as_column_major(rhs)
        longer = lhs if spec.sizes[1] >= spec.sizes[3] else rhs
        rows = self.prefetch if isinstance(self.prefetch, AlongRows) else None
        if self.scattered and longer.tensor.dtype.itemsize == out.tensor.dtype.itemsize:
            rows = None
        element = self.element(spec.key)
        block = GemvBlock(emitter, spec, element, lhs, rhs, out, rows, self.scattered)
        if self.scattered:
            many, prefetches = max(spec.sizes[1], spec.sizes[3]), rows is not None
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
        if isinstance(self.prefetch, AlongRows):
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


def _block(
    frame: Frame, element: Element, few: Ints, rows: Ints, times_run: Ints
) -> tuple[Phase, ...]:
    """One block along k, ``times_run`` times: whole vectors, then a masked one."""
    dtypes, isa = frame.key.dtypes, element.isa
    _, m, k, n = frame.sizes
    sides = np.where(m >= n, rows, few), np.where(m >= n, few, rows)
    multiply_add, chain = element.multiply_add_ops(dtypes)
    step: Ops = times(multiply_add, element.vectors * few * rows)
    for operand, count in enumerate(sides):
        loads = count * ceil_div(element.run, isa.lanes(dtypes[operand]))
        widening = times(element.widening_ops(dtypes, operand), count)
        step = add(step, {"load": loads}, widening)
    units = vectors_of(k, element.run)
    chained = units * element.vectors // chains_of(few * rows, element.vectors)
    ends = end_count(k, element.run, element.masked)
    tail: Ops = {"masked_load": ends * (few + rows)}
    return (
        Phase(times(step, units), {chain: chained}, times=times_run),
        Phase(tail, times=times_run),
    )
