"""Powers with a known exponent, as few operations as may be."""

import math

from morello.spec.graphs.expression import NAN, Call, Constant, Expression

_MOST_FACTORS = 16
"""Most factors of a power that is written as products."""


def known_power(base: Expression, power: float) -> Expression:
    """A power of which the exponent is known."""
    match power:
        case 1.0:
            return base
        case 2.0:
            return Call("square", (base,))
        case 3.0:
            return Call("mul", (Call("square", (base,)), base))
        case -0.5 | -1.0 | -2.0:
            return Call("div", (Constant(1.0), known_power(base, -power)))
    if 0 < power <= _MOST_FACTORS and power.is_integer():
        return _product(base, int(power))
    if 0 < power <= _MOST_FACTORS and (2 * power).is_integer():
        return _root(base, int(power))
    return Call("pow", (base, NAN if math.isnan(power) else Constant(power)))


def _root(x: Expression, factors: int) -> Expression:
    """The root of x, times a power of it: inf of -inf, and 0 of -0."""
    product: Expression = Call("sqrt", (x,))
    if factors:
        product = Call("mul", (product, _product(x, factors)))
    is_lowest = Call("equal", (x, Constant(-math.inf)))
    return Call("where", (is_lowest, Constant(math.inf), Call("abs", (product,))))


def _product(base: Expression, power: int) -> Expression:
    """A power as few products."""
    if power == 1:
        return base
    half = _product(base, power // 2)
    whole: Expression = Call("square", (half,))
    return Call("mul", (whole, base)) if power % 2 else whole
