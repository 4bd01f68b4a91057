"""``morello_transform.narrow``: two programs, by what an operand's values are.

Before: a Spec op. After: a ``morello.within`` of the operand and an ``scf.if`` by it,
with the Spec op on the operand in its narrower dtype, in the nearer cache (handle
``narrow``), and else the one in its own dtype, there as well (handle ``wide``).
"""

from morello.actions import Narrow
from morello.dialect.build import build_spec_op
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.price import COUNTED_ATTRIBUTE
from morello.dialect.within import build_within
from morello.mlir import dialect, ir


def apply_narrow(site: Site, action: Narrow) -> Left:
    """Build the look, and both ways."""
    index = [o.name for o in site.spec.kind.operands].index(action.operand)
    source = site.spec.tensors[index]
    part = source.dtype.part
    assert part is not None  # expand has seen to it
    sizes = site.spec.shape(index)
    scf = dialect("scf")
    found = build_within(site.operands[index], source, sizes, part)
    ways = scf.IfOp(found, has_else=True)
    ways.operation.attributes[COUNTED_ATTRIBUTE] = ir.UnitAttr.get()
    left = {}
    blocks = {"narrow": ways.then_block, "wide": ways.else_block}
    for hole in site.rewrite.holes:
        with ir.InsertionPoint(blocks[hole.role]):
            left[hole.role] = build_spec_op(hole.spec, site.operands)
            scf.YieldOp([])
    return left


NARROW = ActionOp.define(Narrow, ("narrow", "wide"), apply_narrow)
