"""Exact remainders of quotients of every size, and whole quotients."""

import math
from typing import Any

from morello.spec.elements.dtypes import Dtype
from morello.spec.elements.operations import Elements
from morello.spec.functions.elementary import absolute, round_even, with_sign

_F32 = Dtype.F32

_BITS = 23
"""Bits of a quotient that one step takes off, so that f32 has every quotient."""
_STEPS = 13
"""Steps for the largest number over the least, which is 2^277."""
_WHOLE = 2.0**23
"""Added to a number below it and taken off again, it leaves the nearest integer."""


def fmod(e: Elements, x: Any, y: Any) -> Any:
    """x - y · trunc(x / y), exact, with the sign of x.

    fmod(x, ±inf) = x of a finite x; of an infinite x, and by 0, it is NaN.
    """
    infinity, zero = e.constant(_F32, math.inf), e.constant(_F32, 0.0)
    whole, shift = e.constant(_F32, _WHOLE), e.constant(_F32, 2.0**_BITS)
    rest, size = absolute(e, x), absolute(e, y)
    divisors = [size]
    for _ in range(_STEPS - 1):
        divisors.append(e.multiply(divisors[-1], shift))
    for divisor in reversed(divisors):
        quotient = e.subtract(e.add(e.divide(rest, divisor), whole), whole)
        # At most half of the divisor, so that f32 has it.
        negative = e.multiply(quotient, e.constant(_F32, -1.0))
        left = e.multiply_add(negative, divisor, rest)
        left = e.where_less(left, zero, e.add(left, divisor), left)
        rest = e.where_equal(divisor, infinity, rest, left)
    rest = e.where_equal(size, size, rest, size)
    rest = e.where_less(absolute(e, x), infinity, rest, e.constant(_F32, math.nan))
    return with_sign(e, absolute(e, rest), x)


def remainder(e: Elements, x: Any, y: Any) -> Any:
    """x - y · floor(x / y), rounded once, with the sign of y (Python's ``%``).

    Of an infinite x, and by 0, it is NaN.
    """
    rest = fmod(e, x, y)
    zero = e.constant(_F32, 0.0)
    is_other = e.multiply(with_sign(e, e.constant(_F32, 1.0), x), y)
    moved = e.where_less(is_other, zero, e.add(rest, y), rest)
    return e.where_equal(rest, zero, with_sign(e, absolute(e, rest), y), moved)


def floor_divide(e: Elements, x: Any, y: Any) -> Any:
    """floor(x / y), within 2 ULP, and exact where it is below 2^22 (Python's ``//``).

    By 0 it is the quotient; of an infinite x it is NaN.
    """
    zero, one = e.constant(_F32, 0.0), e.constant(_F32, 1.0)
    quotient, rest = e.divide(x, y), fmod(e, x, y)
    whole = round_even(e, e.divide(e.subtract(x, rest), y))
    is_other = e.multiply(with_sign(e, one, x), y)
    lower = e.where_less(is_other, zero, e.subtract(whole, one), whole)
    whole = e.where_equal(rest, zero, whole, lower)
    whole = e.where_equal(whole, zero, with_sign(e, zero, quotient), whole)
    return e.where_equal(y, zero, quotient, whole)
