"""Element types of arrays in memory, a row each: their names in C, DLPack and XLA."""

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np


@dataclasses.dataclass(frozen=True)
class ElementType:
    """An element type of arrays that kernels take."""

    numpy: np.dtype[Any]
    c: str
    """The type in C; an unsigned integer of as many bits where C99 has none."""
    dlpack: int
    """The ``DLDataTypeCode``; the bits are those of the NumPy dtype."""
    xla: int
    """The ``XLA_FFI_DataType``."""
    c_meaning: str = ""
    """The meaning of the bits of an element, where the C type does not say it."""


_SIGNED, _UNSIGNED, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
"""``DLDataTypeCode``."""

_XLA_OF_A_BYTE = {_SIGNED: 2, _UNSIGNED: 6}
"""The integers of 8, 16, 32 and 64 bits follow each other."""


def _integer(bits: int, code: int) -> ElementType:
    name = f"{'int' if code == _SIGNED else 'uint'}{bits}"
    xla = _XLA_OF_A_BYTE[code] + (bits // 8).bit_length() - 1
    return ElementType(np.dtype(name), f"{name}_t", code, xla)


ELEMENT_TYPES: tuple[ElementType, ...] = (
    ElementType(np.dtype(np.float32), "float", _FLOAT, 11),
    ElementType(np.dtype(np.float64), "double", _FLOAT, 12),
    ElementType(
        np.dtype(ml_dtypes.bfloat16),
        "uint16_t",
        _BFLOAT,
        16,
        "the upper half of a float",
    ),
    ElementType(np.dtype(np.float16), "uint16_t", _FLOAT, 10, "binary16 of IEEE 754"),
    ElementType(np.dtype(np.bool_), "uint8_t", _BOOL, 1, "0 or 1"),
    *(_integer(bits, code) for bits in (8, 16, 32, 64) for code in (0, 1)),
)
"""Every element type of an argument or a result."""

_BY_NUMPY = {row.numpy: row for row in ELEMENT_TYPES}
_BY_DLPACK = {(row.dlpack, 8 * row.numpy.itemsize): row for row in ELEMENT_TYPES}


def element_type_of(dtype: np.dtype[Any]) -> ElementType | None:
    """The row of a NumPy dtype; None where kernels have no such elements."""
    return _BY_NUMPY.get(dtype)


def element_type_of_dlpack(code: int, bits: int) -> ElementType | None:
    """The row of a ``DLDataType`` of one lane; None where kernels have none such."""
    return _BY_DLPACK.get((code, bits))


_LETTERS = "iufb"
"""NumPy's letters of the kinds of elements that the buffer protocol has."""


def dlpack_word(dtype: np.dtype[Any]) -> int:
    """The ``DLDataType`` of a dtype as one number; -1 where there is none."""
    element = element_type_of(dtype)
    if element is None:
        return -1
    return element.dlpack | 8 * dtype.itemsize << 8 | 1 << 16


def buffer_format(dtype: np.dtype[Any]) -> int:
    """The letter that the buffer protocol has for a dtype; -1 where there is none."""
    return ord(dtype.char) if dtype.isbuiltin == 1 and dtype.kind in _LETTERS else -1


def typestr_word(dtype: np.dtype[Any]) -> int:
    """The ``typestr`` of a dtype as one number; -1 where there is none of 3 letters."""
    if buffer_format(dtype) < 0 or len(dtype.str) != 3:
        return -1
    return int.from_bytes(dtype.str.encode() + b"\0", "little")


def names() -> str:
    """The NumPy names of all rows, for sentences."""
    return ", ".join(row.numpy.name for row in ELEMENT_TYPES)
