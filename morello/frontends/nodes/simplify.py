"""Expressions as a person would write them: `simplified`.

Exporters write a function as its definition, and numbers as casts left them. What is
recognised is `relu`, `sigmoid`, `silu`, `gelu`, `expm1`, `rsqrt`, `sign` and `square`,
and tests that choose between equal numbers; a division by a number is a product,
rounded once more. A model so gets the Specs that a short name or `morello.jit` gives
it.
"""

import math

import numpy as np

from morello.spec.elements.dtypes import BYTES, FLOATS
from morello.spec.graphs.expression import (
    NUMBERS,
    Call,
    Constant,
    Expression,
    Reference,
    SizeNumber,
    commuted,
    depth,
)

_ROUNDINGS = {dtype.rounding for dtype in FLOATS if dtype.rounding}
_TANH_FACTOR = math.sqrt(2 / math.pi)
_CUBE_FACTOR = 0.044715
_ERF_FACTOR = 1.0 / math.sqrt(2.0)


def simplified(expression: Expression) -> Expression:
    """Simplifies an expression to fewer and better known functions, up to rounding."""
    match expression:
        case Constant(number):
            return Constant(_written(number))
        case Reference() | SizeNumber():
            return expression
    arguments = tuple(simplified(a) for a in expression.arguments)
    call = commuted(Call(expression.function, arguments), _small_first)
    for rule in (_neutral, _saturated, _known, _activation, _chosen, _either):
        shorter = rule(call)
        if shorter is not None:
            return shorter
    return call


def _small_first(argument: Expression) -> tuple[bool, int]:
    """The place of an argument among those that it commutes with: numbers are last."""
    return isinstance(argument, NUMBERS), depth(argument)


_MOST_NICE = 1 << 16


def nice(number: float) -> float:
    """The number that a person would write: 1/n or 1/sqrt(n) where that is the same in
    f32, else the shortest that is."""
    narrow = np.float32(number)
    if not np.isfinite(narrow):
        return float(narrow)
    size = abs(float(narrow))
    if 0 < size < 1:
        for power in (1, 2):
            count = round(size**-power)
            if count < _MOST_NICE:
                inverse = count if power == 1 else math.sqrt(count)
                rounded = math.copysign(1.0 / inverse, number)
                if np.float32(rounded) == narrow or (
                    power == 2 and math.isclose(rounded, number, rel_tol=1e-7)
                ):
                    return rounded
    largest = float(np.finfo(np.float32).max)  # its shortest text is larger
    return min(max(float(str(narrow)), -largest), largest)


def _written(number: float) -> float:
    """A fraction as a person would write it, if that is the same in f32."""
    if not 0 < abs(number) < 1:
        return number
    other = nice(number)
    return other if np.float32(other) == np.float32(number) else number


_WHOLE = frozenset({"ceil", "floor", "round", "round_away", "trunc"})

_OF_WHOLE = frozenset({"add", "maximum", "minimum", "mul", "neg", "relu", "sub"})


def is_whole(expression: Expression) -> bool:
    """Whether an expression is an integer, an infinity or NaN, whatever it reads."""
    match expression:
        case Constant(number):
            return float(number).is_integer()
        case Call(function, arguments):
            rounds = function in _WHOLE or function in _BYTE_LIMITS
            are_whole = function in _OF_WHOLE and all(map(is_whole, arguments))
            return rounds or are_whole
    return False


_BYTE_LIMITS = {d.rounding: (float(d.lowest), float(d.highest)) for d in BYTES}


def _saturated(call: Call) -> Expression | None:
    """The simpler form of a number that is rounded to a byte, which has limits and no
    -0; None for other calls."""
    if call.function not in _BYTE_LIMITS:
        return None
    least, most = _BYTE_LIMITS[call.function]
    (number,) = call.arguments
    match number:
        case Call("minimum", (x, Constant(limit))) if limit >= most:
            return simplified(Call(call.function, (x,)))
        case Call("maximum", (x, Constant(limit))) if limit <= least:
            return simplified(Call(call.function, (x,)))
        case Call("relu", (x,)) if least == 0:
            return simplified(Call(call.function, (x,)))
        case Call("round", (x,)) | Call("add", (x, Constant(0.0))):
            return simplified(Call(call.function, (x,)))
        case Call("trunc", (x,)) if is_whole(x):
            return simplified(Call(call.function, (x,)))
    return None


