"""Operands of ops that have now these, now those: each in a group of its own.

IRDL wants all operands of one variadic group to have one type.
"""

from typing import Any

from morello.dialect.definition import Operand
from morello.errors import SpecError
from morello.mlir import ir

MAX_OPERANDS = 8
"""The most operands that such an op has."""

SEGMENTS = "operandSegmentSizes"
"""The attribute that says which operands an op has."""


def operand_groups() -> dict[str, Any]:
    """Annotations that the class of such an op declares, by the names of operands."""
    return dict.fromkeys((f"arg{i}" for i in range(MAX_OPERANDS)), Operand[Any] | None)


def segments(count: int) -> ir.Attribute:
    """The attribute `SEGMENTS` of an op with ``count`` operands."""
    return ir.DenseI32ArrayAttr.get([int(i < count) for i in range(MAX_OPERANDS)])


def check_segments(op: ir.OpView) -> None:
    """Check that the operands of an op are in the first groups, without a gap.

    Raises:
        SpecError: they are not.
    """
    legal = segments(len(op.operands))
    if SEGMENTS not in op.attributes:
        raise SpecError(f"has no attribute '{SEGMENTS}'", f"write {SEGMENTS} = {legal}")
    written = op.attributes[SEGMENTS]
    if written != legal:
        raise SpecError(f"'{SEGMENTS}' is {written}", f"it must be {legal}")
