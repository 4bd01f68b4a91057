"""Recognise the arguments of a command line that are MLIR files."""

from morello.tools.input_output import UsageError

SUFFIXES = (".mlir", ".mlirbc")
"""How the name of a file with a model ends: text, and bytecode."""


def is_model(spec: str, fallback: bool = False) -> bool:
    """Whether what stands in the place of a Spec is a file with a model.

    Args:
        spec: of a command line.
        fallback: whether that has ``--fallback``.

    Raises:
        UsageError: it has, and there is no such file.
    """
    in_file = spec.endswith(SUFFIXES)
    if fallback and not in_file:
        raise UsageError(
            f"argument --fallback: '{spec}' is no program in a file",
            "leave it out, or give a file that ends in .mlir or .mlirbc",
        )
    return in_file
