"""The error function, and what it lacks to 1."""

from typing import Any

from morello.spec.elements.dtypes import Dtype
from morello.spec.elements.operations import Elements
from morello.spec.functions.elementary import (
    absolute,
    exp,
    exponent_of,
    less_one,
    minus_one,
    polynomial,
    power_of_two,
    with_sign,
    without_exponent,
)

_F32 = Dtype.F32

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
    slope = polynomial(e, _ERF, size)
    reduced = without_exponent(e, e.multiply(slope, e.multiply(size, minus_one(e))))
    power = power_of_two(e, exponent_of(e, reduced))
    less = e.multiply_add(
        less_one(e, reduced), power, e.subtract(power, e.constant(_F32, 1.0))
    )
    value = e.multiply(less, minus_one(e))
    return with_sign(e, absolute(e, value), x)


_ERFC = (
    8.334959275089204e-4,
    6.8613993935287e-3,
    -1.606089621782303e-2,
    3.6387067288160324e-2,
    -6.659337878227234e-2,
    9.383990615606308e-2,
    -1.0099292546510696e-1,
    6.809142231941223e-2,
    1.5377327799797058e-2,
    -1.3962101936340332e-1,
    1.2329951524734497,
)
"""(1 + 2a) · exp(a²) · (1 - erf(a)), a polynomial of (a - 4) / (a + 4), the greatest
power first, for 0 ≤ a ≤ 10.5: by weighted least squares, so that the greatest relative
error is least."""


def erfc(e: Elements, x: Any) -> Any:
    """1 - erf(x), within 7 ULP, also where it is small; denormal results too.

    erfc(-inf) = 2, erfc(inf) = 0; NaN stays NaN.
    """
    size = e.lesser(e.constant(_F32, 10.5), absolute(e, x))
    four = e.constant(_F32, 4.0)
    share = e.divide(e.subtract(size, four), e.add(size, four))
    slope = e.multiply_add(size, e.constant(_F32, 2.0), e.constant(_F32, 1.0))
    scale = e.divide(polynomial(e, _ERFC, share), slope)
    # exp(-a²), of whose square the rounding counts.
    negative = e.multiply(size, minus_one(e))
    square = e.multiply(negative, size)
    low = e.multiply_add(negative, size, e.multiply(square, minus_one(e)))
    power = exp(e, square)
    value = e.multiply(scale, e.multiply_add(power, low, power))
    zero, two = e.constant(_F32, 0.0), e.constant(_F32, 2.0)
    return e.where_less(x, zero, e.subtract(two, value), value)
