"""Two dimensions that always come together, as one.

``y[b,t,n] = sum(x[b,t,k] * w[k,n])`` is a product of matrices, ``y[r,n] = sum(x[r,k] *
w[k,n])``, where b and t are neighbours in memory: no loop has to know them apart.
"""

from functools import lru_cache

from morello.spec.graphs.graph import Graph, Node, Part, axis_dims, canonical
from morello.spec.operand import Axis, Window


@lru_cache(maxsize=65536)
def come_together(graph: Graph, outer: int, inner: int) -> bool:
    """Whether every value has both dimensions or none, not in windows, and every
    reduction reduces both or none."""
    pair = {outer, inner}
    windows = [
        axis
        for value in range(graph.count)
        for axis in graph.axes(value)
        if isinstance(axis, Window)
    ]
    if pair & axis_dims(windows):
        return False
    values = (graph.dims_of(value) for value in range(graph.count))
    reduced = (node.reduced for node in graph.nodes)
    return all(len(pair & {*dims}) != 1 for dims in (*values, *reduced))


@lru_cache(maxsize=65536)
def collapsed(graph: Graph, outer: int, inner: int) -> Part:
    """The graph with one dimension, called as the inner one was, for both."""

    def axes(given: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(axis for axis in given if axis != outer)

    nodes = tuple(
        Node(
            axes(node.axes),
            node.reduction,
            node.expression,
            tuple(d for d in node.reduced if d != outer),
        )
        for node in graph.nodes
    )
    return canonical(Graph(tuple(map(axes, graph.inputs)), nodes, graph.outputs))


def dropped_axes(axes: tuple[Axis, ...], dim: int) -> frozenset[int]:
    """The axes of a value that go with a dimension of one element."""
    return frozenset(
        place
        for place, axis in enumerate(axes)
        if axis == dim
        or (isinstance(axis, Window) and {d for d, _ in axis.terms} == {dim})
    )


@lru_cache(maxsize=65536)
def dropped(graph: Graph, dim: int) -> Part | None:
    """The graph without a dimension, which is of one element; None where a value has no
    other, or reduces no other, or a window has padding around it alone."""

    def axes(given: tuple[Axis, ...]) -> tuple[Axis, ...]:
        gone = dropped_axes(given, dim)
        return tuple(_less(axis, dim) for i, axis in enumerate(given) if i not in gone)

    for value in range(graph.count):
        own = graph.axes(value)
        alone = [own[place] for place in dropped_axes(own, dim)]
        if any(isinstance(axis, Window) and axis.is_padded for axis in alone):
            return None
        if len(alone) == len(own):
            return None
        if graph.is_node(value) and graph.node(value).reduced == (dim,):
            return None
    nodes = tuple(
        Node(
            axes(node.axes),
            node.reduction,
            node.expression,
            tuple(d for d in node.reduced if d != dim),
        )
        for node in graph.nodes
    )
    return canonical(Graph(tuple(map(axes, graph.inputs)), nodes, graph.outputs))


def _less(axis: Axis, dim: int) -> Axis:
    """An axis without a dimension of one element."""
    if not isinstance(axis, Window):
        return axis
    terms = tuple((d, step) for d, step in axis.terms if d != dim)
    if len(terms) == 1 and terms[0][1] == 1 and not axis.is_padded:
        return terms[0][0]
    return Window(terms, axis.before, axis.after)
