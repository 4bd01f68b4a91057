"""Definitions of the casts from one dtype to another."""

from typing import Any

import ml_dtypes
import numpy as np

from morello.spec.elements.dtypes import Dtype

Array = np.ndarray[Any, Any]


def cast(array: Array, source: Dtype, dest: Dtype) -> Array:
    """An array of one dtype as another, as `Move` defines it.

    A float is widened exactly, then rounded once: to the nearest number, to the even
    one of two. A NaN keeps its sign and the upper bits of its payload, and becomes
    quiet; widening an upper half keeps all its bits. Integers are cut off. A float that
    becomes an integer is one of its numbers.
    """
    if source is dest:
        return array.copy()
    if not source.is_float:
        return dest.stored(source.values(array))
    wide = _widened(array, source) if source.computes_in else array
    if not dest.is_float:
        return wide.astype(dest.numpy)
    return _rounded(wide, dest) if dest.computes_in else wide


def stored_error(number: Array, error: Array, dtype: Dtype) -> Array:
    """The greatest error of a number that is within ``error`` of ``number``, after it
    is stored as ``dtype``: half of the spacing of a narrow float there is added."""
    if not dtype.computes_in:
        return error
    limits = ml_dtypes.finfo(dtype.numpy)
    relative = float(limits.eps) / 2 * (np.abs(number) + error)
    rounding: Array = np.maximum(relative, float(limits.smallest_subnormal) / 2)
    return error + rounding


_QUIET_NAN = 0x7FC00000


def _words(array: Array) -> Array:
    """The bits of each element, as uint32."""
    return array.view(f"u{array.itemsize}").astype(np.uint32)


def _widened(array: Array, source: Dtype) -> Array:
    bits, width = _words(array), 8 * source.itemsize
    if source.is_upper_half:
        return (bits << (32 - width)).view(np.float32)
    payload = (bits & ((1 << source.mantissa) - 1)) << (23 - source.mantissa)
    nan = bits >> (width - 1) << 31 | _QUIET_NAN | payload
    with np.errstate(invalid="ignore"):
        number = array.astype(np.float32).view(np.uint32)
    return np.where(np.isnan(array), nan, number).astype(np.uint32).view(np.float32)


def _rounded(array: Array, dest: Dtype) -> Array:
    bits, width = _words(np.asarray(array, order="C")), 8 * dest.itemsize
    sign, quiet = 1 << (width - 1), 1 << (dest.mantissa - 1)
    exponent = sign - (1 << dest.mantissa)
    payload = bits >> (23 - dest.mantissa) & (quiet - 1)
    nan = bits >> (32 - width) & sign | exponent | quiet | payload
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        nearest = _words(array.astype(dest.numpy))
    rounded = np.where(np.isnan(array), nan, nearest)
    return rounded.astype(f"u{dest.itemsize}").view(dest.numpy)
