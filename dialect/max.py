"""``morello.max``: the greatest element of each row, or of that and what is there."""

from typing import Any

from morello.dialect.definition import Operand
from morello.dialect.spec_op import SpecOp
from morello.mlir import ir
from morello.spec import Max


class MaxOp(SpecOp, name="max"):
    """See `morello.spec.Max`; ``accum`` lets what ``out`` holds take part."""

    src: Operand[Any]
    out: Operand[Any]
    accum: ir.IntegerAttr

    kind_class = Max
