"""``morello_transform.squeeze``: a contraction of one row and one tap as a product.

Before: a ``morello.compose`` op of which all dimensions but three are 1. After: a
``morello.matmul`` on the same memory (handle ``body``).
"""

from morello.actions.dims.squeeze import Squeeze, product_of
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.dims.view import view_at
from morello.dialect.transform.graphs.parts import narrowed, with_ones


@op_of(Squeeze, "body")
def apply_squeeze(site: Site, action: Squeeze) -> Left:
    """Build the product on views of the operands."""
    kind = site.spec.kind
    inner = product_of(site.spec.key)
    assert inner is not None
    operands = []
    for operand, place in enumerate(view_at(site, action).operands):
        view = narrowed(
            site.operands[place],
            site.spec.tensors[place].layout,
            kind.operands[place],
            inner,
            operand,
        )
        operands.append(with_ones(view, inner.ones(operand)))
    return site.fill({"body": operands})
