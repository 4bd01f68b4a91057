"""Definitions of the casts between f32 and the narrow floats, bf16 and f16."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from morello.spec.dtypes import Dtype

Array = np.ndarray[Any, Any]


def cast(array: Array, source: Dtype, dest: Dtype) -> Array:
    """An array of one float dtype as another: widened exactly, then rounded once.

    Rounding is to the nearest number, to the even one of two. A NaN keeps its sign and
    the upper bits of its payload, and becomes quiet; widening bf16 keeps all its bits.
    """
    if source is dest:
        return array.copy()
    wide = _WIDEN[source](array) if source.computes_in else array
    return _ROUND[dest](wide) if dest.computes_in else wide


def stored_error(number: Array, error: Array, dtype: Dtype) -> Array:
    """The greatest error of a number that is within ``error`` of ``number``, after it
    is stored as ``dtype``: half of the spacing of a narrow float there is added."""
    if not dtype.computes_in:
        return error
    limits = ml_dtypes.finfo(dtype.numpy)
    relative = float(limits.eps) / 2 * (np.abs(number) + error)
    rounding: Array = np.maximum(relative, float(limits.smallest_subnormal) / 2)
    return error + rounding


def _widen_bf16(array: Array) -> Array:
    upper = array.view(np.uint16).astype(np.uint32)
    return (upper << 16).view(np.float32)


def _widen_f16(array: Array) -> Array:
    bits = array.view(np.uint16).astype(np.uint32)
    nan = (bits & 0x8000) << 16 | 0x7FC00000 | (bits & 0x3FF) << 13
    with np.errstate(invalid="ignore"):
        number = array.astype(np.float32).view(np.uint32)
    return np.where(np.isnan(array), nan, number).astype(np.uint32).view(np.float32)


def _round_to_bf16(array: Array) -> Array:
    """Half of the last place is added to the bits, less 1 where they are even."""
    bits = np.asarray(array, order="C").view(np.uint32)
    upper = bits >> 16
    nearest = bits + (0x7FFF + (upper & 1))  # carries into the exponent, up to inf
    rounded = np.where(np.isnan(array), upper | 0x40, nearest >> 16)
    return rounded.astype(np.uint16).view(Dtype.BF16.numpy)


def _round_to_f16(array: Array) -> Array:
    bits = np.asarray(array, order="C").view(np.uint32)
    nan = bits >> 16 & 0x8000 | 0x7E00 | bits >> 13 & 0x1FF
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        nearest = array.astype(np.float16).view(np.uint16)
    rounded = np.where(np.isnan(array), nan, nearest)
    return rounded.astype(np.uint16).view(np.float16)


_WIDEN: dict[Dtype, Callable[[Array], Array]] = {
    Dtype.BF16: _widen_bf16,
    Dtype.F16: _widen_f16,
}

_ROUND: dict[Dtype, Callable[[Array], Array]] = {
    Dtype.BF16: _round_to_bf16,
    Dtype.F16: _round_to_f16,
}