def _neutral(call: Call) -> Expression | None:
    """The simpler form of a call with no effect, as x + -0.0; None for other calls."""
    match call:
        case Call("add", (x, Constant(0.0 as zero))) if math.copysign(1, zero) < 0:
            return x  # 0.0 makes 0.0 of -0.0
        case Call("sub", (x, Constant(0.0 as zero))) if math.copysign(1, zero) > 0:
            return x
        case Call("mul" | "div", (x, Constant(1.0))):
            return x
        case Call("maximum", (x, Constant(number))) if number == -math.inf:
            return x
        case Call("minimum", (x, Constant(number))) if number == math.inf:
            return x
        case Call("neg", (Constant(number),)):
            return Constant(-number)
        case Call("copy", (Call() as inner,)):
            return inner
        case Call(name, (Call("copy", (x,)),)) if name in _ROUNDINGS:
            return Call(name, (x,))
        case Call(name, (Call(other) as inner,)) if name == other in _ROUNDINGS:
            return inner
    return None


def _known(call: Call) -> Expression | None:
    """A function that has a name, or a better form."""
    match call:
        case Call("mul", (Call("mul", (x, Constant(a))), Constant(b))) if (
            has_exact_inverse(a) or has_exact_inverse(b)
        ):
            return Call("mul", (x, Constant(nice(a * b))))
        case Call("maximum", (x, Constant(0.0))):
            return Call("relu", (x,))
        case Call("div", (x, Constant(number))) if has_exact_inverse(number):
            return simplified(Call("mul", (x, Constant(1.0 / number))))
        case Call("div", (Constant(1.0), Call("sqrt", (x,)))):
            return Call("rsqrt", (x,))
        case Call("div", (Constant(1.0), bottom)) if _one_and_exp(bottom) is not None:
            return _named("sigmoid", _one_and_exp(bottom))
        case Call("div", (x, Call("sqrt", (Call("add", (_, Constant(n))) as y,)))) if (
            n > 0
        ):
            return Call("mul", (x, Call("rsqrt", (y,))))
        case Call("div", (x, bottom)) if x == _one_and_exp(bottom):
            return Call("silu", (x,))
        case Call("mul", (x, y)):
            return _product(x, y)
        case Call(
            "where",
            (
                Call("less", (x, Constant(0.0))),
                Call("ceil", (above,)),
                Call("floor", (below,)),
            ),
        ) if x == above == below:
            return Call("trunc", (x,))
    return None


def _activation(call: Call) -> Expression | None:
    """A limit, or an exponential of one side, as it is mostly written; None for other
    calls."""
    match call:
        case Call("abs", (Call("neg", (x,)),)):
            return Call("abs", (x,))
        case Call("relu", (Call("minimum", (x, Constant(most) as limit)),)) if most > 0:
            return Call("minimum", (simplified(Call("relu", (x,))), limit))
        case Call(
            "add", (Call("relu", (x,)), Call("mul", (below, Constant(slope))))
        ) if 0 < slope <= 1 and below == Call("minimum", (x, Constant(0.0))):
            return _leaky_relu(x, slope)
        case Call("add", (above, below)):
            return _exponential_unit(above, below)
        case Call(
            "div", (Call("add", (t, other)), Call("sub", (Constant(1.0), last)))
        ) if t == other == last:
            return _named("expm1", _halved(t))
    return None


def _leaky_relu(x: Expression, slope: float) -> Expression:
    """The greater of x and x * slope, for a slope up to 1: x where it is positive."""
    return Call("maximum", (x, Call("mul", (x, Constant(slope)))))


def _halved(tanh: Expression) -> Expression | None:
    """x, where this is tanh(x / 2), of which 2 * t / (1 - t) is eˣ - 1."""
    match tanh:
        case Call("tanh", (Call("mul", (x, Constant(0.5))),)):
            return x
    return None


_ENDS = 20.0
"""From here on the logarithm of 1 + eˣ is x: what is more is less than half of the last
place of f32."""


