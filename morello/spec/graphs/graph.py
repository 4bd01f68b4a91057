"""Graphs: a few reductions of pointwise expressions, each over named dimensions.

A graph has inputs, nodes and outputs. A node is a reduction of one expression over the
dimensions that the node lacks, or a map, which lacks none. Values are numbered: inputs
first, then nodes, each after the values that it reads. Dimensions are numbered, too. A
node that is no output is internal: it need not exist as a whole.

This module has what a graph is, and its canonical form; `loops.py` says which
dimensions it can be tiled along, `cuts.py` where it can be cut in two.
"""

import dataclasses
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from morello.lazy import cached_property
from morello.spec.graphs.expression import (
    MOST_DEPTH,
    Call,
    Constant,
    Expression,
    Reference,
    SizeNumber,
    depth,
    numbers_last,
    parts,
    references,
    renumbered,
    rewritten,
    settled,
    substituted,
)
from morello.spec.hashing import HashedOnce
from morello.spec.index_map import IndexMap, dims_of, plain, plain_dims, renamed

NEUTRAL = {"sum": "zero", "max": "lowest", "min": "highest"}
"""Each reduction, with its neutral element as `Fill` names it."""

MAP = "map"
"""The reduction of a node that reduces nothing."""


@dataclasses.dataclass(frozen=True, order=True)
class Node:
    """A value that is computed: ``reduction`` of ``expression`` over ``reduced``."""

    axes: tuple[int, ...]
    """The dimensions of the graph that index it."""
    reduction: str
    """``sum``, ``max``, ``min``, or ``map``."""
    expression: Expression
    reduced: tuple[int, ...]
    """The dimensions of the expression that the node lacks, ascending."""


@dataclasses.dataclass(frozen=True, order=True)
class Output:
    """A node that is written, or that is added to what is there already."""

    value: int
    accumulates: bool = False


@dataclasses.dataclass(frozen=True, order=True)
class Graph(HashedOnce):
    """Inputs, nodes in an order in which they can be computed, outputs."""

    inputs: tuple[tuple[IndexMap, ...], ...]
    """The axes of each input."""
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    """By the number of the value, ascending."""

    __hash__ = HashedOnce.__hash__

    @cached_property
    def rank(self) -> int:
        """The number of dimensions."""
        return max(self.every_dim, default=-1) + 1

    def reading(self, value: int, axes: tuple[IndexMap, ...]) -> "Graph":
        """The graph with other axes of an input."""
        inputs = (*self.inputs[:value], axes, *self.inputs[value + 1 :])
        return dataclasses.replace(self, inputs=inputs)

    def by_axis(self, rule: Callable[[IndexMap], IndexMap]) -> "Graph":
        """The graph in which each axis of its inputs is what a rule makes of it."""
        inputs = tuple(tuple(map(rule, axes)) for axes in self.inputs)
        return dataclasses.replace(self, inputs=inputs)

    @cached_property
    def every_dim(self) -> frozenset[int]:
        """The dimensions of all values."""
        dims = {d for v in range(self.count) for d in self.dims_of(v)}
        return frozenset(dims | {d for node in self.nodes for d in node.reduced})

    @cached_property
    def count(self) -> int:
        """The number of values."""
        return len(self.inputs) + len(self.nodes)

    @cached_property
    def call_sizes(self) -> frozenset[int]:
        """The sizes of a call from which numbers follow, by their numbers."""
        sizes: set[int] = set()
        for node in self.nodes:
            for part in parts(node.expression):
                if isinstance(part, SizeNumber):
                    part.computed(sizes.add, operation=lambda *_: None)
        return frozenset(sizes)

    @property
    def node_values(self) -> range:
        """The values that are nodes."""
        return range(len(self.inputs), self.count)

    def is_node(self, value: int) -> bool:
        """Whether a value is computed by a node, and is no input."""
        return value >= len(self.inputs)

    def node(self, value: int) -> Node:
        """Node that computes a value, which is no input."""
        return self.nodes[value - len(self.inputs)]

    def axes(self, value: int) -> tuple[IndexMap, ...]:
        """Index maps of a value, one for each of its axes."""
        return self._axes[value]

    @cached_property
    def _axes(self) -> tuple[tuple[IndexMap, ...], ...]:
        return (*self.inputs, *(plain(*node.axes) for node in self.nodes))

    def dims_of(self, value: int) -> frozenset[int]:
        """The dimensions of the graph that a value has."""
        return self._dims[value]

    @cached_property
    def _dims(self) -> tuple[frozenset[int], ...]:
        return tuple(map(dims_of, self._axes))

    @cached_property
    def modes(self) -> dict[int, bool]:
        """The outputs; whether each accumulates."""
        return {out.value: out.accumulates for out in self.outputs}

    def arguments(self, value: int) -> tuple[int, ...]:
        """The values that a node reads, each once, in order; none for an input."""
        if not self.is_node(value):
            return ()
        return tuple(dict.fromkeys(references(self.node(value).expression)))

    @cached_property
    def below(self) -> tuple[frozenset[int], ...]:
        """For each value the nodes that it depends on."""
        below: list[frozenset[int]] = []
        for value in range(self.count):
            nodes = [a for a in self.arguments(value) if self.is_node(a)]
            below.append(frozenset(nodes).union(*(below[a] for a in nodes)))
        return tuple(below)

    def above(self, value: int) -> tuple[int, ...]:
        """The nodes that depend on a value, near or far; for an input those that read
        it."""
        if self.is_node(value):
            return tuple(u for u in self.node_values if value in self.below[u])
        return tuple(u for u in self.node_values if value in self.arguments(u))

    @cached_property
    def padded_dims(self) -> frozenset[int]:
        """The dimensions of windows with padding."""
        return dims_of(a for axes in self.inputs for a in axes if a.is_padded)

    @cached_property
    def operands(self) -> tuple[int, ...]:
        """The values that are inputs or outputs."""
        return (*range(len(self.inputs)), *(out.value for out in self.outputs))

    @cached_property
    def visits_once(self) -> bool:
        """Whether it is one node that visits each element of its inputs once."""
        return (
            len(self.nodes) == 1
            and bool(self.inputs)
            and all(
                len(axes) == self.rank and all(axis.is_plain for axis in axes)
                for axes in self.inputs
            )
        )

    def is_map(self, value: int) -> bool:
        """Whether a value is a node that reduces nothing."""
        return self.is_node(value) and self.node(value).reduction == MAP

    @cached_property
    def contractions(self) -> tuple[int, ...]:
        """The sums of products of two values, of which each lacks a dimension."""
        return tuple(v for v in self.node_values if self._is_contraction(v))

    def is_product_of_two(self, value: int) -> bool:
        """Whether a node is a sum of products of two values."""
        node = self.node(value)
        call = node.expression
        if node.reduction != "sum" or not isinstance(call, Call):
            return False
        factors = [a.value for a in call.arguments if isinstance(a, Reference)]
        return call.function == "mul" and len(set(factors)) == 2

    def _is_contraction(self, value: int) -> bool:
        if not self.is_product_of_two(value):
            return False
        every = self.dims_of(value) | {*self.node(value).reduced}
        return not any(self.dims_of(a) >= every for a in self.arguments(value))


