"""``morello_transform.range``: a program for smaller sizes, and one for greater.

Before: a Spec op with a size that each call says. After: an ``scf.if`` on the size. One
branch has the Spec op of sizes up to ``last`` (handle ``low``), the other that of the
sizes above (handle ``high``). First is the one that a call of the greatest size takes.
"""

from morello.actions import Range
from morello.dialect.sizes import (
    SIZE_ATTRIBUTE,
    chain_attribute,
    size_chain,
    size_value,
)
from morello.dialect.target import target_of
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.loops.nest import build_first, index
from morello.dialect.transform.price import COUNTED_ATTRIBUTE, is_goal, part_goal
from morello.mlir import dialect, ir


def apply_range(site: Site, action: Range) -> Left:
    """Build the comparison and both branches."""
    arith, scf = dialect("arith"), dialect("scf")
    chain, target = size_chain(site.op, site.spec), target_of(site.op)
    parts_goal = is_goal(site.op, site.spec, target)
    is_low = chain[0] <= action.last
    kind = arith.CmpIPredicate.ule if is_low else arith.CmpIPredicate.ugt
    size = size_value(site.op, site.spec)
    ways = scf.IfOp(arith.CmpIOp(kind, size, index(action.last)).result, has_else=True)
    ways.operation.attributes[COUNTED_ATTRIBUTE] = ir.UnitAttr.get()
    roles = ("low", "high") if is_low else ("high", "low")
    left = {}
    for role, block in zip(roles, (ways.then_block, ways.else_block), strict=True):
        hole = site.hole(role)
        assert hole is not None
        with ir.InsertionPoint(block):
            child = build_first(site, site.spec.ranges[0].dims, hole.spec)
            left[role] = child
            if parts_goal:
                part_goal(child, hole.spec, target)
            if hole.spec.ranges:
                child.attributes[SIZE_ATTRIBUTE] = chain_attribute(chain)
            scf.YieldOp([])
    return left


RANGE = ActionOp.define(Range, ("low", "high"), apply_range)
"""The op."""
