"""Kernels as files whose arrays are mapped, not read.

A file has `_START`, the bytes of each array, a pickle of the kernel, and the arrays,
each on a cache line. Pages of it that several processes map are in memory once.
"""

import mmap
import pickle
import struct
import zlib
from pathlib import Path
from typing import Any

from morello.errors import CompileError, FileError
from morello.new_arrays import ALIGNMENT
from morello.whole_files import save_whole

SUFFIX = ".kernel"
"""Suffix of these files."""

_START = struct.Struct("<16sQQQ")
"""`_MAGIC`, bytes of the pickle, the number of arrays, and the CRC-32 of lengths and
pickle. Arrays have checksums in the pickle."""

_MAGIC = b"morello kernel\n\0"


def save(kernel: Any, path: str | Path) -> None:
    """Write a kernel with its machine code and its arrays, whole or not at all.

    Raises:
        FileError: it cannot be written; what was there is there.
    """
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(kernel, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    lengths = struct.pack(f"<{len(arrays)}Q", *(array.nbytes for array in arrays))
    crc = zlib.crc32(lengths + data)
    start = _START.pack(_MAGIC, len(data), len(arrays), crc) + lengths + data
    parts: list[Any] = [start]
    size = len(start)
    for array in arrays:
        gap = -size % ALIGNMENT
        parts += [bytes(gap), array]
        size += gap + array.nbytes
    save_whole(path, *parts)


def read(path: str | Path) -> Any:
    """Read what `save` wrote, with its arrays where they lie in the file.

    Raises:
        FileError: it cannot be read.
        CompileError: it is not such a file, is damaged, or is of another version.
        TargetError: this machine lacks a feature that it may use.
    """
    try:
        with Path(path).open("rb") as file:
            memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # an empty file, a name with a zero byte
        reason = error.strerror if isinstance(error, OSError) else error
        raise FileError(
            f"cannot load '{path}': {reason}",
            f"give a file that `Kernel.save` wrote, which ends in {SUFFIX}",
        ) from error
    if memory[: len(_MAGIC)] != _MAGIC:
        raise CompileError(
            f"'{path}' is no file of a kernel", "give a file that `Kernel.save` wrote"
        )
    data, arrays = _parts(path, memory)
    return pickle.loads(data, buffers=arrays)


def _parts(path: str | Path, memory: memoryview) -> tuple[memoryview, list[memoryview]]:
    """The pickle in a file, and the arrays, whose checksums `unpickled` compares.

    Raises:
        CompileError: the file is damaged.
    """
    start = _START.size
    _, length, count, crc = _START.unpack(bytes(memory[:start]).ljust(start))
    data = start + 8 * count
    at = data + length
    if zlib.crc32(memory[start:at]) != crc:
        raise CompileError(
            f"the kernel in '{path}' is damaged: it does not have its checksum",
            "save it again",
        )
    lengths = struct.unpack_from(f"<{count}Q", memory, start)
    arrays = []
    for nbytes in lengths:
        first = at + -at % ALIGNMENT
        at = first + nbytes
        arrays.append(memory[first:at])
    return memory[data : data + length], arrays
