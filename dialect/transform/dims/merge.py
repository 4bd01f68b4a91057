"""``morello_transform.merge``: taps and channels of a convolution as one dimension.

Before: a ``morello.compose`` op, both of whose factors have the channels after the taps
in memory. After: the op on views (handle ``body``): of the weights by a
``memref.collapse_shape``; of the image, which overlaps itself, by a
``memref.reinterpret_cast``.
"""

from morello.actions.dims.merge import Merge
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.dims.view import build_on_views, view_at
from morello.dialect.transform.graphs.parts import joined, overlapping
from morello.mlir import ir
from morello.spec import Layout
from morello.spec.graphs.merging import Taps, taps
from morello.spec.index_map import IndexMap


@op_of(Merge, "body")
def apply_merge(site: Site, action: Merge) -> Left:
    """Build the op on the views."""
    kind, memrefs = site.spec.kind, list(site.operands)
    graph = kind.as_graph
    parts = None if graph is None else taps(graph)
    assert graph is not None
    assert parts is not None
    layouts = [tensor.layout for tensor in site.spec.tensors]
    sizes = site.spec.sizes
    memrefs[parts.image] = _pieces(
        memrefs[parts.image],
        layouts[parts.image],
        parts,
        sizes[parts.out_dim],
        sizes[parts.tap],
    )
    axis = graph.axes(parts.weights).index(IndexMap.of(parts.tap))
    memrefs[parts.weights] = joined(
        memrefs[parts.weights], layouts[parts.weights], axis
    )
    return build_on_views(site, view_at(site, action), memrefs)


def _pieces(
    image: ir.Value, layout: Layout, parts: Taps, count: int, reach: int
) -> ir.Value:
    """The image as pieces of as many pixels as there are taps, one for each output."""
    source = ir.MemRefType(image.type)
    strides, _ = source.get_strides_and_offset()
    shape, steps = list(source.shape), list(strides)
    dims = [d.dim for d in layout.dims]
    window, channels = dims.index(parts.window), dims.index(parts.channels)
    shape[window] = count
    steps[window] *= parts.step
    shape[channels] *= reach
    return overlapping(image, shape, steps)
