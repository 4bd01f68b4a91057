"""A graph in f32 with sums in any order: what a right kernel may compute."""

from typing import Any

import numpy as np

from morello.spec.elements.arrays import ArrayElements
from morello.spec.graphs.expression import computed
from morello.spec.graphs.graph import MAP, Graph

Array = np.ndarray[Any, np.dtype[Any]]

_FUNCTION = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def in_any_order(
    graph: Graph, sizes: tuple[int, ...], arrays: tuple[Array, ...], seed: int
) -> tuple[Array, ...]:
    """The outputs; terms are added one by one, in f32, in an order that the seed
    gives. Outputs that add hold nothing yet."""
    rng = np.random.default_rng(seed)
    values = dict(enumerate(arrays))
    for value in graph.node_values:
        node = graph.node(value)
        dims = (*node.axes, *node.reduced)
        mesh = _mesh(graph, node.expression, dims, sizes, values)
        if node.reduction != MAP:
            outer = mesh.shape[: len(node.axes)]
            terms = mesh.reshape(*outer, -1)
            terms = rng.permuted(terms, axis=-1)
            mesh = _FUNCTION[node.reduction].accumulate(terms, axis=-1)[..., -1]
        values[value] = mesh.astype(np.float32)
    return tuple(values[out.value] for out in graph.outputs)


def _mesh(
    graph: Graph,
    expression: Any,
    dims: tuple[int, ...],
    sizes: tuple[int, ...],
    values: dict[int, Array],
) -> Array:
    index = dict(zip(dims, np.ix_(*(range(sizes[d]) for d in dims)), strict=True))

    def read(value: int) -> Array:
        at = tuple(
            axis.at(index) + np.asarray(max(-axis.before, 0))
            for axis in graph.axes(value)
        )
        around = [
            (max(axis.before, 0), max(axis.after, 0)) for axis in graph.axes(value)
        ]
        taken: Array = np.pad(values[value], around)[at]
        return taken

    shape = tuple(sizes[d] for d in dims)
    return np.broadcast_to(computed(expression, ArrayElements(()), read), shape)
