"""`convert-stablehlo-to-morello`: functions of StableHLO to Spec ops."""

import dataclasses
from typing import ClassVar

from morello.machine import find_target
from morello.mlir import ir
from morello.passes.base import Pass, option
from morello.passes.parts.models import convert


@dataclasses.dataclass(frozen=True)
class ConvertStablehloToMorello(Pass):
    """Replace functions of StableHLO by functions that call Specs.

    Before: functions on tensors of static shape, of f32 or bf16. After: each has
    memrefs in their place, for arguments, constants, and results; its body calls a
    private function for each graph that it is cut into, which has one Spec op; values
    between them are allocated. Refuses: ops that have no Spec, every one at its place.
    """

    name: ClassVar[str] = "convert-stablehlo-to-morello"

    target: str = option("", "name of the target; if empty, avx2 and not recorded")

    def __post_init__(self) -> None:
        if self.target:
            find_target(self.target)

    def run(self, module: ir.Operation) -> None:
        """Convert ``module``.

        Raises:
            PassFailure: at the last op that is refused, the others being reported.
        """
        convert(module, self.target)
