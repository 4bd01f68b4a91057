"""Bundles: one name in a pipeline that stands for a row of passes.

The reader of pipelines replaces the name by the elements, so that printing IR after
each pass, timing and verifying see every pass by itself.
"""

import dataclasses
from typing import ClassVar

from morello.machine.architectures import HOST
from morello.passes.base import Bundle

_LOWER_TO_LLVM = (
    # First: refusals of input that the conversions below would silently miscompile.
    "morello-entry-points",
    "canonicalize",
    "cse",
    "convert-vector-to-scf",
    "lower-affine",
    "loop-invariant-code-motion",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    # Metadata expansion leaves affine.apply behind.
    "lower-affine",
    f"convert-vector-to-llvm{{{HOST.vector_options}}}",
    # LLVM intrinsics first; the other functions become calls to libm.
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "finalize-memref-to-llvm",
    "convert-cf-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "convert-ub-to-llvm",
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}",
    # After the functions: it would convert them itself, to pass descriptors.
    "convert-openmp-to-llvm",
    "canonicalize",
    "cse",
    "reconcile-unrealized-casts",
    "morello-check-lowered",
)


@dataclasses.dataclass(frozen=True)
class LowerToLlvm(Bundle):
    """Lower func, scf, memref, vector, arith, math, omp to the llvm dialect, checked.

    Before: memrefs of static shape, strided layouts. After: the llvm dialect, and omp
    regions of it, which translation turns into calls of the OpenMP runtime; public
    functions take bare ``noalias`` pointers, and accesses promise no alignment
    beyond the element's. Refuses: what `EntryPoints` and `CheckLowered` refuse.
    """

    name: ClassVar[str] = "morello-lower-to-llvm"

    def expand(self) -> str:
        """The passes in order, as pipeline text without its anchor."""
        return ",".join(_LOWER_TO_LLVM)
