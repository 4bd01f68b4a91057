"""``morello_transform.collapse``: two dimensions become one.

Before: a ``morello.compose`` op, or one whose operands all have every dimension. After:
the op on ``memref.collapse_shape`` of the operands that have the dimensions (handle
``body``).
"""

from morello.actions.dims.collapse import Collapse, Collapsed
from morello.dialect.build import build_spec_op
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.graphs.parts import joined


def apply_collapse(site: Site, action: Collapse) -> Left:
    """Build the op on the views."""
    collapsed, body = action.collapsed(site.spec.key), site.hole("body")
    assert isinstance(collapsed, Collapsed)
    assert body is not None
    memrefs = list(site.operands)
    for place, (operand, tensor) in enumerate(
        zip(site.spec.kind.operands, site.spec.tensors, strict=True)
    ):
        if collapsed.outer in operand.dims:
            axis = operand.axis(collapsed.outer)
            memrefs[place] = joined(memrefs[place], tensor.layout, axis)
    return {"body": build_spec_op(body.spec, [memrefs[i] for i in collapsed.operands])}


COLLAPSE = ActionOp.define(Collapse, ("body",), apply_collapse)
"""The op."""
