"""Elementary functions as sequences of f32 operations, the same on every machine.

Each takes `Elements` and a value, and gives the function of it. The sequence *is* the
definition: a kernel has its bits. How far it is from the function itself is said for
each, in units of the last place (ULP), and tested for numbers of every exponent.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes

from morello.spec.elements.dtypes import Dtype
from morello.spec.elements.operations import Elements

_F32, _S32 = Dtype.F32, Dtype.S32

MAGIC = 1.5 * 2.0**23
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
class Reduced:
    """x = exponent · ln 2 + r, and exp(r) - 1."""

    count: Any
    """The exponent as a whole f32."""
    shifted: Any
    """The exponent in the lowest bits of an f32."""
    rest: Any
    polynomial: Any
    """(exp(r) - 1 - r) / r²."""


def without_exponent(e: Elements, x: Any) -> Reduced:
    """Range reduction for exp(x), -176 ≤ x ≤ 89; below, ``rest`` means nothing."""

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    shifted = e.multiply_add(x, number(_LOG2_E), number(MAGIC))
    count = e.subtract(shifted, number(MAGIC))
    rest = e.multiply_add(count, number(-_LN2_HIGH), x)
    rest = e.multiply_add(count, number(-_LN2_LOW), rest)
    return Reduced(count, shifted, rest, polynomial(e, _EXP, rest))


def polynomial(e: Elements, coefficients: Sequence[float], x: Any) -> Any:
    """A polynomial of x, the coefficient of its greatest power first."""
    value = e.constant(_F32, coefficients[0])
    for coefficient in coefficients[1:]:
        value = e.multiply_add(value, x, e.constant(_F32, coefficient))
    return value


def exponent_of(e: Elements, reduced: Reduced) -> Any:
    """The exponent as an integer."""
    bits = e.reinterpret(reduced.shifted, _S32)
    return e.subtract(bits, e.constant(_S32, _MAGIC_BITS))


def less_one(e: Elements, reduced: Reduced) -> Any:
    """exp(r) - 1, as near as that is to 0."""
    rest = reduced.rest
    return e.multiply_add(reduced.polynomial, e.multiply(rest, rest), rest)


def power_of_two(e: Elements, exponent: Any) -> Any:
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
    reduced = without_exponent(e, x)
    slope = e.multiply_add(reduced.polynomial, reduced.rest, one)
    return with_exponent(e, e.multiply_add(slope, reduced.rest, one), reduced)


def with_exponent(e: Elements, value: Any, reduced: Reduced) -> Any:
    """A value between 1/2 and 2 times the power of two that was taken off."""
    if e.has_scale:
        return e.scale(value, reduced.count)
    # The same bits: the first product is exact, or the second one zero.
    exponent = exponent_of(e, reduced)
    half = e.shift_right(exponent, 1)  # so that both powers are normal
    value = e.multiply(value, power_of_two(e, half))
    return e.multiply(value, power_of_two(e, e.subtract(exponent, half)))


def tanh(e: Elements, x: Any) -> Any:
    """The hyperbolic tangent, within 3 ULP: (exp(2x) - 1) / (exp(2x) + 1).

    tanh(±inf) = ±1; NaN stays NaN; -0 stays -0.
    """
    twice = e.add(x, x)
    clamped = e.greater(e.constant(_F32, -20.0), twice)
    clamped = e.lesser(e.constant(_F32, 20.0), clamped)
    reduced = without_exponent(e, clamped)
    power = power_of_two(e, exponent_of(e, reduced))
    one = e.constant(_F32, 1.0)
    less = e.multiply_add(less_one(e, reduced), power, e.subtract(power, one))
    value = e.divide(less, e.add(less, e.constant(_F32, 2.0)))
    return e.where_equal(x, e.constant(_F32, 0.0), x, value)


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


def sign_bit(e: Elements, x: Any) -> Any:
    """The sign bit of x alone, as an integer."""
    return e.shift_left(e.shift_right(e.reinterpret(x, _S32), 31), 31)


def absolute(e: Elements, x: Any) -> Any:
    """|x|: x without its sign bit."""
    return e.reinterpret(e.subtract(e.reinterpret(x, _S32), sign_bit(e, x)), _F32)


def minus_one(e: Elements) -> Any:
    """-1 in f32."""
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


@dataclasses.dataclass(frozen=True)
class Parts:
    """x = 2^count · (1 + rest), with 1 + rest between sqrt(1/2) and sqrt(2)."""

    count: Any
    rest: Any
    squared: Any
    cube: Any
    """ln(1 + rest) - rest + rest²/2."""


def parts(e: Elements, x: Any) -> Parts:
    """The parts of a number above 0, denormal ones too."""

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
    count = e.add(e.subtract(shifted, number(MAGIC)), lost)
    rest = e.subtract(mantissa, number(1.0))
    tail = polynomial(e, _LOG, rest)
    squared = e.multiply(rest, rest)
    return Parts(count, rest, squared, e.multiply(tail, e.multiply(squared, rest)))


def log(e: Elements, x: Any) -> Any:
    """The natural logarithm, within 2 ULP.

    log(0) = -inf, log(inf) = inf; of numbers below 0, and of NaN, NaN.
    """

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    split = parts(e, x)
    tail = e.multiply_add(split.count, number(_LN2_LOW), split.cube)
    tail = e.multiply_add(split.squared, number(-0.5), tail)
    value = e.add(split.rest, tail)
    value = e.multiply_add(split.count, number(_LN2_HIGH), value)
    return ends_of_log(e, x, value)


def ends_of_log(e: Elements, x: Any, value: Any) -> Any:
    """A logarithm with its values where x is not between 0 and infinity."""

    def number(bound: float) -> Any:
        return e.constant(_F32, bound)

    value = e.where_equal(x, number(0.0), number(-math.inf), value)
    value = e.where_less(x, number(0.0), number(math.nan), value)
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
    return e.nearest(x)


def floor(e: Elements, x: Any) -> Any:
    """The greatest integer up to x: -0 stays -0, NaN stays NaN."""
    nearest = round_even(e, x)
    lower = e.subtract(nearest, e.constant(_F32, 1.0))
    return e.where_less(x, nearest, lower, nearest)


def ceil(e: Elements, x: Any) -> Any:
    """The least integer from x on: -0.4 becomes -0; NaN stays NaN."""
    return neg(e, floor(e, neg(e, x)))


_NEAR_ALL_WHOLE = 1.5 * _ALL_WHOLE
"""A number that leaves a sum with a small one, whatever its sign, no part of 1."""


def byte_rounding(dtype: Dtype) -> Callable[[Elements, Any], Any]:
    """The function that gives the nearest number that a dtype of bytes has, of two the
    even one; 0 of NaN."""

    def rounded(e: Elements, x: Any) -> Any:
        return e.subtract(_near_byte(e, x, dtype), e.constant(_F32, _NEAR_ALL_WHOLE))

    return rounded


def byte_word(dtype: Dtype) -> Callable[[Elements, Any], Any]:
    """The function that gives an s32 whose lowest bits are those of `byte_rounding`."""

    def word(e: Elements, x: Any) -> Any:
        return e.reinterpret(_near_byte(e, x, dtype), _S32)

    return word


def _near_byte(e: Elements, x: Any, dtype: Dtype) -> Any:
    """The nearest number of a dtype of bytes, more by one that lets no bit lie beyond
    the point. The least number that is compared with takes the place of NaN."""
    limits = dtype.lowest, dtype.highest
    least, largest = (e.constant(_F32, float(n)) for n in limits)
    if dtype.lowest:
        x = e.where_equal(x, x, x, e.constant(_F32, 0.0))
    bounded = e.lesser(e.greater(x, least), largest)
    return e.add(bounded, e.constant(_F32, _NEAR_ALL_WHOLE))


def rounding(dtype: Dtype) -> Callable[[Elements, Any], Any]:
    """The function that gives the nearest number of a narrow float as an f32, of two
    the even one: what a cast and a cast back give.

    Beyond the largest it is inf; NaN stays NaN.
    """
    if dtype.is_upper_half:
        return lambda e, x: e.where_equal(x, x, _nearest(e, x, dtype), x)
    limits = ml_dtypes.finfo(dtype.numpy)
    least, above = float(limits.smallest_normal), 2.0**limits.maxexp
    # Numbers from here on have the last place of the denormal numbers.
    shift = float(limits.smallest_subnormal) * 2.0**23

    def rounded(e: Elements, x: Any) -> Any:
        size = absolute(e, x)
        normal = _nearest(e, size, dtype)
        place = e.constant(_F32, shift)
        denormal = e.subtract(e.add(size, place), place)
        nearest = e.where_less(size, e.constant(_F32, least), denormal, normal)
        below = e.where_less(
            nearest, e.constant(_F32, above), nearest, e.constant(_F32, math.inf)
        )
        return e.where_equal(x, x, with_sign(e, below, x), x)

    return rounded


def _nearest(e: Elements, x: Any, dtype: Dtype) -> Any:
    """The nearest number with the mantissa of a narrow float, and any exponent."""
    lost = 23 - dtype.mantissa
    bits = e.reinterpret(x, _S32)
    # -1 where the last bit that is kept is set.
    odd = e.shift_right(e.shift_left(bits, 31 - lost), 31)
    half = e.constant(_S32, (1 << (lost - 1)) - 1)
    up = e.subtract(e.add(bits, half), odd)
    return e.reinterpret(e.shift_left(e.shift_right(up, lost), lost), _F32)


def with_sign(e: Elements, size: Any, x: Any) -> Any:
    """A number without a sign, with x's."""
    return turned(e, size, sign_bit(e, x))


