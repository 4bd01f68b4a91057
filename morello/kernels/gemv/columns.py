"""The code of GEMV in its axpy form: scaled rows of rhs are added to out.

`Columns.passes` goes over out once for a few rows of rhs: that many streams are read
side by side, which brings memory to its bandwidth, and more so where they go on from
row to row (`Columns.passes_far`). `Columns.once` goes over rhs once for a few columns
of out that are in registers all the while; `Columns.at_places` does so for columns that
need not be neighbours.
"""

import dataclasses
from collections.abc import Sequence

from morello.kernels.code.prefetch import (
    AlongRows,
    Part,
    Prefetcher,
    parts_along_rows,
    run_parts,
)
from morello.kernels.code.unroll import run_steps, trip
from morello.kernels.code.vectors import parts
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemv.elements import Element
from morello.kernels.gemv.streams import run_streams
from morello.spec import L2, Dtype, Matmul, Memory, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.tensors.layout import LINE_BYTES, ceil_div


def room_to_prefetch(frame: Frame, rows: int) -> tuple[Condition, ...]:
    """Condition that L2 holds the rows being read and the next ones; none if rhs is not
    in main memory, since it is not prefetched then."""
    rhs = frame.key.tensors[1]
    if not rhs.level.is_main:
        return ()
    lines = 2 * rhs.tiled(1).lines((1, rows, frame.sizes[3]))
    return (
        Condition(
            lines <= frame.limits[L2],
            f"needs room in L2 for twice {rows} rows of rhs: tile n smaller",
        ),
    )


def prefetched_from(key: SpecKey, dtypes: Sequence[Dtype]) -> frozenset[Memory]:
    """The cache that `room_to_prefetch` needs room in: L2 if rhs is unpacked, in main
    memory and has one of these dtypes; else none."""
    if not isinstance(key.kind, Matmul):
        return frozenset()
    _, rhs, out = key.tensors
    reads = rhs.level.is_main and not rhs.layout.is_packed
    fits = reads and rhs.dtype in dtypes and not out.level.is_registers
    return frozenset({L2}) if fits else frozenset()


