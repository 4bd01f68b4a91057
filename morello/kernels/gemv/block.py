"""The code of a block of dot products: some rows of one operand, all of the other."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.kernels.code.horizontal_sum import horizontal_sums
from morello.kernels.code.prefetch import (
    AlongRows,
    Part,
    Prefetcher,
    parts_along_rows,
    run_parts,
)
from morello.kernels.code.vectors import parts
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemv.elements import Element
from morello.spec import Layout, Spec
from morello.spec.tensors.layout import LINE_BYTES

NEXT = 8
"""How many rows after those that are read the prefetched ones are."""

CHAINS = 8
"""Sums that are under way at a time: fewer rows have several each."""


def chains_of(sums: Any, vectors: int) -> Any:
    """How many chains each sum is split into: a power of two, `CHAINS` at most in all.

    Args:
        sums: sums that are under way, integer or array.
        vectors: vectors that a unit has: products that follow each other in a chain,
            and take registers.
    """
    room = CHAINS // vectors // np.maximum(sums, 1)
    return np.where(room >= 8, 8, np.where(room >= 4, 4, np.where(room >= 2, 2, 1)))


def step_of(chains: Any, unit: int) -> Any:
    """Elements along k of a trip, by the chains of each sum."""
    return np.maximum(chains, 2) * unit


def runs_along_many(out: Layout, by_rows: Any) -> Any:
    """Whether elements of out follow each other as rows of the longer side do.

    Args:
        by_rows: whether that is lhs, integer or array.
    """
    return (out.innermost == 1) == by_rows


def run_of(out: Layout, by_rows: Any, few: Any, many: Any, apart: bool) -> Any:
    """How many sums of a block follow each other in out.

    Args:
        by_rows, few, many: of the block, integers or arrays.
        apart: whether its ``many`` rows of the longer side are far from each other.
    """
    return np.where(runs_along_many(out, by_rows), 1 if apart else many, few)


@dataclasses.dataclass(frozen=True)
class GemvBlock:
    """Some rows of the longer side against all of the shorter."""

    emitter: Emitter
    spec: Spec
    element: Element
    lhs: Buffer
    rhs: Buffer
    out: Buffer
    row_prefetch: AlongRows | None = None
    """How rows prefetch their own lines; if nothing, they prefetch the next rows."""
    apart: bool = False
    """Whether rows that are read side by side are far from each other."""

    def neighbours(self, at: Value, rows: int) -> list[Value]:
        """Indices of ``rows`` rows, from ``at`` on."""
        return [self.emitter.offset(at, i) for i in range(rows)]

    @property
    def lanes(self) -> int:
        """Elements of a sum."""
        return self.emitter.isa.lanes(self.out.tensor.dtype)

    @property
    def keeps_sign(self) -> bool:
        """Whether a sum of -0 alone must be -0: added to out, it changes nothing."""
        return self.spec.kind.accumulates and self.out.tensor.dtype.is_float

    @property
    def count(self) -> int:
        """Rows of the shorter side."""
        return min(self.spec.sizes[1], self.spec.sizes[3])

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

    def write(self, rows: Sequence[Value], following: int = 0) -> None:
        """Some rows, and how many rows after them others are that come next, if any."""
        emitter = self.emitter
        k, sums = self.spec.sizes[2], len(rows) * self.count
        run = self.element.run
        chains = int(chains_of(sums, self.element.vectors))
        start_at = -0.0 if self.keeps_sign else 0
        zero = emitter.constant(self.out.tensor.dtype, start_at, self.lanes)
        totals: Sequence[Value] = [zero] * (chains * sums)
        step = int(step_of(chains, run))

        def along(
            start: Value, carried: Sequence[Value], prefetch: Prefetcher | None
        ) -> Sequence[Value]:
            if prefetch:
                prefetch(start)
            partial = list(carried)
            for v, (s, count) in enumerate(parts(step, run)):
                chain = v % chains * sums
                place = emitter.offset(start, s)
                partial[chain : chain + sums] = self.products(
                    rows, place, count, partial[chain : chain + sums]
                )
            return partial

        whole = k // step * step
        parts_of_k = self.prefetching(rows, whole, step, following)
        totals = run_parts(emitter, step, parts_of_k, totals, along)
        partial = list(totals)
        for start, count in self.rest(whole):
            partial[:sums] = self.products(rows, start, count, partial[:sums])
        while len(partial) > sums:
            half = len(partial) // 2
            pairs = zip(partial[:half], partial[half:], strict=True)
            partial = [emitter.add(a, b) for a, b in pairs]
        ordered = [partial[i * self.count + j] for i, j in self.order(len(rows))]
        self.add(rows, horizontal_sums(emitter, ordered))

    def rest(self, start: int) -> list[tuple[int, int]]:
        """The start and the number of elements of each product after the main loop."""
        k, run = self.spec.sizes[2], self.element.run
        full = [(at, run) for at in range(start, k - run + 1, run)]
        last, width = start + len(full) * run, self.element.end
        return full + [(last + at, count) for at, count in parts(k - last, width)]

    def products(
        self, rows: Sequence[Value], k: Value, count: int, sums: Sequence[Value]
    ) -> list[Value]:
        """Up to a run of elements along k of every row, multiplied and added."""
        emitter, element, few = self.emitter, self.element, self.count
        # Products of single elements are the same either way.
        swapped = element.group > 1 and not self.by_rows
        factors = [element.along(emitter, *self.few(j, k), count) for j in range(few)]
        totals_of_rows = []
        for i, at in enumerate(rows):
            row = element.along(emitter, *self.many(at, k), count)
            for j in range(few):
                total = sums[i * few + j]
                for a, b in zip(row, factors[j], strict=True):
                    pair = (b, a) if swapped else (a, b)
                    total = element.multiply_add(emitter, *pair, total)
                if self.keeps_sign and count < self.lanes:
                    total = self.only_first(total, sums[i * few + j], count)
                totals_of_rows.append(total)
        return totals_of_rows

    def only_first(self, new: Value, old: Value, count: int) -> Value:
        """New lanes where there were elements: the others have added +0."""
        lanes = [i if i < count else self.lanes + i for i in range(self.lanes)]
        return self.emitter.shuffle(new, old, lanes)

    def prefetching(
        self, rows: Sequence[Value], whole: int, step: int, following: int
    ) -> list[Part]:
        """Parts of k, and what is prefetched meanwhile, if anything.

        `parts_along_rows`, or in all of k the same places of rows after these.
        """
        if self.row_prefetch:

            def part(after: int, start: Value) -> None:
                self.prefetch(rows, after, start, step)

            itemsize = self.many(0, 0)[0].tensor.dtype.itemsize
            distance = int(self.row_prefetch.distance(len(rows), itemsize, step))
            return parts_along_rows(
                self.emitter, step, distance, following, whole, part
            )

        def next_rows(start: Value) -> None:
            self.prefetch(rows, NEXT, start, step)

        return [(0, whole, next_rows if following else None)]

    def prefetch(
        self, rows: Sequence[Value], after: int, start: Value, step: int
    ) -> None:
        """The places of a trip of the rows so many after these, a line apart."""
        to_l1 = self.row_prefetch is not None and self.row_prefetch.to_l1
        line = LINE_BYTES // self.many(0, 0)[0].tensor.dtype.itemsize
        for at in rows:
            row = self.emitter.offset(at, after)
            for k in range(0, step, line):
                place = self.emitter.offset(start, k)
                self.emitter.prefetch(*self.many(row, place), to_l1=to_l1)

    def add(self, rows: Sequence[Value], sums: Sequence[Value]) -> None:
        """Write the sums, in `order`, to out, or add them to what it holds."""
        order, run = self.order(len(rows)), self.run(len(rows))
        at = 0
        while at < len(order):
            lane = at % self.lanes
            count = min(run - at % run, self.lanes - lane)  # none goes over two vectors
            i, j = order[at]
            place = (0, rows[i], j) if self.by_rows else (0, j, rows[i])
            self.add_lanes(sums[at // self.lanes], lane, count, place)
            at += count

    def add_lanes(
        self, vector: Value, lane: int, count: int, place: tuple[Value, ...]
    ) -> None:
        """Some lanes of a vector, to elements of out that follow each other."""
        emitter, out, accumulates = self.emitter, self.out, self.spec.kind.accumulates
        if count == 1:
            total = emitter.extract(vector, lane)
            if accumulates:
                total = emitter.add(emitter.load_element(out, place), total)
            emitter.store_element(total, out, place)
            return
        if lane:
            lanes = [min(lane + i, self.lanes - 1) for i in range(self.lanes)]
            vector = emitter.shuffle(vector, vector, lanes)
        if accumulates:
            held = emitter.load(out, place, self.lanes, count)
            vector = emitter.add(held, vector)
        emitter.store(vector, out, place, count)

    def run(self, rows: int) -> int:
        """Sums of so many rows of the longer side that follow each other in out."""
        layout = self.out.tensor.layout
        return int(run_of(layout, self.by_rows, self.count, rows, self.apart))

    def order(self, rows: int) -> list[tuple[int, int]]:
        """The row of the longer side and that of the shorter which each sum is of, as
        their elements follow each other in out."""
        few = range(self.count)
        if runs_along_many(self.out.tensor.layout, self.by_rows):
            return [(i, j) for j in few for i in range(rows)]
        return [(i, j) for i in range(rows) for j in few]
