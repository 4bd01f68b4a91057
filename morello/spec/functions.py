"""Elementary functions as sequences of f32 operations, the same on every machine.

Each takes `Elements` and a value, and gives the function of it. The sequence *is* the
definition: a kernel has its bits. How far it is from the function itself is said for
each, in units of the last place (ULP), and tested for numbers of every exponent.
"""

import dataclasses
import math
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
    1.3814540579915047e-3,
    8.36874544620514e-3,
    4.166838899254799e-2,
    1.666652113199234e-1,
    4.999999403953552e-1,
)
"""(exp(r) - 1 - r) / r², the greatest power first, for |r| ≤ ln(2)/2. The greatest
error of exp(r) is least: 3e-9 of it, a twentieth of what rounding may take."""


@dataclasses.dataclass(frozen=True)
class _Reduced:
    """x = exponent · ln 2 + r, and exp(r) - 1."""

    count: Any
    """The exponent as a whole f32."""
    shifted: Any
    """The same in the lowest bits of an f32."""
    rest: Any
    polynomial: Any
    """(exp(r) - 1 - r) / r²."""


def _reduced(e: Elements, x: Any) -> _Reduced:
    """Of numbers between -176 and 89: below, the rest means nothing."""

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    shifted = e.multiply_add(x, number(_LOG2_E), number(_MAGIC))
    count = e.subtract(shifted, number(_MAGIC))
    rest = e.multiply_add(count, number(-_LN2_HIGH), x)
    rest = e.multiply_add(count, number(-_LN2_LOW), rest)
    polynomial = number(_EXP[0])
    for coefficient in _EXP[1:]:
        polynomial = e.multiply_add(polynomial, rest, number(coefficient))
    return _Reduced(count, shifted, rest, polynomial)


def _exponent(e: Elements, reduced: _Reduced) -> Any:
    """The exponent as an integer."""
    bits = e.reinterpret(reduced.shifted, _S32)
    return e.subtract(bits, e.constant(_S32, _MAGIC_BITS))


def _less_one(e: Elements, reduced: _Reduced) -> Any:
    """exp(r) - 1, as near as that is to 0."""
    rest = reduced.rest
    return e.multiply_add(reduced.polynomial, e.multiply(rest, rest), rest)


def _power_of_two(e: Elements, exponent: Any) -> Any:
    """2^exponent, where that is a normal number."""
    biased = e.add(exponent, e.constant(_S32, 127))
    return e.reinterpret(e.shift_left(biased, 23), _F32)


def exp(e: Elements, x: Any) -> Any:
    """e^x, within 0.9 ULP; denormal results too.

    exp(-inf) = 0, exp(inf) = inf, above 88.73 inf, below -103.98 0; NaN stays NaN.
    """
    one = e.constant(_F32, 1.0)
    if not e.has_scale:
        # -176 becomes 2^-127 twice, which is 0 here: where a mask is applied, nothing
        # underflows, which would take a hundred cycles.
        x = e.greater(e.constant(_F32, -176.0), x)  # the second where one is NaN
    x = e.lesser(e.constant(_F32, 89.0), x)
    reduced = _reduced(e, x)
    slope = e.multiply_add(reduced.polynomial, reduced.rest, one)
    value = e.multiply_add(slope, reduced.rest, one)
    if e.has_scale:
        return e.scale(value, reduced.count)
    # The same bits: the first product is exact, or the second one zero.
    exponent = _exponent(e, reduced)
    half = e.shift_right(exponent, 1)  # so that both powers are normal
    value = e.multiply(value, _power_of_two(e, half))
    return e.multiply(value, _power_of_two(e, e.subtract(exponent, half)))


def tanh(e: Elements, x: Any) -> Any:
    """The hyperbolic tangent, within 3 ULP: (exp(2x) - 1) / (exp(2x) + 1).

    tanh(±inf) = ±1; NaN stays NaN; -0 becomes +0.
    """
    twice = e.add(x, x)
    clamped = e.greater(e.constant(_F32, -20.0), twice)
    clamped = e.lesser(e.constant(_F32, 20.0), clamped)
    reduced = _reduced(e, clamped)
    power = _power_of_two(e, _exponent(e, reduced))
    one = e.constant(_F32, 1.0)
    less_one = e.multiply_add(_less_one(e, reduced), power, e.subtract(power, one))
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


def _sign(e: Elements, x: Any) -> Any:
    """The sign bit of x alone, as an integer."""
    return e.shift_left(e.shift_right(e.reinterpret(x, _S32), 31), 31)


