"""The code of a graph in one pass: loops over rows, and in them over vectors.

Written from the expressions of the nodes, for `GraphRows`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from morello.kernels.code.deinterleave import every_second
from morello.kernels.code.elements import EmittedElements
from morello.kernels.code.running import Running
from morello.kernels.code.side_by_side import Side, SideBySide, of_vector
from morello.kernels.code.vectors import parts
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.graph.shape import (
    factors_of,
    most_side_by_side,
    most_written,
    rows_of,
    shares_rows,
    step_of,
    taps_of,
)
from morello.kernels.reduce import reduce_lanes
from morello.spec import Dtype, Spec
from morello.spec.elements.dtypes import computed_in
from morello.spec.graphs.expression import Expression, computed
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.passes import one_pass
from morello.spec.index_map import IndexMap

_LONG_ROW = 2048
"""Elements of a row from which on prefetchers count more than loops: two pages."""

Env = dict[int, Value]
"""Values that are computed already: of vectors side by side a `Side`."""

Columns = list[tuple[Any, int]]
"""Where vectors begin along the row, and how many elements each has."""


class GraphWriter:
    """Writes the code of one Spec."""

    def __init__(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        graph: Graph,
        inner: int,
        unroll: int,
        most_taps: int,
    ) -> None:
        plan = one_pass(graph)
        assert plan is not None
        self.emitter, self.spec = emitter, spec
        self.number = computed_in(spec.dtypes)
        """The dtype that is computed in."""
        self.unroll = unroll if plan.reduced else min(unroll, most_written(graph))
        """Vectors that a loop takes at a time."""
        self.graph, self.plan, self.inner = graph, plan, inner
        self.buffers = dict(zip(spec.kind.values, operands, strict=True))
        self.lanes = emitter.isa.lanes(self.number)
        self.taps = taps_of(plan.reduced - {inner}, spec.sizes, most_taps)
        """The reduced dimensions whose places are written out one by one."""
        wide = sum(v in self._wide for v in self.buffers)
        self.side = most_side_by_side(wide, self.unroll, emitter.isa.registers)
        """Vectors whose instructions are written in turn."""
        self.registers = any(b.tensor.level.is_registers for b in self.buffers.values())
        self.reductions = [
            v for v in self.graph.node_values if self.graph.node(v).reduced
        ]

    def write(self) -> None:
        """Loops over the rows that outputs keep."""
        dims = rows_of(self.graph, self.inner)
        if self.taps and shares_rows(self.graph, self.inner):
            self._nest(dims[:-1], {}, (), lambda at, carried: self._rows(at, dims[-1]))
        else:
            self._nest(dims, {}, (), lambda at, carried: self._row(at))

    def _rows(self, at: dict[int, Any], dim: int) -> Sequence[Value]:
        """Everything that all rows along a dimension have, several side by side: what
        they read alike is loaded once for all of them."""
        size, together = self.spec.sizes[dim], self.unroll
        whole = size // together * together

        def group(start: Any, count: int) -> Sequence[Value]:
            places = (self.emitter.offset(start, i) for i in range(count))
            rows = [{**at, dim: place} for place in places]
            self._reduce_across([(row, self._scalars(row)) for row in rows])
            return ()

        if whole > together:
            self.emitter.loop(
                0, whole, together, (), lambda start, _: group(start, together)
            )
        elif whole:
            group(0, together)
        if whole < size:
            group(whole, size - whole)
        return ()

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
        size = self.spec.sizes[dim]
        if size == 1 or self.registers or dim in self.taps:
            for place in range(size):
                carried = self._nest(rest, {**at, dim: place}, carried, body)
            return carried
        # Of few long rows LLVM would write each out: a stream of its own each time to a
        # prefetcher that goes by the address of the load.
        is_long = self.spec.sizes[self.inner] >= _LONG_ROW
        return self.emitter.loop(
            0,
            size,
            1,
            carried,
            lambda place, held: self._nest(rest, {**at, dim: place}, held, body),
            rolled=is_long,
        )

    def _row(self, at: dict[int, Any]) -> Sequence[Value]:
        """Everything that a row has; nothing is carried on."""
        env = self._scalars(at)
        if self.inner in self.plan.reduced:
            self._reduce_along(at, env)
        elif self.plan.reduced:
            self._reduce_across([(at, env)])
        else:
            self._columns((), lambda columns, held: self._mapped(at, env, columns))
        return ()

    def _mapped(
        self, at: dict[int, Any], env: Env, columns: Columns
    ) -> Sequence[Value]:
        """Vectors of maps alone."""
        for first in range(0, len(columns), self.side):
            self._vectors(at, env, columns[first : first + self.side])
        return ()

    def _scalars(self, at: dict[int, Any], env: Env | None = None) -> Env:
        """The values of which there is one at a place, before any reduction; outputs
        are stored.

        Args:
            at: the place of a row, or of a row and the dimensions that are reduced.
            env: what a row has already; None at its beginning.
        """
        scalars: Env = {} if env is None else dict(env)
        for value in range(self.graph.count):
            dims = self.graph.dims_of(value)
            if value in scalars or value in self.plan.late or not dims <= at.keys():
                continue
            if not self.graph.is_node(value):
                scalars[value] = self._element(value, at)
            else:
                scalars[value] = self._computed(value, scalars, 0)
                self._store_scalar(value, at, scalars[value])
        return scalars

    def _element(self, value: int, at: Mapping[int, Any]) -> Value:
        buffer = self.buffers[value]
        element = self.emitter.load_element(buffer, self._index(value, at))
        return self._number(value, at, element)

    def _halved(self, value: int) -> int | None:
        """The dimension of which two elements are in a byte."""
        axes = self.graph.axes(value)
        return next((axis.dims[0] for axis in axes if axis.halves), None)

    def _both_halves(self, buffer: Buffer, index: tuple[Any, ...], count: int) -> Value:
        """A vector of elements, of which two are in a byte."""
        emitter, width = self.emitter, self.lanes // 2
        loaded = emitter.load(buffer, index, width, (count + 1) // 2)
        words = emitter.convert(loaded, buffer.tensor.dtype, Dtype.S32)
        low, high = emitter.half(words, 0), emitter.half(words, 1)
        order = [lane // 2 + lane % 2 * width for lane in range(self.lanes)]
        both = emitter.shuffle(low, high, order)
        return emitter.convert(both, Dtype.S32, self.number)

    def _number(self, value: int, at: Mapping[int, Any], loaded: Value) -> Value:
        """An element, or a vector, in the dtype that is computed in."""
        dtype = self.buffers[value].tensor.dtype
        halved = self._halved(value)
        if halved is None:
            return self.emitter.convert(loaded, dtype, self.number)
        word = self.emitter.convert(loaded, dtype, Dtype.S32)
        half = self.emitter.half(word, at[halved])
        return self.emitter.convert(half, Dtype.S32, self.number)

    def _index(self, value: int, at: Mapping[int, Any]) -> tuple[Any, ...]:
        return tuple(self._place(axis, at) for axis in self.graph.axes(value))

    def _place(self, axis: IndexMap, at: Mapping[int, Any]) -> Any:
        if axis.dim is not None:
            return at[axis.dim]
        total = self.emitter.linear([(at[dim], step) for dim, step in axis.terms])
        return self.emitter.quotient(total, axis.divisor)

    def _store_scalar(self, value: int, at: Mapping[int, Any], scalar: Value) -> None:
        if value in self.graph.modes:
            place, buffer = self._index(value, at), self.buffers[value]
            element = self.emitter.convert(scalar, self.number, buffer.tensor.dtype)
            self.emitter.store_element(element, buffer, place)

    def _computed(self, value: int, env: Env, width: int) -> Value:
        return self._computed_of(self.graph.node(value).expression, env, width)

    def _computed_of(self, expression: Expression, env: Env, width: int) -> Value:
        elements: Any = SideBySide(EmittedElements(self.emitter, width=width))
        spread: Env = {}

        def read(argument: int) -> Value:
            held = env[argument]
            if not width or argument in self._wide:
                return held
            if argument not in spread:
                spread[argument] = self.emitter.broadcast(held, width)
            return spread[argument]

        return computed(expression, elements, read, self.number)

    @property
    def _wide(self) -> frozenset[int]:
        """The values of which there are vectors."""
        return frozenset(
            v for v in range(self.graph.count) if self.inner in self.graph.dims_of(v)
        )

    def _columns(
        self,
        carried: Sequence[Value],
        body: Callable[[Columns, Sequence[Value]], Sequence[Value]],
    ) -> Sequence[Value]:
        """Run ``body`` on the vectors of a row, as many at a time as are unrolled: from
        what is carried to what is carried on."""
        lanes, count = self.lanes, self.spec.sizes[self.inner]
        if self.registers:
            for place in parts(count, lanes):
                body([place], ())
            return carried
        group = lanes * self.unroll
        whole = count // group * group

        def step(at: Value, held: Sequence[Value]) -> Sequence[Value]:
            starts = (self.emitter.offset(at, i * lanes) for i in range(self.unroll))
            return body([(start, lanes) for start in starts], held)

        if whole > group:
            carried = self.emitter.loop(0, whole, group, carried, step)
        elif whole:
            carried = step(0, carried)
        rest = [(whole + at, length) for at, length in parts(count - whole, lanes)]
        return body(rest, carried) if rest else carried

    def _vector(self, at: dict[int, Any], env: Env, column: Any, count: int) -> Env:
        """Compute all values that have vectors at one place, and store outputs."""
        vectors = self._vectors(at, env, [(column, count)])
        return {v: of_vector(value, 0) for v, value in vectors.items()}

    def _vectors(self, at: dict[int, Any], env: Env, columns: Columns) -> Env:
        """Everything that has vectors, at several places; outputs are stored."""
        places = [({**at, self.inner: column}, count) for column, count in columns]
        vectors = dict(env)
        stored: list[int] = []
        for value in range(self.graph.count):
            if value in vectors or value in self.plan.late:
                continue
            if self.graph.is_node(value):
                vectors[value] = self._computed(value, vectors, self.lanes)
                if value in self.graph.modes:
                    stored.append(value)
            elif self.inner in self.graph.dims_of(value):
                vectors[value] = Side(self._load(value, *place) for place in places)
            else:
                vectors[value] = self._element(value, at)
        for value in stored:
            for i, (here, count) in enumerate(places):
                self._store(value, here, of_vector(vectors[value], i), count)
        return vectors

    def _load(self, value: int, at: Mapping[int, Any], count: int) -> Value:
        buffer = self.buffers[value]
        index = self._index(value, at)
        if self.inner not in self.graph.dims_of(value):
            return self._element(value, at)
        if buffer.tensor.level.is_registers:
            return self.emitter.load_register(buffer, self._register(index))
        if self._halved(value) == self.inner:
            return self._both_halves(buffer, index, count)
        if step_of(self.graph, value, self.inner) == 1:
            vector = self.emitter.load(buffer, index, self.lanes, count)
            return self._number(value, at, vector)
        along = buffer.tensor.layout.innermost

        def load(by: int, count: int) -> Value:
            place = self.emitter.offset(index[along], by)
            here = (*index[:along], place, *index[along + 1 :])
            return self._lanes_at(buffer, here, count)

        return every_second(self.emitter, load, self.lanes, count)

    def _lanes_at(self, buffer: Buffer, index: tuple[Any, ...], count: int) -> Value:
        vector = self.emitter.load(buffer, index, self.lanes, count)
        return self.emitter.convert(vector, buffer.tensor.dtype, self.number)

    def _register(self, index: tuple[Any, ...]) -> tuple[int, ...]:
        return (*index[:-1], index[-1] // self.lanes)

    def _store(
        self, value: int, at: Mapping[int, Any], vector: Value, count: int
    ) -> None:
        buffer, index = self.buffers[value], self._index(value, at)
        if buffer.tensor.level.is_registers:
            self.emitter.store_register(vector, buffer, self._register(index))
        else:
            narrow = self.emitter.convert(vector, self.number, buffer.tensor.dtype)
            self.emitter.store(narrow, buffer, index, count)

    def _reduce_along(self, at: dict[int, Any], env: Env) -> None:
        """Reductions of a row: their vectors are carried, and their lanes reduced."""
        running = self._running()
        start = [
            own.start(self.lanes) for own in running for _ in range(self._kept(own))
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
            return self._columns(held, lambda c, own: columns(place, c, own))

        carried = list(self._nest(outer, at, start, pass_over))
        for own in running:
            kept = self._kept(own)
            vector = own.joined(carried[:kept])
            del carried[:kept]
            scalar = reduce_lanes(self.emitter, own.pair, vector, self.lanes)
            if own.accumulates:
                scalar = own.pair(self._element(own.value, at), scalar)
            env[own.value] = scalar
            self._store_scalar(own.value, at, scalar)
        for value in self.graph.node_values:
            if value in self.plan.late and value not in env:
                env[value] = self._computed(value, env, 0)
                self._store_scalar(value, at, env[value])

    def _kept(self, own: Running) -> int:
        """The vectors of a reduction that are carried along a row: one for each that is
        unrolled, and where NaN are kept apart one for the NaN of two of them."""
        return self.unroll + (-(-self.unroll // 2) if own.has_numbers else 0)

    def _take_along(
        self,
        running: list[Running],
        values: Env,
        held: list[Value],
        first: int,
        counts: list[int],
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
        for own in running:
            if own.has_numbers:
                elements = self._elements(own, values, counts)
                for i, element in enumerate(elements):
                    place = at + first + i
                    held[place] = own.take_number(held[place], element)
                for i in range(0, len(elements), 2):
                    place = at + self.unroll + (first + i) // 2
                    pair = elements[i], elements[min(i + 1, len(elements) - 1)]
                    held[place] = self.emitter.nan_where_one_is(*pair, held[place])
            else:
                for i, count in enumerate(counts):
                    mine = {v: of_vector(value, i) for v, value in values.items()}
                    place = at + first + i
                    held[place] = self._take(own, held[place], mine, count)
            at += self._kept(own)

    def _elements(self, own: Running, values: Env, counts: list[int]) -> list[Value]:
        """Elements that a reduction combines, one vector of them per count."""
        elements = self._computed(own.value, values, self.lanes)
        return [
            own.filled(of_vector(elements, i), count, self.lanes)
            for i, count in enumerate(counts)
        ]

    def _running(self) -> list[Running]:
        return [
            Running.of(self.emitter, self.graph, v, self.number)
            for v in self.reductions
        ]

    def _taken(
        self,
        running: list[Running],
        values: Env,
        held: Sequence[Value],
        count: int,
    ) -> list[Value]:
        """Carried values, once each reduction has taken its element."""
        return [
            self._take(own, before, values, count)
            for own, before in zip(running, held, strict=True)
        ]

    def _take(self, own: Running, held: Value, values: Env, count: int) -> Value:
        """The accumulator of a reduction after its next element. If all lanes are
        elements, products are accumulated by a fused multiply-add, with one
        rounding."""
        factors = factors_of(self.graph, own.value)
        if not factors or count < self.lanes:
            element = self._computed(own.value, values, self.lanes)
            return own.take(held, element, count, self.lanes)
        a, b = (self._computed_of(f, values, self.lanes) for f in factors)
        return self.emitter.multiply_add(a, b, held)

    def _reduce_across(self, rows: list[tuple[dict[int, Any], Env]]) -> None:
        """Reduce over the rows of an input, a group of columns at a time.

        Args:
            rows: of the output, and the scalars of each.
        """
        lanes, count = self.lanes, self.spec.sizes[self.inner]
        side = self.unroll if len(rows) == 1 else 1
        group = lanes * side
        whole = count // group * group

        def block(start: Any, lengths: list[int]) -> Sequence[Value]:
            self._block(rows, start, lengths)
            return ()

        if whole > group:
            self.emitter.loop(
                0, whole, group, (), lambda start, _: block(start, [lanes] * side)
            )
        elif whole:
            block(0, [lanes] * side)
        if whole < count:
            block(whole, [length for _, length in parts(count - whole, lanes)])

    def _block(
        self, rows: list[tuple[dict[int, Any], Env]], start: Any, lengths: list[int]
    ) -> None:
        running = self._running()
        columns = [
            (self.emitter.offset(start, i * self.lanes), length)
            for i, length in enumerate(lengths)
        ]
        places = [(row, env, *column) for row, env in rows for column in columns]
        initial = [own.start(self.lanes) for own in running] * len(places)
        width = len(running)

        def step(tap: dict[int, Any], held: Sequence[Value]) -> list[Value]:
            combined: list[Value] = []
            for i, (row, env, column, length) in enumerate(places):
                place = {**row, **tap}
                scalars = self._scalars(place, env)
                values = self._vector(place, scalars, column, length)
                own = held[i * width : (i + 1) * width]
                combined += self._taken(running, values, own, self.lanes)
            return combined

        carried = self._nest(sorted(self.plan.reduced), {}, initial, step)
        for i, (row, env, column, length) in enumerate(places):
            here = {**row, self.inner: column}
            values = self._beside(env, here, length)
            for place, own in enumerate(running):
                vector = carried[i * width + place]
                if own.accumulates:
                    held = self._load(own.value, here, length)
                    vector = own.pair(held, vector)
                values[own.value] = vector
            self._late(values, here, length)

    def _beside(self, env: Env, at: dict[int, Any], count: int) -> Env:
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

    def _late(self, values: Env, at: dict[int, Any], count: int) -> None:
        """Compute values that depend on reductions; store the outputs among them."""
        for value in self.graph.node_values:
            if value not in self.plan.late:
                continue
            if value not in values:
                values[value] = self._computed(value, values, self.lanes)
            if value in self.graph.modes:
                self._store(value, at, values[value], count)
