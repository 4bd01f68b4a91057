"""Code of a graph's values at a place: elements and vectors, loaded and stored.

`GraphWriter` has the loops around them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from morello.kernels.code.deinterleave import every_second
from morello.kernels.code.elements import EmittedElements, Side, of_vector
from morello.kernels.code.varying_row import Columns
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.graph.shape import step_of, stored_rounded
from morello.spec import Dtype, Spec
from morello.spec.elements.dtypes import computed_in
from morello.spec.graphs.expression import Expression, computed, stored
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.passes import one_pass
from morello.spec.index_map import IndexMap

Env = dict[int, Value]
"""Values that are computed already: of vectors side by side a `Side`."""


class GraphValues:
    """Writes the values of one Spec at places that others loop over."""

    def __init__(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        graph: Graph,
        inner: int,
    ) -> None:
        plan = one_pass(graph)
        assert plan is not None
        self.emitter, self.spec = emitter, spec
        self.number = computed_in(spec.dtypes)
        """The dtype that is computed in."""
        self.graph, self.plan, self.inner = graph, plan, inner
        self.buffers = dict(zip(spec.kind.values, operands, strict=True))
        self.lanes = emitter.isa.lanes(self.number)
        self.rounded = stored_rounded(graph, spec.kind.values, spec.tensors)
        """The values that are computed as they are stored, each with its dtype."""

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
        inside = self.emitter.offset(total, -axis.before)
        return self.emitter.quotient(inside, axis.divisor)

    def _store_scalar(self, value: int, at: Mapping[int, Any], scalar: Value) -> None:
        if value in self.graph.modes:
            place, buffer = self._index(value, at), self.buffers[value]
            dtype = self.rounded.get(value, self.number)
            element = self.emitter.convert(scalar, dtype, buffer.tensor.dtype)
            self.emitter.store_element(element, buffer, place)

    def _computed(self, value: int, env: Env, width: int) -> Value:
        return self._computed_of(
            self.graph.node(value).expression, env, width, self.rounded.get(value)
        )

    def _computed_of(
        self,
        expression: Expression,
        env: Env,
        width: int,
        dtype: Dtype | None = None,
    ) -> Value:
        """Code of an expression, as a dtype that it is stored in, or as a number."""
        elements: Any = EmittedElements(self.emitter, width=width)
        spread: Env = {}

        def read(argument: int) -> Value:
            held = env[argument]
            if not width or argument in self._wide:
                return held
            if argument not in spread:
                spread[argument] = self.emitter.broadcast(held, width)
            return spread[argument]

        if dtype is not None:
            return stored(expression, elements, read, self.number, dtype)
        return computed(expression, elements, read, self.number)

    @property
    def _wide(self) -> frozenset[int]:
        """The values that are computed as vectors: those that have the inner
        dimension."""
        return frozenset(
            v for v in range(self.graph.count) if self.inner in self.graph.dims_of(v)
        )

    def _vector(self, at: dict[int, Any], env: Env, column: Any, count: Value) -> Env:
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

    def _load(self, value: int, at: Mapping[int, Any], count: Value) -> Value:
        buffer = self.buffers[value]
        index = self._index(value, at)
        if self.inner not in self.graph.dims_of(value):
            return self._element(value, at)
        if buffer.tensor.level.is_registers:
            vector = self.emitter.load_register(buffer, self._register(index))
            return self._number(value, at, vector)
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
        self, value: int, at: Mapping[int, Any], vector: Value, count: Value
    ) -> None:
        buffer, index = self.buffers[value], self._index(value, at)
        if buffer.tensor.level.is_registers:
            self.emitter.store_register(vector, buffer, self._register(index))
        else:
            dtype = self.rounded.get(value, self.number)
            narrow = self.emitter.convert(vector, dtype, buffer.tensor.dtype)
            self.emitter.store(narrow, buffer, index, count)
