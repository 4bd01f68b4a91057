"""The Spec ops: one a kind, generated from the list of kinds."""

import types
from typing import Any

from morello.dialect.definition import Operand
from morello.dialect.operand_groups import operand_groups
from morello.dialect.options import option_constraints
from morello.dialect.spec_op import SpecOp
from morello.mlir import all_ops, ir
from morello.spec import Kind
from morello.spec.kinds import KINDS, instances_of


def _spec_op(kind: type[Kind]) -> type[SpecOp]:
    """The op of a kind: a memref for each operand, an attribute for each option."""
    operands: dict[str, Any] = dict.fromkeys(
        (o.name for o in instances_of(kind)[0].operands), Operand[Any]
    )
    if kind.is_variadic:
        operands = operand_groups()
    body: dict[str, Any] = {
        "__doc__": kind.__doc__,
        "__annotations__": (
            option_constraints(kind) | operands
            if kind.is_variadic
            else operands | option_constraints(kind)
        ),
        "kind_class": kind,
        **(dict.fromkeys(operands) if kind.is_variadic else {}),
    }
    op_class: type[SpecOp] = types.new_class(
        f"{kind.__name__}Op", (SpecOp,), {"name": kind.name}, lambda n: n.update(body)
    )
    return op_class


SPEC_OPS: dict[str, type[SpecOp]] = {
    op.OPERATION_NAME: op for op in map(_spec_op, KINDS)
}
"""Spec ops by their name, ``morello.…``."""


def spec_ops(root: ir.Operation) -> list[ir.Operation]:
    """The Spec ops within an op, in the order of the text; itself if it is one."""
    return all_ops(root, *SPEC_OPS)
