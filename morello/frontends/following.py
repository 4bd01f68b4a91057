"""Numbers of a program that follow from a size, found at a few sizes: `following`.

A mean divides by the size, a standard deviation by one less, scores by its root. A
number at a few sizes follows so if the same fraction is left at each of them. Where a
quotient was simplified at some of these, as powers of two are, it is a quotient again.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from morello.frontends.nodes.simplify import has_exact_inverse
from morello.spec.graphs.expression import (
    Call,
    Constant,
    Expression,
    SizeNumber,
    number_of_sizes,
)

_MOST_PARTS = 1 << 16
"""The greatest divisor of the fraction."""


def following(
    expressions: Sequence[Expression], sizes: Sequence[int], least: int, unit: int = 1
) -> Expression | None:
    """An expression of any size from those at a few; None where they differ otherwise.

    Args:
        expressions: at each size.
        sizes: these.
        least: of the sizes that there may be.
        unit: how many times what a call says the sizes are.
    """
    first, *others = expressions
    if all(other == first for other in others):
        return first
    numbers = [each.number for each in expressions if isinstance(each, Constant)]
    if len(numbers) == len(expressions):
        return _number(numbers, sizes, least, unit)
    call = _call(expressions, sizes, least, unit)
    alike = _scaled_alike(expressions)
    if call is not None or alike == expressions:
        return call
    return _call(alike, sizes, least, unit)


def _call(
    expressions: Sequence[Expression], sizes: Sequence[int], least: int, unit: int
) -> Call | None:
    """The call of any size, from calls of one function at each size, as `following`."""
    calls = [each for each in expressions if isinstance(each, Call)]
    if (
        len(calls) < len(expressions)
        or len({(c.function, len(c.arguments)) for c in calls}) > 1
    ):
        return None
    columns = zip(*(call.arguments for call in calls), strict=True)
    arguments = [following(column, sizes, least, unit) for column in columns]
    known = tuple(each for each in arguments if each is not None)
    return Call(calls[0].function, known) if len(known) == len(arguments) else None


def _scaled_alike(expressions: Sequence[Expression]) -> Sequence[Expression]:
    """All as quotients by a number where one is that, else as products with one, which
    have the same values; as they are where none is either."""
    scaled = [each for each in expressions if _factor(each) is not None]
    divides = any(each.function == "div" for each in scaled if isinstance(each, Call))
    if not scaled:
        return expressions
    return [_scaled_by_one(each, "div" if divides else "mul") for each in expressions]


def _factor(expression: Expression) -> float | None:
    """The number that an expression is multiplied with, or divided by, last."""
    match expression:
        case Call("mul" | "div", (_, Constant(number))):
            return number
    return None


def _scaled_by_one(expression: Expression, function: str) -> Expression:
    """An expression as a product with, or a quotient by, one number, into which powers
    of two of inner products are folded."""
    inner, number = expression, 1.0
    match expression:
        case Call(name, (scaled, Constant(factor))) if name == function:
            inner, number = scaled, factor
    while True:
        match inner:
            case Call("mul", (scaled, Constant(factor))) if has_exact_inverse(factor):
                inner = scaled
                number = number * factor if function == "mul" else number / factor
            case _:
                return Call(function, (inner, Constant(number)))


def _number(
    numbers: Sequence[float], sizes: Sequence[int], least: int, unit: int
) -> SizeNumber | None:
    """The formula that has some numbers, rounded to f32, at some sizes."""
    size = SizeNumber("size", (0,))
    near = [
        number_of_sizes(function, size, float(apart))
        for apart in sorted({1, unit})
        for function in ("sub", "add")
        if function == "add" or least > apart
    ]
    for one in (size, *near):
        for base in (
            one,
            number_of_sizes("sqrt", one),
            number_of_sizes("mul", one, one),
        ):
            for function in ("div", "mul"):
                formula = _scaled(function, base, numbers[0], sizes[0])
                if formula is not None and _has(formula, numbers, sizes):
                    return formula
    return None


def _scaled(
    function: str, base: float | SizeNumber, number: float, size: int
) -> SizeNumber | None:
    """A fraction over a formula, or times it, that is a number at a size."""
    assert isinstance(base, SizeNumber)
    value = float(base.computed(lambda _: size))
    scale = number * value if function == "div" else number / value
    if not math.isfinite(scale) or not scale:
        return None
    fraction = Fraction(scale).limit_denominator(_MOST_PARTS)
    above: float | SizeNumber = float(fraction.numerator)
    below: float | SizeNumber = float(fraction.denominator)
    if function == "div":
        below = base if below == 1.0 else number_of_sizes("mul", below, base)
    else:
        above = base if above == 1.0 else number_of_sizes("mul", above, base)
    whole = above if below == 1.0 else number_of_sizes("div", above, below)
    return whole if isinstance(whole, SizeNumber) else None


def _has(formula: SizeNumber, numbers: Sequence[float], sizes: Sequence[int]) -> bool:
    pairs = zip(numbers, sizes, strict=True)
    return all(
        np.float32(formula.computed({0: size}.__getitem__)) == np.float32(number)
        for number, size in pairs
    )


def in_f32(expression: Expression) -> Expression:
    """An expression with its numbers rounded to f32."""
    if isinstance(expression, Constant):
        return Constant(float(np.float32(expression.number)))
    if not isinstance(expression, Call):
        return expression
    return Call(expression.function, tuple(map(in_f32, expression.arguments)))