@dataclasses.dataclass(frozen=True)
class Columns:
    """Writes the code of some columns of out."""

    emitter: Emitter
    spec: Spec
    operands: Sequence[Buffer]
    element: Element
    streams: int = 1
    """Rows, or groups, of rhs that `passes` reads side by side."""
    row_prefetch: AlongRows | None = None
    """How rows prefetch their own lines; if nothing, they prefetch the next rows."""

    @property
    def lhs(self) -> Buffer:
        """The factors."""
        return self.operands[0]

    @property
    def rhs(self) -> Buffer:
        """The rows that are scaled."""
        return self.operands[1]

    @property
    def out(self) -> Buffer:
        """The sums."""
        return self.operands[2]

    @property
    def held(self) -> bool:
        """Whether out holds something that is added to."""
        return self.spec.kind.accumulates

    @property
    def lanes(self) -> int:
        """Elements of a vector of sums."""
        return self.element.lanes

    @property
    def length(self) -> int:
        """Rows, or whole groups, that are added to out one after another."""
        return self.spec.sizes[2] // self.element.group

    @property
    def tail(self) -> "Columns":
        """The code of columns that are no whole step."""
        return dataclasses.replace(self, element=self.element.tail)

    def for_width(self, columns: int) -> "Columns":
        """The code of so many columns of a panel."""
        return self.tail if columns % self.element.unit else self

    def write(self, scattered: bool) -> None:
        """All of out: steps of columns in passes, those that are left once."""
        n, step = self.spec.sizes[3], self.element.step
        whole = n // step * step
        if whole > step:
            (self.passes_far if scattered else self.passes)(whole)
        elif whole:
            self.once(0, whole)
        tail, width = self.tail, self.element.tail.step
        for start in range(whole, n, width):
            tail.once(start, min(width, n - start))
        left = self.spec.sizes[2] % self.element.group
        if left:
            self.last_rows(left)

    def last_rows(self, count: int) -> None:
        """Add the ``count`` rows after the whole groups."""
        element = dataclasses.replace(self.element, present=count)
        last = dataclasses.replace(self, element=element, row_prefetch=None)
        n, row = self.spec.sizes[3], self.length
        whole = n // element.unit * element.unit
        if whole:
            last.block([row], whole)
        if n > whole:
            places = last.places(whole, n - whole)
            sums = last.load_sums(places, held=True)
            last.store_sums(places, last.add_row(row, places, sums, ()), held=True)

    def passes(self, columns: int) -> None:
        """A loop over blocks of rows; the last has none to prefetch."""
        k, rows = self.length, self.streams
        far = self.rhs.tensor.level.is_main
        last = max(k // rows - 1, 0) * rows if far else k // rows * rows
        first = 0
        if not self.held:
            first = min(rows, k)
            following = rows if far and last else 0
            self.block(self.neighbours(0, first), columns, following, held=False)

        def block(at: Value, carried: Sequence[Value]) -> list[Value]:
            self.block(self.neighbours(at, rows), columns, rows if far else 0)
            return []

        if last > first + rows:
            self.emitter.loop(first, last, rows, (), block)
        elif last > first:
            block(first, ())
        for at in range(max(first, last), k, rows):
            self.block(self.neighbours(at, min(rows, k - at)), columns)

    def passes_far(self, columns: int) -> None:
        """Emit a loop over blocks of rows that are far apart in memory; each row
        prefetches only its own stream."""

        def first(rows: Sequence[Value], after: int) -> None:
            self.block(rows, columns, after, self.held)

        def others(rows: Sequence[Value], after: int) -> None:
            self.block(rows, columns, after)

        count, prefetches = self.length, self.row_prefetch is not None
        run_streams(self.emitter, self.streams, count, others, first, prefetches)

    def neighbours(self, at: Value, rows: int) -> list[Value]:
        """The indices of ``rows`` neighbouring rows from ``at`` on."""
        return [self.emitter.offset(at, i) for i in range(rows)]

    def block(
        self, rows: Sequence[Value], columns: int, following: int = 0, held: bool = True
    ) -> None:
        """Add the products of some rows to the first columns of out.

        The rows ``following`` rows after them are prefetched, if any. If not ``held``,
        out has no values yet, and is overwritten.
        """
        alone = rows if self.spec.sizes[1] == 1 else ()
        factors = [self.factor(0, row) for row in alone]

        def write(
            start: Value, carried: Sequence[Value], prefetch: Prefetcher | None
        ) -> Sequence[Value]:
            if prefetch:
                prefetch(start)
            places = self.places(start, self.element.step)
            sums = self.load_sums(places, held)
            for i, row in enumerate(rows):
                sums = self.add_row(row, places, sums, factors[i : i + 1])
            self.store_sums(places, sums, held)
            return ()

        places = self.prefetching(rows, columns, following)
        run_parts(self.emitter, self.element.step, places, (), write)

    def prefetching(
        self, rows: Sequence[Value], columns: int, following: int
    ) -> list[Part]:
        """Split the columns into parts, each with the lines that are prefetched
        meanwhile.

        They are `parts_along_rows`, or in all of them the same columns of the rows
        ``following`` rows on.
        """
        if self.row_prefetch:
            itemsize = self.rhs.tensor.dtype.itemsize
            side = self.element.group * len(rows)
            step = self.element.step
            distance = int(self.row_prefetch.distance(side, itemsize, step))

            def part(after: int, start: Value) -> None:
                places = [self.emitter.offset(row, after) for row in rows]
                self._prefetch(places, start)

            return parts_along_rows(
                self.emitter, step, distance, following, columns, part
            )
        if not following:
            return [(0, columns, None)]
        next_rows = [self.emitter.offset(row, following) for row in rows]

        def prefetch(start: Value) -> None:
            self._prefetch(next_rows, start)

        return [(0, columns, prefetch)]

    def _prefetch(self, rows: Sequence[Value], start: Value) -> None:
        """Prefetch a line of each row."""
        to_l1 = self.row_prefetch is not None and self.row_prefetch.to_l1
        for row in (one for several in rows for one in self.element.rows_of(several)):
            self.emitter.prefetch(self.rhs, (0, row, start), to_l1=to_l1)

    def once(
        self, start: Value, columns: int, distance: int = 0, prefetching: int = 0
    ) -> None:
        """Up to a step of columns, their sums in registers over all of k.

        The first ``prefetching`` rows prefetch the lines of the row ``distance`` rows
        after them.
        """
        places = self.places(start, columns)

        def add(at: Value, carried: Sequence[Value]) -> list[Value]:
            return self.add_row(at, places, carried, ())

        def prefetch(at: Value, carried: Sequence[Value]) -> list[Value]:
            for first in range(
                0, columns, LINE_BYTES // self.rhs.tensor.dtype.itemsize
            ):
                place = (
                    self.emitter.offset(at, distance),
                    self.emitter.offset(start, first),
                )
                self.emitter.prefetch(self.rhs, (0, *place), to_l1=True)
            return add(at, carried)

        def later(at: Value, carried: Sequence[Value]) -> list[Value]:
            return add(self.emitter.offset(at, prefetching), carried)

        m, k = self.spec.sizes[1], self.length
        sums: Sequence[Value] = self.load_sums(places, self.held)
        together = trip(self.spec.dtypes[2], m, len(places))
        sums = run_steps(self.emitter, prefetching, sums, prefetch, together)
        sums = run_steps(self.emitter, k - prefetching, sums, later, together)
        self.store_sums(places, sums, self.held)

    def at_places(
        self, places: Sequence[tuple[Value, int]], following: Sequence[Value] = ()
    ) -> None:
        """A vector at each place, their sums in registers over all of k.

        Two rows a trip, which are the line that it prefetches. Nothing is known of
        where the places after the last ones are: these have none ``following``.
        """
        emitter, k = self.emitter, self.spec.sizes[2]
        nbytes = self.rhs.tensor.dtype.itemsize * places[0][1]
        step = LINE_BYTES // nbytes
        whole = k // step * step

        def add(
            at: Value, carried: Sequence[Value], prefetch: Prefetcher | None
        ) -> list[Value]:
            if prefetch:
                prefetch(at)
            running = list(carried)
            each = len(running) // len(places)
            # Place by place: row by row, LLVM moves sums out of registers.
            for i, place in enumerate(places):
                several = slice(i * each, (i + 1) * each)
                for by in range(step):
                    row = emitter.offset(at, by)
                    running[several] = self.add_row(row, [place], running[several], ())
            return running

        def part(after: int, at: Value) -> None:
            for start in following if after else [start for start, _ in places]:
                emitter.prefetch(self.rhs, (0, at, start))

        parts_of_k: list[Part] = [(0, whole, None)]
        if self.row_prefetch:
            distance = int(self.row_prefetch.distance(len(places), nbytes, step))
            after = int(bool(following))
            parts_of_k = parts_along_rows(emitter, step, distance, after, whole, part)
        sums = self.load_sums(places, self.held)
        totals = run_parts(emitter, step, parts_of_k, sums, add)
        for at in range(whole, k):
            totals = self.add_row(at, places, totals, ())
        self.store_sums(places, totals, self.held)

    def places(self, start: Value, columns: int) -> list[tuple[Value, int]]:
        """The first column of each unit, and how many it has."""
        return [
            (self.emitter.offset(start, s), count)
            for s, count in parts(columns, self.element.unit)
        ]

    @property
    def in_place(self) -> bool:
        """Whether out is added to as it is: else sums are brought to its order first,
        and begin with what changes nothing that it is added to."""
        return self.element.parts == 1

    def load_sums(self, places: Sequence[tuple[Value, int]], held: bool) -> list[Value]:
        """Vectors of every row of out, row by row; zero if it holds nothing."""
        count = len(places) * self.spec.sizes[1] * self.element.parts
        if not (held and self.in_place):
            dtype = self.out.tensor.dtype
            number = -0.0 if held and dtype.is_float else 0
            return [self.emitter.constant(dtype, number, self.lanes)] * count
        return [
            self.emitter.load(self.out, (0, i, s), self.lanes, count)
            for i in range(self.spec.sizes[1])
            for s, count in places
        ]

    def store_sums(
        self, places: Sequence[tuple[Value, int]], sums: Sequence[Value], held: bool
    ) -> None:
        """The reverse of `load_sums`."""
        emitter, each = self.emitter, self.element.parts
        for index in range(len(sums) // each):
            i, j = divmod(index, len(places))
            start, columns = places[j]
            ordered = self.element.ordered(emitter, sums[each * index :][:each])
            for part, vector in enumerate(ordered[: ceil_div(columns, self.lanes)]):
                count = min(self.lanes, columns - part * self.lanes)
                at = (0, i, emitter.offset(start, part * self.lanes))
                if held and not self.in_place:
                    before = emitter.load(self.out, at, self.lanes, count)
                    vector = emitter.add(before, vector)
                emitter.store(vector, self.out, at, count)

    def add_row(
        self,
        row: Value,
        places: Sequence[tuple[Value, int]],
        sums: Sequence[Value],
        factors: Sequence[Value],
    ) -> list[Value]:
        """Add a row of rhs, scaled; ``factors`` where they are loaded already."""
        emitter, element = self.emitter, self.element
        loaded = [element.read(emitter, self.rhs, row, s, count) for s, count in places]
        vectors = [v for one in loaded for v in element.widen(emitter, one)]
        added = []
        for i in range(self.spec.sizes[1]):
            factor = factors[i] if factors else self.factor(i, row)
            for j, vector in enumerate(vectors):
                total = sums[i * len(vectors) + j]
                added.append(element.multiply_add(emitter, factor, vector, total))
        return added

    def factor(self, i: int, row: Value) -> Value:
        """The elements of lhs that a row, or a group, of rhs is multiplied by."""
        return self.element.factor(self.emitter, self.lhs, i, row)
