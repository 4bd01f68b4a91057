"""`Elements` in NumPy: what a kind computes of elements, on whole arrays.

The arithmetic is that of IEEE 754 in the dtype of the operands, so a kind that defines
itself by `Kind.element` has the same bits here and in a kernel.
"""

import dataclasses
from typing import Any

import numpy as np

from morello.spec.elements.casts import cast
from morello.spec.elements.dtypes import Dtype

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class ArrayElements:
    """The elements of arrays of one shape, side by side.

    Args:
        arrays: those of each operand that is read.
    """

    arrays: tuple[Array, ...]
    steps: int = 1

    def read(self, operand: int, step: int = 0) -> Array:
        """`Elements.read`."""
        return self.arrays[operand]

    def constant(self, dtype: Dtype, number: float | int) -> Array:
        """`Elements.constant`."""
        return np.asarray(number, dtype.numpy)

    def convert(self, value: Array, source: Dtype, dest: Dtype) -> Array:
        """`Elements.convert`."""
        return cast(np.atleast_1d(value), source, dest).reshape(np.shape(value))

    def add(self, a: Array, b: Array) -> Array:
        """`Elements.add`."""
        return _silent(np.add, a, b)

    def subtract(self, a: Array, b: Array) -> Array:
        """`Elements.subtract`."""
        return _silent(np.subtract, a, b)

    def multiply(self, a: Array, b: Array) -> Array:
        """`Elements.multiply`."""
        return _silent(np.multiply, a, b)

    def divide(self, a: Array, b: Array) -> Array:
        """`Elements.divide`."""
        return _silent(np.divide, a, b)

    def square_root(self, a: Array) -> Array:
        """`Elements.square_root`."""
        return _silent(np.sqrt, a)

    def multiply_add(self, a: Array, b: Array, c: Array) -> Array:
        """`Elements.multiply_add`."""
        if np.result_type(a, b, c).kind == "f":
            return fused(a, b, c)
        return self.add(self.multiply(a, b), c)

    def maximum(self, dtype: Dtype, a: Array, b: Array) -> Array:
        """`Elements.maximum`."""
        larger = _silent(np.maximum, a, b)
        if not dtype.is_float:
            return larger
        zeros = (a == 0) & (b == 0)
        return np.where(zeros, _silent(np.add, a, b), larger).astype(larger.dtype)

    def minimum(self, dtype: Dtype, a: Array, b: Array) -> Array:
        """`Elements.minimum`."""
        if dtype.is_float:
            return -self.maximum(dtype, -a, -b)
        return _silent(np.minimum, a, b)

    def greater(self, a: Array, b: Array) -> Array:
        """`Elements.greater`."""
        return np.where(_silent(np.greater, a, b), a, b).astype(np.result_type(a, b))

    def lesser(self, a: Array, b: Array) -> Array:
        """`Elements.lesser`."""
        return np.where(_silent(np.less, a, b), a, b).astype(np.result_type(a, b))

    def where_less(self, a: Array, b: Array, x: Array, y: Array) -> Array:
        """`Elements.where_less`."""
        return np.where(_silent(np.less, a, b), x, y).astype(np.result_type(x, y))

    def where_equal(self, a: Array, b: Array, x: Array, y: Array) -> Array:
        """`Elements.where_equal`."""
        return np.where(_silent(np.equal, a, b), x, y).astype(np.result_type(x, y))

    def reinterpret(self, value: Array, dtype: Dtype) -> Array:
        """`Elements.reinterpret`."""
        return np.asarray(value).view(dtype.numpy)

    def shift_left(self, value: Array, count: int) -> Array:
        """`Elements.shift_left`."""
        return np.asarray(value << np.asarray(count, value.dtype))

    def shift_right(self, value: Array, count: int) -> Array:
        """`Elements.shift_right`."""
        return np.asarray(value >> np.asarray(count, value.dtype))

    @property
    def has_scale(self) -> bool:
        """`Elements.has_scale`: no."""
        return False

    def scale(self, value: Array, count: Array) -> Array:
        """`Elements.scale`."""
        scaled = np.ldexp(value, np.nan_to_num(count).astype(np.int32))
        return np.where(count < -151, np.float32(0), scaled).astype(np.float32)


def _silent(function: Any, *given: Array) -> Array:
    """Calls a NumPy function with its floating-point warnings turned off."""
    with np.errstate(all="ignore"):
        return np.asarray(function(*given))


def fused(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` of f32, rounded once.

    The product is exact in f64. The sum is rounded there to the neighbour whose last
    bit is odd, unless it is exact: then rounding it to f32 is right (Boldo and
    Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
    """
    with np.errstate(all="ignore"):
        product = np.multiply(a, b, dtype=np.float64)
        addend = np.asarray(c, np.float64)
        total = np.asarray(product + addend)
        back = total - product  # Knuth's sum of two, for what is lost
        lost = (product - (total - back)) + (addend - back)
        bits = total.view(np.int64)
        inexact = np.isfinite(total) & (lost != 0) & np.isfinite(lost)
        even = inexact & (bits & 1 == 0)
        step = np.where((lost > 0) == (total > 0), 1, -1)
        odd = np.where(even, bits + step, bits).view(np.float64)
        return np.asarray(odd.astype(np.float32))
