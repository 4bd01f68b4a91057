"""The cost of a program under other coefficients, by its actions."""

from morello.machine import Target
from morello.search import Branch, Impl


def reprice(impl: Impl, target: Target) -> Impl:
    """Copy a program, with its costs computed for ``target``.

    Raises:
        ScheduleError: an action does not apply on this target.
    """
    target = target.at(impl.spec)
    known: dict[int, Impl] = {}

    def visit(node: Impl) -> Impl:
        priced = known.get(id(node))
        if priced is None:
            branches = tuple(
                Branch(branch.role, branch.times, visit(branch.impl))
                for branch in node.branches
            )
            rewrite = node.action.apply(node.spec, target)
            cost = rewrite.total(tuple(branch.impl.cost for branch in branches))
            priced = known[id(node)] = Impl(node.spec, node.action, cost, branches)
        return priced

    return visit(impl)
