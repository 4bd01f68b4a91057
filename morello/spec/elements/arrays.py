"""`Elements` in NumPy: what a kind computes of elements, on whole arrays.

The arithmetic is that of IEEE 754 in the dtype of the operands, so a kind that defines
itself by `Kind.element` has the same bits here and in a kernel.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.errors import SpecError
from morello.spec.elements.casts import cast
from morello.spec.elements.dtypes import Dtype

Array = np.ndarray[Any, np.dtype[Any]]


def _silent(function: Any) -> Callable[..., Array]:
    """A function of NumPy as an operation, without warnings."""

    def operation(self: "ArrayElements", *operands: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(*operands))

    return operation


def _where(holds: Any) -> Callable[..., Array]:
    """An operation that chooses by a comparison: its operands, if no others."""
    compared = _silent(holds)

    def operation(self: "ArrayElements", a: Array, b: Array, *choice: Array) -> Array:
        x, y = choice or (a, b)
        return np.where(compared(self, a, b), x, y).astype(np.result_type(x, y))

    return operation


_MAXIMUM, _MINIMUM = _silent(np.maximum), _silent(np.minimum)


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

    def of_sizes(self, dtype: Dtype, number: Any) -> Array:
        """`Elements.of_sizes`.

        Raises:
            SpecError: no call is known.
        """
        raise SpecError(
            "a number follows from the sizes of a call, which are not known",
            "take the Spec of a call: spec.at(37)",
        )

    def convert(self, value: Array, source: Dtype, dest: Dtype) -> Array:
        """`Elements.convert`."""
        return cast(np.atleast_1d(value), source, dest).reshape(np.shape(value))

    add = _silent(np.add)
    subtract = _silent(np.subtract)
    multiply = _silent(np.multiply)
    divide = _silent(np.divide)
    square_root = _silent(np.sqrt)
    nearest = _silent(np.rint)

    def multiply_add(self, a: Array, b: Array, c: Array) -> Array:
        """`Elements.multiply_add`."""
        if np.result_type(a, b, c).kind == "f":
            return fused(a, b, c)
        return self.add(self.multiply(a, b), c)

    def maximum(self, dtype: Dtype, a: Array, b: Array) -> Array:
        """`Elements.maximum`."""
        larger = _MAXIMUM(self, a, b)
        if not dtype.is_float:
            return larger
        zeros = (a == 0) & (b == 0)
        return np.where(zeros, self.add(a, b), larger).astype(larger.dtype)

    def minimum(self, dtype: Dtype, a: Array, b: Array) -> Array:
        """`Elements.minimum`."""
        if dtype.is_float:
            return -self.maximum(dtype, -a, -b)
        return _MINIMUM(self, a, b)

    greater = _where(np.greater)
    lesser = where_less = _where(np.less)
    where_equal = _where(np.equal)

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
