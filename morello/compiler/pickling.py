"""Kernels between processes: what `pickle` keeps of one.

A kernel travels with its machine code, so it is loaded in a moment, and refused where
the CPU lacks a feature. What is kept is read by the same version of Morello alone.
"""

import dataclasses
import pickle
from typing import Any

from morello._version import __version__
from morello.aot.stages import Stages
from morello.errors import CompileError
from morello.runtime.engine import Compiled, Engine, load
from morello.runtime.openmp import load_openmp


@dataclasses.dataclass(frozen=True)
class Parts:
    """Parts from which a kernel is made anew."""

    stages: Stages
    compiled: Compiled
    times: Any
    """Seconds of its search and compilation: `morello.compiler.kernel.Times`."""
    settled: tuple[int, ...]

    def engine(self) -> Engine:
        """Load the machine code into this process.

        Raises:
            TargetError: this machine lacks a feature that the code may use.
            CompileError: it has threads, and there is no OpenMP runtime.
        """
        if self.stages.threads > 1:
            load_openmp()
        return load(self.compiled)


def freeze(parts: Any) -> tuple[str, bytes]:
    """The version that has made it, and what that version reads."""
    return __version__, pickle.dumps(parts)


def thaw(version: str, data: bytes) -> Any:
    """Read the kernel that `freeze` has written.

    Raises:
        CompileError: another version has made it.
    """
    if version != __version__:
        raise CompileError(
            f"the pickled kernel is of Morello {version}, and this is {__version__}",
            "compile it again, or keep Kernel.schedule instead, which is text",
        )
    return pickle.loads(data)
