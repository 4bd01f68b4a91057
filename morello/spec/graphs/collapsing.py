"""Two dimensions that always come together, as one.

``y[b,t,n] = sum(x[b,t,k] * w[k,n])`` is a product of matrices, ``y[r,n] = sum(x[r,k] *
w[k,n])``, where b and t are neighbours in memory: no loop has to know them apart.
"""

import dataclasses
from functools import lru_cache
from typing import Any

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
    return canonical(without(graph, outer))


def without(graph: Graph, dim: int) -> Graph:
    """The graph without a dimension, which is gone from windows and is no axis."""
    nodes = tuple(
        Node(
            tuple(d for d in node.axes if d != dim),
            node.reduction,
            node.expression,
            tuple(d for d in node.reduced if d != dim),
        )
        for node in graph.nodes
    )
    inputs = tuple(
        tuple(axis.without(dim) for axis in axes if axis.dims != (dim,))
        for axes in graph.inputs
    )
    return Graph(inputs, nodes, graph.outputs)


def with_unit(graph: Graph, dim: int, first: bool) -> Graph:
    """The graph with a new dimension, of one element, that all values have first, or
    last."""

    def joined(axes: tuple[Any, ...], axis: Any) -> tuple[Any, ...]:
        return (axis, *axes) if first else (*axes, axis)

    nodes = tuple(
        dataclasses.replace(node, axes=joined(node.axes, dim)) for node in graph.nodes
    )
    inputs = tuple(joined(axes, IndexMap.of(dim)) for axes in graph.inputs)
    return Graph(inputs, nodes, graph.outputs)


def dropped_axes(axes: tuple[IndexMap, ...], dim: int) -> frozenset[int]:
    """The axes of a value that go with a dimension of one element."""
    return frozenset(place for place, axis in enumerate(axes) if axis.dims == (dim,))


@lru_cache(maxsize=65536)
def dropped(graph: Graph, dim: int) -> Part | None:
    """The graph without a dimension, which is of one element; None where a value has no
    other, or reduces no other, or a window has padding around it alone."""
    for value in range(graph.count):
        axes = graph.axes(value)
        alone = [axes[place] for place in dropped_axes(axes, dim)]
        if any(axis.is_padded for axis in alone):
            return None
        if len(alone) == len(axes):
            return None
        if graph.is_node(value) and graph.node(value).reduced == (dim,):
            return None
    return canonical(without(graph, dim))
