"""Sums that are relative to a running maximum: settled and repaired tile by tile."""

import dataclasses
from functools import lru_cache

from morello.spec.graphs.expression import Call, Expression, Reference, replaced
from morello.spec.graphs.graph import (
    MAP,
    Graph,
    Node,
    Output,
    Part,
    canonical,
    canonical_part,
)
from morello.spec.graphs.loops import can_rescale, growth, guarded, weight

OLD = -1
"""The number, in `Settled.rescale`, of the maximum before the present step."""


@dataclasses.dataclass(frozen=True)
class Settled:
    """A graph in three parts, whose values are those of the graph."""

    settle: Part
    """The maximum, which takes in this tile."""
    rescale: Part
    """Each sum, from itself, what the maximum was (`OLD`) and what it is."""
    rest: Part
    """All other outputs, for which the maximum is an input."""


@lru_cache(maxsize=65536)
def settled(graph: Graph, value: int) -> Settled | None:
    """The parts of a graph; None where the value is no maximum of maps, or sums cannot
    be repaired."""
    if not graph.modes.get(value) or not graph.above(value):
        return None
    if not can_rescale(graph, value):
        return None
    if any(not graph.is_map(v) for v in graph.below[value]):
        return None
    sums = tuple(out.value for out in graph.outputs if value in graph.below[out.value])
    first = (value, *graph.below[value])
    outputs = [Output(value, accumulates=True)]
    return Settled(
        canonical_part(graph, first, outputs),
        _rescale(graph, value, sums),
        _rest(graph, value),
    )


def _rest(graph: Graph, value: int) -> Part:
    """The graph without the maximum, which counts as at least the lowest finite."""

    def with_guard(expression: Expression) -> Expression:
        plain = replaced(expression, guarded(value), Reference(value))
        return replaced(plain, Reference(value), guarded(value))

    nodes = tuple(
        dataclasses.replace(node, expression=with_guard(node.expression))
        for node in graph.nodes
    )
    whole = dataclasses.replace(graph, nodes=nodes)
    others = [v for v in graph.node_values if v != value]
    outputs = [out for out in graph.outputs if out.value != value]
    return canonical_part(whole, others, outputs)


def _rescale(graph: Graph, value: int, sums: tuple[int, ...]) -> Part:
    """Each of some sums times exp(w · (old - new))."""
    inputs = (*sums, OLD, value)
    place = {v: i for i, v in enumerate(inputs)}
    axes = tuple(graph.axes(value if v == OLD else v) for v in inputs)
    nodes: list[Node] = []
    for total in sums:
        factor = weight(graph, graph.node(total).expression, value) or 0
        count = len(inputs) + len(nodes)
        grown = growth(place[OLD], place[value], factor)
        nodes.append(Node(graph.node(value).axes, MAP, grown, ()))
        scaled = Call("mul", (Reference(place[total]), Reference(count)))
        nodes.append(Node(graph.node(total).axes, MAP, scaled, ()))
    outputs = [Output(len(inputs) + 2 * i + 1) for i in range(len(sums))]
    whole = Graph(axes, tuple(nodes), tuple(outputs))
    part = canonical(whole)
    named = {len(inputs) + 2 * i + 1: total for i, total in enumerate(sums)}
    named |= dict(enumerate(inputs))
    # Factors are values of no other graph, and no operands.
    values = tuple(named.get(v, OLD) for v in part.values)
    return Part(part.graph, part.dims, values)
