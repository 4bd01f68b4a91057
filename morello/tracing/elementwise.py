"""NumPy's functions of elements, as those that graphs have."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.tracing.builder import Builder
from morello.tracing.refusals import INSTEAD, refusal
from morello.tracing.tracer import UFUNCS, Tracer, pointwise

_LARGEST = float(np.finfo(np.float32).max)

_SAME = {
    np.abs: "abs",
    np.add: "add",
    np.divide: "div",
    np.equal: "equal",
    np.exp: "exp",
    np.fabs: "abs",
    np.less: "less",
    np.less_equal: "less_equal",
    np.log: "log",
    np.maximum: "maximum",
    np.minimum: "minimum",
    np.multiply: "mul",
    np.negative: "neg",
    np.positive: "copy",
    np.sqrt: "sqrt",
    np.square: "square",
    np.subtract: "sub",
    np.tanh: "tanh",
}
"""Functions that are one of a graph's."""

INSTEAD |= {
    "sin": "compute tables of it outside of the function, and give them as arguments",
    "cos": "compute tables of it outside of the function, and give them as arguments",
    "exp2": "write np.exp(x * np.log(2))",
}


def builder_of(*given: Any) -> Builder:
    """The graph that some arguments belong to."""
    return next(one._builder for one in given if isinstance(one, Tracer))


def function(name: str, *given: Any) -> Tracer:
    """A function of graphs, by its name."""
    return pointwise(builder_of(*given), name, *given)


def _where(condition: Any, a: Any, b: Any) -> Tracer:
    return function("where", condition, a, b)


def logical_not(a: Any) -> Tracer:
    """1.0 where a is 0."""
    return function("equal", a, 0.0)


def logical_and(a: Any, b: Any) -> Tracer:
    """1.0 where neither is 0."""
    return _where(a, _where(b, 1.0, 0.0) if isinstance(b, Tracer) else _truth(b), 0.0)


def logical_or(a: Any, b: Any) -> Tracer:
    """1.0 where one is not 0."""
    return _where(a, 1.0, _where(b, 1.0, 0.0) if isinstance(b, Tracer) else _truth(b))


def _truth(given: Any) -> Any:
    """An array or a number of 1.0 and 0.0."""
    return np.not_equal(np.asarray(given), 0).astype(np.float32)[()]


def not_equal(a: Any, b: Any) -> Tracer:
    """1.0 where they differ, or one is NaN."""
    return logical_not(function("equal", a, b))


def log1p(x: Any) -> Tracer:
    """log(1 + x), as near to 0 as elsewhere: log(u)·x/(u - 1) of the sum u, as it is
    rounded (Kahan)."""
    u = x + 1.0
    found = function("log", u) * (x / (u - 1.0))
    found = _where(function("equal", u, 1.0), x, found)
    return _where(function("less_equal", u, _LARGEST), found, u)


def expm1(x: Any) -> Tracer:
    """exp(x) - 1, as near to 0 as elsewhere: (u - 1)·x/log(u) of the power u, as it is
    rounded (Kahan)."""
    u = function("exp", x)
    less_one = u - 1.0
    found = less_one * (x / function("log", u))
    near = function("less", function("abs", x), 0.5)
    found = _where(near, found, less_one)
    return _where(function("equal", u, 1.0), x, found)


def logaddexp(a: Any, b: Any) -> Tracer:
    """log(exp(a) + exp(b))."""
    apart = function("abs", function("sub", a, b))
    # Where both are the same infinity there is no difference.
    apart = _where(function("equal", a, b), 0.0, apart)
    small = log1p(function("exp", function("neg", apart)))
    return function("add", function("maximum", a, b), small)


def sign(x: Any) -> Tracer:
    """-1, 0 or 1; NaN stays."""
    below = _where(function("less", x, 0.0), -1.0, x)
    return _where(function("less", 0.0, x), 1.0, below)


_MOST_POWER = 64


def power(base: Any, exponent: Any) -> Tracer:
    """Powers that are multiples of 1/2, by products and roots."""
    if not isinstance(exponent, int | float | np.integer | np.floating):
        raise refusal(
            "a power whose exponent is an array is not traced",
            "write np.exp(y * np.log(x)) for a positive x",
        )
    twice = 2 * float(exponent)
    if twice != round(twice) or abs(twice) > 2 * _MOST_POWER:
        raise refusal(
            f"the power {exponent} is not traced",
            f"use multiples of 0.5 up to {_MOST_POWER}, or np.exp(y * np.log(x)) for a "
            "positive x",
        )
    return _power(base, int(twice))


def _power(base: Tracer, twice: int) -> Tracer:
    if twice == -1:
        return function("rsqrt", base)
    if twice < 0:
        return function("div", 1.0, _power(base, -twice))
    if twice == 0:
        return _where(base, 1.0, 1.0)
    if twice == 1:
        return function("sqrt", base)
    found = _whole_power(base, twice // 2)
    return found if twice % 2 == 0 else function("mul", found, function("sqrt", base))


def _whole_power(base: Tracer, exponent: int) -> Tracer:
    if exponent == 1:
        return base
    half = function("square", _whole_power(base, exponent // 2))
    return function("mul", half, base) if exponent % 2 else half


def _named(name: str) -> Callable[..., Tracer]:
    return lambda *given: function(name, *given)


UFUNCS |= {ufunc: _named(name) for ufunc, name in _SAME.items()}
UFUNCS |= {
    np.bitwise_and: logical_and,
    np.bitwise_or: logical_or,
    np.expm1: expm1,
    np.greater: lambda a, b: function("less", b, a),
    np.greater_equal: lambda a, b: function("less_equal", b, a),
    np.invert: logical_not,
    np.isfinite: lambda x: function("less_equal", function("abs", x), _LARGEST),
    np.isnan: lambda x: not_equal(x, x),
    np.log10: lambda x: function("log", x) * (1 / math.log(10)),
    np.log1p: log1p,
    np.log2: lambda x: function("log", x) * (1 / math.log(2)),
    np.logaddexp: logaddexp,
    np.logical_and: logical_and,
    np.logical_not: logical_not,
    np.logical_or: logical_or,
    np.not_equal: not_equal,
    np.power: power,
    np.reciprocal: lambda x: function("div", 1.0, x),
    np.sign: sign,
}
