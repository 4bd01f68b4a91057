"""Choices by data: all branches are computed, and their results are selected."""

from collections.abc import Callable

from morello.frontends.stablehlo.elements import compared, splat
from morello.mlir import all_ops, build_value, ir, replace_op

_CHOICES = ("stablehlo.case", "stablehlo.if")


def selected(module: ir.Operation) -> None:
    """Write out the choices of a module in place, but those with loops in a branch,
    which may have no end where the branch is not taken."""
    for op in all_ops(module, *_CHOICES):
        if not any(all_ops(branch, "stablehlo.while") for branch in _ops_inside(op)):
            _select(op)


def _ops_inside(op: ir.Operation) -> list[ir.Operation]:
    return [
        inner.operation
        for region in op.regions
        for block in region.blocks
        for inner in block.operations
    ]


def _select(op: ir.Operation) -> None:
    with op.location, ir.InsertionPoint(op):
        branches = [_written_out(region.blocks[0], op) for region in op.regions]
        if op.name == "stablehlo.if":
            branches.reverse()
            results = branches[0]
            conditions: list[Callable[[], ir.Value]] = [lambda: op.operands[0]]
        else:  # the last one where the index is none of theirs
            results = branches.pop()
            conditions = [
                lambda place=place: _equals(op.operands[0], place)  # type: ignore[misc]
                for place in range(len(branches))
            ]
            branches = [results, *branches]
        for condition, branch in zip(conditions, branches[1:], strict=True):
            truth = condition()
            results = [
                build_value("stablehlo.select", other.type, truth, one, other)
                for one, other in zip(branch, results, strict=True)
            ]
    replace_op(op, *results)


def _written_out(block: ir.Block, at: ir.Operation) -> list[ir.Value]:
    """The results of a branch, whose ops are moved before an op."""
    ops = [inner.operation for inner in block.operations]
    for inner in ops[:-1]:
        inner.move_before(at)
    return list(ops[-1].operands)


def _equals(index: ir.Value, number: int) -> ir.Value:
    return compared("EQ", index, splat(index.type, number))
