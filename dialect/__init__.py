"""The MLIR dialects of Morello: ``morello`` and ``morello_transform``."""

from morello.mlir import ir


def load(context: ir.Context) -> None:
    """Load Morello's dialects into ``context``, which may hold them already."""
