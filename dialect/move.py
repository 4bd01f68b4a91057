"""``morello.move``: a copy, perhaps to another level or layout."""

from typing import Any

from morello.dialect.definition import Operand
from morello.dialect.spec_op import SpecOp
from morello.spec import Move


class MoveOp(SpecOp, name="move"):
    """See `morello.spec.Move`."""

    src: Operand[Any]
    dst: Operand[Any]

    kind_class = Move
