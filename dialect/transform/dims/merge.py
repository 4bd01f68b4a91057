"""``morello_transform.merge``: taps and channels of a convolution as one dimension.

Before: a ``morello.compose`` op, both of whose factors have the channels after the taps
in memory. After: the op on views (handle ``body``): of the weights by a
``memref.collapse_shape``; of the image, which overlaps itself, by a
``memref.reinterpret_cast``.
"""

from morello.actions.dims.merge import Merge
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.dims.view import build_on_views, view_at
from morello.dialect.transform.graphs.parts import joined, overlapping
from morello.mlir import ir
from morello.spec import Layout
from morello.spec.graphs.merging import Taps, taps
from morello.spec.index_map import IndexMap


def apply_merge(site: Site, action: Merge) -> Left:
    """Build the op on the views."""
    kind, memrefs = site.spec.kind, list(site.operands)
    graph = kind.as_graph
    own = None if graph is None else taps(graph)
    assert graph is not None
    assert own is not None
    layouts = [tensor.layout for tensor in site.spec.tensors]
    sizes = site.spec.sizes
    memrefs[own.image] = _pieces(
        memrefs[own.image], layouts[own.image], own, sizes[own.kept], sizes[own.tap]
    )
    axis = graph.axes(own.weights).index(IndexMap.of(own.tap))
    memrefs[own.weights] = joined(memrefs[own.weights], layouts[own.weights], axis)
    return build_on_views(site, view_at(site, action), memrefs)


def _pieces(
    image: ir.Value, layout: Layout, own: Taps, count: int, reach: int
) -> ir.Value:
    """The image as pieces of as many pixels as there are taps, one for each output."""
    source = ir.MemRefType(image.type)
    strides, _ = source.get_strides_and_offset()
    shape, steps = list(source.shape), list(strides)
    dims = [d.dim for d in layout.dims]
    window, channels = dims.index(own.window), dims.index(own.channels)
    shape[window] = count
    steps[window] *= own.step
    shape[channels] *= reach
    return overlapping(image, shape, steps)


MERGE = ActionOp.define(Merge, ("body",), apply_merge)
"""The op."""
