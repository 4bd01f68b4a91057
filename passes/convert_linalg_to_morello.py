"""`convert-linalg-to-morello`: functions of linalg on tensors to Spec ops."""

import dataclasses
from typing import ClassVar

from morello.passes.parts.models import ConvertModel


@dataclasses.dataclass(frozen=True)
class ConvertLinalgToMorello(ConvertModel):
    """Replace functions of linalg on tensors by functions that call Specs.

    Before: functions on tensors of static shape, of f32 or bf16. After: each has
    memrefs in their place, for arguments, constants, and results; its body calls a
    private function for each graph that it is cut into, which has one Spec op, and for
    each op that is left to plain lowering, which has loops; values between them are
    allocated. Refuses: ops that have neither, every one at its place.
    """

    name: ClassVar[str] = "convert-linalg-to-morello"
