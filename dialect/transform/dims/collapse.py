"""``morello_transform.collapse``: two dimensions become one.

Before: a ``morello.compose`` op, or one whose operands all have every dimension. After:
the op on ``memref.collapse_shape`` of the operands that have the dimensions (handle
``body``).
"""

from morello.actions.dims.collapse import Collapse
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.dims.view import build_on_views, view_at
from morello.dialect.transform.graphs.parts import joined


@op_of(Collapse, "body")
def apply_collapse(site: Site, action: Collapse) -> Left:
    """Build the op on the views."""
    view, memrefs = view_at(site, action), list(site.operands)
    outer = view.joined[0]
    for place, (operand, tensor) in enumerate(
        zip(site.spec.kind.operands, site.spec.tensors, strict=True)
    ):
        if outer in operand.dims:
            axis = operand.axis(outer)
            memrefs[place] = joined(memrefs[place], tensor.layout, axis)
    return build_on_views(site, view, memrefs)
