"""Taps of a convolution and channels as one dimension, where these are neighbours.

With channels innermost, what one output reads of a row of the image is a piece of it:
taps and channels together. So ``y[f,u,v] = sum(w[f,i,j,c] * x[2*u+i,2*v+j,c])`` is
``y[f,u,v] = sum(w[f,i,k] * z[2*u+i,v,k])``, with k for j and c. Pieces of neighbours
overlap in memory: z is a view of x, in steps of 2 pixels from v to v.
"""

import dataclasses
from functools import lru_cache

from morello.spec.graphs.expression import references
from morello.spec.graphs.graph import Graph, Part, canonical
from morello.spec.index_map import IndexMap, plain_dims
from morello.spec.tensors.layout import Layout, PhysicalDim


@dataclasses.dataclass(frozen=True)
class Taps:
    """A convolution, and what can be merged in it."""

    contraction: int
    """The node that it is; others are computed after it."""
    image: int
    """The value that is read through windows."""
    weights: int
    """The value that is the filter."""
    window: int
    """The axis of the image that taps move along."""
    channels: int
    """The axis of the image that has the channels."""
    out_dim: int
    """The dimension of the window that the output has."""
    step: int
    """By which that moves along the axis."""
    tap: int
    """The dimension of the taps."""
    channel: int
    """The dimension of the channels."""

    def _pair(self, graph: Graph, value: int) -> tuple[int, int] | None:
        """The axes of taps and channels of a factor; None for another value."""
        if value == self.image:
            return self.window, self.channels
        if value == self.weights:
            axes = graph.axes(value)
            return axes.index(IndexMap.of(self.tap)), axes.index(
                IndexMap.of(self.channel)
            )
        return None

    def is_ready(self, graph: Graph, value: int, layout: Layout) -> bool:
        """Whether in a layout the channels of a factor follow upon the taps, those of
        the image innermost."""
        pair = self._pair(graph, value)
        dims = [d.dim for d in layout.dims]
        if pair is None or layout.is_packed:
            return False
        taps, channels = map(dims.index, pair)
        last = value != self.image or channels == len(dims) - 1
        return channels == taps + 1 and last

    def layout(self, graph: Graph, value: int) -> Layout | None:
        """A layout of a factor that is ready; None for another value.

        The dimensions that the output has of the weights are innermost, as the columns
        of a product are.
        """
        pair = self._pair(graph, value)
        if pair is None:
            return None
        axes = graph.axes(value)
        node = graph.node(self.contraction)
        inner_dims = () if value == self.image else node.axes
        inner = [i for i, axis in enumerate(axes) if axis.dim in inner_dims]
        outer = [i for i in range(len(axes)) if i not in (*pair, *inner)]
        return Layout(tuple(map(PhysicalDim, (*outer, *pair, *inner))))


@lru_cache(maxsize=65536)
def taps(graph: Graph) -> Taps | None:
    """Taps and channels of a convolution that can be merged in one dimension, whether
    the image has padding or not; None where there are none.

    The channels are the last dimension that both factors sum by itself, the taps those
    of the last window that move one by one.
    """
    if len(graph.contractions) != 1:
        return None
    node = graph.node(graph.contractions[0])
    factors = tuple(references(node.expression))
    images = [v for v in factors if not all(a.is_plain for a in graph.axes(v))]
    alone = all(len(graph.above(v)) == 1 for v in factors)
    if len(images) != 1 or not alone or any(map(graph.is_node, factors)):
        return None
    (image,) = images
    (weights,) = (v for v in factors if v != image)
    filter_dims = plain_dims(graph.axes(weights))
    channels = {*plain_dims(graph.axes(image))} & {*filter_dims} & {*node.reduced}
    for place in reversed(range(len(graph.axes(image)))):
        axis = graph.axes(image)[place]
        if not channels or len(axis.terms) != 2:
            continue
        moved = [(d, s) for d, s in axis.terms if d in node.axes]
        tapped = [
            d
            for d, s in axis.terms
            if d in node.reduced and s == 1 and d in filter_dims
        ]
        if len(moved) == 1 and len(tapped) == 1:
            channel = max(channels)
            pair = {channel, tapped[0]}
            if any(pair & graph.dims_of(v) for v in graph.node_values):
                return None
            at = graph.axes(image).index(IndexMap.of(channel))
            dims = place, at, *moved[0], tapped[0], channel
            return Taps(graph.contractions[0], image, weights, *dims)
    return None


@lru_cache(maxsize=65536)
def merged(graph: Graph, taps: Taps) -> Part:
    """The graph with one dimension, called as the channels were, for both.

    The axis of the image that was a window is the dimension that the output has; the
    weights lack the axis of the taps.
    """
    node = graph.node(taps.contraction)
    image = list(graph.axes(taps.image))
    image[taps.window] = IndexMap.of(taps.out_dim)
    weights = [axis for axis in graph.axes(taps.weights) if axis.dim != taps.tap]
    bare = graph.reading(taps.image, tuple(image))
    bare = bare.reading(taps.weights, tuple(weights))
    nodes = list(graph.nodes)
    reduced = tuple(d for d in node.reduced if d != taps.tap)
    nodes[taps.contraction - len(graph.inputs)] = dataclasses.replace(
        node, reduced=reduced
    )
    return canonical(dataclasses.replace(bare, nodes=tuple(nodes)))
