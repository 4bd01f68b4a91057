"""Morello: from a Spec to the fastest x86 kernel that can be proved right.

``morello.compile("matmul:512x512x512:f32")`` gives a kernel to call on NumPy arrays.
Names load what they need when they are first used, so that importing is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from morello import forks as _forks  # noqa: F401 (forks wait for imports from here on)
from morello._version import __version__

if TYPE_CHECKING:
    from morello.compiler.candidates import Candidate, candidates
    from morello.compiler.compile import compile
    from morello.compiler.kernel import Kernel
    from morello.errors import MorelloError
    from morello.spec import Spec
    from morello.tracing.jit import jit, trace

_HOMES = {
    "Candidate": "morello.compiler.candidates",
    "Kernel": "morello.compiler.kernel",
    "MorelloError": "morello.errors",
    "Spec": "morello.spec",
    "candidates": "morello.compiler.candidates",
    "compile": "morello.compiler.compile",
    "jit": "morello.tracing.jit",
    "trace": "morello.tracing.jit",
}

__all__ = [
    "Candidate",
    "Kernel",
    "MorelloError",
    "Spec",
    "__version__",
    "candidates",
    "compile",
    "jit",
    "nn",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name == "nn":
        return importlib.import_module("morello.nn")
    if name not in _HOMES:
        raise AttributeError(f"module 'morello' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
