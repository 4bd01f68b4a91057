"""Recognise the arguments of a command line that are files with models."""

from morello.tools.common_flags import OfModel
from morello.tools.input_output import UsageError

ONNX = ".onnx"

SUFFIXES = (".mlir", ".mlirbc", ONNX)
"""How the name of a file with a model ends: MLIR's text and bytecode, and ONNX."""


def is_model(options: OfModel) -> bool:
    """Whether what stands in the place of a Spec is a file with a model.

    Raises:
        UsageError: it is a Spec, and has a flag that is for models alone.
    """
    in_file = options.spec.endswith(SUFFIXES)
    flags = ("fallback", "shape", "winograd")
    named = [flag for flag in flags if getattr(options, flag)]
    if named and not in_file:
        raise UsageError(
            f"argument --{named[0]}: '{options.spec}' is no program in a file",
            "leave it out, or give a file that ends in .mlir, .mlirbc or .onnx",
        )
    return in_file
