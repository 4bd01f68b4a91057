"""The Spec ops, one a kind: to add one, write its module and list it here."""

from morello.dialect.fill import FillOp
from morello.dialect.matmul import MatmulOp
from morello.dialect.max import MaxOp
from morello.dialect.move import MoveOp
from morello.dialect.spec_op import SpecOp
from morello.mlir import ir
from morello.spec import Kind

_ALL: tuple[type[SpecOp], ...] = (MatmulOp, MoveOp, FillOp, MaxOp)

SPEC_OPS: dict[str, type[SpecOp]] = {op.OPERATION_NAME: op for op in _ALL}
"""Spec ops by their name, ``morello.…``."""

KINDS: dict[str, type[Kind]] = {op.kind_class.name: op.kind_class for op in _ALL}
"""The class of each kind by its name."""


def spec_ops(root: ir.Operation) -> list[ir.Operation]:
    """The Spec ops within an op, in the order of the text; itself if it is one."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in SPEC_OPS:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
