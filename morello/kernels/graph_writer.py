"""The code of a graph in one pass: loops over rows, and in them over vectors.

Written from the expressions of the nodes, for `GraphRows`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from morello.kernels.elements import EmittedElements
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.reduce import reduce_lanes
from morello.kernels.running import Running
from morello.kernels.vectors import parts
from morello.spec import Compose, Dtype, Level, Spec, Window
from morello.spec.graphs.expression import Call, Expression, computed
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.passes import one_pass

_F32 = Dtype.F32

MOST_STEP = 2
"""Windows move along vectors in steps of so many elements, at most."""

Env = dict[int, Value]
"""Values that are computed already."""


class GraphWriter:
    """Writes the code of one Spec."""

    def __init__(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        inner: int,
        unroll: int,
        most_taps: int,
    ) -> None:
        kind = spec.kind
        assert isinstance(kind, Compose)
        plan = one_pass(kind.value)
        assert plan is not None
        self.emitter, self.spec, self.unroll = emitter, spec, unroll
        self.graph, self.plan, self.inner = kind.value, plan, inner
        self.buffers = dict(zip(kind.values, operands, strict=True))
        self.lanes = emitter.isa.lanes(_F32)
        self.taps = taps_of(plan.reduced - {inner}, spec.sizes, most_taps)
        """The reduced dimensions whose places are written out one by one."""
        self.registers = any(b.tensor.level is Level.VRF for b in self.buffers.values())
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
        return self.emitter.loop(
            0,
            size,
            1,
            carried,
            lambda place, held: self._nest(rest, {**at, dim: place}, held, body),
        )

    def _row(self, at: dict[int, Any]) -> Sequence[Value]:
        """Everything that a row has; nothing is carried on."""
        env = self._scalars(at)
        if self.inner in self.plan.reduced:
            self._reduce_along(at, env)
        elif self.plan.reduced:
            self._reduce_across([(at, env)])
        else:
            self._columns((), lambda c, n, held: self._mapped(at, env, c, n))
        return ()

    def _mapped(
        self, at: dict[int, Any], env: Env, column: Any, count: int
    ) -> Sequence[Value]:
        """A vector of maps alone."""
        self._vector(at, env, column, count)
        return ()

    def _scalars(self, at: dict[int, Any], env: Env | None = None) -> Env:
        """The values of which there is one at a place, before any reduction; outputs
        are stored.

        Args:
            at: the place of a row, or of a row and the dimensions that are reduced.
            env: what a row has already; None at its beginning.
        """
        found: Env = {} if env is None else dict(env)
        for value in range(self.graph.count):
            dims = self.graph.dims_of(value)
            if value in found or value in self.plan.late or not dims <= at.keys():
                continue
            if not self.graph.is_node(value):
                found[value] = self._element(value, at)
            else:
                found[value] = self._computed(value, found, 0)
                self._store_scalar(value, at, found[value])
        return found

    def _element(self, value: int, at: Mapping[int, Any]) -> Value:
        buffer = self.buffers[value]
        element = self.emitter.load_element(buffer, self._index(value, at))
        return self.emitter.convert(element, buffer.tensor.dtype, _F32)

    def _index(self, value: int, at: Mapping[int, Any]) -> tuple[Any, ...]:
        return tuple(
            at[axis]
            if isinstance(axis, int)
            else self.emitter.linear([(at[dim], step) for dim, step in axis.terms])
            for axis in self.graph.axes(value)
        )

    def _store_scalar(self, value: int, at: Mapping[int, Any], scalar: Value) -> None:
        if value in self.graph.modes:
            place, buffer = self._index(value, at), self.buffers[value]
            element = self.emitter.convert(scalar, _F32, buffer.tensor.dtype)
            self.emitter.store_element(element, buffer, place)

    def _computed(self, value: int, env: Env, width: int) -> Value:
        return self._computed_of(self.graph.node(value).expression, env, width)

    def _computed_of(self, expression: Expression, env: Env, width: int) -> Value:
        elements = EmittedElements(self.emitter, width=width)
        spread: Env = {}

        def read(argument: int) -> Value:
            held = env[argument]
            if not width or argument in self._wide:
                return held
            if argument not in spread:
                spread[argument] = self.emitter.broadcast(held, width)
            return spread[argument]

        return computed(expression, elements, read)

    @property
    def _wide(self) -> frozenset[int]:
        """The values of which there are vectors."""
        return frozenset(
            v for v in range(self.graph.count) if self.inner in self.graph.dims_of(v)
        )

    def _columns(
        self,
        carried: Sequence[Value],
        body: Callable[[Any, int, Sequence[Value]], Sequence[Value]],
    ) -> Sequence[Value]:
        """Run ``body`` on every vector of a row; ``carried`` has a part for each of
        those that are computed side by side."""
        lanes, count = self.lanes, self.spec.sizes[self.inner]
        if self.registers:
            for start, length in parts(count, lanes):
                body(start, length, ())
            return carried
        width = len(carried) // self.unroll
        group = lanes * self.unroll
        whole = count // group * group

        def step(at: Value, held: Sequence[Value]) -> list[Value]:
            found: list[Value] = []
            for place in range(self.unroll):
                own = held[place * width : (place + 1) * width]
                column = self.emitter.offset(at, place * lanes)
                found += body(column, lanes, own)
            return found

        if whole > group:
            carried = self.emitter.loop(0, whole, group, carried, step)
        elif whole:
            carried = step(0, carried)
        rest = list(carried)
        for place, (start, length) in enumerate(parts(count - whole, lanes)):
            own = slice(place * width, (place + 1) * width)
            rest[own] = body(whole + start, length, rest[own])
        return rest

    def _vector(self, at: dict[int, Any], env: Env, column: Any, count: int) -> Env:
        """Everything that has vectors, at one place; outputs are stored."""
        here = {**at, self.inner: column}
        found = dict(env)
        stored: list[int] = []
        for value in range(self.graph.count):
            if value in found or value in self.plan.late:
                continue
            if not self.graph.is_node(value):
                found[value] = self._load(value, here, count)
            else:
                found[value] = self._computed(value, found, self.lanes)
                if value in self.graph.modes:
                    stored.append(value)
        for value in stored:
            self._store(value, here, found[value], count)
        return found

    def _load(self, value: int, at: Mapping[int, Any], count: int) -> Value:
        buffer = self.buffers[value]
        index = self._index(value, at)
        if self.inner not in self.graph.dims_of(value):
            return self._element(value, at)
        if buffer.tensor.level is Level.VRF:
            return self.emitter.load_register(buffer, self._register(index))
        if step_of(self.graph, value, self.inner) == 1:
            return self._lanes_at(buffer, index, count)
        return self._every_second(buffer, index, count)

    def _lanes_at(self, buffer: Buffer, index: tuple[Any, ...], count: int) -> Value:
        vector = self.emitter.load(buffer, index, self.lanes, count)
        return self.emitter.convert(vector, buffer.tensor.dtype, _F32)

    def _every_second(
        self, buffer: Buffer, index: tuple[Any, ...], count: int
    ) -> Value:
        """Elements 0, 2, 4, … from an index on: of two vectors, the second of which
        begins with the last element of the first, so that it ends with the last one
        that is asked for."""
        lanes, reach = self.lanes, 2 * count - 1
        first = self._lanes_at(buffer, index, min(reach, lanes))
        if reach <= lanes:
            return self.emitter.shuffle(first, first, [*range(0, 2 * lanes, 2)])
        along = buffer.tensor.layout.innermost
        last = self.emitter.offset(index[along], lanes - 1)
        index = (*index[:along], last, *index[along + 1 :])
        second = self._lanes_at(buffer, index, reach - (lanes - 1))
        chosen = [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)]
        return self.emitter.shuffle(first, second, chosen)

    def _register(self, index: tuple[Any, ...]) -> tuple[int, ...]:
        return (*index[:-1], index[-1] // self.lanes)

    def _store(
        self, value: int, at: Mapping[int, Any], vector: Value, count: int
    ) -> None:
        buffer, index = self.buffers[value], self._index(value, at)
        if buffer.tensor.level is Level.VRF:
            self.emitter.store_register(vector, buffer, self._register(index))
        else:
            narrow = self.emitter.convert(vector, _F32, buffer.tensor.dtype)
            self.emitter.store(narrow, buffer, index, count)

    def _reduce_along(self, at: dict[int, Any], env: Env) -> None:
        """Reductions of a row: their vectors are carried, and their lanes reduced."""
        running = self._running()
        start = [r.start(self.lanes) for r in running] * self.unroll
        outer = sorted(self.plan.reduced - {self.inner})

        def column(
            place: dict[int, Any], at_column: Any, count: int, held: Sequence[Value]
        ) -> Sequence[Value]:
            scalars = self._scalars(place, env) if outer else env
            values = self._vector(place, scalars, at_column, count)
            return self._taken(running, values, held, count)

        def pass_over(place: dict[int, Any], held: Sequence[Value]) -> Sequence[Value]:
            return self._columns(held, lambda c, n, own: column(place, c, n, own))

        carried = self._nest(outer, at, start, pass_over)
        for i, own in enumerate(running):
            vector = own.joined(list(carried[i :: len(running)]))
            scalar = reduce_lanes(self.emitter, own.pair, vector, self.lanes)
            if self.graph.modes.get(own.value):
                scalar = own.pair(self._element(own.value, at), scalar)
            env[own.value] = scalar
            self._store_scalar(own.value, at, scalar)
        for value in self.graph.node_values:
            if value in self.plan.late and value not in env:
                env[value] = self._computed(value, env, 0)
                self._store_scalar(value, at, env[value])

    def _running(self) -> list[Running]:
        return [
            Running(self.emitter, v, self.graph.node(v).reduction)
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
        """What a reduction holds, once it has taken its element: of products, with one
        rounding, where all lanes are elements."""
        factors = factors_of(self.graph, own.value)
        if not factors or count < self.lanes:
            element = self._computed(own.value, values, self.lanes)
            return own.take(held, element, count, self.lanes)
        a, b = (self._computed_of(f, values, self.lanes) for f in factors)
        return self.emitter.multiply_add(a, b, held)

    def _reduce_across(self, rows: list[tuple[dict[int, Any], Env]]) -> None:
        """Reductions from row to row of an input, a group of columns at a time.

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
            found: list[Value] = []
            for i, (row, env, column, length) in enumerate(places):
                place = {**row, **tap}
                scalars = self._scalars(place, env)
                values = self._vector(place, scalars, column, length)
                own = held[i * width : (i + 1) * width]
                found += self._taken(running, values, own, self.lanes)
            return found

        carried = self._nest(sorted(self.plan.reduced), {}, initial, step)
        for i, (row, env, column, length) in enumerate(places):
            here = {**row, self.inner: column}
            values = self._beside(env, here, length)
            for place, own in enumerate(running):
                vector = carried[i * width + place]
                if self.graph.modes.get(own.value):
                    held = self._load(own.value, here, length)
                    vector = own.pair(held, vector)
                values[own.value] = vector
            self._late(values, here, length)

    def _beside(self, env: Env, at: dict[int, Any], count: int) -> Env:
        """The scalars of a row, and the vectors that have no reduced dimension: what
        depends on reductions may read them."""
        found = dict(env)
        for value in range(self.graph.count):
            dims = self.graph.dims_of(value)
            if value in found or value in self.plan.late or dims & self.plan.reduced:
                continue
            if self.graph.is_node(value):
                found[value] = self._computed(value, found, self.lanes)
            else:
                found[value] = self._load(value, at, count)
        return found

    def _late(self, values: Env, at: dict[int, Any], count: int) -> None:
        """What depends on reductions, and the outputs among it."""
        for value in self.graph.node_values:
            if value not in self.plan.late:
                continue
            if value not in values:
                values[value] = self._computed(value, values, self.lanes)
            if value in self.graph.modes:
                self._store(value, at, values[value], count)


