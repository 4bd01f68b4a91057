"""Modules that compiling needs, imported at once.

Passes and dialects are imported when they are first used. A module that a thread is
importing while another forks stays half imported in the child, and the child waits for
it for ever.
"""

import functools
import importlib

from morello.forks import defer_forks
from morello.mlir import dialect
from morello.passes.registry import PASSES

_DIALECTS = ("arith", "builtin", "func", "llvm", "math", "memref", "scf", "vector")
"""Whose bindings MLIR imports when it first meets their ops."""

_MODULES = ("morello.cost.affine", "morello.machine.native")


@functools.cache
def import_stages() -> None:
    """Import what a compilation uses; forks wait."""
    with defer_forks():
        for name in PASSES.names():
            PASSES.load(name)
        for name in _DIALECTS:
            dialect(name)
        for name in _MODULES:
            importlib.import_module(name)
