"""Threads of a team run on distinct processors: `spread_threads`.

The scheduler often wakes a sleeping thread on the processor of the thread that wakes
it. The two then share that processor until the scheduler moves one of them, which may
take many calls of a kernel. A worker thread that finds itself on the processor where
its team began therefore moves to another one.

The check compares two numbers in each parallel region. Only a thread that shares the
processor makes three system calls, if the team has no more threads than there are
processors in its affinity mask.
"""

from collections.abc import Iterable
from pathlib import Path

from morello.mlir import ir

_LEAVE = "morello_leave_processor"
_GETCPU = "sched_getcpu"

_TEXT = Path(__file__).with_suffix(".mlir")
"""The function `_LEAVE` and the declarations of what it calls."""


def spread_threads(teams: Iterable[ir.Operation]) -> None:
    """Make the threads of each team leave the processor where the team began.

    Args:
        teams: ``omp.parallel`` ops in functions of a module.
    """
    teams = list(teams)
    if not teams:
        return
    module = teams[0]
    while module.parent is not None:
        module = module.parent.operation
    with module.context, module.location:
        _declare(module)
        for team in teams:
            with ir.InsertionPoint(team), team.location:
                here = _call(_GETCPU, [], [ir.IntegerType.get_signless(32)])
            start = ir.InsertionPoint.at_block_begin(team.regions[0].blocks[0])
            with start, team.location:
                _call(_LEAVE, [here.results[0]], [])


def _declare(module: ir.Operation) -> None:
    """Declare the called functions at the end of the module, unless it has them."""
    block = module.regions[0].blocks[0]
    names = (op.attributes["sym_name"] for op in block if "sym_name" in op.attributes)
    has = {ir.StringAttr(name).value for name in names}
    source = ir.Module.parse(_TEXT.read_text())
    for function in list(source.body):
        if ir.StringAttr(function.attributes["sym_name"]).value not in has:
            block.append(function.operation.clone())


def _call(name: str, operands: list[ir.Value], results: list[ir.Type]) -> ir.Operation:
    return ir.Operation.create(
        "llvm.call",
        results,
        operands,
        {
            "callee": ir.FlatSymbolRefAttr.get(name),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        },
    )
