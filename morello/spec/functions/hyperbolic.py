"""Hyperbolic functions and their inverses, near 0 as elsewhere."""

import math
from typing import Any

from morello.spec.elements.dtypes import Dtype
from morello.spec.elements.operations import Elements
from morello.spec.functions.elementary import absolute, exp, log, with_sign
from morello.spec.functions.powers import expm1, log1p

_F32 = Dtype.F32

_LN2 = math.log(2)

_FAR = 80.0
"""Sizes from here on have exponentials that may overflow."""
_HUGE = 1e9
"""Sizes from here on differ from a root of their squares and 1 by nothing."""


def _half_exponential(e: Elements, size: Any) -> tuple[Any, Any]:
    """exp(size) / 2 by the square of a root, so that it overflows where it is too
    large; and the root."""
    half = e.constant(_F32, 0.5)
    root = exp(e, e.multiply(size, half))
    return e.multiply(e.multiply(root, half), root), root


def sinh(e: Elements, x: Any) -> Any:
    """The hyperbolic sine, within 5 ULP: sinh(±inf) = ±inf; -0 and NaN stay."""
    size = absolute(e, x)
    less = expm1(e, size)
    near = e.add(less, e.divide(less, e.add(less, e.constant(_F32, 1.0))))
    near = e.multiply(near, e.constant(_F32, 0.5))
    far, _ = _half_exponential(e, size)
    value = e.where_less(size, e.constant(_F32, _FAR), near, far)
    return e.where_equal(x, e.constant(_F32, 0.0), x, with_sign(e, value, x))


def cosh(e: Elements, x: Any) -> Any:
    """The hyperbolic cosine, within 5 ULP: cosh(±inf) = inf; NaN stays."""
    size = absolute(e, x)
    half, root = _half_exponential(e, size)
    inverse = e.divide(e.divide(e.constant(_F32, 0.5), root), root)
    return e.add(half, inverse)


def asinh(e: Elements, x: Any) -> Any:
    """The inverse of sinh, within 5 ULP: asinh(±inf) = ±inf; -0 and NaN stay."""
    one = e.constant(_F32, 1.0)
    size = absolute(e, x)
    square = e.multiply(size, size)
    root = e.square_root(e.add(square, one))
    near = log1p(e, e.add(size, e.divide(square, e.add(root, one))))
    value = _of_huge(e, size, near)
    return e.where_equal(x, e.constant(_F32, 0.0), x, with_sign(e, value, x))


def acosh(e: Elements, x: Any) -> Any:
    """The inverse of cosh, within 5 ULP: acosh(inf) = inf; below 1 it is NaN."""
    one = e.constant(_F32, 1.0)
    over = e.subtract(x, one)
    product = e.multiply(over, e.add(over, e.constant(_F32, 2.0)))
    near = log1p(e, e.add(over, e.square_root(product)))
    value = _of_huge(e, x, near)
    return e.where_less(x, one, e.constant(_F32, math.nan), value)


def _of_huge(e: Elements, size: Any, near: Any) -> Any:
    """log(2 · size) where the size is huge, else the second value; NaN stays."""
    far = e.add(log(e, size), e.constant(_F32, _LN2))
    return e.where_less(e.constant(_F32, _HUGE), size, far, near)


def atanh(e: Elements, x: Any) -> Any:
    """The inverse of tanh, within 5 ULP: atanh(±1) = ±inf; beyond it is NaN; -0 and NaN
    stay."""
    size = absolute(e, x)
    share = e.divide(e.add(size, size), e.subtract(e.constant(_F32, 1.0), size))
    value = e.multiply(log1p(e, share), e.constant(_F32, 0.5))
    return e.where_equal(x, e.constant(_F32, 0.0), x, with_sign(e, value, x))