@dataclasses.dataclass(frozen=True)
class Part:
    """Graph made of values of another graph, with the dimensions and values it has
    there."""

    graph: Graph
    dims: tuple[int, ...]
    """For each dimension of the part that of the whole graph."""
    values: tuple[int, ...]
    """For each value of the part that of the whole graph."""


def part_of(graph: Graph, nodes: Iterable[int], outputs: Iterable[Output]) -> Part:
    """The canonical graph that computes some outputs by some nodes of a graph.

    What the nodes read and is not among them becomes an input. Nodes that no output
    needs are left out. Values are numbered as they are needed, from the first output
    on, dimensions by their first use: what a node keeps comes before what it reduces.
    """
    chosen, order, seen = frozenset(nodes), [], set()
    wanted = sorted(outputs)

    def visit(value: int) -> None:
        if value in seen:
            return
        seen.add(value)
        if value in chosen:
            for argument in graph.arguments(value):
                visit(argument)
        order.append(value)

    for out in wanted:
        visit(out.value)
    inputs = [v for v in order if v not in chosen]
    values = (*inputs, *(v for v in order if v in chosen))
    dims = _first_uses(graph, [v for v in order if v in chosen])
    number = {value: i for i, value in enumerate(values)}
    place = {dim: i for i, dim in enumerate(dims)}
    part = Graph(
        tuple(renamed(graph.axes(v), place) for v in inputs),
        tuple(
            Node(
                tuple(place[d] for d in graph.node(v).axes),
                graph.node(v).reduction,
                renumbered(graph.node(v).expression, number),
                tuple(sorted(place[d] for d in graph.node(v).reduced)),
            )
            for v in values[len(inputs) :]
        ),
        tuple(sorted(Output(number[out.value], out.accumulates) for out in wanted)),
    )
    return Part(part, dims, values)


def with_sizes(graph: Graph, size: Callable[[Any], Any]) -> Graph:
    """A graph whose numbers have sizes that are known, or other names of them."""
    nodes = (
        dataclasses.replace(node, expression=settled(node.expression, size))
        for node in graph.nodes
    )
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _first_uses(graph: Graph, nodes: list[int]) -> tuple[int, ...]:
    """The dimensions in the order in which nodes use them."""
    order: list[int] = []
    for value in nodes:
        value_dims = graph.dims_of(value)
        every = [graph.axes(value), *map(graph.axes, graph.arguments(value))]
        whole = [dim for axes in every for dim in plain_dims(axes)]
        used = [d for axes in every[1:] for d in _in_order(axes, whole)]
        order += [d for d in used if d in value_dims]
        order += [*_in_order(every[0], whole), *used]
    return tuple(dict.fromkeys(order))


