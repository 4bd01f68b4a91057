"""Factors of products inside of a graph, in the dtype that a program has them in."""

import dataclasses
from collections.abc import Sequence

from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import Call, Reference, renumbered
from morello.spec.graphs.graph import MAP, Graph, Node, Output
from morello.spec.graphs.products import rounded_to


def with_narrow_factors(
    graph: Graph, dtypes: Sequence[Dtype]
) -> tuple[Graph, tuple[int, ...]]:
    """A graph whose products of two values in upper halves of floats read those that
    are computed as they are stored: rounded, as products that flush are elsewhere.

    Args:
        graph: of a part of a program.
        dtypes: of each value in the program.

    Returns:
        The graph, and for each of its values the old one that it is, or is rounded of.
    """
    products = [
        product
        for product in graph.contractions
        if all(dtypes[factor].is_upper_half for factor in graph.arguments(product))
    ]
    narrow = {
        factor
        for product in products
        for factor in graph.arguments(product)
        if graph.is_node(factor) and rounded_to(graph, factor) is None
    }
    place: dict[int, int] = {}
    rounded: dict[int, int] = {}
    old: list[int] = []
    nodes: list[Node] = []
    for value in range(graph.count):
        place[value] = len(old)
        old.append(value)
        if not graph.is_node(value):
            continue
        node = graph.node(value)
        read = place | rounded if value in products else place
        expression = renumbered(node.expression, read)
        nodes.append(dataclasses.replace(node, expression=expression))
        if value in narrow:
            rounded[value] = len(old)
            old.append(value)
            call = Call(dtypes[value].narrowing, (Reference(place[value]),))
            nodes.append(Node(node.axes, MAP, call, ()))
    outputs = tuple(Output(place[o.value], o.accumulates) for o in graph.outputs)
    return Graph(graph.inputs, tuple(nodes), outputs), tuple(old)