def _chosen(call: Call) -> Expression | None:
    """The simpler form of a choice by a test; None for other calls."""
    if call.function != "where":
        return None
    test, yes, no = call.arguments
    checked = _tested_for_nan(test)
    if checked is not None:
        x, is_nan = checked
        return _beside_nan(x, *((yes, no) if is_nan else (no, yes)))
    match test, yes, no:
        case Call("equal", (x, Constant(0.0))), Constant(0.0 as zero), Call(
            "abs", (y,)
        ) if x == y and math.copysign(1, zero) > 0:
            return no
        case Call("less", (Constant(number), x)), y, _ if (
            number >= _ENDS and x == y and no == _softplus(x)
        ):
            return no
        case Call("less", (Constant() as limit, x)), most, _ if (
            limit == most and _is_limited(no, x, limit)
        ):
            return Call("minimum", (no, limit))
        case Call("less", (x, Constant() as limit)), least, y if (
            limit == least and x == y
        ):
            return simplified(Call("maximum", (x, limit)))
        case Call("less", (Constant(0.0), x)), _, _ if no != _below_zero(no, x):
            return Call("where", (test, yes, _below_zero(no, x)))
        case (Call("less" | "less_equal", (Constant(0.0), x)), y, product) | (
            Call("less" | "less_equal", (x, Constant(0.0))),
            product,
            y,
        ) if x == y:
            match product:
                case Call("mul", (z, Constant(slope))) if x == z and 0 < slope <= 1:
                    return _leaky_relu(x, slope)
    return None


def _is_limited(expression: Expression, x: Expression, most: Constant) -> bool:
    """Whether this is x, or a number up to ``most`` where x is less."""
    match expression:
        case Call("maximum", (y, Constant(least))):
            return x == y and least <= most.number
        case Call("relu", (y,)):
            return x == y and most.number >= 0
    return expression == x


_TRUTHS = frozenset({"equal", "less", "less_equal"})


def _either(call: Call) -> Expression | None:
    """Whether one test holds or another does not, as a choice, which takes fewer
    instructions; None for other calls."""
    if call.function != "maximum":
        return None
    for test, other in (call.arguments, call.arguments[::-1]):
        match test, other:
            case Call(name), Call("sub", (Constant(1.0), Call(inner) as holds)) if {
                name,
                inner,
            } <= _TRUTHS:
                fails = Call("equal", (holds, Constant(0.0)))
                return Call("where", (fails, Constant(1.0), test))
    return None


def _below_zero(expression: Expression, x: Expression) -> Expression:
    """An expression as it is where x is at most 0, or NaN: x is its limit by 0."""
    if expression == Call("minimum", (x, Constant(0.0))):
        return x
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(_below_zero(argument, x) for argument in expression.arguments)
    return Call(expression.function, arguments)


def _exponential_unit(above: Expression, below: Expression) -> Expression | None:
    """x times a number where it is positive, else eˣ - 1 times one, of the sum of both
    with 0 on the other side."""
    match above:
        case Call("relu", (x,)):
            of_positive = x
        case Call("mul", (Call("relu", (x,)), Constant() as factor)):
            of_positive = Call("mul", (x, factor))
        case _:
            return None
    match below:
        case Call("mul", (inner, Constant(number))) if math.isfinite(number):
            pass
        case _:
            inner = below
    if inner != Call("expm1", (Call("minimum", (x, Constant(0.0))),)):
        return None
    test = Call("less", (Constant(0.0), x))
    return Call("where", (test, of_positive, _below_zero(below, x)))


def _softplus(x: Expression) -> Expression:
    """log(1 + eˣ) without overflow."""
    power = Call("exp", (Call("neg", (Call("abs", (x,)),)),))
    return Call("add", (Call("relu", (x,)), Call("log1p", (power,))))


def _tested_for_nan(test: Expression) -> tuple[Expression, bool] | None:
    """The expression that a test compares with itself, and whether the test holds for
    NaN; None for another test."""
    match test:
        case Call("equal", (x, y)) if x == y:
            return x, False
        case Call("sub", (Constant(1.0), inner)) | Call(
            "equal", (inner, Constant(0.0))
        ):
            of_number = _tested_for_nan(inner)
            return of_number and (of_number[0], not of_number[1])
    return None


_OF_NAN = frozenset(
    {
        *("abs", "add", "div", "exp", "expm1", "log", "log1p", "maximum", "minimum"),
        *("mul", "neg", "relu", "sqrt", "sub", "tanh"),
    }
)
"""Functions that are NaN where an argument is NaN."""


def _is_nan_where(x: Expression, expression: Expression) -> bool:
    """Whether an expression is NaN wherever x is."""
    if expression == x:
        return True
    return (
        isinstance(expression, Call)
        and expression.function in _OF_NAN
        and any(_is_nan_where(x, argument) for argument in expression.arguments)
    )


