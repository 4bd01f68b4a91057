"""Kernels between processes: what `pickle` keeps of one.

A kernel travels with its machine code, so it is loaded in a moment, and refused where
the CPU lacks a feature. What is kept is read by the same version of Morello alone.
A process that loads a kernel imports what a call runs; the stages on the way to it are
bytes until one of them is asked for.
"""

import dataclasses
import hashlib
import pickle
from typing import Any

from morello._version import __version__
from morello.errors import CompileError
from morello.runtime.calls.function import NativeFunction
from morello.runtime.calls.parameter import Parameter
from morello.runtime.engine import Compiled, load
from morello.runtime.openmp import load_openmp


@dataclasses.dataclass(frozen=True)
class Parts:
    """Parts from which a kernel is made anew.

    Args:
        compiled: its machine code.
        name, parameters, workspace_bytes, threads: those of its function.
        stages: pickled.
        times: seconds of its search and compilation.
        settled: the operands whose layouts the search chose.
        held: arrays that a model brings to each call.
    """

    compiled: Compiled
    name: str
    parameters: tuple[Parameter, ...]
    workspace_bytes: int
    threads: int
    stages: bytes = dataclasses.field(repr=False)
    times: Any
    settled: tuple[int, ...]
    held: Any

    def function(self) -> NativeFunction:
        """Load the machine code into this process.

        Raises:
            TargetError: this machine lacks a feature that the code may use.
            CompileError: it has threads, and there is no OpenMP runtime.
        """
        if self.threads > 1:
            load_openmp()
        engine = load(self.compiled)
        return NativeFunction(
            engine, self.name, self.parameters, self.workspace_bytes, self.threads
        )

    def pickled(self) -> tuple[bytes, bytes]:
        """Their checksum, and they themselves as bytes."""
        data = pickle.dumps(self)
        return hashlib.sha256(data).digest(), data


def unpickled(checksum: bytes, data: bytes) -> Parts:
    """`Parts.pickled` back: a wrong byte of machine code would end the process.

    Raises:
        CompileError: the bytes are not those that were pickled.
    """
    if hashlib.sha256(data).digest() != checksum:
        raise CompileError(
            "the pickled kernel is damaged: it does not have its checksum",
            "compile it again",
        )
    parts: Parts = pickle.loads(data)
    return parts


class Version:
    """The version that pickles a kernel. It comes before all that only this version
    reads, and refuses another one when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _checked, (__version__,)


def _checked(version: str) -> Version:
    """The version, if it is this one.

    Raises:
        CompileError: it is another one.
    """
    if version != __version__:
        raise CompileError(
            f"the pickled kernel is of Morello {version}, and this is {__version__}",
            "compile it again, or keep Kernel.schedule instead, which is text",
        )
    return Version()
