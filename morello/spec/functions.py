"""Elementary functions as sequences of f32 operations, the same on every machine.

Each takes `Elements` and a value, and gives the function of it. The sequence *is* the
definition: a kernel has its bits. How far it is from the function itself is said for
each, in units of the last place (ULP), and tested for numbers of every exponent.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from morello.spec.dtypes import Dtype
from morello.spec.elements import Elements

_F32, _S32 = Dtype.F32, Dtype.S32

_MAGIC = 1.5 * 2.0**23
"""Added to a number below 2^22, it leaves the nearest integer in the lowest bits."""

_MAGIC_BITS = 0x4B400000

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.693359375
"""ln 2 to 9 bits: times an integer of the exponent it is exact."""
_LN2_LOW = -2.12194440e-4

_EXP = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
"""(exp(r) - 1 - r) / r², the greatest power first, for |r| ≤ ln(2)/2 (Cephes)."""


@dataclasses.dataclass(frozen=True)
class _Reduced:
    """x = exponent · ln 2 + r, and exp(r) - 1."""

    exponent: Any
    """As an integer."""
    less_one: Any


def _reduced(e: Elements, x: Any) -> _Reduced:
    """Of numbers between -104 and 89."""

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    shifted = e.multiply_add(x, number(_LOG2_E), number(_MAGIC))
    count = e.subtract(shifted, number(_MAGIC))
    rest = e.multiply_add(count, number(-_LN2_HIGH), x)
    rest = e.multiply_add(count, number(-_LN2_LOW), rest)
    polynomial = number(_EXP[0])
    for coefficient in _EXP[1:]:
        polynomial = e.multiply_add(polynomial, rest, number(coefficient))
    less_one = e.multiply_add(polynomial, e.multiply(rest, rest), rest)
    bits = e.reinterpret(shifted, _S32)
    return _Reduced(e.subtract(bits, e.constant(_S32, _MAGIC_BITS)), less_one)


def _power_of_two(e: Elements, exponent: Any) -> Any:
    """2^exponent, where that is a normal number."""
    biased = e.add(exponent, e.constant(_S32, 127))
    return e.reinterpret(e.shift_left(biased, 23), _F32)


def exp(e: Elements, x: Any) -> Any:
    """e^x, within 1 ULP; denormal results too.

    exp(-inf) = 0, exp(inf) = inf, above 88.73 inf, below -103.98 0; NaN stays NaN.
    """
    x = e.greater(e.constant(_F32, -104.0), x)  # the second of two where one is NaN
    x = e.lesser(e.constant(_F32, 89.0), x)
    reduced = _reduced(e, x)
    value = e.add(reduced.less_one, e.constant(_F32, 1.0))
    half = e.shift_right(reduced.exponent, 1)  # so that both powers are normal
    value = e.multiply(value, _power_of_two(e, half))
    return e.multiply(value, _power_of_two(e, e.subtract(reduced.exponent, half)))


def tanh(e: Elements, x: Any) -> Any:
    """The hyperbolic tangent, within 3 ULP: (exp(2x) - 1) / (exp(2x) + 1).

    tanh(±inf) = ±1; NaN stays NaN; -0 becomes +0.
    """
    twice = e.add(x, x)
    clamped = e.greater(e.constant(_F32, -20.0), twice)
    clamped = e.lesser(e.constant(_F32, 20.0), clamped)
    reduced = _reduced(e, clamped)
    power = _power_of_two(e, reduced.exponent)
    one = e.constant(_F32, 1.0)
    less_one = e.multiply_add(reduced.less_one, power, e.subtract(power, one))
    return e.divide(less_one, e.add(less_one, e.constant(_F32, 2.0)))


def sigmoid(e: Elements, x: Any) -> Any:
    """1 / (1 + exp(-x)), within 3 ULP.

    sigmoid(-inf) = 0, sigmoid(inf) = 1; below -88.73 it is 0; NaN stays NaN.
    """
    one = e.constant(_F32, 1.0)
    return e.divide(one, _one_and_exp(e, x))


def silu(e: Elements, x: Any) -> Any:
    """x · sigmoid(x), within 3 ULP of the quotient x / (1 + exp(-x)).

    silu(inf) = inf; below -88.73 it is -0; silu(-inf) and silu(NaN) are NaN.
    """
    return e.divide(x, _one_and_exp(e, x))


_GELU_1, _GELU_3 = 1.5957691216057308, 0.07135481282052
"""2·sqrt(2/π), and that times 0.044715."""


def gelu(e: Elements, x: Any) -> Any:
    """x/2 · (1 + tanh(sqrt(2/π) · (x + 0.044715·x³))), the form with tanh.

    Within 3 ULP where x > -1; below, within 2^-15 of its size, and from -10.07 on it is
    -0. gelu(inf) = inf; gelu(-inf) and gelu(NaN) are NaN.
    """
    square = e.multiply(x, x)
    factor = e.multiply_add(
        square, e.constant(_F32, _GELU_3), e.constant(_F32, _GELU_1)
    )
    return e.divide(x, _one_and_exp(e, e.multiply(x, factor)))


def _one_and_exp(e: Elements, x: Any) -> Any:
    """1 + exp(-x)."""
    negative = e.multiply(x, e.constant(_F32, -1.0))
    return e.add(exp(e, negative), e.constant(_F32, 1.0))


def relu(e: Elements, x: Any) -> Any:
    """The greater of x and 0: -0 stays -0, NaN stays NaN."""
    return e.greater(e.constant(_F32, 0.0), x)


def sqrt(e: Elements, x: Any) -> Any:
    """The square root, rounded right; of numbers below -0 NaN, of -0 it is -0."""
    return e.square_root(x)


def rsqrt(e: Elements, x: Any) -> Any:
    """1 / sqrt(x), within 1.5 ULP; inf for 0."""
    return e.divide(e.constant(_F32, 1.0), e.square_root(x))


def neg(e: Elements, x: Any) -> Any:
    """-x."""
    return e.multiply(x, e.constant(_F32, -1.0))


def copy(e: Elements, x: Any) -> Any:
    """x as it is."""
    return x


def square(e: Elements, x: Any) -> Any:
    """x²."""
    return e.multiply(x, x)


def minimum(e: Elements, a: Any, b: Any) -> Any:
    """The lesser of two (IEEE 754 ``minimum``): a NaN gives NaN, -0 is less than +0."""
    return e.minimum(_F32, a, b)


def maximum(e: Elements, a: Any, b: Any) -> Any:
    """The greater of two (IEEE 754 ``maximum``): a NaN gives NaN, +0 is greater."""
    return e.maximum(_F32, a, b)


def _method(name: str) -> Callable[[Elements, Any, Any], Any]:
    """An operation of `Elements` as a function of two values."""

    def function(e: Elements, a: Any, b: Any) -> Any:
        return getattr(e, name)(a, b)

    return function


UNARY: dict[str, Callable[[Elements, Any], Any]] = {
    "copy": copy,
    "exp": exp,
    "gelu": gelu,
    "neg": neg,
    "relu": relu,
    "rsqrt": rsqrt,
    "sigmoid": sigmoid,
    "silu": silu,
    "sqrt": sqrt,
    "square": square,
    "tanh": tanh,
}
"""The functions of one number, by the name of the kind."""

BINARY: dict[str, Callable[[Elements, Any, Any], Any]] = {
    "add": _method("add"),
    "div": _method("divide"),
    "maximum": maximum,
    "minimum": minimum,
    "mul": _method("multiply"),
    "sub": _method("subtract"),
}
"""The functions of two numbers, by the name of the kind."""
