"""The code of GEMV in its axpy form: scaled rows of rhs are added to out.

`Columns.passes` goes over out once for a few rows of rhs: that many streams are read
side by side, which brings memory to its bandwidth, and more so where they go on from
row to row (`Columns.passes_far`). `Columns.once` goes over rhs once for a few columns
of out that are in registers all the while; `Columns.at_places` does so for columns that
need not be neighbours.
"""

import dataclasses
from collections.abc import Sequence

from morello.kernels.code.deinterleave import interleave
from morello.kernels.code.prefetch import OwnRows, Part, Prefetcher, own_rows, run_parts
from morello.kernels.code.unroll import run_steps, trip
from morello.kernels.code.vectors import parts
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.gemv.streams import run_streams
from morello.spec import L2, Dtype, Matmul, Memory, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.layout import LINE_BYTES


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
    streams: int
    """Rows of rhs that `passes` reads side by side."""
    own: OwnRows | None = None
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
    def lanes(self) -> int:
        """Elements of a vector."""
        return self.emitter.isa.lanes(self.out.tensor.dtype)

    @property
    def held(self) -> bool:
        """Whether out holds something that is added to."""
        return self.spec.kind.accumulates

    @property
    def step(self) -> int:
        """Columns that a pass takes at a time."""
        return self.emitter.isa.line_vectors * self.lanes

    @property
    def length(self) -> int:
        """Rows that are added to out one after another."""
        return self.spec.sizes[2]

    def rows_of(self, row: Value) -> tuple[Value, ...]:
        """The rows of rhs that are added as one."""
        return (row,)

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

        count, prefetches = self.length, self.own is not None
        run_streams(self.emitter, self.streams, count, others, first, prefetches)

    def neighbours(self, at: Value, rows: int) -> list[Value]:
        """The rows from ``at`` on."""
        return [self.emitter.offset(at, i) for i in range(rows)]

    def block(
        self, rows: Sequence[Value], columns: int, following: int = 0, held: bool = True
    ) -> None:
        """Add the products of some rows to the first columns of out.

        The rows ``following`` rows after them are prefetched, if any. If not ``held``,
        out has no values yet, and is overwritten.
        """
        alone = self.spec.sizes[1] == 1
        factors = [self.factor(0, row) for row in rows] if alone else []

        def write(
            start: Value, carried: Sequence[Value], prefetch: Prefetcher | None
        ) -> Sequence[Value]:
            if prefetch:
                prefetch(start)
            places = self.places(start, self.step)
            sums = self.load_sums(places, held)
            for i, row in enumerate(rows):
                sums = self.add_row(row, places, sums, factors[i : i + 1])
            self.store_sums(places, sums, held)
            return ()

        places = self.prefetching(rows, columns, following)
        run_parts(self.emitter, self.step, places, (), write)

    def prefetching(
        self, rows: Sequence[Value], columns: int, following: int
    ) -> list[Part]:
        """Parts of the columns, and what is prefetched meanwhile, if anything.

        `own_rows`, or in all of them the same of the rows ``following`` rows on.
        """
        if self.own:
            itemsize = self.rhs.tensor.dtype.itemsize
            side = sum(len(self.rows_of(row)) for row in rows)
            distance = self.own.distance(side, itemsize, self.step)

            def own(after: int, start: Value) -> None:
                places = [self.emitter.offset(row, after) for row in rows]
                self._prefetch(places, start)

            step = self.step
            ahead = int(distance)
            return own_rows(self.emitter, step, ahead, following, columns, own)
        if not following:
            return [(0, columns, None)]
        next_rows = [self.emitter.offset(row, following) for row in rows]

        def prefetch(start: Value) -> None:
            self._prefetch(next_rows, start)

        return [(0, columns, prefetch)]

    def _prefetch(self, rows: Sequence[Value], start: Value) -> None:
        """Prefetch a line of each row."""
        to_l1 = self.own is not None and self.own.to_l1
        for row in (one for several in rows for one in self.rows_of(several)):
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
            found = list(carried)
            each = len(found) // len(places)
            # Place by place: row by row, LLVM moves sums out of registers.
            for i, place in enumerate(places):
                own = slice(i * each, (i + 1) * each)
                for by in range(step):
                    row = emitter.offset(at, by)
                    found[own] = self.add_row(row, [place], found[own], ())
            return found

        def own(after: int, at: Value) -> None:
            for start in following if after else [start for start, _ in places]:
                emitter.prefetch(self.rhs, (0, at, start))

        parts_of_k: list[Part] = [(0, whole, None)]
        if self.own:
            distance = int(self.own.distance(len(places), nbytes, step))
            after = int(bool(following))
            parts_of_k = own_rows(emitter, step, distance, after, whole, own)
        sums = self.load_sums(places, self.held)
        found = run_parts(emitter, step, parts_of_k, sums, add)
        for at in range(whole, k):
            found = self.add_row(at, places, found, ())
        self.store_sums(places, found, self.held)

    def places(self, start: Value, columns: int) -> list[tuple[Value, int]]:
        """The first column of each vector, and how many it has."""
        return [
            (self.emitter.offset(start, s), count)
            for s, count in parts(columns, self.lanes)
        ]

    def load_sums(self, places: Sequence[tuple[Value, int]], held: bool) -> list[Value]:
        """Vectors of every row of out, row by row; zero if it holds nothing."""
        if not held:
            zero = self.emitter.constant(self.out.tensor.dtype, 0, self.lanes)
            return [zero] * (len(places) * self.spec.sizes[1])
        return [
            self.emitter.load(self.out, (0, i, s), self.lanes, count)
            for i in range(self.spec.sizes[1])
            for s, count in places
        ]

    def store_sums(
        self, places: Sequence[tuple[Value, int]], sums: Sequence[Value], held: bool
    ) -> None:
        """The reverse of `load_sums`."""
        for index, total in enumerate(sums):
            i, j = divmod(index, len(places))
            s, count = places[j]
            self.emitter.store(total, self.out, (0, i, s), count)

    def add_row(
        self,
        row: Value,
        places: Sequence[tuple[Value, int]],
        sums: Sequence[Value],
        factors: Sequence[Value],
    ) -> list[Value]:
        """Add a row of rhs, scaled; ``factors`` where they are loaded already."""
        vectors = self.load_row(row, places)
        found = []
        for i in range(self.spec.sizes[1]):
            factor = factors[i] if factors else self.factor(i, row)
            for j, vector in enumerate(vectors):
                total = sums[i * len(vectors) + j]
                found.append(self.multiply_add(factor, vector, total))
        return found

    def multiply_add(self, factor: Value, vector: Value, total: Value) -> Value:
        """A sum to which products are added."""
        return self.emitter.multiply_add(factor, vector, total)

    def load_row(self, row: Value, places: Sequence[tuple[Value, int]]) -> list[Value]:
        """Vectors of a row of rhs, in the dtype of out."""
        emitter, dtypes = self.emitter, (self.rhs.tensor.dtype, self.out.tensor.dtype)
        return [
            emitter.convert(
                emitter.load(self.rhs, (0, row, s), self.lanes, count), *dtypes
            )
            for s, count in places
        ]

    def factor(self, i: int, row: Value) -> Value:
        """An element of lhs in every lane."""
        element = self.emitter.load_element(self.lhs, (0, i, row))
        dtypes = self.lhs.tensor.dtype, self.out.tensor.dtype
        element = self.emitter.convert(element, *dtypes)
        return self.emitter.broadcast(element, self.lanes)


