"""Powers and logarithms to other bases, and those of what is near 0 or 1."""

import math
from typing import Any

from morello.spec.elements.dtypes import Dtype
from morello.spec.elements.operations import Elements
from morello.spec.functions.elementary import (
    MAGIC,
    Reduced,
    absolute,
    ends_of_log,
    exponent_of,
    less_one,
    log,
    parts,
    polynomial,
    power_of_two,
    round_even,
    with_exponent,
    with_sign,
    without_exponent,
)

_F32 = Dtype.F32

_LOG2_E = 1.4426950216293335
"""1 / ln 2 as an f32."""
_LOG2_E_LOW = 1.92596299e-8
"""1 / ln 2 less `_LOG2_E`."""

_EXP2 = (
    1.5476308180950582e-4,
    1.340026268735528e-3,
    9.618003852665424e-3,
    5.5503278970718384e-2,
    2.4022650718688965e-1,
    6.931471824645996e-1,
)
"""(2^r - 1) / r, the greatest power first, for |r| ≤ 1/2: the greatest error of 2^r is
least, 2e-9 of it."""


def exp2(e: Elements, x: Any) -> Any:
    """2^x, within 2 ULP, and exact where x is whole; denormal results too.

    exp2(-inf) = 0, exp2(inf) = inf, from 128 on inf; NaN stays NaN.
    """
    return _two_to_the(e, x, None)


def _two_to_the(e: Elements, x: Any, lower: Any) -> Any:
    """2^(x + lower), of which x is clamped; None for no lower part."""

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    x = e.greater(number(-252.0), x)  # the second where one is NaN
    x = e.lesser(number(129.0), x)
    shifted = e.add(x, number(MAGIC))
    count = e.subtract(shifted, number(MAGIC))
    rest = e.subtract(x, count)  # exact
    if lower is not None:
        rest = e.add(rest, lower)
    slope = polynomial(e, _EXP2, rest)
    value = e.multiply_add(slope, rest, number(1.0))
    return with_exponent(e, value, Reduced(count, shifted, rest, slope))


def expm1(e: Elements, x: Any) -> Any:
    """e^x - 1, within 3 ULP, also near 0.

    expm1(-inf) = -1, expm1(inf) = inf, from 88.73 on inf; -0 and NaN stay.
    """

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    clamped = e.greater(number(-20.0), x)
    clamped = e.lesser(number(89.0), clamped)
    reduced = without_exponent(e, clamped)
    exponent = exponent_of(e, reduced)
    half = power_of_two(e, e.subtract(exponent, e.constant(Dtype.S32, 1)))
    less = e.multiply_add(less_one(e, reduced), half, e.subtract(half, number(0.5)))
    tiny = number(2.0**-40)
    return e.where_less(absolute(e, x), tiny, x, e.add(less, less))


def log1p(e: Elements, x: Any) -> Any:
    """ln(1 + x), within 4 ULP, also near 0.

    log1p(-1) = -inf, log1p(inf) = inf; below -1 it is NaN; -0 and NaN stay.
    """

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    sum_ = e.add(x, number(1.0))
    lost = e.subtract(x, e.subtract(sum_, number(1.0)))
    value = e.add(log(e, sum_), e.divide(lost, sum_))
    value = e.where_equal(x, number(0.0), x, value)
    value = e.where_equal(x, number(-1.0), number(-math.inf), value)
    return e.where_less(x, number(math.inf), value, x)


def log10(e: Elements, x: Any) -> Any:
    """The logarithm to base 10, within 3 ULP.

    log10(0) = -inf, log10(inf) = inf; of numbers below 0, and of NaN, NaN.
    """
    return e.multiply(log(e, x), e.constant(_F32, 1 / math.log(10)))


def log2(e: Elements, x: Any) -> Any:
    """The logarithm to base 2, within 3 ULP, and exact for powers of two.

    log2(0) = -inf, log2(inf) = inf; of numbers below 0, and of NaN, NaN.
    """
    split = parts(e, x)
    tail = e.multiply_add(split.squared, e.constant(_F32, -0.5), split.cube)
    natural = e.add(split.rest, tail)
    value = e.multiply_add(natural, e.constant(_F32, _LOG2_E), split.count)
    return ends_of_log(e, x, value)


