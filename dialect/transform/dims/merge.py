"""``morello_transform.merge``: taps and channels of a convolution as one dimension.

Before: a ``morello.compose`` op, both of whose factors have the channels after the taps
in memory. After: the op on views (handle ``body``): of the weights by a
``memref.collapse_shape``; of the image, which overlaps itself, by a
``memref.reinterpret_cast``.
"""

from morello.actions.dims.merge import Merge, Merged, merged_key
from morello.dialect.build import build_spec_op
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.graphs.parts import joined, overlapping
from morello.mlir import ir
from morello.spec import Layout
from morello.spec.graphs.merging import Taps
from morello.spec.index_map import IndexMap


def apply_merge(site: Site, action: Merge) -> Left:
    """Build the op on the views."""
    merged, body = merged_key(site.spec.key), site.hole("body")
    assert isinstance(merged, Merged)
    assert body is not None
    own, kind = merged.taps, site.spec.kind
    memrefs = dict(zip(kind.values, site.operands, strict=True))
    layouts = [tensor.layout for tensor in site.spec.tensors]
    sizes = site.spec.sizes
    memrefs[own.image] = _pieces(
        memrefs[own.image], layouts[own.image], own, sizes[own.kept], sizes[own.tap]
    )
    graph = kind.as_graph
    assert graph is not None
    axis = graph.axes(own.weights).index(IndexMap.of(own.tap))
    memrefs[own.weights] = joined(memrefs[own.weights], layouts[own.weights], axis)
    values = (merged.part.values[v] for v in body.spec.kind.values)
    return {"body": build_spec_op(body.spec, [memrefs[v] for v in values])}


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
