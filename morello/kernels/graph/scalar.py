"""The scalar kernel of graphs: one element, which makes the space complete."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.cost.counts import OpCounts
from morello.kernels.code.elements import CountedElements, EmittedElements
from morello.kernels.code.running import Running
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import in_l1
from morello.kernels.template import Kernel
from morello.spec import Compose, Spec, SpecKey
from morello.spec.elements.dtypes import computed_in
from morello.spec.frame import Condition, Frame
from morello.spec.graphs.expression import computed
from morello.spec.graphs.graph import Graph


@dataclasses.dataclass(frozen=True)
class GraphScalar(Kernel):
    """A graph where every dimension is 1, in L1, in any layout."""

    of_kind = Compose

    def accepts(self, key: SpecKey) -> bool:
        """Every graph without padding whose sums need not be rescaled."""
        kind = key.kind
        if not isinstance(kind, Compose) or kind.graph.padded_dims:
            return False
        return in_l1(*key.tensors) and not _is_relative(kind.graph)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Every size is 1."""
        one = np.bool_(True)
        for size in frame.sizes:
            one = one & (size == 1)
        return (Condition(one, "takes one element: tile every dimension to 1"),)

    def op_counts(self, frame: Frame) -> OpCounts:
        """The number of elements that are read and of scalar operations on them."""
        kind, number = frame.key.kind, computed_in(frame.key.dtypes)
        assert isinstance(kind, Compose)
        count = len(kind.operands)
        for node in kind.graph.nodes:
            counted = CountedElements(number)
            computed(node.expression, counted, counted.read, number)
            count += counted.operations + 1
        return OpCounts.of({"scalar": count})

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Emit the nodes of the graph in order, each from the values that it reads."""
        kind = spec.kind
        assert isinstance(kind, Compose)
        graph, number = kind.graph, computed_in(spec.dtypes)
        buffers = dict(zip(kind.values, operands, strict=True))
        elements: Any = EmittedElements(emitter)
        values: dict[int, Value] = {}
        for value in range(graph.count):
            origin = (0,) * len(graph.axes(value))
            if not graph.is_node(value):
                element = emitter.load_element(buffers[value], origin)
                dtype = buffers[value].tensor.dtype
                values[value] = emitter.convert(element, dtype, number)
                continue
            expression = graph.node(value).expression
            result = computed(expression, elements, values.__getitem__, number)
            if not graph.is_map(value):
                running = Running.of(emitter, graph, value, number)
                held = running.start()
                if running.accumulates:
                    held = emitter.load_element(buffers[value], origin)
                result = running.pair(held, result)
            values[value] = result
        for value in graph.modes:
            origin = (0,) * len(graph.axes(value))
            dtype = buffers[value].tensor.dtype
            element = emitter.convert(values[value], number, dtype)
            emitter.store_element(element, buffers[value], origin)


def _is_relative(graph: Graph) -> bool:
    """Whether an output that is added to depends on another: what it holds belongs to
    what that one was (`Online`)."""
    return any(
        graph.modes.get(below)
        for out, adds in graph.modes.items()
        if adds
        for below in graph.below[out]
    )
