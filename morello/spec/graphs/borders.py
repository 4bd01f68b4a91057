"""Borders of padded windows: the output rows whose windows reach beyond the image.

In the first and the last rows of the output some taps of the filter are outside the
image, where every element is 0 and adds nothing. Rows with the same taps inside the
image are computed by the graph without padding, from those taps and the part of the
image that they read.
"""

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from morello.spec.graphs.expression import Call, Reference, references
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.loops import loops
from morello.spec.index_map import IndexMap, dims_of
from morello.spec.tensors.layout import ceil_div


@dataclasses.dataclass(frozen=True)
class Border:
    """A dimension of the output along which windows reach beyond an input."""

    graph: Graph
    """Without padding along the dimension."""
    image: int
    """The input."""
    axis: int
    """The axis of the input that is read through windows."""
    rows: int
    """The dimension of the output."""
    taps: int
    """The dimension of the filter."""
    window: IndexMap
    """The axis."""


@dataclasses.dataclass(frozen=True)
class Strip:
    """Rows of the output with the same taps inside the image."""

    row: int
    """The first."""
    rows: int
    tap: int
    """The first."""
    taps: int
    place: int
    """The first place of the image that is read."""


@lru_cache(maxsize=4096)
def border(graph: Graph, dim: int) -> Border | None:
    """The border along a dimension of the output; None where there is none, or where it
    is not known that what is beyond the image adds nothing: it has to be a factor of
    what is summed over the taps."""
    edges = [
        (value, place, axis)
        for value, axes in enumerate(graph.inputs)
        for place, axis in enumerate(axes)
        if axis.is_padded and dim in axis.dims
    ]
    if len(edges) != 1:
        return None
    ((image, place, window),) = edges
    others = [d for d in window.dims if d != dim]
    if len(others) != 1 or min(window.before, window.after) < 0:
        return None
    (taps,) = others
    if not _adds_nothing(graph, image, taps):
        return None
    axes = list(graph.inputs[image])
    axes[place] = window.unpadded
    bare = graph.reading(image, tuple(axes))
    divided = dims_of(a for axes in bare.inputs for a in axes if a.is_divided)
    if divided & {dim, taps} or not loops(bare, dim):
        return None
    return Border(bare, image, place, dim, taps, window)


def _adds_nothing(graph: Graph, image: int, taps: int) -> bool:
    """Whether an input is but a factor of one sum, which alone reduces the taps."""
    readers = [v for v in graph.node_values if image in graph.arguments(v)]
    if len(readers) != 1:
        return False
    (reader,) = readers
    node = graph.node(reader)
    match node.reduction, node.expression:
        case "sum", Call("mul", factors):
            alone = Reference(image) in factors
            count = [*references(node.expression)].count(image)
        case _:
            return False
    rest = (v for v in graph.node_values if v != reader)
    elsewhere = any(
        taps in graph.dims_of(v) or taps in graph.node(v).reduced for v in rest
    )
    windows = [
        axis
        for value, axes in enumerate(graph.inputs)
        for axis in axes
        if not axis.is_plain and value != image and taps in axis.dims
    ]
    return alone and count == 1 and taps in node.reduced and not (elsewhere or windows)


@lru_cache(maxsize=4096)
def strips(border: Border, rows: int, taps: int) -> tuple[Strip, ...] | None:
    """The strips of an output of so many rows under a filter of so many taps, in order;
    None where a row has no tap inside the image, or none has all of them."""
    step, spread, before, extent = _measures(border, rows, taps)
    strips: list[Strip] = []
    for row in range(rows):
        start = step * row - before
        first = max(0, -(start // spread))
        end = min(taps, (extent - 1 - start) // spread + 1)
        if first >= end:
            return None
        known = strips[-1] if strips else None
        if known is not None and (known.tap, known.taps) == (first, end - first):
            strips[-1] = dataclasses.replace(known, rows=known.rows + 1)
        else:
            place = start + spread * first
            strips.append(Strip(row, 1, first, end - first, place))
    if not any(strip.taps == taps for strip in strips):
        return None
    return tuple(strips)


@lru_cache(maxsize=4096)
def taps_inside(border: Border, rows: int, taps: int) -> tuple[Strip, ...]:
    """For each tap of a filter, in order, the rows of an output whose windows have it
    inside the image; taps without any are left out."""
    step, spread, before, extent = _measures(border, rows, taps)
    strips = []
    for tap in range(taps):
        beyond = before - spread * tap
        first = max(0, ceil_div(beyond, step))
        end = min(rows, (extent - 1 + beyond) // step + 1)
        if first < end:
            place = step * first - beyond
            strips.append(Strip(first, end - first, tap, 1, place))
    return tuple(strips)


def _measures(border: Border, rows: int, taps: int) -> tuple[int, int, int, int]:
    """The steps of windows along rows and along taps, the places before the image, and
    the extent of the image."""
    steps = border.window.steps
    sizes = {border.rows: rows, border.taps: taps}
    extent = border.window.extent(tuple(sizes.get(d, 1) for d in range(max(steps) + 1)))
    return steps[border.rows], steps[border.taps], border.window.before, extent


@dataclasses.dataclass(frozen=True)
class Sides:
    """The strips along each dimension of an output whose windows reach beyond."""

    taps: dict[int, int]
    """The dimension of the filter for each of the output."""
    strips: dict[int, tuple[Strip, ...]]

    @staticmethod
    def of(graph: Graph, sizes: Sequence[Any]) -> "Sides | None":
        """The strips where padded dimensions have these sizes, which may be arrays of
        one number; None where one has none."""
        taps, sides = {}, {}
        reduced = {d for v in graph.node_values for d in graph.node(v).reduced}
        for dim in graph.padded_dims - reduced:
            edge = border(graph, dim)
            if edge is None:
                return None
            rows, count = (int(np.max(sizes[d])) for d in (dim, edge.taps))
            parts = strips(edge, rows, count)
            if parts is None:
                return None
            taps[dim], sides[dim] = edge.taps, parts
        return Sides(taps, sides)

    def share(self, dim: int) -> tuple[int, int]:
        """The taps of all rows that are inside the image, and all there are."""
        parts = self.strips[dim]
        most = max(part.taps for part in parts)
        inside = sum(part.rows * part.taps for part in parts)
        return inside, most * sum(part.rows for part in parts)

    def inside(self, dim: int, row: int) -> range:
        """The taps of a row that are inside the image."""
        for strip in self.strips[dim]:
            if row < strip.row + strip.rows:
                return range(strip.tap, strip.tap + strip.taps)
        raise AssertionError(f"no row {row}")


@lru_cache(maxsize=4096)
def padded(graph: Graph, value: int) -> Graph | None:
    """The graph on an input with zeros around it, if windows reach beyond; None for
    what is no input."""
    if graph.is_node(value):
        return None
    axes = tuple(axis.unpadded for axis in graph.axes(value))
    return graph.reading(value, axes)


def copied(axis: IndexMap, sizes: tuple[Any, ...]) -> Any:
    """How many elements of an axis are reached (integers or arrays)."""
    return axis.extent(sizes) + min(axis.before, 0) + min(axis.after, 0)
