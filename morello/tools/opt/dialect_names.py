"""The dialects that morello-opt can parse: `dialects`."""

import re

from morello import dialect
from morello.errors import PipelineError
from morello.mlir import ir


def dialects() -> list[str]:
    """The names of all dialects that can be parsed, sorted."""
    with ir.Context() as context:
        dialect.load(context)
        context.emit_error_diagnostics = False
        try:
            # The bindings have no list, but this error names them all.
            ir.Module.parse("unknown_dialect.op")
        except ir.MLIRError as error:
            notes = [n.message for d in error.error_diagnostics for n in d.notes]
            # "(*)" marks what has been loaded without being registered.
            text = " ".join(notes).replace(" (*)", "")
            listed = re.search(r"Available dialects: ([^(;]*)", text)
            if listed:
                return sorted(listed[1].strip().split(", "))
    raise PipelineError("the MLIR bindings do not tell which dialects they have")
