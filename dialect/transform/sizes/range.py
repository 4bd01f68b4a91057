"""``morello_transform.range``: a program for smaller sizes, and one for greater.

Before: a Spec op with a size that each call says. After: an ``scf.if`` on the size. One
branch has the Spec op of sizes up to ``last`` (handle ``low``), the other that of the
sizes above (handle ``high``). First is the one that a call of the greatest size takes.
"""

from morello.actions import Range
from morello.dialect.memrefs import index
from morello.dialect.sizes import set_sizes, size_value, sizes_of
from morello.dialect.target import target_of
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.loops.nest import build_first
from morello.dialect.transform.price import COUNTED_ATTRIBUTE, is_goal, part_goal
from morello.mlir import dialect, ir


@op_of(Range, "low", "high")
def apply_range(site: Site, action: Range) -> Left:
    """Build the comparison and both branches."""
    arith, scf = dialect("arith"), dialect("scf")
    sizes, target = sizes_of(site.op, site.spec), target_of(site.op)
    dim = site.spec.kind.dims.index(action.dim)
    number = next(n for n, one in enumerate(site.spec.ranges) if dim in one.dims)
    parts_goal = is_goal(site.op, site.spec, target)
    is_low = sizes[number].greatest <= action.last
    kind = arith.CmpIPredicate.ule if is_low else arith.CmpIPredicate.ugt
    size = size_value(site.op, site.spec, number)
    ways = scf.IfOp(arith.CmpIOp(kind, size, index(action.last)).result, has_else=True)
    ways.operation.attributes[COUNTED_ATTRIBUTE] = ir.UnitAttr.get()
    roles = ("low", "high") if is_low else ("high", "low")
    left = {}
    for role, block in zip(roles, (ways.then_block, ways.else_block), strict=True):
        hole = site.holes[role]
        with ir.InsertionPoint(block):
            child = build_first(site, site.spec.ranges[number].dims, hole.spec)
            left[role] = child
            if parts_goal:
                part_goal(child, hole.spec, target)
            set_sizes(child, [sizes[n] for n in hole.follows])
            scf.YieldOp([])
    return left