def absolute(e: Elements, x: Any) -> Any:
    """|x|: x without its sign bit."""
    return e.reinterpret(e.subtract(e.reinterpret(x, _S32), _sign(e, x)), _F32)


_ERF = (
    1.1936729151784675e-06,
    -2.1358511730795726e-05,
    0.00016749776841606945,
    -0.0007407242082990706,
    0.0017994041554629803,
    -0.0002530995989218354,
    -0.019117677584290504,
    0.10277127474546432,
    0.6366198062896729,
    1.128379225730896,
)
"""-ln(1 - erf(a)) / a, the greatest power first, for 0 < a ≤ 4: by weighted least
squares, so that the greatest relative error of erf is least."""


def erf(e: Elements, x: Any) -> Any:
    """The error function, within 3 ULP: 1 - exp(-a·P(a)) of a = |x|, with x's sign.

    erf(±inf) = ±1; NaN stays NaN; -0 stays -0.
    """
    size = absolute(e, x)
    size = e.lesser(e.constant(_F32, 4.0), size)
    polynomial = e.constant(_F32, _ERF[0])
    for coefficient in _ERF[1:]:
        polynomial = e.multiply_add(polynomial, size, e.constant(_F32, coefficient))
    reduced = _reduced(e, e.multiply(polynomial, e.multiply(size, _minus_one(e))))
    power = _power_of_two(e, _exponent(e, reduced))
    less_one = e.multiply_add(
        _less_one(e, reduced), power, e.subtract(power, e.constant(_F32, 1.0))
    )
    value = e.multiply(less_one, _minus_one(e))
    return _with_sign(e, absolute(e, value), x)


def _minus_one(e: Elements) -> Any:
    return e.constant(_F32, -1.0)


_LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
"""(ln(1 + r) - r + r²/2) / r³, the greatest power first, for 1 + r between sqrt(1/2)
and sqrt(2) (Cephes)."""

_ROOT_HALF_BITS = 0x3F3504F3
"""sqrt(1/2)."""

_LEAST_NORMAL = 2.0**-126


def log(e: Elements, x: Any) -> Any:
    """The natural logarithm, within 2 ULP.

    log(0) = -inf, log(inf) = inf; of numbers below 0, and of NaN, NaN.
    """

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    least, zero = number(_LEAST_NORMAL), number(0.0)
    scaled = e.where_less(x, least, e.multiply(x, number(2.0**23)), x)
    lost = e.where_less(x, least, number(-23.0), zero)
    bits = e.reinterpret(scaled, _S32)
    over = e.subtract(bits, e.constant(_S32, _ROOT_HALF_BITS))
    exponent = e.shift_right(over, 23)
    mantissa = e.reinterpret(e.subtract(bits, e.shift_left(exponent, 23)), _F32)
    shifted = e.reinterpret(e.add(exponent, e.constant(_S32, _MAGIC_BITS)), _F32)
    count = e.add(e.subtract(shifted, number(_MAGIC)), lost)
    rest = e.subtract(mantissa, number(1.0))
    polynomial = number(_LOG[0])
    for coefficient in _LOG[1:]:
        polynomial = e.multiply_add(polynomial, rest, number(coefficient))
    squared = e.multiply(rest, rest)
    tail = e.multiply(polynomial, e.multiply(squared, rest))
    tail = e.multiply_add(count, number(_LN2_LOW), tail)
    tail = e.multiply_add(squared, number(-0.5), tail)
    value = e.multiply_add(count, number(_LN2_HIGH), e.add(rest, tail))
    value = e.where_equal(x, zero, number(-math.inf), value)
    value = e.where_less(x, zero, number(math.nan), value)
    # inf stays, and so does NaN, which no comparison holds for.
    return e.where_less(x, number(math.inf), value, x)


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


_ALL_WHOLE = 2.0**23
"""From here on every f32 is an integer, and below it adding this leaves none else."""


def round_even(e: Elements, x: Any) -> Any:
    """The nearest integer, of two the even one: -0.4 becomes -0; NaN stays NaN."""
    size = absolute(e, x)
    whole = e.constant(_F32, _ALL_WHOLE)
    nearest = e.subtract(e.add(size, whole), whole)
    return _with_sign(e, e.where_less(size, whole, nearest, size), x)


def floor(e: Elements, x: Any) -> Any:
    """The greatest integer up to x: -0 stays -0, NaN stays NaN."""
    nearest = round_even(e, x)
    lower = e.subtract(nearest, e.constant(_F32, 1.0))
    return e.where_less(x, nearest, lower, nearest)