def cbrt(e: Elements, x: Any) -> Any:
    """The cube root, within 2 ULP: cbrt(±inf) = ±inf; -0 and NaN stay."""
    third, zero = e.constant(_F32, 1 / 3), e.constant(_F32, 0.0)
    size = absolute(e, x)
    root = exp2(e, e.multiply(log2(e, size), third))
    # One step of Newton's method.
    over = e.subtract(e.divide(size, e.multiply(root, root)), root)
    value = with_sign(e, e.multiply_add(over, third, root), x)
    value = e.where_less(size, e.constant(_F32, math.inf), value, x)
    return e.where_equal(x, zero, x, value)


def hypot(e: Elements, a: Any, b: Any) -> Any:
    """The root of two squares, within 2 ULP; no square overflows.

    It is inf where one is ±inf, also beside a NaN; else NaN stays.
    """
    zero, one = e.constant(_F32, 0.0), e.constant(_F32, 1.0)
    infinity = e.constant(_F32, math.inf)
    a, b = absolute(e, a), absolute(e, b)
    high, low = e.maximum(_F32, a, b), e.minimum(_F32, a, b)
    share = e.divide(low, high)
    root = e.square_root(e.add(e.multiply(share, share), one))
    value = e.where_equal(high, zero, high, e.multiply(high, root))
    for size in (a, b):
        value = e.where_equal(size, infinity, infinity, value)
    return value


_ATANH = (
    2.3599183559417725e-1,
    2.853645980358124e-1,
    4.0000346302986145e-1,
    6.666666269302368e-1,
)
"""(2 · atanh(s) - 2s) / s³ for |s| ≤ 0.172, the greatest power of s² first."""


def _log2_in_two(e: Elements, x: Any) -> tuple[Any, Any]:
    """log2 of a number above 0 as a sum of two, within 2^-30 of itself: so much, since
    an exponent multiplies it."""

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    def minus(a: Any) -> Any:
        return e.multiply(a, number(-1.0))

    split = parts(e, x)
    rest = split.rest
    # s = rest / (2 + rest), in two parts.
    sum_ = e.add(rest, number(2.0))
    sum_low = e.subtract(rest, e.subtract(sum_, number(2.0)))
    high = e.divide(rest, sum_)
    left = e.multiply_add(minus(high), sum_, rest)
    left = e.multiply_add(minus(high), sum_low, left)
    low = e.divide(left, sum_)
    squared = e.multiply(high, high)
    cube = e.multiply(e.multiply(squared, high), polynomial(e, _ATANH, squared))
    twice = e.add(high, high)
    tail = e.add(e.add(low, low), cube)
    # Times log2(e), in two parts.
    product = e.multiply(twice, number(_LOG2_E))
    error = e.multiply_add(twice, number(_LOG2_E), minus(product))
    error = e.multiply_add(twice, number(_LOG2_E_LOW), error)
    error = e.multiply_add(tail, number(_LOG2_E), error)
    # The count is 0, or greater than the product.
    total = e.add(split.count, product)
    total_low = e.subtract(product, e.subtract(total, split.count))
    total_low = e.add(total_low, error)
    value = e.add(total, total_low)
    return value, e.subtract(total_low, e.subtract(value, total))


def power(e: Elements, x: Any, y: Any) -> Any:
    """x^y, within 4 ULP; special values as IEEE 754 has them.

    x^0 = 1 and 1^y = 1, also of NaN; a number below 0 to what is not whole is NaN; the
    sign of x stays where y is odd.
    """

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    zero, one, infinity = number(0.0), number(1.0), number(math.inf)
    size = absolute(e, x)
    high, low = _log2_in_two(e, size)
    # Where x is 0 or infinite its logarithm is.
    high = e.where_equal(size, zero, number(-math.inf), high)
    high = e.where_less(size, infinity, high, size)
    product = e.multiply(y, high)
    error = e.multiply_add(y, high, e.multiply(product, number(-1.0)))
    error = e.multiply_add(y, low, error)
    error = e.where_less(absolute(e, product), number(400.0), error, zero)
    value = _two_to_the(e, product, error)
    value = e.where_equal(size, one, one, value)
    # Whether y is whole, and odd.
    length = absolute(e, y)
    whole = round_even(e, length)
    half = e.multiply(length, number(0.5))
    broken = e.where_less(x, zero, number(math.nan), value)
    broken = e.where_less(number(-math.inf), x, broken, value)
    signed = e.where_equal(round_even(e, half), half, value, with_sign(e, value, x))
    value = e.where_equal(whole, length, signed, broken)
    value = e.where_equal(x, one, one, value)
    return e.where_equal(y, zero, one, value)
