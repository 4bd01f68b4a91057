"""A convolution whose image has been copied window by window: a product of matrices.

``y[f,u,v] = sum(w[f,c,i,j] * x[c,u+i,v+j])`` is ``y[f,u,v] = sum(w[f,c,i,j] *
z[c,i,j,u,v])``, where z has each element of x once for every window that reads it. In z
what is summed lies side by side as it does in the filters, and so do the outputs: then
channels and taps are one dimension, rows and columns another.
"""

import dataclasses
from functools import lru_cache

from morello.spec.graphs.expression import references
from morello.spec.graphs.graph import Graph, Part, canonical
from morello.spec.index_map import plain
from morello.spec.tensors.layout import Layout, PhysicalDim


@dataclasses.dataclass(frozen=True)
class Windows:
    """The image of a convolution, and what its copy is indexed by."""

    image: int
    """The value that is read through windows."""
    places: tuple[tuple[int, int, int], ...]
    """For each axis of the copy: the dimension of the graph, the axis of the image that
    it moves along, and by how many elements."""
    innermost: int
    """The axis of the copy along which elements of the image are neighbours: the last
    one, or the taps of a row where outputs are some elements apart."""

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimension of the graph for each axis of the copy."""
        return tuple(dim for dim, _, _ in self.places)

    @property
    def layout(self) -> Layout:
        """The copy's axes in the order in which they are read."""
        order = [i for i in range(len(self.places)) if i != self.innermost]
        return Layout(tuple(map(PhysicalDim, (*order, self.innermost))))


@lru_cache(maxsize=65536)
def windows(graph: Graph) -> Windows | None:
    """The image that can be copied, whether it has padding or not; None for none.

    The graph is one contraction, whose image has windows innermost. The copy has the
    plain axes of the image first, then the taps, then the outputs.
    """
    if len(graph.nodes) != 1 or not graph.contractions:
        return None
    (contraction,) = graph.contractions
    node = graph.node(contraction)
    images = [
        value
        for value in references(node.expression)
        if not all(axis.is_plain for axis in graph.axes(value))
    ]
    if len(images) != 1 or graph.is_node(images[0]):
        return None
    if any(axis.is_divided for axis in graph.axes(images[0])):
        return None
    others: list[tuple[int, int, int]] = []
    taps: list[tuple[int, int, int]] = []
    outputs: list[tuple[int, int, int]] = []
    for place, axis in enumerate(graph.axes(images[0])):
        if axis.dim is not None:
            others.append((axis.dim, place, 1))
            continue
        for dim, step in axis.terms:
            (taps if dim in node.reduced else outputs).append((dim, place, step))
    last = len(graph.axes(images[0])) - 1
    places = (*others, *taps, *outputs)
    inside = [i for i, one in enumerate(places) if one[1:] == (last, 1)]
    if not taps or not outputs or outputs[-1][1] != last or not inside:
        return None
    return Windows(images[0], places, inside[-1])


@lru_cache(maxsize=65536)
def unfolded(graph: Graph, windows: Windows) -> Part:
    """Graph that reads the unfolded copy of its image."""
    return canonical(graph.reading(windows.image, plain(*windows.dims)))