def _in_order(axes: tuple[IndexMap, ...], whole: list[int]) -> list[int]:
    """The dimensions of some axes: those of a window in the order of those that are an
    axis by themselves, ``whole``, then by their steps. Their numbers say nothing: they
    are about to be replaced."""
    place = {dim: i for i, dim in reversed([*enumerate(whole)])}

    def terms(axis: IndexMap) -> list[int]:
        order = sorted(axis.terms, key=lambda t: (place.get(t[0], len(whole)), -t[1]))
        return [dim for dim, _ in order]

    return [dim for axis in axes for dim in terms(axis)]


@lru_cache(maxsize=65536)
def canonical(graph: Graph) -> Part:
    """The form of a graph that is searched.

    Nodes that no output needs are dropped, equal nodes become one, and a map that one
    map alone reads, or that is but an operation with a number, becomes a part of what
    reads it. Of two arguments whose order means nothing a number is the second.
    """
    part = part_of(graph, graph.node_values, graph.outputs)
    while True:
        simple = _inlined(_merged(part.graph))
        again = part_of(simple, simple.node_values, simple.outputs)
        if again.graph == part.graph:
            return part
        part = composed(part, again)


def canonical_part(
    graph: Graph, nodes: Iterable[int], outputs: Iterable[Output]
) -> Part:
    """The canonical form of the graph that `part_of` gives."""
    part = part_of(graph, nodes, outputs)
    return composed(part, canonical(part.graph))


def composed(outer: Part, inner: Part) -> Part:
    """Part of the whole graph that is ``inner``, which is a part of ``outer``."""
    return Part(
        inner.graph,
        tuple(outer.dims[dim] for dim in inner.dims),
        tuple(outer.values[value] for value in inner.values),
    )


def _merged(graph: Graph) -> Graph:
    """Equal nodes as one, with numbers last; what they were stays, and nothing reads
    it."""
    known: dict[Node, int] = {}
    same = {value: value for value in range(graph.count)}
    nodes = []
    for value in graph.node_values:
        node = graph.node(value)
        expression = rewritten(renumbered(node.expression, same), numbers_last)
        node = dataclasses.replace(node, expression=expression)
        nodes.append(node)
        if value not in graph.modes:
            same[value] = known.setdefault(node, value)
    return dataclasses.replace(graph, nodes=tuple(nodes))


def _may_vanish(graph: Graph, value: int, readers: list[int]) -> bool:
    """Whether a map is written out where it is read: by one node, for each of its
    elements once; or, if it is but one operation on a value and a number, by all
    readers. Products stay as they are."""
    if _is_cheap(graph.node(value).expression):
        return not any(_is_product(graph, reader) for reader in readers)
    if len(readers) > 1 or _is_product(graph, readers[0]):
        return False
    reader = readers[0]
    mesh = graph.dims_of(reader) | {*graph.node(reader).reduced}
    return graph.dims_of(value) == mesh


def _is_cheap(expression: Expression) -> bool:
    """Whether it is a value with another sign, or an operation on it and a number."""
    match expression:
        case Call("neg", (Reference(),)):
            return True
        case Call(name, (Reference(), Constant() | SizeNumber())):
            return True
        case Call(name, (Constant() | SizeNumber(), Reference())):
            return name != "div"
    return False


def _is_product(graph: Graph, value: int) -> bool:
    """Whether a node is a sum of products, whose factors stay values."""
    match graph.node(value):
        case Node(reduction="sum", expression=Call("mul")):
            return True
    return False


def _keep_deep(graph: Graph, gone: dict[int, Expression]) -> None:
    """Take maps out of ``gone`` that would make an expression too deep."""
    depths: dict[int, int] = {}
    for value in graph.node_values:
        expression = graph.node(value).expression
        levels = depth(expression)
        inlined = [v for v in graph.arguments(value) if v in gone]
        within = max((depths[v] for v in inlined), default=0)
        if levels + within > MOST_DEPTH:
            for v in inlined:
                del gone[v]
            within = 0
        depths[value] = levels + within


def _inlined(graph: Graph) -> Graph:
    """Maps that only one map reads, once, written out there."""
    needed = {out.value for out in graph.outputs}
    needed |= {v for out in graph.outputs for v in graph.below[out.value]}
    readers: dict[int, list[int]] = {}
    for value in graph.node_values:
        if value in needed:
            for argument in references(graph.node(value).expression):
                readers.setdefault(argument, []).append(value)
    gone = {
        v: graph.node(v).expression
        for v in graph.node_values
        if graph.is_map(v)
        and v not in graph.modes
        and v in readers
        and _may_vanish(graph, v, readers[v])
    }
    _keep_deep(graph, gone)

    def leaf(value: int) -> Expression:
        if value in gone:
            return substituted(gone[value], leaf)
        return Reference(value)

    nodes = tuple(
        dataclasses.replace(node, expression=substituted(node.expression, leaf))
        for node in graph.nodes
    )
    return dataclasses.replace(graph, nodes=nodes)
