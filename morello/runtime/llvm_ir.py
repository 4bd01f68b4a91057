"""The llvm dialect to LLVM IR text, through the C interfaces of MLIR and LLVM.

The bindings' own function for this ends the process when a module cannot be translated,
and keeps every text that it returns for ever (tens of kilobytes a compilation). The C
functions under it do neither. Bindings that are built without them use their own.
"""

import ctypes
import functools
import importlib
from pathlib import Path
from typing import Any

from morello.errors import CompileError
from morello.mlir import BACKEND, dialect, ir
from morello.python_api import python_function

_POINTER = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mlirTranslateModuleToLLVMIR": (_POINTER, (_POINTER, _POINTER)),
    "LLVMContextCreate": (_POINTER, ()),
    "LLVMContextDispose": (None, (_POINTER,)),
    "LLVMPrintModuleToString": (_POINTER, (_POINTER,)),
    "LLVMDisposeMessage": (None, (_POINTER,)),
    "LLVMDisposeModule": (None, (_POINTER,)),
}
"""The C functions: result, arguments."""


@functools.cache
def _library() -> ctypes.PyDLL | None:
    """The bindings' library of C functions, or None where one of them is missing.

    Calls keep the GIL: diagnostics reach handlers in Python while a function runs, and
    the bindings take it that the GIL is held then.
    """
    for folder in importlib.import_module(f"{BACKEND}._mlir_libs").__path__:
        for path in sorted(Path(folder).glob("lib*CAPI*.so")):
            library = ctypes.PyDLL(str(path))
            if all(hasattr(library, name) for name in _SIGNATURES):
                for name, (result, arguments) in _SIGNATURES.items():
                    function = getattr(library, name)
                    function.restype = result
                    function.argtypes = arguments
                return library
    return None


def _operation_pointer(operation: ir.Operation) -> int:
    """The ``MlirOperation`` of an op, as bindings hand it to each other."""
    name = f"{BACKEND}.ir.Operation._CAPIPtr".encode()
    return int(_pointer_of(operation._CAPIPtr, name))


_pointer_of = python_function(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)


def llvm_ir(module: ir.Operation) -> str:
    """LLVM IR text of a module, in the syntax of the bindings' LLVM.

    Args:
        module: a ``builtin.module`` that holds the llvm dialect alone: ops of another
            one end the process.

    Raises:
        CompileError: MLIR refuses to translate it; with its reasons.
    """
    library = _library()
    if library is None:
        return str(dialect("llvm").translate_module_to_llvmir(module))
    reasons: list[str] = []

    def keep(diagnostic: ir.Diagnostic) -> bool:
        reasons.append(f"{diagnostic.location}: {diagnostic.message}")
        return True

    handler = module.context.attach_diagnostic_handler(keep)
    context = library.LLVMContextCreate()
    try:
        translated = library.mlirTranslateModuleToLLVMIR(
            _operation_pointer(module), context
        )
        if translated is None:
            raise CompileError(
                f"MLIR cannot translate the module: {'; '.join(reasons)}",
                "give the op that it names a form that LLVM IR has",
            )
        text = library.LLVMPrintModuleToString(translated)
        try:
            return ctypes.string_at(text).decode()
        finally:
            library.LLVMDisposeMessage(text)
            library.LLVMDisposeModule(translated)
    finally:
        library.LLVMContextDispose(context)
        handler.detach()
