"""``morello_transform.drop``: a dimension of one element goes.

Before: a ``morello.compose`` op. After: the op on views of the operands that lack the
dimension (handle ``body``).
"""

from morello.actions.dims.drop import Drop
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.dims.view import build_on_views, view_at
from morello.dialect.transform.graphs.parts import without_axes
from morello.spec.graphs.collapsing import dropped_axes


@op_of(Drop, "body")
def apply_drop(site: Site, action: Drop) -> Left:
    """Build the op on the views."""
    kind = site.spec.kind
    dim, memrefs = kind.dims.index(action.dim), []
    for operand, tensor, memref in zip(
        kind.operands, site.spec.tensors, site.operands, strict=True
    ):
        gone = dropped_axes(operand.axes, dim)
        memrefs.append(without_axes(memref, tensor.layout, gone))
    return build_on_views(site, view_at(site, action), memrefs)
