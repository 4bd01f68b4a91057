"""NumPy's functions of elements that are made of several of a graph's."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.tracing.elementwise import builder_of, function, is_nan, not_equal
from morello.tracing.refusals import refusal
from morello.tracing.tracer import FUNCTIONS, UFUNCS, Tracer, pointwise

_LARGEST = float(np.finfo(np.float32).max)


def _where(condition: Any, a: Any, b: Any) -> Any:
    return function("where", condition, a, b)


def isinf(x: Any) -> Tracer:
    """1.0 where it is an infinity."""
    return function("equal", abs(x), math.inf)


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0) -> Any:
    """As `numpy.nan_to_num`."""
    return _where(is_nan(x), nan, np.clip(x, -_LARGEST, _LARGEST))


def sinh(x: Any) -> Any:
    """As near to 0 as elsewhere, and finite as far as it can be."""
    near = 0.5 * (np.expm1(x) - np.expm1(-x))
    half = np.exp(0.5 * abs(x))
    return _where(
        function("less", abs(x), 80.0), near, np.sign(x) * (0.5 * half * half)
    )


def cosh(x: Any) -> Any:
    """The mean of exp(x) and exp(-x), by the root of the greater."""
    half = np.exp(0.5 * abs(x))
    return 0.5 * half * half + 0.5 / half / half


def arcsin(x: Any) -> Any:
    """By the tangent of the angle."""
    return np.arctan(x / np.sqrt((1.0 - x) * (1.0 + x)))


def arccos(x: Any) -> Any:
    """By the tangent of half the angle."""
    return 2.0 * np.arctan(np.sqrt((1.0 - x) / (1.0 + x)))


def arcsinh(x: Any) -> Any:
    """By the logarithm of 1 more than a sum."""
    size = abs(x)
    near = np.log1p(size + size * size / (1.0 + np.sqrt(1.0 + size * size)))
    far = np.log(size) + math.log(2)
    return _where(x, np.sign(x) * _where(function("less", 1e9, size), far, near), x)


def cbrt(x: Any) -> Any:
    """The power 1/3 of the size, with the sign."""
    return _where(x, np.sign(x) * abs(x) ** (1 / 3), x)


def sinc(x: Any) -> Any:
    """As `numpy.sinc`."""
    turned = x * math.pi
    return _where(x, np.sin(turned) / turned, 1.0)


def _other_of_nan(name: str) -> Any:
    def chosen(a: Any, b: Any) -> Any:
        best = function(name, a, b)
        second = _where(is_nan(a), b, best) if isinstance(a, Tracer) else best
        return _where(is_nan(b), a, second) if isinstance(b, Tracer) else second

    return chosen


def hypot(a: Any, b: Any) -> Any:
    """The root of two squares, which do not overflow."""
    high = function("maximum", np.abs(a), np.abs(b))
    low = function("minimum", np.abs(a), np.abs(b))
    share = low / high
    found = _where(high, high * np.sqrt(1.0 + share * share), high)
    either = [
        function("equal", abs(x), math.inf) for x in (a, b) if isinstance(x, Tracer)
    ]
    for is_infinite in either:
        found = _where(is_infinite, math.inf, found)
    return found


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
    """As `numpy.heaviside`."""
    steps = _where(function("less", x, 0.0), 0.0, _where(x, 1.0, at))
    return _where(is_nan(x), x, steps) if isinstance(x, Tracer) else steps


def _power_of_two(divisor: Any, name: str) -> float:
    """A divisor by which quotients are exact.

    Raises:
        MorelloError: it is another one.
    """
    is_number = isinstance(divisor, int | float | np.integer | np.floating)
    if not is_number or not divisor or abs(math.frexp(divisor)[0]) != 0.5:
        raise refusal(
            f"np.{name} by what is no power of two is not traced, since its quotients "
            "are not exact in float32",
            "write x - b * np.floor(x / b) where that is near enough",
        )
    return float(divisor)


def remainder(a: Any, b: Any) -> Any:
    """As `numpy.remainder`, by a power of two."""
    divisor = _power_of_two(b, "remainder")
    return a - np.floor(a * (1 / divisor)) * divisor


def fmod(a: Any, b: Any) -> Any:
    """As `numpy.fmod`, by a power of two."""
    divisor = _power_of_two(b, "fmod")
    return a - np.trunc(a * (1 / divisor)) * divisor


def floor_divide(a: Any, b: Any) -> Any:
    """As `numpy.floor_divide`, by a power of two."""
    found = np.floor(a * (1 / _power_of_two(b, "floor_divide")))
    return _where(isinf(a), math.nan, found)


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Tracer:
    """As `numpy.isclose`."""
    size = abs(b)
    near: Any = function("less_equal", abs(a - b), size * rtol + atol)
    if isinstance(b, Tracer) or np.ndim(b):
        finite = pointwise(builder_of(a, b), "less_equal", size, _LARGEST)
        near = _where(finite, near, 0.0)
    elif not math.isfinite(b):
        near = 0.0
    found: Tracer = _where(function("equal", a, b), 1.0, near)
    found.kind = "b"
    return found


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """As `numpy.select`."""
    found = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        found = _where(condition, choice, found)
    return found


def around(a: Any, decimals: int = 0) -> Any:
    """As `numpy.round`."""
    if not decimals:
        return np.rint(a)
    return np.rint(a * 10.0**decimals) / 10.0**decimals


def _times(factor: float) -> Any:
    return lambda x: function("mul", x, factor)


UFUNCS |= {
    np.arccos: arccos,
    np.arcsin: arcsin,
    np.arcsinh: arcsinh,
    np.arctanh: lambda x: 0.5 * np.log1p(2.0 * x / (1.0 - x)),
    np.cbrt: cbrt,
    np.cosh: cosh,
    np.deg2rad: _times(math.pi / 180),
    np.degrees: _times(180 / math.pi),
    np.float_power: lambda a, b: np.power(a, b),
    np.floor_divide: floor_divide,
    np.fmax: _other_of_nan("maximum"),
    np.fmin: _other_of_nan("minimum"),
    np.fmod: fmod,
    np.heaviside: heaviside,
    np.hypot: hypot,
    np.isinf: isinf,
    np.logaddexp2: logaddexp2,
    np.logical_xor: logical_xor,
    np.rad2deg: _times(180 / math.pi),
    np.radians: _times(math.pi / 180),
    np.remainder: remainder,
    np.sinh: sinh,
    np.tan: lambda x: np.sin(x) / np.cos(x),
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
