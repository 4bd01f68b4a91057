"""NumPy's functions of elements that are made of several of a graph's."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.tracing.functions.elementwise import (
    function,
    is_nan,
    not_equal,
    recording_of,
    where,
)
from morello.tracing.nodes import pointwise
from morello.tracing.numbers import BOOL
from morello.tracing.tracer import FUNCTIONS, UFUNCS, Tracer

_LARGEST = float(np.finfo(np.float32).max)


def isinf(x: Any) -> Tracer:
    """1.0 where it is an infinity."""
    return function("equal", abs(x), math.inf)


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0) -> Any:
    """Replaces NaN by a number and infinities by the largest finite numbers
    (`numpy.nan_to_num`); bf16, whose numbers NumPy does not look into, stays."""
    dtype = x.element.numpy
    if not np.issubdtype(dtype, np.inexact):
        return x.copy()
    largest = float(np.finfo(dtype).max)
    return where(is_nan(x), nan, np.clip(x, -largest, largest))


def sinc(x: Any) -> Any:
    """Normalized sinc function (`numpy.sinc`)."""
    turned = x * math.pi
    return where(x, np.sin(turned) / turned, 1.0)


def logaddexp2(a: Any, b: Any) -> Any:
    """By powers of e."""
    return np.logaddexp(a * math.log(2), b * math.log(2)) / math.log(2)


def logical_xor(a: Any, b: Any) -> Any:
    """1.0 where one is 0 and the other is not."""
    left, right = (
        not_equal(x, 0.0) if isinstance(x, Tracer) else np.float32(np.asarray(x) != 0)
        for x in (a, b)
    )
    return not_equal(left, right)


def heaviside(x: Any, at: Any) -> Any:
    """Heaviside step function, with the value ``at`` at 0 (`numpy.heaviside`)."""
    steps = where(function("less", x, 0.0), 0.0, where(x, 1.0, at))
    return where(is_nan(x), x, steps) if isinstance(x, Tracer) else steps


def _inverse(divisor: Any) -> float | None:
    """The inverse of a power of two, which is exact; None of all else.

    Those below one are left out: a quotient by them may be infinite.
    """
    is_number = isinstance(divisor, int | float | np.integer | np.floating)
    if not is_number or not abs(divisor) >= 1 or abs(math.frexp(divisor)[0]) != 0.5:
        return None
    return float(1 / divisor)


def remainder(a: Any, b: Any) -> Any:
    """Remainder of division rounded down (`numpy.remainder`)."""
    inverse = _inverse(b)
    if inverse is None:
        return function("remainder", a, b)
    rest = a - np.trunc(a * inverse) * float(b)
    moved = where(_is_opposite(rest, b), rest + float(b), rest)
    # A difference of equal numbers is +0; the zeros of NumPy have the divisor's sign.
    return moved if b > 0 else where(function("equal", rest, 0.0), -0.0, moved)


def fmod(a: Any, b: Any) -> Any:
    """Remainder of division rounded toward zero (`numpy.fmod`)."""
    inverse = _inverse(b)
    if inverse is None:
        return function("fmod", a, b)
    rest = a - np.trunc(a * inverse) * float(b)
    return where(function("equal", rest, 0.0), a * 0.0, rest)


def floor_divide(a: Any, b: Any) -> Any:
    """Quotient rounded down (`numpy.floor_divide`)."""
    inverse = _inverse(b)
    if inverse is None:
        return function("floor_divide", a, b)
    # The least numbers have a quotient that underflows, and a rest all the same.
    whole = np.trunc(a * inverse)
    rest = a - whole * float(b)
    lower = where(_is_opposite(rest, b), whole - 1.0, whole)
    return where(isinf(a), math.nan, lower)


def _is_opposite(rest: Any, divisor: float) -> Any:
    """Whether a rest has another sign than its divisor."""
    return function("less", *((rest, 0.0) if divisor > 0 else (0.0, rest)))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Tracer:
    """Whether elements are equal within a tolerance (`numpy.isclose`)."""
    size = abs(b)
    near: Any = function("less_equal", abs(a - b), size * rtol + atol)
    if isinstance(b, Tracer) or np.ndim(b):
        finite = pointwise(recording_of(a, b), "less_equal", size, _LARGEST)
        near = where(finite, near, 0.0)
    elif not math.isfinite(b):
        near = 0.0
    close: Tracer = where(function("equal", a, b), 1.0, near)
    close.dtype = BOOL
    return close


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Chooses elements by the first condition that holds (`numpy.select`)."""
    chosen = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        chosen = where(condition, choice, chosen)
    return chosen


def around(a: Any, decimals: int = 0) -> Any:
    """Rounds elements to a number of decimals (`numpy.round`)."""
    if not decimals:
        return np.rint(a)
    return np.rint(a * 10.0**decimals) / 10.0**decimals


def _times(factor: float) -> Any:
    return lambda x: function("mul", x, factor)


UFUNCS |= {
    np.deg2rad: _times(math.pi / 180),
    np.degrees: _times(180 / math.pi),
    np.float_power: lambda a, b: np.power(a, b),
    np.floor_divide: floor_divide,
    np.fmod: fmod,
    np.heaviside: heaviside,
    np.isinf: isinf,
    np.logaddexp2: logaddexp2,
    np.logical_xor: logical_xor,
    np.rad2deg: _times(180 / math.pi),
    np.radians: _times(math.pi / 180),
    np.remainder: remainder,
}

FUNCTIONS |= {
    np.allclose: lambda a, b, **bounds: np.all(isclose(a, b, **bounds)),
    np.fix: lambda x: np.trunc(x),
    np.isclose: isclose,
    np.nan_to_num: nan_to_num,
    np.round: around,
    np.select: select,
    np.sinc: sinc,
}
