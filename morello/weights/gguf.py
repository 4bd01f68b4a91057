"""Files of GGUF: what they say of a model, and its tensors as arrays."""

import dataclasses
import math
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from morello.errors import ArgumentError, shortened
from morello.weights.gguf_blocks import BLOCK_TYPES, OTHERS, BlockType
from morello.weights.scaled import Array, ScaledWeights

_ALIGNMENT = "general.alignment"
_STRING, _ARRAY = 8, 9
_NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""The letters of `struct` of metadata, by the numbers of their types."""

_MOST_DIMS = 8

_LARGEST = 1 << 59
"""Elements that NumPy has no array of, be it empty along another dimension."""


@dataclasses.dataclass(frozen=True)
class _Tensor:
    shape: tuple[int, ...]
    type: int
    offset: int


class Gguf(Mapping[str, Array | ScaledWeights]):
    """The tensors of a file by their names, each read when it is asked for.

    A tensor of f32, f16, bf16 or integers is an array on the file's pages, of the shape
    that NumPy has it in: outputs x inputs of a layer's weights. One of blocks, as q4_0
    or q4_K, is a `ScaledWeights`, inputs x outputs, so that a layer is ``x @ weights``.
    """

    metadata: Mapping[str, Any]
    """Entries of the file about the model: numbers, strings, lists of them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        reader = _Reader(self._path)
        tensors, pairs = reader.header()
        self.metadata = reader.by_name("entries", reader.pair, pairs)
        self._tensors = reader.by_name("tensors", reader.tensor, tensors)
        alignment = self.metadata.get(_ALIGNMENT, 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise reader.error(f"its {_ALIGNMENT} is {alignment!r}, no size in bytes")
        self._begin = -(-reader.at // alignment) * alignment
        self._bytes = reader.bytes

    def __getitem__(self, name: str) -> Array | ScaledWeights:
        tensor = self._tensors[name]
        row, name = self._row(name, tensor.type), shortened(name)
        *before, inner = tensor.shape or (1,)
        if inner % row.elements:
            raise self._error(
                f"tensor '{name}' has {inner} elements along its last dimension, no "
                f"whole blocks of {row.elements}"
            )
        shape = (*before, inner // row.elements)
        if 0 in shape and (row.parts or math.prod(filter(None, shape)) >= _LARGEST):
            raise self._error(f"tensor '{name}' of {row.name} has no elements")
        begin, nbytes = (
            self._begin + tensor.offset,
            math.prod(shape) * row.block.itemsize,
        )
        if begin + nbytes > len(self._bytes):
            raise self._error(f"tensor '{name}' ends behind the end of the file")
        blocks = self._bytes[begin : begin + nbytes].view(row.block).reshape(shape)
        if row.parts is None:
            return blocks.reshape(tensor.shape)
        return row.weights(blocks if before else blocks[None])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def type_of(self, name: str) -> str:
        """The name of a tensor's type, such as ``q4_0``."""
        return self._row(name, self._tensors[name].type).name

    def _row(self, name: str, number: int) -> BlockType:
        row = BLOCK_TYPES.get(number)
        if row is None:
            known = ", ".join(row.name for row in BLOCK_TYPES.values())
            raise self._error(
                f"tensor '{shortened(name)}' has the type {OTHERS.get(number, number)}",
                f"use one of {known}",
            )
        return row

    def _error(self, what: str, remedy: str = "") -> ArgumentError:
        return ArgumentError(f"{self._path}: {what}", remedy)


def read_gguf(path: str | os.PathLike[str]) -> Gguf:
    """Read a file of GGUF, versions 2 and 3.

    Raises:
        ArgumentError: it is no such file, it ends too early, or, when a tensor is asked
            for, its type is none that is read.
        OSError: it cannot be opened.
    """
    return Gguf(path)


class _Reader:
    """A place in the header of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.stat().st_size:
            raise self.error("it is empty")
        self.bytes: Array = np.memmap(path, np.uint8, "r")
        self.at = 0

    def error(self, what: str) -> ArgumentError:
        return ArgumentError(f"{self.path} is no file of GGUF: {what}")

    def header(self) -> tuple[int, int]:
        """The number of tensors, and that of pairs of metadata."""
        if self.take(4) != b"GGUF":
            raise self.error("it does not begin with GGUF")
        (version,) = self.numbers("I")
        if version not in (2, 3):
            raise ArgumentError(
                f"{self.path} has version {version} of GGUF",
                "write it anew in version 3, little-endian",
            )
        tensors, pairs = self.numbers("QQ")
        return tensors, pairs

    def by_name(
        self, what: str, read: Callable[[], tuple[str, Any]], count: int
    ) -> dict[str, Any]:
        """The next ``count`` entries, of which no two have one name."""
        entries: dict[str, Any] = {}
        for _ in range(count):
            name, value = read()
            if name in entries:
                raise self.error(f"it has two {what} '{shortened(name)}'")
            entries[name] = value
        return entries

    def pair(self) -> tuple[str, Any]:
        """A name and a value of the metadata."""
        name = self.string()
        (kind,) = self.numbers("I")
        return name, self.value(name, kind)

    def value(self, name: str, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind in _NUMBERS:
            return self.numbers(_NUMBERS[kind])[0]
        if kind != _ARRAY:
            raise self.error(f"'{shortened(name)}' has a value of type {kind}")
        element, count = self.numbers("IQ")
        if element in _NUMBERS:
            return list(self.numbers(_NUMBERS[element], count))
        if element == _STRING:
            return [self.string() for _ in range(count)]
        raise self.error(f"'{shortened(name)}' is a list of type {element}")

    def tensor(self) -> tuple[str, _Tensor]:
        """The name and the place of a tensor."""
        name = self.string()
        (dims,) = self.numbers("I")
        if dims > _MOST_DIMS:
            raise self.error(f"tensor '{shortened(name)}' has {dims} dimensions")
        shape = self.numbers("Q", dims)
        kind, offset = self.numbers("IQ")
        return name, _Tensor(tuple(reversed(shape)), kind, offset)

    def string(self) -> str:
        (length,) = self.numbers("Q")
        return self.take(length).decode("utf-8", "replace")

    def numbers(self, letters: str, count: int = 1) -> tuple[Any, ...]:
        if count != 1:  # a format of struct has no more digits than a file has bytes
            self.check(count)
            letters = f"{count}{letters}"
        form = f"<{letters}"
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def take(self, count: int) -> bytes:
        self.check(count)
        taken = self.bytes[self.at : self.at + count].tobytes()
        self.at += count
        return taken

    def check(self, count: int) -> None:
        if count > len(self.bytes) - self.at:
            raise self.error(f"it ends within its header, at byte {len(self.bytes)}")
