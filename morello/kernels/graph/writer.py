"""The code of a graph in one pass: loops over rows, and in them over vectors.

Written from the expressions of the nodes, for `GraphRows`.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from morello.kernels.code.elements import of_vector
from morello.kernels.code.running import Running
from morello.kernels.code.varying_row import (
    Columns,
    VaryingRow,
    groups_written,
    takes_masks,
)
from morello.kernels.code.vectors import parts, vectors_of
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.graph.counted import operations_of
from morello.kernels.graph.inner import graph_seen
from morello.kernels.graph.shape import (
    Blocking,
    ends_of,
    factors_of,
    most_side_by_side,
    most_written,
    reduced_of,
    rows_of,
    shares_rows,
    taps_of,
    together_of,
)
from morello.kernels.graph.values import Env, GraphValues
from morello.kernels.reduce import reduce_lanes
from morello.spec import Spec
from morello.spec.graphs.borders import Sides

_LONG_ROW = 2048
"""Elements of a row from which on prefetchers count more than loops: two pages."""


class GraphWriter(GraphValues):
    """Writes the code of one Spec."""

    def __init__(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        blocking: Blocking,
    ) -> None:
        graph, inner = graph_seen(spec.key)
        super().__init__(emitter, spec, operands, graph, inner)
        reduced, unroll = self.plan.reduced, blocking.unroll
        self.together = blocking.together
        """Rows that are computed side by side, at most."""
        self.line = emitter.isa.line_vectors
        """Vectors of a line: rows side by side read all of them at once."""
        self.unroll = unroll if reduced else min(unroll, most_written(graph))
        """Vectors that a loop takes at a time."""
        self.varying = {
            dim: number for number, one in enumerate(spec.ranges) for dim in one.dims
        }
        """For each dimension of run-time size the number of its range."""
        if inner in reduced and inner not in self.varying:
            vectors = vectors_of(spec.sizes[inner], self.lanes)
            self.unroll = min(self.unroll, vectors)
        unsettled = {inner, *self.varying}
        settled = [d for d in reduced_of(graph, inner) if d not in unsettled]
        self.taps = taps_of(settled, spec.sizes, blocking.taps)
        """The reduced dimensions whose places are written out one by one."""
        wide = sum(v in self._wide for v in self.buffers)
        self.side = most_side_by_side(wide, self.unroll, emitter.isa.registers)
        """Vectors whose instructions are written in turn."""
        sides = Sides.of(graph, spec.sizes)
        assert sides is not None
        self.sides = sides
        self.spans = {dim: (0, size) for dim, size in enumerate(spec.sizes)}
        """The places of each dimension that loops go over: the first, and how many."""
        self.registers = any(b.tensor.level.is_registers for b in self.buffers.values())
        self.row: VaryingRow | None = None
        """The length of rows, where a call says it."""
        self.reductions = [v for v in graph.node_values if graph.node(v).reduced]

    def write(self) -> None:
        """Loops over the rows that outputs keep, for each case of their length."""
        if self.inner not in self.varying:
            self._write()
            return
        number = self.varying[self.inner]
        read, _ = ends_of(self.spec.key, self.graph, self.inner)
        masked = takes_masks(self.emitter.isa, read)
        group = self.unroll if masked or self.plan.reduced else 1
        if self._are_side_by_side:
            group = self.line
        emitter, size = self.emitter, self.emitter.size(number)
        sizes = self.spec.every_size[number]
        key, graph = self.spec.key, self.graph
        groups = groups_written(
            group, operations_of(key, graph, self.inner, emitter.isa)
        )

        def case(row: VaryingRow) -> Sequence[Value]:
            self.row = row
            self._write()
            return ()

        VaryingRow(emitter, size, sizes, self.lanes, group, masked, groups).each(case)

    @property
    def _are_side_by_side(self) -> bool:
        """Whether rows are computed side by side."""
        return bool(self.taps) and shares_rows(self.graph, self.inner)

    def _write(self) -> None:
        """Loops over rows, whose length is settled or that of a case."""
        dims = rows_of(self.graph, self.inner)
        if not self._are_side_by_side:
            self._nest(dims, {}, (), lambda at, carried: self._row(at))
            return
        outer = [dim for dim in dims[:-1] if dim in self.sides.strips]
        for strips in itertools.product(*(self.sides.strips[dim] for dim in outer)):
            for dim, strip in zip(outer, strips, strict=True):
                self.spans[dim] = strip.row, strip.rows
                self.spans[self.sides.taps[dim]] = strip.tap, strip.taps
            self._nest(dims[:-1], {}, (), lambda at, carried: self._rows(at, dims[-1]))

    def _rows(self, at: dict[int, Any], dim: int) -> Sequence[Value]:
        """Everything that all rows along a dimension have, several side by side: what
        they read alike is loaded once for all of them. Groups whose windows reach
        beyond the image are written out, each with the taps that are inside."""
        sizes, size = self.spec.sizes, self.spec.sizes[dim]
        together = together_of(self.graph, self.inner, sizes, self.together)
        starts = range(0, size // together * together, together)

        def group(start: Any, count: int) -> Sequence[Value]:
            places = (self.emitter.offset(start, i) for i in range(count))
            rows = [{**at, dim: place} for place in places]
            self._reduce_across([(row, self._scalars(row)) for row in rows])
            return ()

        inside = [s for s in starts if self._is_inside(dim, range(s, s + together))]
        for start in starts:
            if start not in inside or len(inside) == 1:
                group(start, together)
            elif start == inside[0]:
                end = inside[-1] + together
                self.emitter.loop(
                    start, end, together, (), lambda start, _: group(start, together)
                )
        whole = len(starts) * together
        if whole < size:
            group(whole, size - whole)
        return ()

    def _is_inside(self, dim: int, rows: range) -> bool:
        """Whether some rows read no place beyond the image."""
        if dim not in self.sides.strips:
            return True
        every = self.spec.sizes[self.sides.taps[dim]]
        return all(len(self.sides.inside(dim, row)) == every for row in rows)

    def _nest(
        self,
        dims: list[int],
        at: Mapping[int, Any],
        carried: Sequence[Value],
        body: Callable[[dict[int, Any], Sequence[Value]], Sequence[Value]],
    ) -> Sequence[Value]:
        """Run ``body`` at each place of some dimensions, outermost first."""
        if not dims:
            return body(dict(at), carried)
        dim, rest = dims[0], dims[1:]
        start, size = self.spans[dim]
        if dim in self.varying:
            size = self._size(dim)
        elif size == 1 or self.registers or dim in self.taps:
            for place in range(start, start + size):
                carried = self._nest(rest, {**at, dim: place}, carried, body)
            return carried
        # Of few long rows LLVM would write each out: a stream of its own each time to a
        # prefetcher that goes by the address of the load.
        is_long = self.spec.sizes[self.inner] >= _LONG_ROW
        return self.emitter.loop(
            start,
            self.emitter.offset(size, start),
            1,
            carried,
            lambda place, held: self._nest(rest, {**at, dim: place}, held, body),
            rolled=is_long,
        )

    def _size(self, dim: int) -> Any:
        """A size of the Spec, or its value in a call."""
        if dim in self.varying:
            return self.emitter.size(self.varying[dim])
        return self.spec.sizes[dim]

    def _row(self, at: dict[int, Any]) -> Sequence[Value]:
        """Everything that a row has; nothing is carried on."""
        env = self._scalars(at)
        if self.inner in self.plan.reduced:
            self._reduce_along(at, env)
        elif self.plan.reduced:
            self._reduce_across([(at, env)])
        else:
            self._columns((), lambda c, _: self._mapped(at, env, c), self.unroll)
        return ()

    def _mapped(
        self, at: dict[int, Any], env: Env, columns: Columns
    ) -> Sequence[Value]:
        """Vectors of maps alone."""
        for first in range(0, len(columns), self.side):
            self._vectors(at, env, columns[first : first + self.side])
        return ()

    def _columns(
        self,
        carried: Sequence[Value],
        body: Callable[[Columns, Sequence[Value]], Sequence[Value]],
        unroll: int,
    ) -> Sequence[Value]:
        """Run ``body`` on the vectors of a row, as many at a time as are unrolled: from
        what is carried to what is carried on."""
        lanes, count = self.lanes, self.spec.sizes[self.inner]
        if self.row is not None:
            return self.row.run(body, carried)
        if self.registers:
            for place in parts(count, lanes):
                body([place], ())
            return carried
        group = lanes * unroll
        whole = count // group * group

        def step(at: Value, held: Sequence[Value]) -> Sequence[Value]:
            starts = (self.emitter.offset(at, i * lanes) for i in range(unroll))
            return body([(start, lanes) for start in starts], held)

        if whole > group:
            carried = self.emitter.loop(0, whole, group, carried, step)
        elif whole:
            carried = step(0, carried)
        rest = [(whole + at, length) for at, length in parts(count - whole, lanes)]
        return body(rest, carried) if rest else carried

    def _reduce_along(self, at: dict[int, Any], env: Env) -> None:
        """Reductions of a row: their vectors are carried, and their lanes reduced."""
        running = self._running()
        start = [
            reduction.start(self.lanes)
            for reduction in running
            for _ in range(self._carried_vectors(reduction))
        ]
        outer = sorted(self.plan.reduced - {self.inner})

        def columns(
            place: dict[int, Any], columns: Columns, held: Sequence[Value]
        ) -> Sequence[Value]:
            scalars = self._scalars(place, env) if outer else env
            after = list(held)
            for first in range(0, len(columns), self.side):
                some = columns[first : first + self.side]
                values = self._vectors(place, scalars, some)
                counts = [count for _, count in some]
                self._take_along(running, values, after, first, counts)
            return after

        def pass_over(place: dict[int, Any], held: Sequence[Value]) -> Sequence[Value]:
            return self._columns(
                held, lambda c, held: columns(place, c, held), self.unroll
            )

        carried = list(self._nest(outer, at, start, pass_over))
        for reduction in running:
            vectors = self._carried_vectors(reduction)
            vector = reduction.joined(carried[:vectors])
            del carried[:vectors]
            scalar = reduce_lanes(self.emitter, reduction.pair, vector, self.lanes)
            if reduction.accumulates:
                scalar = reduction.pair(self._element(reduction.value, at), scalar)
            env[reduction.value] = scalar
            self._store_scalar(reduction.value, at, scalar)
        for value in self.graph.node_values:
            if value in self.plan.late and value not in env:
                env[value] = self._computed(value, env, 0)
                self._store_scalar(value, at, env[value])

    def _carried_vectors(self, reduction: Running) -> int:
        """The vectors of a reduction that are carried along a row, of as many chains as
        are unrolled."""
        isa, name = self.emitter.isa, reduction.reduction
        return int(Running.carried(name, isa, self.number, self.unroll))

    def _take_along(
        self,
        running: list[Running],
        values: Env,
        held: list[Value],
        first: int,
        counts: list[Value],
    ) -> None:
        """Let each reduction take its elements of vectors side by side.

        Args:
            running: the reductions.
            values: of the vectors.
            held: all that is carried; it is changed.
            first: which of the vectors that are unrolled comes first.
            counts: how many elements each vector has.
        """
        at = 0
        for reduction in running:
            if reduction.has_numbers:
                elements = self._elements(reduction, values, counts)
                for i, element in enumerate(elements):
                    place = at + first + i
                    held[place] = reduction.take_number(held[place], element)
                for i in range(0, len(elements), 2):
                    place = at + self.unroll + (first + i) // 2
                    pair = elements[i], elements[min(i + 1, len(elements) - 1)]
                    held[place] = self.emitter.nan_where_one_is(*pair, held[place])
            else:
                for i, count in enumerate(counts):
                    mine = {v: of_vector(value, i) for v, value in values.items()}
                    place = at + first + i
                    held[place] = self._take(reduction, held[place], mine, count)
            at += self._carried_vectors(reduction)

    def _elements(
        self, reduction: Running, values: Env, counts: list[Value]
    ) -> list[Value]:
        """Elements that a reduction combines, one vector of them per count."""
        elements = self._computed(reduction.value, values, self.lanes)
        return [
            reduction.filled(of_vector(elements, i), count, self.lanes)
            for i, count in enumerate(counts)
        ]

    def _running(self) -> list[Running]:
        return [
            Running.of(self.emitter, self.graph, v, self.number)
            for v in self.reductions
        ]

    def _taken(
        self, running: list[Running], values: Env, held: Sequence[Value], count: Value
    ) -> list[Value]:
        """Carried values, once each reduction has taken its element."""
        return [
            self._take(reduction, before, values, count)
            for reduction, before in zip(running, held, strict=True)
        ]

    def _take(
        self, reduction: Running, held: Value, values: Env, count: Value
    ) -> Value:
        """The accumulator of a reduction after its next element. If all lanes are
        elements, products are accumulated by a fused multiply-add, with one
        rounding."""
        factors = factors_of(self.graph, reduction.value)
        if not factors or not isinstance(count, int) or count < self.lanes:
            element = self._computed(reduction.value, values, self.lanes)
            return reduction.take(held, element, count, self.lanes)
        a, b = (self._computed_of(f, values, self.lanes) for f in factors)
        return self.emitter.multiply_add(a, b, held)

    def _reduce_across(self, rows: list[tuple[dict[int, Any], Env]]) -> None:
        """Reduce over the rows of an input, a group of columns at a time.

        Args:
            rows: of the output, and the scalars of each.
        """

        def block(columns: Columns, _: Sequence[Value]) -> Sequence[Value]:
            self._block(rows, columns)
            return ()

        self._columns((), block, self.unroll if len(rows) == 1 else self.line)

    def _block(self, rows: list[tuple[dict[int, Any], Env]], columns: Columns) -> None:
        """The reductions of some columns of rows."""
        running = self._running()
        places = [(row, env, *column) for row, env in rows for column in columns]
        initial = [reduction.start(self.lanes) for reduction in running] * len(places)
        width = len(running)
        *outer, last = reduced_of(self.graph, self.inner)
        in_turn = last in self.taps
        order: list[tuple[int, int | None]] = [(i, None) for i in range(len(places))]
        if in_turn:
            order = self._in_turn([row for row, *_ in places], len(columns), last)

        def step(at: dict[int, Any], held: Sequence[Value]) -> list[Value]:
            carried = list(held)
            for i, tap in order:
                row, env, column, length = places[i]
                place = {**row, **at} if tap is None else {**row, **at, last: tap}
                scalars = self._scalars(place, env)
                values = self._vector(place, scalars, column, length)
                mine = slice(i * width, (i + 1) * width)
                carried[mine] = self._taken(running, values, carried[mine], self.lanes)
            return carried

        carried = self._nest(outer if in_turn else [*outer, last], {}, initial, step)
        for i, (row, env, column, length) in enumerate(places):
            here = {**row, self.inner: column}
            mine = carried[i * width : (i + 1) * width]
            self._finish(running, mine, here, env, length)

    def _finish(
        self,
        running: list[Running],
        sums: Sequence[Value],
        at: dict[int, Any],
        env: Env,
        count: Value,
    ) -> None:
        """Everything that depends on reductions across rows, at one place."""
        values = self._beside(env, at, count)
        for reduction, vector in zip(running, sums, strict=True):
            if reduction.accumulates:
                held = self._load(reduction.value, at, count)
                vector = reduction.pair(held, vector)
            values[reduction.value] = vector
        self._late(values, at, count)

    def _in_turn(
        self, rows: list[dict[int, Any]], columns: int, last: int
    ) -> list[tuple[int, int | None]]:
        """Sums and the taps that they take in turn, those inside the image.

        Args:
            rows: that of each sum.
            columns: sums of a row.
            last: the dimension of the taps.
        """
        along = rows_of(self.graph, self.inner)[-1:]
        axes = (a for v in range(len(self.graph.inputs)) for a in self.graph.axes(v))
        steps = next((a.steps for a in axes if {*along, last} <= {*a.dims}), {})
        order: list[tuple[int, int, int]] = []
        for i, row in enumerate(rows):
            dim = along[0] if along else -1
            is_edge = dim in self.sides.strips and isinstance(row[dim], int)
            taps = range(self.spec.sizes[last])
            for tap in self.sides.inside(dim, row[dim]) if is_edge else taps:
                # Places of an image in order: each is loaded once, and one held.
                place = steps.get(dim, 0) * (i // columns) + steps.get(last, 1) * tap
                order.append((place, tap, i))
        return [(i, tap) for _, tap, i in sorted(order)]

    def _beside(self, env: Env, at: dict[int, Any], count: Value) -> Env:
        """The scalars of a row, and the vectors that have no reduced dimension: what
        depends on reductions may read them."""
        inner = dict(env)
        for value in range(self.graph.count):
            dims = self.graph.dims_of(value)
            if value in inner or value in self.plan.late or dims & self.plan.reduced:
                continue
            if self.graph.is_node(value):
                inner[value] = self._computed(value, inner, self.lanes)
            else:
                inner[value] = self._load(value, at, count)
        return inner

    def _late(self, values: Env, at: dict[int, Any], count: Value) -> None:
        """Compute values that depend on reductions; store the outputs among them."""
        for value in self.graph.node_values:
            if value not in self.plan.late:
                continue
            if value not in values:
                values[value] = self._computed(value, values, self.lanes)
            if value in self.graph.modes:
                self._store(value, at, values[value], count)