def ceil(e: Elements, x: Any) -> Any:
    """The least integer from x on: -0.4 becomes -0; NaN stays NaN."""
    return neg(e, floor(e, neg(e, x)))


def round_bf16(e: Elements, x: Any) -> Any:
    """The nearest bf16 as an f32, of two the even one: what a cast and a cast back
    give. Beyond the largest it is inf; NaN stays NaN."""
    bits = e.reinterpret(x, _S32)
    odd = e.shift_right(e.shift_left(bits, 15), 31)  # -1 where the last bit kept is set
    up = e.subtract(e.add(bits, e.constant(_S32, 0x7FFF)), odd)
    cut = e.shift_left(e.shift_right(up, 16), 16)
    return e.where_equal(x, x, e.reinterpret(cut, _F32), x)


_LEAST_F16, _ABOVE_F16 = 2.0**-14, 65536.0
"""The least normal number of f16, and the least power of two beyond its range."""


def round_f16(e: Elements, x: Any) -> Any:
    """The nearest f16 as an f32, of two the even one: what a cast and a cast back give.
    From 65520 on it is inf; NaN stays NaN."""
    size = absolute(e, x)
    bits = e.reinterpret(size, _S32)
    odd = e.shift_right(e.shift_left(bits, 18), 31)
    up = e.subtract(e.add(bits, e.constant(_S32, 0xFFF)), odd)
    normal = e.reinterpret(e.shift_left(e.shift_right(up, 13), 13), _F32)
    half = e.constant(_F32, 0.5)  # its last place is that of the denormal numbers
    denormal = e.subtract(e.add(size, half), half)
    found = e.where_less(size, e.constant(_F32, _LEAST_F16), denormal, normal)
    below = e.where_less(
        found, e.constant(_F32, _ABOVE_F16), found, e.constant(_F32, math.inf)
    )
    return e.where_equal(x, x, _with_sign(e, below, x), x)


def _with_sign(e: Elements, size: Any, x: Any) -> Any:
    """A number without a sign, with x's."""
    return e.reinterpret(e.add(e.reinterpret(size, _S32), _sign(e, x)), _F32)


def minimum(e: Elements, a: Any, b: Any) -> Any:
    """The lesser of two (IEEE 754 ``minimum``): a NaN gives NaN, -0 is less than +0."""
    return e.minimum(_F32, a, b)


def maximum(e: Elements, a: Any, b: Any) -> Any:
    """The greater of two (IEEE 754 ``maximum``): a NaN gives NaN, +0 is greater."""
    return e.maximum(_F32, a, b)


def less(e: Elements, a: Any, b: Any) -> Any:
    """1 where a < b, else 0: also where one is NaN."""
    return e.where_less(a, b, e.constant(_F32, 1.0), e.constant(_F32, 0.0))


def equal(e: Elements, a: Any, b: Any) -> Any:
    """1 where a = b, else 0: also where one is NaN."""
    return e.where_equal(a, b, e.constant(_F32, 1.0), e.constant(_F32, 0.0))


def less_equal(e: Elements, a: Any, b: Any) -> Any:
    """1 where a ≤ b, else 0: also where one is NaN."""
    return e.where_less(a, b, e.constant(_F32, 1.0), equal(e, a, b))


def where(e: Elements, condition: Any, a: Any, b: Any) -> Any:
    """b where the condition is 0, else a."""
    return e.where_equal(condition, e.constant(_F32, 0.0), b, a)


def _method(name: str) -> Callable[[Elements, Any, Any], Any]:
    """An operation of `Elements` as a function of two values."""

    def function(e: Elements, a: Any, b: Any) -> Any:
        return getattr(e, name)(a, b)

    return function


UNARY: dict[str, Callable[[Elements, Any], Any]] = {
    "abs": absolute,
    "copy": copy,
    "erf": erf,
    "exp": exp,
    "gelu": gelu,
    "log": log,
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

FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    **{name: (1, function) for name, function in UNARY.items()},
    **{name: (2, function) for name, function in BINARY.items()},
    "ceil": (1, ceil),
    "equal": (2, equal),
    "floor": (1, floor),
    "less": (2, less),
    "less_equal": (2, less_equal),
    "round": (1, round_even),
    "round_bf16": (1, round_bf16),
    "round_f16": (1, round_f16),
    "where": (3, where),
}
"""All that an expression of a graph may call: how many numbers each takes. Conditions
are numbers, too: 0 is false."""
