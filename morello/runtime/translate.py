"""A module of MLIR to LLVM IR text that llvmlite reads."""

from morello.errors import CompileError
from morello.mlir import ir
from morello.passes.pipelines.pipeline import Pipeline
from morello.runtime.llvm_ir import llvm_ir
from morello.runtime.llvm_text import bf16_as_bits, downgrade, truth_as_bytes
from morello.runtime.loop_alignment import align_loops
from morello.runtime.loop_trips import weigh_loops

_LOWER = "builtin.module(morello-lower-to-llvm)"


def lower_to_llvm_text(module: ir.Module) -> str:
    """Lower a module of func, scf, memref, vector, arith and math, and translate it.

    Args:
        module: is lowered in place.

    Raises:
        CompileError: an op that cannot be lowered, with its location and reason; or a
            construct that LLVM, or llvmlite's older one, cannot express.
    """
    try:
        Pipeline.parse(_LOWER).run(module.operation)
    except ir.MLIRError as error:
        reasons = "; ".join(
            f"{diagnostic.location}: {diagnostic.message}"
            for diagnostic in error.error_diagnostics
        )
        raise CompileError(f"the module cannot be lowered: {reasons}") from error
    text = downgrade(llvm_ir(module.operation))
    return weigh_loops(align_loops(truth_as_bytes(bf16_as_bits(text))))
