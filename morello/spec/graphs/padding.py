"""Inputs in a buffer of their own: what is copied to where there is room."""

import dataclasses
from functools import lru_cache
from typing import Any

from morello.spec.graphs.graph import Graph
from morello.spec.operand import Axis, Window


@lru_cache(maxsize=4096)
def padded(graph: Graph, value: int) -> Graph | None:
    """The graph on an input with zeros around it, if windows reach beyond; None for
    what is no input."""
    if graph.is_node(value):
        return None
    axes = tuple(
        Window(axis.terms) if isinstance(axis, Window) else axis
        for axis in graph.axes(value)
    )
    inputs = (*graph.inputs[:value], axes, *graph.inputs[value + 1 :])
    return dataclasses.replace(graph, inputs=inputs)


def has_zeros(axis: Axis) -> bool:
    """Whether a window reaches places that are no elements."""
    return isinstance(axis, Window) and (axis.before > 0 or axis.after > 0)


def offset(axis: Axis) -> int:
    """Where the first element of an array is among the places of an axis."""
    return axis.before if isinstance(axis, Window) else 0


def copied(axis: Axis, sizes: tuple[Any, ...]) -> Any:
    """How many elements of an axis are reached (integers or arrays)."""
    if not isinstance(axis, Window):
        return sizes[axis]
    return axis.extent(sizes) + min(axis.after, 0)
