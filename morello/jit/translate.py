"""A module of the llvm dialect to LLVM IR text that llvmlite reads."""

from morello.jit.llvm_text import downgrade
from morello.mlir import dialect, ir
from morello.passes.check_lowered import CheckLowered


def to_llvm_text(module: ir.Module) -> str:
    """Translate a lowered module.

    Args:
        module: after ``morello-lower-to-llvm``; it is not changed.

    Raises:
        PassFailure: an op that is not lowered; translation would end the process.
        CompileError: a construct that llvmlite's LLVM cannot express.
    """
    CheckLowered().run(module.operation)
    return downgrade(dialect("llvm").translate_module_to_llvmir(module.operation))
