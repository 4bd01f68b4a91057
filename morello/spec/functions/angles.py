"""Sine, cosine, tangent and their inverses, for arguments of every size."""

import math
from fractions import Fraction
from typing import Any

from morello.spec.elements.dtypes import Dtype
from morello.spec.elements.operations import Elements
from morello.spec.functions.elementary import (
    MAGIC,
    absolute,
    polynomial,
    sign_bit,
    turned,
    with_sign,
)

_F32, _S32 = Dtype.F32, Dtype.S32

_TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E
"""2/π · 2^280, cut off."""

_BITS = 24


def _piece(number: int) -> float:
    """The bits of 2/π from ``24 · number`` on, as a number below 1."""
    shift = 280 - _BITS * (number + 1)
    return float(Fraction(_TWO_OVER_PI >> shift & (1 << _BITS) - 1, 1 << _BITS))


_WIDE = tuple(2.0 ** (49 + _BITS * i) for i in range(4))
"""From each of these sizes on, the next piece of 2/π is the first that counts."""

_PI_2 = 1.5707963705062866
"""π/2 as an f32."""
_PI_2_LOW = -4.371139e-8
"""π/2 less `_PI_2`."""

_SIN = (-1.9516480097081512e-4, 8.33217240869999e-3, -1.6666655242443085e-1)
"""(sin(r) - r) / r³ for |r| ≤ π/4, the greatest power of r² first: the greatest error
of sin(r) is least, 4e-9 of it. The others are so, too."""
_COS = (2.443753146508243e-5, -1.3887359527871013e-3, 4.166664555668831e-2)
"""(cos(r) - 1 + r²/2) / r⁴."""


