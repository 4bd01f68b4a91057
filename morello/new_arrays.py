"""New arrays that begin on a cache line.

NumPy's begin 16 bytes behind one, so that every second vector that is read or written
crosses a line: a kernel that writes much takes a third longer.
"""

import math
from typing import Any

import numpy as np

ALIGNMENT = 64
"""Bytes of a cache line."""

LARGE = 1 << 16
"""Bytes from which on it matters; smaller ones are NumPy's, which are quicker made."""

_Array = np.ndarray[Any, Any]


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> _Array:
    """A C-contiguous array of any values."""
    return _new(shape, dtype, np.empty)


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> _Array:
    """A C-contiguous array of zeros."""
    return _new(shape, dtype, np.zeros)


def on_line(array: _Array) -> _Array:
    """A C-contiguous copy that begins on a cache line, however small it is."""
    memory: _Array = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -int(memory.ctypes.data) % ALIGNMENT
    aligned = (
        memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    )
    aligned[...] = array
    return aligned


def strided(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
) -> _Array:
    """An array of any values whose strides, in elements, leave gaps."""
    pairs = zip(shape, strides, strict=True)
    memory = empty((1 + sum((extent - 1) * step for extent, step in pairs),), dtype)
    in_bytes = tuple(step * dtype.itemsize for step in strides)
    view: _Array = np.ndarray(shape, dtype, memory, strides=in_bytes)
    return view


def _new(shape: tuple[int, ...], dtype: np.dtype[Any], make: Any) -> _Array:
    size = math.prod(shape) * dtype.itemsize
    if size < LARGE:
        plain: _Array = make(shape, dtype)
        return plain
    memory: _Array = make(size + ALIGNMENT, np.uint8)
    start = -int(memory.ctypes.data) % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)
