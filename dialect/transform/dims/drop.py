"""``morello_transform.drop``: a dimension of one element goes.

Before: a ``morello.compose`` op. After: the op on views of the operands that lack the
dimension (handle ``body``).
"""

from morello.actions.dims.drop import Drop, Dropped
from morello.dialect.build import build_spec_op
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.graphs.parts import without_axes
from morello.spec.graphs.collapsing import dropped_axes


def apply_drop(site: Site, action: Drop) -> Left:
    """Build the op on the views."""
    dropped, body = action.dropped(site.spec.key), site.hole("body")
    assert isinstance(dropped, Dropped)
    assert body is not None
    kind, memrefs = site.spec.kind, {}
    for operand, tensor, value, memref in zip(
        kind.operands, site.spec.tensors, kind.values, site.operands, strict=True
    ):
        gone = dropped_axes(operand.axes, dropped.dim)
        memrefs[value] = without_axes(memref, tensor.layout, gone)
    values = (dropped.part.values[v] for v in body.spec.kind.values)
    return {"body": build_spec_op(body.spec, [memrefs[v] for v in values])}


DROP = ActionOp.define(Drop, ("body",), apply_drop)
"""The op."""