@dataclasses.dataclass(frozen=True)
class WidenedColumns(Columns):
    """`Columns` for rhs in bf16, of which a register holds twice as many columns.

    Even and odd columns make vectors of their own, which are sums from zero on: when
    they are put together again they are added to out.
    """

    @property
    def step(self) -> int:
        """A cache line of rhs."""
        return self.emitter.isa.line_vectors * self.unit

    @property
    def unit(self) -> int:
        """Columns of a register of rhs."""
        return self.emitter.isa.lanes(self.rhs.tensor.dtype)

    def places(self, start: Value, columns: int) -> list[tuple[Value, int]]:
        """`Columns.places`, by registers of rhs, all of them full."""
        return [
            (self.emitter.offset(start, s), count)
            for s, count in parts(columns, self.unit)
        ]

    def load_sums(self, places: Sequence[tuple[Value, int]], held: bool) -> list[Value]:
        """Zero for the even and the odd columns of each place.

        -0 where the sums are added to out: it changes nothing that it is added to.
        """
        number = -0.0 if held else 0.0
        zero = self.emitter.constant(self.out.tensor.dtype, number, self.lanes)
        return [zero] * (2 * len(places) * self.spec.sizes[1])

    def load_row(self, row: Value, places: Sequence[tuple[Value, int]]) -> list[Value]:
        """Even and odd columns of each place."""
        loaded = [
            self.emitter.load(self.rhs, (0, row, s), self.unit) for s, _ in places
        ]
        return [half for v in loaded for half in self.emitter.split_bf16(v)]

    def store_sums(
        self, places: Sequence[tuple[Value, int]], sums: Sequence[Value], held: bool
    ) -> None:
        """Add to what out holds."""
        emitter = self.emitter
        for index in range(len(places) * self.spec.sizes[1]):
            i, j = divmod(index, len(places))
            both = interleave(emitter, *sums[2 * index : 2 * index + 2])
            for half, vector in enumerate(both):
                at = (0, i, emitter.offset(places[j][0], half * self.lanes))
                if held:
                    vector = emitter.add(emitter.load(self.out, at, self.lanes), vector)
                emitter.store(vector, self.out, at)
