"""``morello.fill``: every element becomes a constant."""

from typing import Any

from morello.dialect.definition import Operand
from morello.dialect.spec_op import SpecOp
from morello.mlir import ir
from morello.spec import Fill


class FillOp(SpecOp, name="fill"):
    """See `morello.spec.Fill`; ``value`` names the constant."""

    out: Operand[Any]
    value: ir.StringAttr

    kind_class = Fill
