"""Thread-parallel regions: a loop with one iteration a thread, and conditions in it."""

from morello.dialect.attributes import i64_attr
from morello.dialect.memrefs import index
from morello.dialect.transform.price import TRIPS_ATTRIBUTE
from morello.mlir import dialect, ir


def build_team(threads: int) -> ir.Operation:
    """Finish the body of a parallel loop with one iteration for each thread.

    The block that it is in has the number of the thread as its argument.
    """
    scf = dialect("scf")
    bounds = [index(0), index(threads), index(1)]
    team = ir.Operation.create(
        "scf.parallel",
        operands=bounds,
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])},
        regions=1,
    )
    body = team.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(body):
        end: ir.Operation = scf.ReduceOp([], 0).operation
    return end


def build_where(condition: ir.Value, times: int) -> ir.Operation:
    """The end of a block that runs where a condition holds; it counts ``times`` times.

    What the threads do at the same time counts once, for the busiest of them.
    """
    scf = dialect("scf")
    branch = scf.IfOp(condition)
    branch.attributes[TRIPS_ATTRIBUTE] = i64_attr(times)
    with ir.InsertionPoint(branch.then_block):
        end: ir.Operation = scf.YieldOp([]).operation
    return end
