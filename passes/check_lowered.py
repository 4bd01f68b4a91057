"""`morello-check-lowered`: refuse ops outside the llvm dialect and OpenMP.

Translation to LLVM IR is sure of no other dialect, and says so in terms of its own or
not at all; and a call of a heap or runtime function has no place in a kernel. Here both
are refused with the op, its place and the remedy.
"""

import dataclasses
from typing import ClassVar

from morello.mlir import all_ops, ir
from morello.passes.base import Pass, PassFailure

_HEAP = {"malloc", "free", "aligned_alloc"}


def _remedy(name: str) -> str:
    """Advise on an op that is left."""
    match name.partition(".")[0]:
        case "morello":
            return "apply a schedule and run the passes that lower kernels first"
        case "transform" | "morello_transform":
            return "run morello-apply-schedule, which consumes the schedule, first"
        case "func":
            return "run morello-lower-to-llvm; it needs memrefs of static shape"
        case "builtin":
            return "a conversion of its operand is missing before it"
        case "memref":
            return "only static shapes and strided layouts are lowered"
        case _:
            return "run morello-lower-to-llvm, or a conversion of this dialect, first"


def _check(op: ir.Operation) -> None:
    """Refuse one op.

    Raises:
        PassFailure: with its location.
    """
    name = op.name
    if not name.startswith(("llvm.", "omp.")) and name != "builtin.module":
        raise PassFailure(
            op.location, f"'{name}' is not lowered to the llvm dialect; {_remedy(name)}"
        )
    if name != "llvm.func":
        return
    symbol = ir.StringAttr(op.attributes["sym_name"]).value
    if symbol in _HEAP:
        raise PassFailure(
            op.location,
            f"the module calls '{symbol}', but a kernel takes no memory from the heap; "
            "replace memref.alloc by a view of the workspace argument",
        )
    if symbol == "memrefCopy":
        raise PassFailure(
            op.location,
            "a memref.copy of strided memory is left and would call a runtime "
            "function; lower the copy to loops of vector.load and vector.store",
        )


@dataclasses.dataclass(frozen=True)
class CheckLowered(Pass):
    """Refuse a module that holds anything but the llvm dialect and OpenMP.

    Before: any module. After: the same module, safe to translate to LLVM IR.
    Refuses: an op of another dialect, a use of the heap, a call of MLIR's C runtime.
    """

    name: ClassVar[str] = "morello-check-lowered"

    def run(self, module: ir.Operation) -> None:
        """Walk ``module``, changing nothing.

        Raises:
            PassFailure: at the first op that must not reach translation.
        """
        for op in all_ops(module, outer_first=True):
            _check(op)
