"""A graph tile by tile: what loops compute, by the definition of the graph."""

from typing import Any

import numpy as np

from morello.spec.graphs.evaluate import evaluate
from morello.spec.graphs.graph import Graph
from morello.spec.index_map import IndexMap
from tests.graphs.random_graphs import input_shapes

Array = np.ndarray[Any, np.dtype[Any]]
Values = dict[int, Array]


def drawn_inputs(graph: Graph, sizes: tuple[int, ...], seed: int) -> Values:
    """Random inputs of a graph."""
    rng = np.random.default_rng(seed)
    shapes = input_shapes(graph, sizes)
    return {v: rng.standard_normal(s, np.float32) for v, s in shapes.items()}


def outputs_of(graph: Graph, sizes: tuple[int, ...], values: Values) -> Values:
    """The outputs, from inputs and what outputs hold."""
    read = [*range(len(graph.inputs)), *(v for v, adds in graph.modes.items() if adds)]
    results = evaluate(graph, sizes, [values[v] for v in read])
    return dict(zip(sorted(graph.modes), results, strict=True))


def tiled(
    graph: Graph, sizes: tuple[int, ...], values: Values, dim: int, step: int
) -> Values:
    """The outputs, computed ``step`` elements of a dimension at a time; the last tile
    is what remains."""
    held = {
        v: values[v].copy()
        if adds
        else np.empty(_shape(graph.axes(v), sizes), np.float32)
        for v, adds in graph.modes.items()
    }
    for first in range(0, sizes[dim], step):
        last = min(first + step, sizes[dim])
        tile = tuple(last - first if d == dim else s for d, s in enumerate(sizes))
        window = {v: _tile(graph.axes(v), dim, first, tile) for v in range(graph.count)}
        inputs = {v: values[v][window[v]] for v in range(len(graph.inputs))}
        inputs |= {v: held[v][window[v]] for v, adds in graph.modes.items() if adds}
        for value, array in outputs_of(graph, tile, inputs).items():
            held[value][window[value]] = array
    return held


def _shape(axes: tuple[IndexMap, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(axis.extent(sizes)) for axis in axes)


def _tile(
    axes: tuple[IndexMap, ...], dim: int, first: int, tile: tuple[int, ...]
) -> tuple[slice, ...]:
    """What a tile has of a value whose dimension ``dim`` begins at ``first``."""
    slices = []
    for axis in axes:
        begin = axis.steps.get(dim, 0) * first // axis.divisor
        slices.append(slice(begin, begin + int(axis.extent(tile))))
    return tuple(slices)
