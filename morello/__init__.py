"""Morello: from a Spec to the fastest x86 kernel that can be proved right.

``morello.compile("matmul:512x512x512:f32")`` gives a kernel to call on NumPy arrays.
Names load what they need when they are first used, so that importing is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from morello._version import __version__
from morello.processes import forks as _forks  # noqa: F401 (forks wait for imports from here on)

if TYPE_CHECKING:
    from morello.cluster.solve_all import solve_all
    from morello.cluster.tune_all import tune_all
    from morello.compiler.candidates import Candidate, candidates
    from morello.compiler.compile import compile
    from morello.compiler.kernel import Kernel
    from morello.compiler.loading import load
    from morello.errors import MorelloError
    from morello.frontends.mlir import from_mlir
    from morello.frontends.onnx import from_onnx
    from morello.spec import Spec
    from morello.tracing.jit import jit, trace

_HOMES = {
    "Candidate": "morello.compiler.candidates",
    "Kernel": "morello.compiler.kernel",
    "MorelloError": "morello.errors",
    "Spec": "morello.spec",
    "candidates": "morello.compiler.candidates",
    "compile": "morello.compiler.compile",
    "from_mlir": "morello.frontends.mlir",
    "from_onnx": "morello.frontends.onnx",
    "jit": "morello.tracing.jit",
    "load": "morello.compiler.loading",
    "solve_all": "morello.cluster.solve_all",
    "trace": "morello.tracing.jit",
    "tune_all": "morello.cluster.tune_all",
}

__all__ = [
    "Candidate", "Kernel", "MorelloError", "Spec", "__version__", "candidates",
    "compile", "from_mlir", "from_onnx", "jit", "load", "nn", "solve_all", "trace",
    "tune_all",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "nn":
        return importlib.import_module("morello.nn")
    if name not in _HOMES:
        raise AttributeError(f"module 'morello' has no attribute '{name}'")
    from morello.processes.small_stacks import on_large_stack

    # Libraries are loaded, whose beginnings need more stack than some threads have.
    return getattr(on_large_stack(importlib.import_module)(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
