"""``morello_transform.specialize_range``: two programs, chosen by an operand's values.

Before: a Spec op. After: a ``morello.range_check`` of the operand and an ``scf.if`` on
its result. The first branch has the Spec op on the operand in the dtype of the smaller
range (handle ``in_range``), the second in its own dtype (handle ``general``), both in
the nearer cache.
"""

from morello.actions import SpecializeRange
from morello.dialect.build import build_spec_op
from morello.dialect.range_check import build_range_check
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.price import COUNTED_ATTRIBUTE
from morello.mlir import dialect, ir


@op_of(SpecializeRange, "in_range", "general")
def apply_specialize_range(site: Site, action: SpecializeRange) -> Left:
    """Build the check and both branches."""
    index = [o.name for o in site.spec.kind.operands].index(action.operand)
    source = site.spec.tensors[index]
    part = source.dtype.part
    assert part is not None  # expand has seen to it
    sizes = site.spec.shape(index)
    scf = dialect("scf")
    in_range = build_range_check(site.operands[index], source, sizes, part)
    ways = scf.IfOp(in_range, has_else=True)
    ways.operation.attributes[COUNTED_ATTRIBUTE] = ir.UnitAttr.get()
    left = {}
    blocks = {"in_range": ways.then_block, "general": ways.else_block}
    for hole in site.rewrite.holes:
        with ir.InsertionPoint(blocks[hole.role]):
            left[hole.role] = build_spec_op(hole.spec, site.operands)
            scf.YieldOp([])
    return left
