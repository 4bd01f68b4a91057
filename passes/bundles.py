"""Bundles: one name in a pipeline that stands for a row of passes.

A `Bundle` is data: its elements are pipeline text, upstream passes and ours mixed. The
reader of pipelines (`pipeline.py`) replaces the name by the elements, so that printing
IR after each pass, timing and verifying see every pass by itself.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bundle:
    """A row of passes under one name.

    Args:
        name: the name in a pipeline.
        description: one line for ``--list-passes`` and the docs.
        elements: the passes in order, each as it would be written in a pipeline that is
            anchored at ``builtin.module``.
    """

    name: str
    description: str
    elements: tuple[str, ...]

    @property
    def text(self) -> str:
        """The elements as a pipeline string without its anchor."""
        return ",".join(self.elements)


LOWER_TO_LLVM = Bundle(
    name="morello-lower-to-llvm",
    description="lower func, scf, memref, vector, arith and math to the llvm dialect "
    "with bare noalias pointers, and check that nothing is left",
    elements=(
        # First: what the conversions below would get wrong without a word.
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
        "convert-vector-to-llvm{enable-x86=true}",
        # What has an LLVM intrinsic first; the rest become calls to libm.
        "convert-math-to-llvm",
        "convert-math-to-libm",
        "finalize-memref-to-llvm",
        "convert-cf-to-llvm",
        "convert-arith-to-llvm",
        "convert-index-to-llvm",
        "convert-ub-to-llvm",
        "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}",
        "canonicalize",
        "cse",
        "reconcile-unrealized-casts",
        "morello-check-lowered",
    ),
)

BUNDLES: tuple[Bundle, ...] = (LOWER_TO_LLVM,)
"""Every bundle, for the registry."""
