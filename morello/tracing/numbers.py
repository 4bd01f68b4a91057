"""NumPy's dtypes of traced arrays, and the element types that a graph has them in."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.spec.elements.dtypes import Dtype
from morello.spec.functions import INTEGER
from morello.spec.graphs.expression import NAN, Constant, Expression
from morello.tracing.refusals import refusal

F32 = np.dtype(np.float32)
BOOL = np.dtype(bool)
INT32, INT64, UINT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64)

_ARGUMENTS = {
    **{t.numpy: t for t in Dtype if t.is_read_as(Dtype.F32) or t.is_float},
    BOOL: Dtype.U8,
}


def element_type(dtype: np.dtype[Any]) -> Dtype | None:
    """The element type of a tensor that is an array of a dtype, bit for bit; None where
    no graph reads it."""
    return _ARGUMENTS.get(dtype)


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether it is a float that is computed in float32 and rounded."""
    element = _ARGUMENTS.get(dtype)
    return element is not None and bool(element.rounding) and element.is_float


def is_whole(dtype: np.dtype[Any]) -> bool:
    """Whether it is of integers of at most 32 bits."""
    return dtype.kind in "iu" and dtype.itemsize < INT64.itemsize


def dtypes_of(
    ufunc: Any, inputs: Sequence[Any]
) -> tuple[np.dtype[Any], list[np.dtype[Any]]]:
    """NumPy's dtype of what a function of elements gives, and those that it takes;
    float64 is float32 here, and so are whole numbers of 64 bits in arithmetic.

    Raises:
        MorelloError: NumPy has no such function of the dtypes.
    """
    kinds = [_kind(one) for one in inputs]
    try:
        *taken, result = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError as error:
        raise refusal(f"np.{ufunc.__name__}: {error}") from None
    if ufunc.__name__ in _OF_BITS and result != BOOL:
        raise refusal(f"np.{ufunc.__name__} of {result} is not traced")
    if ufunc is np.power and hasattr(inputs[1], "element") and is_wide(inputs[1]):
        raise refusal(
            "a power by an array of int32 is not traced",
            "write x.astype(np.float32), which rounds above 2**24",
        )
    if is_whole(result):
        for one in inputs:
            if type(one) is int and not has_number(result, one):
                raise refusal(
                    f"the number {one} in np.{ufunc.__name__} of {result}, which has "
                    "no such number, is not traced",
                    "write a float, or x.astype(np.float32)",
                )
    is_known = result == BOOL or is_whole(result) or is_narrow(result)
    return result if is_known else F32, taken


def has_number(dtype: np.dtype[Any], number: int) -> bool:
    """Whether integers of a dtype have a number."""
    limits = np.iinfo(dtype)
    return bool(limits.min <= number <= limits.max)


_OF_BITS = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor", "invert"})


def _kind(operand: Any) -> Any:
    """The dtype of an operand, or the class of a number of Python, which takes that of
    others."""
    if type(operand) in (int, float):
        return type(operand)
    if getattr(operand, "is_number", False):
        return float
    dtype = getattr(operand, "dtype", None) or np.asarray(operand).dtype
    check_numbers(operand, dtype)
    return dtype


def other_meaning(array: Any) -> tuple[str, str] | None:
    """The class of an array whose functions are others than NumPy's, and a remedy."""
    match array:
        case np.ma.MaskedArray():
            what = "a masked array, whose mask would be ignored"
            return what, "give numpy.ma.filled(array, value)"
        case np.matrix():
            what = "a matrix, whose products are others"
            return what, "give numpy.asarray(array), and write @ for *"
    return None


def check_numbers(operand: Any, dtype: np.dtype[Any]) -> None:
    """Refuse an operand whose dtype is neither numeric nor boolean, or a foreign
    class."""
    other = other_meaning(operand)
    if other is not None:
        raise refusal(f"{other[0]}, is not traced", other[1])
    if dtype.kind not in "fiub" and not is_narrow(dtype):
        held = isinstance(operand, np.ndarray | np.generic)
        what = f"an array of dtype {dtype}" if held else type(operand).__name__
        raise refusal(f"{what} is not traced", "use numbers of float32")


def together(dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The dtype that NumPy has for elements of several; float64 is float32 here."""
    dtype = np.result_type(*dtypes)
    return F32 if dtype == np.float64 else dtype


def dtype_by_numpy(function: Any, args: Any, kwargs: Any) -> np.dtype[Any] | None:
    """The dtype that NumPy gives a result of a function of arrays, by what it does with
    arrays of one element; None where that says nothing."""

    def small(operand: Any) -> Any:
        if isinstance(operand, list | tuple):
            return [small(one) for one in operand]
        if getattr(operand, "is_number", False):
            return 1.0
        dtype = getattr(operand, "dtype", None)
        return operand if dtype is None else np.ones((1,) * operand.ndim, dtype)

    try:
        with np.errstate(all="ignore"):
            result = function(
                *map(small, args), **{name: small(v) for name, v in kwargs.items()}
            )
    except (IndexError, TypeError, ValueError):
        return None
    result = result[0] if isinstance(result, list) and result else result
    dtype = getattr(result, "dtype", None)
    return F32 if dtype == np.float64 else dtype


def constant_of(number: Any) -> Expression:
    """The constant that a number is.

    Raises:
        MorelloError: it is finite, and float32 has no such number.
    """
    value = float(number)
    if math.isnan(value):
        return NAN
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if np.isinf(rounded) and np.isfinite(value):
        raise refusal(
            f"the number {value:.3g} is too large for float32",
            "use np.finfo(np.float32).max, or np.inf",
        )
    return Constant(value)


def computed_in(name: str, arrays: Sequence[Any]) -> Dtype:
    """The numbers that a function of arrays is computed in: s32 where all are integers
    and s32 has it.

    Raises:
        MorelloError: f32 does not have all integers of 32 bits, and the function tells
            them apart.
    """
    if all(array.is_integer for array in arrays) and name in INTEGER:
        return Dtype.S32
    if name in _TELLING and any(map(is_wide, arrays)):
        raise refusal(
            f"'{name}' of int32 is not traced",
            "write x.astype(np.float32), which rounds above 2**24",
        )
    return Dtype.F32


def is_wide(array: Any) -> bool:
    """Whether an array has integers that f32 lacks."""
    return array.is_integer and array.element is Dtype.S32


_TELLING = frozenset({"equal", "less", "less_equal", "where", "remainder", "fmod"})
"""Functions whose results are wrong where integers become the nearest f32."""


REMAINDERS = frozenset({np.floor_divide, np.fmod, np.remainder, np.trapezoid})
"""NumPy's functions of floats, likewise; and one that adds integers as integers."""


def summed_in(array: Any, reduction: str, count: int) -> Dtype:
    """The numbers that elements of an array are reduced in.

    Raises:
        MorelloError: a sum of integers may be too large.
    """
    if not array.is_integer:
        return Dtype.F32
    bits = 8 * array.element.itemsize - array.element.is_signed
    if reduction == "sum" and count << bits > 1 << 31:
        raise refusal(
            f"the sum of {count} elements of {array.dtype} is not traced",
            "write x.astype(np.float32)",
        )
    return Dtype.S32
