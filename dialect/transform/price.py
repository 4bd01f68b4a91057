"""The cost of a schedule: each action adds its own cost times the number of its runs.

The sum stands in the attribute ``morello.cost`` of the function, in 1/1000 cycles. For
a complete schedule it is the cost of the program by the model, whoever wrote it: with
the prices that the search has below the function's goal, which the attribute
``morello.goal`` keeps. A part of the sizes that calls may say is a goal of its own:
then the ops below it have the attribute. A function of several Specs has no goal; its
operands are taken to lie in L3.
"""

import functools

from morello.dialect.attributes import attribute_of, i64_attr, int_of, string_of
from morello.dialect.ops import spec_ops
from morello.errors import SpecError
from morello.machine import Target
from morello.mlir import ir, known_index
from morello.spec import Spec, parse_spec, print_spec

COST_ATTRIBUTE = "morello.cost"
"""On a function: the millicycles of a call, as far as its Specs are scheduled."""

TRIPS_ATTRIBUTE = "morello.trips"
"""On a loop whose bounds depend on the thread: the trips of the busiest one."""

COUNTED_ATTRIBUTE = "morello.counted"
"""On an ``scf.if`` with two ways, of which the first counts."""

GOAL_ATTRIBUTE = "morello.goal"
"""On a function: the text of the Spec that it held before the first action, alone. On
the ops of a part of the sizes of that: the text of the Spec of the part."""


def target_in_context(op: ir.Operation, spec: Spec, target: Target) -> Target:
    """The target with the prices below the goal of the function around a Spec op.

    Where no action has run yet, the Spec itself becomes the goal, if it is alone.
    """
    function = _function(op)
    if function is None:
        return target
    attribute = attribute_of(function, GOAL_ATTRIBUTE)
    if attribute is not None:
        goal = string_of(attribute, f"'{GOAL_ATTRIBUTE}'")
    elif COST_ATTRIBUTE in function.attributes or len(spec_ops(function)) != 1:
        return target
    else:
        goal = print_spec(spec, target.limits)
        text = ir.StringAttr.get(goal, op.context)
        function.attributes[GOAL_ATTRIBUTE] = text
    part = attribute_of(op, GOAL_ATTRIBUTE)
    if part is None:
        return _at(target, goal)
    return _at(target, string_of(part, f"'{GOAL_ATTRIBUTE}'"), goal)


def is_goal(op: ir.Operation, spec: Spec, target: Target) -> bool:
    """Whether a Spec op is the goal of its function, or that of a part of its sizes."""
    function = _function(op)
    holder = op if GOAL_ATTRIBUTE in op.attributes or function is None else function
    attribute = attribute_of(holder, GOAL_ATTRIBUTE)
    return attribute is not None and (
        string_of(attribute, f"'{GOAL_ATTRIBUTE}'") == print_spec(spec, target.limits)
    )


def part_goal(op: ir.Operation, spec: Spec, target: Target) -> None:
    """Make the Spec op of a part of the sizes a goal of its own."""
    text = print_spec(spec, target.limits)
    op.attributes[GOAL_ATTRIBUTE] = ir.StringAttr.get(text, op.context)


def pass_goal(op: ir.Operation, child: ir.Operation) -> None:
    """Hand the goal of a Spec op on to the op that replaces it."""
    if GOAL_ATTRIBUTE in op.attributes and GOAL_ATTRIBUTE not in child.attributes:
        child.attributes[GOAL_ATTRIBUTE] = op.attributes[GOAL_ATTRIBUTE]


@functools.lru_cache(maxsize=64)
def _at(target: Target, goal: str, whole: str | None = None) -> Target:
    limits = target.limits
    try:
        of_all_sizes = None if whole is None else parse_spec(whole, limits)
        return target.at(parse_spec(goal, limits), of_all_sizes)
    except SpecError as error:
        raise SpecError(f"'{GOAL_ATTRIBUTE}': {error.what}", error.remedy) from None


def charge(op: ir.Operation, cost: int) -> None:
    """Add the cost of rewriting ``op``, once for each time that it runs.

    Raises:
        SpecError: the sum is no number of 64 bits, or one of the attributes that it is
            made of is no integer.
    """
    function = _function(op)
    if function is None:
        return
    total = price_of(function) + cost * runs(op)
    if total > _MOST:
        raise SpecError(
            f"the function costs more than {_MOST} millicycles", "use smaller sizes"
        )
    function.attributes[COST_ATTRIBUTE] = i64_attr(total)


_MOST = (1 << 63) - 1
"""The greatest number of an attribute of 64 bits."""


def price_of(function: ir.Operation) -> int:
    """The millicycles of a call, as far as a schedule has run on a function.

    Raises:
        SpecError: the attribute is no integer.
    """
    attribute = attribute_of(function, COST_ATTRIBUTE)
    return 0 if attribute is None else int_of(attribute, f"'{COST_ATTRIBUTE}'")


def runs(op: ir.Operation) -> int:
    """How often an op runs in a call: the product of the trips of its loops.

    Iterations of a parallel loop run at the same time and count once; of ``scf.if``
    with `COUNTED_ATTRIBUTE` the first way is taken, and the second never.
    """
    count = 1
    block, parent = op.operation.block, op.parent
    while parent is not None and parent.operation.name != "func.func":
        loop = parent.operation
        if COUNTED_ATTRIBUTE in loop.attributes and block != loop.regions[0].blocks[0]:
            return 0
        trips = attribute_of(loop, TRIPS_ATTRIBUTE)
        if trips is not None:
            count *= int_of(trips, f"'{TRIPS_ATTRIBUTE}'")
        elif loop.name == "scf.for":
            count *= _trips(loop)
        block, parent = loop.block, loop.parent
    return count


def _function(op: ir.Operation) -> ir.Operation | None:
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        parent = parent.operation.parent
    return None if parent is None else parent.operation


def _trips(loop: ir.Operation) -> int:
    """The trips of a loop; 1 where bounds are not known, as of one around a Spec."""
    bounds = [known_index(loop.operands[i]) for i in range(3)]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds) or known[2] < 1:
        return 1
    lower, upper, step = known
    return max(-(-(upper - lower) // step), 0)
