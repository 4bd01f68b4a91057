"""`morello-parallelize`: parallel loops by OpenMP.

Before::

    scf.parallel (%t) = (%c0) to (%c2) step (%c1) { %r = memref.alloca() … }

After::

    %here = llvm.call @sched_getcpu()
    omp.parallel num_threads(%c2) {
      llvm.call @morello_leave_processor(%here)
      %r = memref.alloca()                    // each thread has its own
      omp.wsloop { omp.loop_nest (%t) : index = (%c0) to (%c2) step (%c1) { … } }
    }
"""

import dataclasses
from typing import ClassVar

from morello.mlir import all_ops, dialect, ir
from morello.passes.base import Pass, PassFailure
from morello.passes.parts.thread_affinity import spread_threads

arith = dialect("arith")

_LOOP = "scf.parallel"


@dataclasses.dataclass(frozen=True)
class Parallelize(Pass):
    """Turn parallel loops into OpenMP regions with one thread for each iteration.

    Before: ``scf.parallel`` in one dimension, without reductions, not nested, after
    ``morello-plan-memory``: every ``memref.alloca`` stands at its start. After:
    ``omp.parallel``, ``omp.wsloop`` and ``omp.loop_nest`` in their places, which
    ``morello-lower-to-llvm`` lowers; threads leave the processor where their team
    began (`spread_threads`). Without this pass the loops run serially. Refuses: other
    parallel loops.
    """

    name: ClassVar[str] = "morello-parallelize"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every parallel loop of ``module``.

        Raises:
            PassFailure: at the loop that is refused.
        """
        loops = all_ops(module, _LOOP, outer_first=True)
        for loop in loops:
            _check(loop)
        teams = []
        for loop in loops:
            with loop.context, loop.location:
                teams.append(_rewrite(loop))
        spread_threads(teams)


def _check(loop: ir.Operation) -> None:
    """Refuse a loop that is not of the one form.

    Raises:
        PassFailure: at the loop.
    """
    if len(loop.operands) != 3 or len(loop.results):
        raise PassFailure(
            loop.location,
            f"{_LOOP} has several dimensions or a reduction; write one dimension, and "
            "reduce by a serial loop",
        )
    parent = loop.parent
    while parent is not None:
        if parent.operation.name == _LOOP:
            raise PassFailure(
                loop.location,
                f"{_LOOP} stands in another; make one of them a serial loop",
            )
        parent = parent.operation.parent


def _rewrite(loop: ir.Operation) -> ir.Operation:
    lower, upper, step = loop.operands
    with ir.InsertionPoint(loop):
        i32 = ir.IntegerType.get_signless(32)
        threads = arith.IndexCastOp(i32, upper).result
        team = _op("omp.parallel", [threads], [0, 0, 0, 1, 0, 0])
    region = team.regions[0].blocks.append()
    with ir.InsertionPoint(region):
        share = _op("omp.wsloop", [], [0] * 7)
        ir.Operation.create("omp.terminator")
    with ir.InsertionPoint(share.regions[0].blocks.append()):
        nest = _op("omp.loop_nest", [lower, upper, step])
    body = nest.regions[0].blocks.append(upper.type)
    with ir.InsertionPoint(body):
        end = ir.Operation.create("omp.yield")
    old = loop.regions[0].blocks[0]
    old.arguments[0].replace_all_uses_with(body.arguments[0])
    for op in list(old.operations)[:-1]:
        operation = op.operation
        operation.move_before(share if operation.name == "memref.alloca" else end)
    loop.erase()
    return team


def _op(
    name: str, operands: list[ir.Value], segments: list[int] | None = None
) -> ir.Operation:
    """An op with one region at the insertion point."""
    attributes: dict[str, ir.Attribute] = {}
    if segments is not None:
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(segments)
    return ir.Operation.create(
        name, operands=operands, attributes=attributes, regions=1
    )
