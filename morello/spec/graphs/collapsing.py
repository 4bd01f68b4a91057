"""Two dimensions that always come together, as one.

``y[b,t,n] = sum(x[b,t,k] * w[k,n])`` is a product of matrices, ``y[r,n] = sum(x[r,k] *
w[k,n])``, where b and t are neighbours in memory: no loop has to know them apart.
"""

from functools import lru_cache

from morello.spec.graphs.graph import Graph, Node, Part, canonical
from morello.spec.index_map import IndexMap, dims_of


@lru_cache(maxsize=65536)
def come_together(graph: Graph, outer: int, inner: int) -> bool:
    """Whether every value has both dimensions or none, not in windows, and every
    reduction reduces both or none."""
    pair = {outer, inner}
    windows = [
        axis
        for value in range(graph.count)
        for axis in graph.axes(value)
        if not axis.is_plain
    ]
    if pair & dims_of(windows):
        return False
    values = (graph.dims_of(value) for value in range(graph.count))
    reduced = (node.reduced for node in graph.nodes)
    return all(len(pair & {*dims}) != 1 for dims in (*values, *reduced))


@lru_cache(maxsize=65536)
def collapsed(graph: Graph, outer: int, inner: int) -> Part:
    """The graph with one dimension, called as the inner one was, for both."""

    inputs = tuple(
        tuple(axis for axis in axes if axis.dim != outer) for axes in graph.inputs
    )
    return canonical(Graph(inputs, _without(graph, outer), graph.outputs))


def _without(graph: Graph, dim: int) -> tuple[Node, ...]:
    """The nodes of a graph without a dimension."""
    return tuple(
        Node(
            tuple(d for d in node.axes if d != dim),
            node.reduction,
            node.expression,
            tuple(d for d in node.reduced if d != dim),
        )
        for node in graph.nodes
    )


def dropped_axes(axes: tuple[IndexMap, ...], dim: int) -> frozenset[int]:
    """The axes of a value that go with a dimension of one element."""
    return frozenset(place for place, axis in enumerate(axes) if axis.dims == (dim,))


@lru_cache(maxsize=65536)
def dropped(graph: Graph, dim: int) -> Part | None:
    """The graph without a dimension, which is of one element; None where a value has no
    other, or reduces no other, or a window has padding around it alone."""

    def axes(given: tuple[IndexMap, ...]) -> tuple[IndexMap, ...]:
        gone = dropped_axes(given, dim)
        return tuple(
            axis.without(dim) for place, axis in enumerate(given) if place not in gone
        )

    for value in range(graph.count):
        own = graph.axes(value)
        alone = [own[place] for place in dropped_axes(own, dim)]
        if any(axis.is_padded for axis in alone):
            return None
        if len(alone) == len(own):
            return None
        if graph.is_node(value) and graph.node(value).reduced == (dim,):
            return None
    inputs = tuple(map(axes, graph.inputs))
    return canonical(Graph(inputs, _without(graph, dim), graph.outputs))
