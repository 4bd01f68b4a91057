"""Inputs in a buffer of their own: what is copied to where there is room."""

import dataclasses
from functools import lru_cache
from typing import Any

from morello.spec.graphs.graph import Graph
from morello.spec.index_map import IndexMap


@lru_cache(maxsize=4096)
def padded(graph: Graph, value: int) -> Graph | None:
    """The graph on an input with zeros around it, if windows reach beyond; None for
    what is no input."""
    if graph.is_node(value):
        return None
    axes = tuple(axis.unpadded for axis in graph.axes(value))
    inputs = (*graph.inputs[:value], axes, *graph.inputs[value + 1 :])
    return dataclasses.replace(graph, inputs=inputs)


def copied(axis: IndexMap, sizes: tuple[Any, ...]) -> Any:
    """How many elements of an axis are reached (integers or arrays)."""
    return axis.extent(sizes) + min(axis.before, 0) + min(axis.after, 0)
