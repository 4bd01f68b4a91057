"""Recognise the arguments of a command line that are files with models."""

from morello.tools.input_output import UsageError

ONNX = ".onnx"

SUFFIXES = (".mlir", ".mlirbc", ONNX)
"""How the name of a file with a model ends: MLIR's text and bytecode, and ONNX."""


def is_model(spec: str, **flags: object) -> bool:
    """Whether what stands in the place of a Spec is a file with a model.

    Args:
        spec: of a command line.
        flags: those of it that are for models alone, by name.

    Raises:
        UsageError: it has one of these, and there is no such file.
    """
    in_file = spec.endswith(SUFFIXES)
    named = [name for name, value in flags.items() if value]
    if named and not in_file:
        raise UsageError(
            f"argument --{named[0]}: '{spec}' is no program in a file",
            "leave it out, or give a file that ends in .mlir, .mlirbc or .onnx",
        )
    return in_file