def taps_of(
    across: frozenset[int], sizes: tuple[Any, ...], most: int
) -> frozenset[int]:
    """The innermost dimensions of some, as many as have ``most`` places together."""
    found: list[int] = []
    for dim in sorted(across, reverse=True):
        if math.prod(sizes[d] for d in (*found, dim)) > most:
            break
        found.append(dim)
    return frozenset(found)


@lru_cache(maxsize=4096)
def rows_of(graph: Graph, inner: int) -> list[int]:
    """The dimensions that outputs keep beside that along vectors."""
    plan = one_pass(graph)
    assert plan is not None
    return [d for d in range(graph.rank) if d != inner and d not in plan.reduced]


@lru_cache(maxsize=4096)
def shares_rows(graph: Graph, inner: int) -> bool:
    """Whether rows side by side, along the last dimension of `rows_of`, read something
    alike while they are reduced: a filter, or a part of an image."""
    plan, rows = one_pass(graph), rows_of(graph, inner)
    assert plan is not None
    if not rows or inner in plan.reduced:
        return False
    return any(
        graph.dims_of(value) & plan.reduced
        and (
            rows[-1] not in graph.dims_of(value)
            or any(
                isinstance(axis, Window) and rows[-1] in dict(axis.terms)
                for axis in graph.axes(value)
            )
        )
        for value in range(len(graph.inputs))
    )


def step_of(graph: Graph, value: int, inner: int) -> int:
    """How many elements of a value two neighbours along vectors are apart."""
    for axis in graph.axes(value):
        if isinstance(axis, Window) and inner in dict(axis.terms):
            return dict(axis.terms)[inner]
    return 1


def factors_of(graph: Graph, value: int) -> tuple[Expression, ...]:
    """The factors of a sum of products; none of anything else."""
    node = graph.node(value)
    match node.reduction, node.expression:
        case "sum", Call("mul", factors):
            return factors
        case "sum", Call("square", (factor,)):
            return factor, factor
    return ()