def _beside_nan(
    x: Expression, of_nan: Expression, other: Expression
) -> Expression | None:
    """An expression without the test for ``of_nan`` where x is NaN, else ``other``;
    None where there is none."""
    below, above = Call("less", (x, Constant(0.0))), Call("less", (Constant(0.0), x))
    if not _is_nan_where(x, of_nan):
        return None
    if _is_nan_where(x, other):
        return other
    inner = Call("where", (above, Constant(1.0), Constant(0.0)))
    if other == Call("copysign", (Call("add", (below, above)), x)):
        return Call("sign", (x,))
    if other == Call("where", (below, Constant(-1.0), inner)):
        zero = Constant(0.0)
        return Call("where", (Call("equal", (x, zero)), zero, Call("sign", (x,))))
    return None


def has_exact_inverse(number: float) -> bool:
    """Whether it is a power of two with a normal inverse: of others a product with the
    inverse may be a neighbour of the quotient, 41 / 41 less than 1."""
    return abs(math.frexp(number)[0]) == 0.5 and 2.0**-126 <= abs(number) <= 2.0**126


def _named(name: str, argument: Expression | None) -> Expression | None:
    return None if argument is None else Call(name, (argument,))


def _one_and_exp(bottom: Expression) -> Expression | None:
    """x, where this is 1 + exp(-x)."""
    match bottom:
        case Call("add", (Call("exp", (Call("neg", (x,)),)), Constant(1.0))):
            return x
    return None


def _product(x: Expression, y: Expression) -> Expression | None:
    if Call("sigmoid", (x,)) == y:
        return Call("silu", (x,))
    if Call("sigmoid", (y,)) == x:
        return Call("silu", (y,))
    if x == y:
        return Call("square", (x,))
    factors = _factors(Call("mul", (x, y)))
    return _gelu(factors) or _erf_gelu(factors)


def _factors(expression: Expression) -> list[Expression]:
    match expression:
        case Call("mul", (x, y)):
            return [*_factors(x), *_factors(y)]
        case Call("div", (x, Constant(number))) if number:
            return [*_factors(x), Constant(1.0 / number)]
    return [expression]


def _without(factors: list[Expression], number: float) -> list[Expression] | None:
    """Factors without numbers, whose product is a number."""
    product = math.prod(f.number for f in factors if isinstance(f, Constant))
    if not math.isclose(product, number, rel_tol=1e-6):
        return None
    return [f for f in factors if not isinstance(f, Constant)]


def _gelu(factors: list[Expression]) -> Expression | None:
    """x/2 · (1 + tanh(sqrt(2/π) · (x + 0.044715·x³)))."""
    plain = _without(factors, 0.5)
    if plain is None or len(plain) != 2:
        return None
    for x, other in (plain, plain[::-1]):
        match other:
            case Call("add", (Call("tanh", (inner,)), Constant(1.0))) if _is_cubic(
                inner, x
            ):
                return Call("gelu", (x,))
    return None


def _is_cubic(inner: Expression, x: Expression) -> bool:
    factors = _without(_factors(inner), _TANH_FACTOR)
    if factors is None or len(factors) != 1:
        return False
    match factors[0]:
        case Call("add", (left, cube)) if left == x:
            plain = _without(_factors(cube), _CUBE_FACTOR)
            if plain is None:
                return False
            powers = sum(_power(f, x) for f in plain)
            return powers == 3
    return False


def _power(factor: Expression, x: Expression) -> int:
    """The power of x that a factor is; 99 if it is none, which makes any sum wrong."""
    if factor == x:
        return 1
    return 2 if factor == Call("square", (x,)) else 99


def _erf_gelu(factors: list[Expression]) -> Expression | None:
    """x/2 · (1 + erf(x/sqrt(2))), as `gelu=erf` writes it."""
    plain = _without(factors, 0.5)
    if plain is None or len(plain) != 2:
        return None
    for x, other in (plain, plain[::-1]):
        match other:
            case Call("add", (Call("erf", (inner,)), Constant(1.0))):
                rest = _without(_factors(inner), _ERF_FACTOR)
                if rest == [x]:
                    return erf_gelu(x)
    return None


def erf_gelu(x: Expression) -> Expression:
    """The form with erf."""
    inner = Call("mul", (x, Constant(_ERF_FACTOR)))
    one_more = Call("add", (Call("erf", (inner,)), Constant(1.0)))
    return Call("mul", (x, Call("mul", (one_more, Constant(0.5)))))