class _Exact:
    """Sums and products of f32 with what rounding took off."""

    def __init__(self, e: Elements) -> None:
        self.e = e

    def product(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Product of two floats as a sum of two: the rounded one and its error."""
        e = self.e
        high = e.multiply(a, b)
        return high, e.multiply_add(a, b, e.multiply(high, e.constant(_F32, -1.0)))

    def sum(self, a: Any, b: Any) -> tuple[Any, Any]:
        """A sum, and what is left of it (Knuth)."""
        e = self.e
        high = e.add(a, b)
        back = e.subtract(high, a)
        return high, e.add(e.subtract(a, e.subtract(high, back)), e.subtract(b, back))

    def total(self, terms: list[Any]) -> tuple[Any, list[Any]]:
        """Sum of several floats, and the rounding error of each addition."""
        value, left = terms[0], []
        for term in terms[1:]:
            value, error = self.sum(value, term)
            left.append(error)
        return value, left


def _modulo_4(e: Elements, x: Any) -> Any:
    """Remainder of a number less a nearby multiple of 4: at most 4 from -2^24 to 2^25.
    A larger number is a multiple of 4 itself; its remainder is at most 2^25."""
    magic = e.constant(_F32, 4 * MAGIC)
    return e.subtract(x, e.subtract(e.add(x, magic), magic))


def _quarters(e: Elements, size: Any) -> tuple[Any, Any, Any]:
    """A number from 0 on as quarters of a turn: how many, in the lowest bits of an f32,
    and the rest of at most 1/2, in two parts.

    Of 2/π five pieces of 24 bits count: those before give multiples of 4, those behind
    less than 2^-70 (Payne and Hanek).
    """

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    exact = _Exact(e)

    def chosen(values: list[float]) -> Any:
        choice = number(values[-1])
        for bound, value in reversed(list(zip(_WIDE, values, strict=False))):
            choice = e.where_less(size, number(bound), number(value), choice)
        return choice

    shorter = e.multiply(size, chosen([2.0 ** (-_BITS * i) for i in range(5)]))
    pieces = [
        chosen([_piece(i + j) * 2.0 ** (-_BITS * i) for j in range(5)])
        for i in range(5)
    ]
    high, low = zip(*(exact.product(shorter, piece) for piece in pieces), strict=True)
    first = _modulo_4(e, _modulo_4(e, high[0]))
    turns = [first, _modulo_4(e, low[0]), _modulo_4(e, high[1]), low[1], high[2]]
    total, left = exact.total(turns)
    left, errors = exact.total([*left, low[2], high[3]])
    errors = [*errors, low[3], high[4]]
    shifted = e.add(total, number(MAGIC))
    rest = e.subtract(total, e.subtract(shifted, number(MAGIC)))
    for error in errors[1:]:
        errors[0] = e.add(errors[0], error)
    rest, last = exact.sum(rest, left)
    return shifted, rest, e.add(last, errors[0])


def _sine_and_cosine(e: Elements, size: Any) -> tuple[Any, Any, Any]:
    """The sine and the cosine of what an angle from 0 on has beyond whole quarters of a
    turn; and how many those are, in the lowest bits of an f32."""

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    shifted, rest, rest_low = _quarters(e, size)
    angle, angle_low = _Exact(e).product(rest, number(_PI_2))
    angle_low = e.multiply_add(rest, number(_PI_2_LOW), angle_low)
    angle_low = e.multiply_add(rest_low, number(_PI_2), angle_low)
    # An angle that is small by itself has lost nothing.
    near = number(math.pi / 4)
    angle = e.where_less(size, near, size, angle)
    angle_low = e.where_less(size, near, number(0.0), angle_low)
    squared = e.multiply(angle, angle)
    cube = e.multiply(e.multiply(squared, angle), polynomial(e, _SIN, squared))
    sine = e.add(angle, e.add(angle_low, cube))
    fourth = e.multiply(e.multiply(squared, squared), polynomial(e, _COS, squared))
    fourth = e.multiply_add(e.multiply(angle, angle_low), number(-1.0), fourth)
    flat = e.multiply_add(squared, number(-0.5), number(1.0))
    flat_low = e.multiply_add(squared, number(-0.5), e.subtract(number(1.0), flat))
    return sine, e.add(flat, e.add(flat_low, fourth)), shifted


def _if_odd(e: Elements, bits: Any, odd: Any, even: Any) -> Any:
    """One of two, by the lowest bit of an integer."""
    # As a number the bit is 0, or NaN, which equals nothing.
    bit = e.reinterpret(e.shift_right(e.shift_left(bits, 31), 31), _F32)
    return e.where_equal(bit, bit, even, odd)


def _wave(e: Elements, size: Any, ahead: int) -> Any:
    """The sine of an angle from 0 on and some quarters of a turn ahead."""
    sine, cosine, shifted = _sine_and_cosine(e, size)
    bits = e.add(e.reinterpret(shifted, _S32), e.constant(_S32, ahead))
    value = _if_odd(e, bits, cosine, sine)
    return turned(e, value, e.shift_left(e.shift_right(bits, 1), 31))


def sin(e: Elements, x: Any) -> Any:
    """The sine, within 1.5 ULP, however large the argument is.

    sin(±inf) and sin(NaN) are NaN; -0 stays -0.
    """
    return turned(e, _wave(e, absolute(e, x), 0), sign_bit(e, x))


def cos(e: Elements, x: Any) -> Any:
    """The cosine, within 1.5 ULP, however large the argument is.

    cos(±inf) and cos(NaN) are NaN.
    """
    return _wave(e, absolute(e, x), 1)


def tan(e: Elements, x: Any) -> Any:
    """The tangent, within 3 ULP, however large the argument is.

    tan(±inf) and tan(NaN) are NaN; -0 stays -0.
    """
    sine, cosine, shifted = _sine_and_cosine(e, absolute(e, x))
    bits = e.reinterpret(shifted, _S32)
    minus = e.multiply(cosine, e.constant(_F32, -1.0))
    top, bottom = _if_odd(e, bits, minus, sine), _if_odd(e, bits, sine, cosine)
    return turned(e, e.divide(top, bottom), sign_bit(e, x))


_ATAN = (
    -6.072355806827545e-2,
    1.0591831058263779e-1,
    -1.4243315160274506e-1,
    1.999846249818802e-1,
    -3.3333316445350647e-1,
)
"""(atan(t) - t) / t³ for |t| ≤ tan(π/8)."""

_TAN_8, _TAN_3_8 = 0.4142135623730950, 2.414213562373095
"""tan(π/8) and tan(3π/8)."""


def atan(e: Elements, x: Any) -> Any:
    """The arc of a tangent, within 3 ULP: atan(±inf) = ±π/2; -0 and NaN stay."""

    def number(value: float) -> Any:
        return e.constant(_F32, value)

    def chosen(far: Any, middle: Any, near: Any) -> Any:
        inner = e.where_less(number(_TAN_8), size, middle, near)
        return e.where_less(number(_TAN_3_8), size, far, inner)

    size, one, zero = absolute(e, x), number(1.0), number(0.0)
    top = chosen(number(-1.0), e.subtract(size, one), size)
    bottom = chosen(size, e.add(size, one), one)
    high = chosen(number(_PI_2), number(_PI_2 / 2), zero)
    low = chosen(number(_PI_2_LOW), number(_PI_2_LOW / 2), zero)
    tangent = e.divide(top, bottom)
    squared = e.multiply(tangent, tangent)
    tail = e.multiply_add(
        e.multiply(squared, tangent), polynomial(e, _ATAN, squared), low
    )
    value = e.add(high, e.add(tangent, tail))
    return with_sign(e, absolute(e, value), x)


def atan2(e: Elements, y: Any, x: Any) -> Any:
    """The angle of a point (x, y), within 5 ULP; signs of zeros as in IEEE 754.

    Of two infinities it is that of a diagonal.
    """
    zero, one = e.constant(_F32, 0.0), e.constant(_F32, 1.0)
    up, across = absolute(e, y), absolute(e, x)
    lesser = e.where_less(up, across, up, across)
    greater = e.where_less(up, across, across, up)
    # Where both are equal, the quotient may be that of zeros, or of infinities.
    quotient = e.divide(lesser, e.where_equal(greater, zero, one, greater))
    alike = e.where_equal(greater, zero, zero, one)
    angle = atan(e, e.where_equal(lesser, greater, alike, quotient))
    angle = e.where_less(across, up, _less_than(e, math.pi / 2, angle), angle)
    side = with_sign(e, one, x)
    angle = e.where_less(side, zero, _less_than(e, math.pi, angle), angle)
    return with_sign(e, absolute(e, angle), y)


def _less_than(e: Elements, whole: float, angle: Any) -> Any:
    """π or π/2 less an angle."""
    half_turns = whole / (math.pi / 2)
    high = e.subtract(e.constant(_F32, half_turns * _PI_2), angle)
    return e.add(high, e.constant(_F32, half_turns * _PI_2_LOW))


def asin(e: Elements, x: Any) -> Any:
    """The arc of a sine, within 5 ULP: beyond ±1 it is NaN; -0 and NaN stay."""
    one = e.constant(_F32, 1.0)
    product = e.multiply(e.subtract(one, x), e.add(one, x))
    return atan(e, e.divide(x, e.square_root(product)))


def acos(e: Elements, x: Any) -> Any:
    """The arc of a cosine, within 5 ULP: beyond ±1 it is NaN; NaN stays."""
    one = e.constant(_F32, 1.0)
    share = e.divide(e.subtract(one, x), e.add(one, x))
    half = atan(e, e.square_root(share))
    return e.add(half, half)
