"""``morello_transform.collapse``: two dimensions become one.

Before: a ``morello.compose`` op. After: the op on ``memref.collapse_shape`` of the
operands that have the dimensions (handle ``body``).
"""

from morello.actions.collapse import Collapse, Collapsed
from morello.dialect.build import build_spec_op
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.graph_parts import joined


def apply_collapse(site: Site, action: Collapse) -> Left:
    """Build the op on the views."""
    found, body = action.collapsed(site.spec.key), site.hole("body")
    assert isinstance(found, Collapsed)
    assert body is not None
    kind, memrefs = site.spec.kind, {}
    for operand, tensor, value, memref in zip(
        kind.operands, site.spec.tensors, kind.values, site.operands, strict=True
    ):
        memrefs[value] = memref
        if found.outer in operand.dims:
            axis = operand.axis(found.outer)
            memrefs[value] = joined(memref, tensor.layout, axis)
    values = (found.part.values[v] for v in body.spec.kind.values)
    return {"body": build_spec_op(body.spec, [memrefs[v] for v in values])}


COLLAPSE = ActionOp.define(Collapse, ("body",), apply_collapse)
"""The op."""
