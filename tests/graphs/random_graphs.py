"""Random graphs: valid ones of every form, and the same graph under other numbers."""

import itertools
import random

import numpy as np

from morello.spec.functions import BINARY, UNARY
from morello.spec.graphs.evaluate import evaluate
from morello.spec.graphs.expression import (
    Call,
    Constant,
    Expression,
    Reference,
    renumbered,
)
from morello.spec.graphs.graph import MAP, NEUTRAL, Graph, Node, Output, Part
from morello.spec.index_map import IndexMap, plain, renamed

MOST_DIMS = 4


def random_graph(rng: random.Random, windows: bool = False) -> Graph:
    """A graph of one to five nodes over at most `MOST_DIMS` dimensions."""
    return _Maker(rng, windows).graph()


class _Maker:
    """Makes one graph, node by node."""

    def __init__(self, rng: random.Random, windows: bool) -> None:
        self.rng = rng
        self.windows = windows
        self.rank = rng.randint(1, MOST_DIMS)
        self.axes = [self._some_axes() for _ in range(rng.randint(1, 4))]
        self.inputs = len(self.axes)
        self.nodes: list[Node] = []

    def graph(self) -> Graph:
        """The graph: nodes that nobody reads are outputs, and a few more."""
        for _ in range(self.rng.randint(1, 5)):
            self._add()
        read = {v for node in self.nodes for v in _read(node.expression)}
        outputs = []
        for number, node in enumerate(self.nodes):
            value = self.inputs + number
            accumulates = node.reduction != MAP and self.rng.random() < 0.4
            if value not in read or self.rng.random() < 0.15:
                outputs.append(Output(value, accumulates))
        whole = Graph(tuple(self.axes[: self.inputs]), tuple(self.nodes), (*outputs,))
        return _with_used_dims_only(whole)

    def _some_axes(self) -> tuple[IndexMap, ...]:
        count = self.rng.randint(1, self.rank)
        dims = self.rng.sample(range(self.rank), count)
        if self.windows and self.rng.random() < 0.1:
            whole = IndexMap(((dims[0], 1),), divisor=self.rng.choice((2, 3)))
            return (whole, *plain(*dims[1:]))
        if count == 1 or not self.windows or self.rng.random() < 0.7:
            return plain(*dims)
        terms = [(dim, self.rng.choice((1, 1, 2, 3))) for dim in dims[:2]]
        return (IndexMap(tuple(terms)), *plain(*dims[2:]))

    def _add(self) -> None:
        values = self.rng.choices(range(len(self.axes)), k=self.rng.randint(1, 3))
        expression: Expression = Reference(values[0])
        for value in values[1:]:
            pair = [expression, Reference(value)]
            self.rng.shuffle(pair)
            expression = Call(self.rng.choice([*BINARY]), tuple(pair))
        if self.rng.random() < 0.5:
            expression = Call(self.rng.choice([*UNARY]), (expression,))
        if self.rng.random() < 0.3:
            constant = Constant(self.rng.choice((-1.5, 0.0, 0.25, 3.0)))
            expression = Call("add", (expression, constant))
        used = {d for v in values for axis in self.axes[v] for d in axis.dims}
        remaining = [d for d in used if self.rng.random() < 0.6]
        remaining = remaining or [*used]
        self.rng.shuffle(remaining)
        reduced = tuple(sorted(used - {*remaining}))
        reduction = self.rng.choice([*NEUTRAL]) if reduced else MAP
        self.nodes.append(Node((*remaining,), reduction, expression, reduced))
        self.axes.append(plain(*remaining))


def _read(expression: Expression) -> set[int]:
    if isinstance(expression, Reference):
        return {expression.value}
    if isinstance(expression, Call):
        return set().union(*map(_read, expression.arguments))
    return set()


def _with_used_dims_only(graph: Graph) -> Graph:
    """Dimensions are 0, 1, …, without gaps."""
    used = {d for v in range(graph.count) for d in graph.dims_of(v)}
    used |= {d for node in graph.nodes for d in node.reduced}
    place = {dim: i for i, dim in enumerate(sorted(used))}
    values = {v: v for v in range(graph.count)}
    return _rebuilt(graph, place, values, [*graph.node_values])


def shuffled(rng: random.Random, graph: Graph) -> tuple[Graph, dict[int, int]]:
    """The same graph with other numbers for dimensions, inputs and nodes, and its
    nodes in another order; and the new number of each value.

    Outputs stay in the same order: that is the order of the operands of a Spec.
    """
    dims = rng.sample(range(graph.rank), graph.rank)
    inputs = rng.sample(range(len(graph.inputs)), len(graph.inputs))
    order = _topological(rng, graph)
    values = {old: new for new, old in enumerate((*inputs, *order))}
    return _rebuilt(graph, dict(enumerate(dims)), values, order), values


def _topological(rng: random.Random, graph: Graph) -> list[int]:
    """Nodes in an order in which each follows what it reads."""
    outputs = sorted(graph.modes)
    before = {
        v: {a for a in graph.arguments(v) if graph.is_node(a)}
        for v in graph.node_values
    }
    for first, second in itertools.pairwise(outputs):
        before[second].add(first)
    order: list[int] = []
    while len(order) < len(before):
        ready = [v for v in before if v not in order and before[v] <= {*order}]
        order.append(rng.choice(ready))
    return order


def _rebuilt(
    graph: Graph, dims: dict[int, int], values: dict[int, int], order: list[int]
) -> Graph:
    by_number = sorted(range(len(graph.inputs)), key=values.__getitem__)
    return Graph(
        tuple(renamed(graph.axes(v), dims) for v in by_number),
        tuple(
            Node(
                tuple(dims[d] for d in graph.node(v).axes),
                graph.node(v).reduction,
                renumbered(graph.node(v).expression, values),
                tuple(sorted(dims[d] for d in graph.node(v).reduced)),
            )
            for v in order
        ),
        tuple(sorted(Output(values[o.value], o.accumulates) for o in graph.outputs)),
    )


def input_shapes(graph: Graph, sizes: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """The shapes of the arrays that a graph reads: its inputs, then the outputs that
    are added to; by value."""
    read = [*range(len(graph.inputs)), *(v for v, adds in graph.modes.items() if adds)]
    return {
        value: tuple(axis.extent(sizes) for axis in graph.axes(value)) for value in read
    }


def check_meaning(
    rng: random.Random, graph: Graph, part: Part, atol: float = 0.0
) -> None:
    """Compare the outputs of another form of a graph with its own, for random inputs
    and sizes."""
    sizes = tuple(rng.randint(1, 4) for _ in range(graph.rank))
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    values = {
        value: numbers.standard_normal(shape, np.float32)
        for value, shape in input_shapes(graph, sizes).items()
    }
    whole = evaluate(graph, sizes, [*values.values()])
    inputs = [values[part.values[v]] for v in input_shapes(part.graph, (1,) * 9)]
    part_sizes = tuple(sizes[dim] for dim in part.dims)
    results = evaluate(part.graph, part_sizes, inputs)
    order = [part.values[out.value] for out in part.graph.outputs]
    by_value = dict(zip(order, results, strict=True))
    for out, array in zip(graph.outputs, whole, strict=True):
        np.testing.assert_allclose(by_value[out.value], array, rtol=1e-5, atol=atol)
