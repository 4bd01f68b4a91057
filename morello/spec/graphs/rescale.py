"""Sums that are relative to a running maximum: settled and repaired tile by tile."""

import dataclasses
from functools import lru_cache

from morello.spec.graphs.expression import (
    Call,
    Constant,
    Expression,
    Reference,
)
from morello.spec.graphs.graph import (
    MAP,
    Graph,
    Node,
    Output,
    Part,
    canonical,
    composed,
    part_of,
)
from morello.spec.graphs.loops import can_rescale, guarded, weight

OLD = -1
"""What `Settled.rescale` calls the value that the maximum was before."""


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
    alone = part_of(graph, first, [Output(value, accumulates=True)])
    return Settled(
        composed(alone, canonical(alone.graph)),
        _rescale(graph, value, sums),
        _rest(graph, value),
    )


def _rest(graph: Graph, value: int) -> Part:
    """The graph without the maximum, which counts as at least the lowest finite."""
    nodes = tuple(
        dataclasses.replace(node, expression=_with_guard(node.expression, value))
        for node in graph.nodes
    )
    whole = dataclasses.replace(graph, nodes=nodes)
    kept = [v for v in graph.node_values if v != value]
    outputs = [out for out in graph.outputs if out.value != value]
    part = part_of(whole, kept, outputs)
    return composed(part, canonical(part.graph))


def _with_guard(expression: Expression, value: int) -> Expression:
    """Replaces each unguarded use of the value in an expression by a guarded one."""
    if expression == guarded(value):
        return expression
    if expression == Reference(value):
        return guarded(value)
    if isinstance(expression, Call):
        arguments = (_with_guard(a, value) for a in expression.arguments)
        return Call(expression.function, tuple(arguments))
    return expression


def _rescale(graph: Graph, value: int, sums: tuple[int, ...]) -> Part:
    """Each of some sums times exp(w · (old - new))."""
    inputs = (*sums, OLD, value)
    place = {v: i for i, v in enumerate(inputs)}
    axes = tuple(graph.axes(value if v == OLD else v) for v in inputs)
    old, new = (guarded(place[v]) for v in (OLD, value))
    nodes: list[Node] = []
    for own in sums:
        factor = weight(graph, graph.node(own).expression, value) or 0
        grown: Expression = Call("sub", (old, new))
        if factor != 1:
            grown = Call("mul", (Constant(float(factor)), grown))
        count = len(inputs) + len(nodes)
        nodes.append(Node(graph.node(value).axes, MAP, Call("exp", (grown,)), ()))
        scaled = Call("mul", (Reference(place[own]), Reference(count)))
        nodes.append(Node(graph.node(own).axes, MAP, scaled, ()))
    outputs = [Output(len(inputs) + 2 * i + 1) for i in range(len(sums))]
    whole = Graph(axes, tuple(nodes), tuple(outputs))
    part = canonical(whole)
    named = {len(inputs) + 2 * i + 1: own for i, own in enumerate(sums)}
    named |= dict(enumerate(inputs))
    # Factors are values of no other graph, and no operands.
    values = tuple(named.get(v, OLD) for v in part.values)
    return Part(part.graph, part.dims, values)
