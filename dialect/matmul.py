"""``morello.matmul``: the product of two matrices, or added to what is there."""

from typing import Any

from morello.dialect.definition import Operand
from morello.dialect.spec_op import SpecOp
from morello.mlir import ir
from morello.spec import Matmul


class MatmulOp(SpecOp, name="matmul"):
    """See `morello.spec.Matmul`; ``accum`` adds to what ``out`` holds."""

    lhs: Operand[Any]
    rhs: Operand[Any]
    out: Operand[Any]
    accum: ir.IntegerAttr

    kind_class = Matmul
