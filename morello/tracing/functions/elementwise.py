"""NumPy's functions of elements, as those that graphs have."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.spec.functions import ROWS
from morello.tracing.nodes import pointwise
from morello.tracing.numbers import BOOL
from morello.tracing.recording import Recording
from morello.tracing.tracer import UFUNCS, Tracer

_LARGEST = float(np.finfo(np.float32).max)


def recording_of(*operands: Any) -> Recording:
    """The program that some arguments belong to."""
    return next(one._recording for one in operands if isinstance(one, Tracer))


def function(name: str, *operands: Any) -> Tracer:
    """A function of graphs, by its name."""
    return pointwise(recording_of(*operands), name, *operands)


def where(condition: Any, x: Any, y: Any) -> Tracer:
    """Chooses between x and y by a condition, an array of numbers where 0 is false."""
    return function("where", condition, x, y)


def logical_not(a: Any) -> Tracer:
    """1.0 where a is 0."""
    return function("equal", a, 0.0)


def logical_and(a: Any, b: Any) -> Tracer:
    """Elementwise and: 1.0 where neither a nor b is 0, else 0.0."""
    return where(a, where(b, 1.0, 0.0) if isinstance(b, Tracer) else _truth(b), 0.0)


def logical_or(a: Any, b: Any) -> Tracer:
    """Elementwise or: 1.0 where a or b is not 0, else 0.0."""
    return where(a, 1.0, where(b, 1.0, 0.0) if isinstance(b, Tracer) else _truth(b))


def _truth(operand: Any) -> Any:
    """An array or a number of 1.0 and 0.0."""
    return np.not_equal(np.asarray(operand), 0).astype(np.float32)[()]


def not_equal(a: Any, b: Any) -> Tracer:
    """1.0 where they differ, or one is NaN."""
    return logical_not(function("equal", a, b))


def is_nan(x: Any) -> Tracer:
    """1.0 where it is no number."""
    return not_equal(x, x)


def logaddexp(a: Any, b: Any) -> Tracer:
    """log(exp(a) + exp(b))."""
    apart = function("abs", function("sub", a, b))
    # Where both are the same infinity there is no difference.
    apart = where(function("equal", a, b), 0.0, apart)
    small = function("log1p", function("exp", function("neg", apart)))
    return function("add", function("maximum", a, b), small)


_MOST_POWER = 64


def power(base: Any, exponent: Any) -> Tracer:
    """Powers that are multiples of 1/2 by products and roots, as NumPy has them."""
    if isinstance(exponent, int | float | np.integer | np.floating):
        twice = 2 * float(exponent)
        if twice == round(twice) and abs(twice) <= 2 * _MOST_POWER:
            return _power(base, int(twice))
    return function("pow", base, exponent)


def _power(base: Tracer, twice: int) -> Tracer:
    if twice < 0:
        return function("div", 1.0, _power(base, -twice) if twice < -1 else _root(base))
    if twice == 0:
        return where(base, 1.0, 1.0)
    if twice == 1:  # of which NumPy takes the root
        return function("sqrt", base)
    power = _whole_power(base, twice // 2)
    return _root(base, power) if twice % 2 else power


def _root(x: Tracer, factor: Any = 1.0) -> Tracer:
    """The root of x, times a power of it: inf of -inf, and 0 of -0."""
    product = function("mul", function("sqrt", x), factor)
    is_lowest = function("equal", x, -math.inf)
    return where(is_lowest, math.inf, function("abs", product))


def _whole_power(base: Tracer, exponent: int) -> Tracer:
    if exponent == 1:
        return base
    half = function("square", _whole_power(base, exponent // 2))
    return function("mul", half, base) if exponent % 2 else half


def _named(name: str) -> Callable[..., Tracer]:
    return lambda *operands: function(name, *operands)


UFUNCS |= {ufunc: _named(name) for name, row in ROWS.items() for ufunc in row.numpy}


def _sum(a: Any, b: Any) -> Tracer:
    """The sum, which of truth values is whether one holds."""
    if getattr(a, "dtype", None) == BOOL == getattr(b, "dtype", None):
        return logical_or(a, b)
    return function("add", a, b)


UFUNCS |= {
    np.add: _sum,
    np.bitwise_and: logical_and,
    np.bitwise_or: logical_or,
    np.greater: lambda a, b: function("less", b, a),
    np.greater_equal: lambda a, b: function("less_equal", b, a),
    np.invert: logical_not,
    np.isfinite: lambda x: function("less_equal", function("abs", x), _LARGEST),
    np.isnan: is_nan,
    np.logaddexp: logaddexp,
    np.logical_and: logical_and,
    np.logical_not: logical_not,
    np.logical_or: logical_or,
    np.not_equal: not_equal,
    np.power: power,
    np.reciprocal: lambda x: function("div", 1.0, x),
    # NumPy's is +0 of both zeros.
    np.sign: lambda x: where(function("equal", x, 0.0), 0.0, function("sign", x)),
}