def turned(e: Elements, x: Any, sign: Any) -> Any:
    """x with its sign changed where a sign bit alone, as an integer, is set."""
    return e.reinterpret(e.add(e.reinterpret(x, _S32), sign), _F32)


def minimum(e: Elements, a: Any, b: Any) -> Any:
    """The lesser of two (IEEE 754 ``minimum``): a NaN gives NaN, -0 is less than +0."""
    return e.minimum(_F32, a, b)


def maximum(e: Elements, a: Any, b: Any) -> Any:
    """The greater of two (IEEE 754 ``maximum``): a NaN gives NaN, +0 is greater."""
    return e.maximum(_F32, a, b)


def fmin(e: Elements, a: Any, b: Any) -> Any:
    """The lesser of two (IEEE 754 ``minimumNumber``), and the other one of a NaN."""
    return _of_numbers(e, a, b, minimum(e, a, b))


def fmax(e: Elements, a: Any, b: Any) -> Any:
    """The greater of two (IEEE 754 ``maximumNumber``), and the other one of a NaN."""
    return _of_numbers(e, a, b, maximum(e, a, b))


def _of_numbers(e: Elements, a: Any, b: Any, value: Any) -> Any:
    return e.where_equal(a, a, e.where_equal(b, b, value, a), b)


def copysign(e: Elements, size: Any, x: Any) -> Any:
    """A number with the sign of another, which may be a zero."""
    return with_sign(e, absolute(e, size), x)


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


def trunc(e: Elements, x: Any) -> Any:
    """The nearest integer towards 0: -0.4 becomes -0; NaN stays NaN."""
    return with_sign(e, floor(e, absolute(e, x)), x)


def round_away(e: Elements, x: Any) -> Any:
    """The nearest integer, of two the one farther from 0; NaN stays NaN."""
    size = absolute(e, x)
    lower = floor(e, size)
    upper = e.add(lower, e.constant(_F32, 1.0))
    rest = e.subtract(size, lower)  # exact
    return with_sign(e, e.where_less(rest, e.constant(_F32, 0.5), lower, upper), x)


def sign(e: Elements, x: Any) -> Any:
    """-1, 0 or 1: -0 stays -0, NaN stays NaN."""
    zero, one = e.constant(_F32, 0.0), e.constant(_F32, 1.0)
    return e.where_less(x, zero, minus_one(e), e.where_less(zero, x, one, x))
