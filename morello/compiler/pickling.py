"""Kernels between processes: what `pickle` keeps of one.

A kernel travels with its machine code, so it is loaded in a moment, and refused where
the CPU lacks a feature. What is kept is read by the same version of Morello alone.
Large arrays are buffers of their own, which are copied once where they do not begin on
a cache line.
A process that loads a kernel imports what a call runs; the stages on the way to it are
bytes until one of them is asked for.
"""

import dataclasses
import hashlib
import pickle
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello import new_arrays
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

    def pickled(self, protocol: int) -> tuple[bytes | pickle.PickleBuffer, ...]:
        """Their checksum, they themselves without large arrays, and these arrays.

        Args:
            protocol: of pickle. Before the fifth the arrays are copies.
        """
        arrays: list[pickle.PickleBuffer] = []

        def is_inside(buffer: pickle.PickleBuffer) -> bool:
            with buffer.raw() as memory:
                is_small = memory.nbytes < new_arrays.LARGE
            if not is_small:
                arrays.append(buffer)
            return is_small

        data = pickle.dumps(self, pickle.HIGHEST_PROTOCOL, buffer_callback=is_inside)
        checksum = _checksum(data, [buffer.raw() for buffer in arrays])
        if protocol >= _WITH_BUFFERS:
            return checksum, data, *arrays
        return checksum, data, *(bytes(buffer.raw()) for buffer in arrays)


_WITH_BUFFERS = 5
"""The first protocol of pickle that writes memory without a copy of it."""

_Bytes = bytes | bytearray | memoryview | pickle.PickleBuffer


def unpickled(checksum: bytes, data: bytes, arrays: Sequence[_Bytes]) -> Parts:
    """`Parts.pickled` back: a wrong byte of machine code would end the process.

    Raises:
        CompileError: the bytes are not those that were pickled.
    """
    if _checksum(data, arrays) != checksum:
        raise CompileError(
            "the pickled kernel is damaged: it does not have its checksum",
            "compile it again",
        )
    memory = [np.frombuffer(memoryview(array), np.uint8) for array in arrays]
    memory = [
        array
        if array.ctypes.data % new_arrays.ALIGNMENT == 0
        else new_arrays.on_line(array)
        for array in memory
    ]
    parts: Parts = pickle.loads(data, buffers=memory)
    return parts


def _checksum(data: bytes, arrays: Sequence[_Bytes]) -> bytes:
    """SHA-256 of what may be machine code and of the CRC-32 of each array."""
    sums = b"".join(zlib.crc32(array).to_bytes(4, "little") for array in arrays)
    return hashlib.sha256(sums + data).digest()


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
