"""What a schedule costs: each action adds its own cost, as often as it runs.

The sum stands in the attribute ``morello.cost`` of the function, in 1/1000 cycles. For
a complete schedule it is the cost of the program by the model, whoever wrote it.
"""

from morello.mlir import ir

COST_ATTRIBUTE = "morello.cost"
"""On a function: the millicycles of a call, as far as its Specs are scheduled."""

TRIPS_ATTRIBUTE = "morello.trips"
"""On a loop whose bounds depend on the thread: the trips of the busiest one."""


def charge(op: ir.Operation, cost: int) -> None:
    """Add the cost of rewriting ``op``, once for each time that it runs."""
    function = _function(op)
    if function is None:
        return
    total = price_of(function) + cost * runs(op)
    kind = ir.IntegerType.get_signless(64)
    function.attributes[COST_ATTRIBUTE] = ir.IntegerAttr.get(kind, total)


def price_of(function: ir.Operation) -> int:
    """The millicycles of a call, as far as a schedule has run on a function."""
    if COST_ATTRIBUTE not in function.attributes:
        return 0
    return int(ir.IntegerAttr(function.attributes[COST_ATTRIBUTE]).value)


def runs(op: ir.Operation) -> int:
    """How often an op runs in a call: the product of the trips of its loops.

    Iterations of a parallel loop run at the same time and count once.
    """
    count = 1
    parent = op.parent
    while parent is not None:
        loop = parent.operation
        if TRIPS_ATTRIBUTE in loop.attributes:
            count *= int(ir.IntegerAttr(loop.attributes[TRIPS_ATTRIBUTE]).value)
        elif loop.name == "scf.for":
            lower, upper, step = (_constant(loop.operands[i]) for i in range(3))
            count *= -(-(upper - lower) // step)
        parent = loop.parent
    return count


def _function(op: ir.Operation) -> ir.Operation | None:
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        parent = parent.operation.parent
    return None if parent is None else parent.operation


def _constant(value: ir.Value) -> int:
    """The number that an index constant is."""
    return int(ir.IntegerAttr(value.owner.attributes["value"]).value)
