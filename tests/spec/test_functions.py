"""Elementary functions: how far from the function itself, and special values."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.spec.elements.arrays import ArrayElements, fused
from morello.spec.functions import BINARY, FUNCTIONS, ROWS, UNARY

pytestmark = pytest.mark.quick

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]

INF, NAN = np.inf, np.nan


def unary(name: str, *values: float) -> list[float]:
    result = UNARY[name](ArrayElements(()), np.asarray(values, np.float32))
    return [float(value) for value in result]


def everywhere() -> Floats:
    """Numbers of every exponent, and many where functions bend."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, 200_000, np.uint32).view(np.float32)
    spread = np.linspace(-110, 95, 200_001, dtype=np.float32)
    near = 3 * rng.standard_normal(100_000, np.float32)
    numbers = np.concatenate([bits, spread, near])
    return numbers[np.isfinite(numbers)]


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


_erf = np.frompyfunc(math.erf, 1, 1)


def _gelu(x: Floats) -> Floats:
    return x * _sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


def between(least: float, most: float) -> Floats:
    return np.random.default_rng(1).uniform(least, most, 200_000).astype(np.float32)


def _off(name: str, *arguments: Floats) -> Floats:
    """By how many units in the last place results are off; those of NaN are equal."""
    row = ROWS[name]
    with np.errstate(all="ignore"):
        exact = row.exact(*(x.astype(np.float64) for x in arguments))
        nearest = exact.astype(np.float32)
        result = row.code(ArrayElements(()), *arguments)
        unit = np.spacing(np.maximum(np.abs(nearest), np.float32(2**-126)))
        error = np.abs(result.astype(np.float64) - exact) / unit
    same = (result == nearest) | (np.isnan(result) & np.isnan(nearest))
    return np.where(same, 0, np.where(np.isnan(error), INF, error))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "least", "most", "ulps"),
    [
        ("acos", -1, 1, 5),
        ("acosh", 1, 30, 5),
        ("asin", -1, 1, 5),
        ("asinh", -30, 30, 5),
        ("atanh", -1, 1, 5),
        ("cbrt", -9, 9, 2),
        ("cosh", -89, 89, 5),
        ("erfc", -5, 10, 7),
        ("log10", 0, 9, 3),
        ("sinh", -89, 89, 5),
        ("tan", -9, 9, 3),
    ],
)
def test_it_is_as_near_as_it_says(
    name: str, least: float, most: float, ulps: float
) -> None:
    numbers = np.concatenate([everywhere(), between(least, most)])
    assert np.max(_off(name, numbers)) <= ulps


PAIRED = {"atan2": 5, "floor_divide": 2, "fmod": 0, "hypot": 2, "remainder": 0}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "ulps"), PAIRED.items())
def test_of_two_numbers_it_is_as_near_as_it_says(name: str, ulps: float) -> None:
    a, b = everywhere(), between(-20, 20)
    others = np.random.default_rng(2).permutation(a)
    for pair in ((a, others), (b, between(-3, 3)), (others[: len(b)], b)):
        assert np.max(_off(name, *pair)) <= ulps


@pytest.mark.parametrize("name", [*PAIRED, "copysign", "fmax", "fmin"])
def test_special_values_of_two_numbers(name: str) -> None:
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    if name in ("fmax", "fmin"):  # of two zeros NumPy has either
        x, y = (a[(x != 0) | (y != 0)] for a in (x, y))
    with np.errstate(all="ignore"):
        wanted = ROWS[name].exact(x.astype(np.float64), y.astype(np.float64))
        _check_special(
            ROWS[name].code(ArrayElements(()), x, y), wanted.astype(np.float32)
        )


@pytest.mark.parametrize(
    ("name", "function", "least", "ulps"),
    [
        ("abs", np.abs, -INF, 0),
        ("atan", np.arctan, -INF, 2),
        ("erf", lambda x: _erf(x).astype(np.float64), -INF, 3),
        ("exp2", np.exp2, -INF, 1),
        ("expm1", np.expm1, -INF, 1.5),
        ("log1p", np.log1p, -1, 2),
        ("log2", np.log2, 0, 2),
        ("exp", np.exp, -INF, 0.9),
        ("log", np.log, 0, 2),
        ("tanh", np.tanh, -INF, 3),
        ("sigmoid", _sigmoid, -88.7, 3),
        ("silu", lambda x: x * _sigmoid(x), -88.7, 3),
        ("gelu", _gelu, -1, 3),
        ("gelu", _gelu, -9.8, 2**8),
    ],
)
def test_it_is_near_the_function(
    name: str, function: Callable[[Floats], Floats], least: float, ulps: float
) -> None:
    numbers = everywhere()
    numbers = numbers[numbers > least]
    with np.errstate(all="ignore"):
        exact = function(numbers.astype(np.float64))
        nearest = exact.astype(np.float32)
        result = FUNCTIONS[name][1](ArrayElements(()), numbers)
        unit = np.spacing(np.abs(nearest)).astype(np.float64)
        error = np.abs(result.astype(np.float64) - exact) / unit
    assert np.array_equal(result[np.isinf(nearest)], nearest[np.isinf(nearest)])
    assert np.max(error[np.isfinite(nearest)]) <= ulps


def _hard_angles() -> Floats:
    """Angles of every size, and those nearest to a quarter of a turn."""
    quarters = np.arange(1, 4000) * (np.pi / 2)
    # 16367173 · 2^72 is the one of f32 that is nearest to a multiple of π/2.
    large = [16367173 * 2.0**72, 3.4e38, *(2.0**i for i in range(20, 128))]
    around = np.asarray([*quarters, *large], np.float32)
    beside = [np.nextafter(around, np.float32(end)) for end in (0, INF)]
    angles = np.concatenate([everywhere()[::40], around, *beside, -around])
    return angles[np.isfinite(angles)]


def _two_over_pi(bits: int) -> int:
    """2/π · 2^bits, by Machin's formula for π in integers."""
    one = 1 << bits + 64

    def arc(n: int) -> int:
        total = term = one // n
        for k in range(1, bits):
            term //= n * n
            total += (-term if k % 2 else term) // (2 * k + 1)
        return total

    pi = 4 * (4 * arc(5) - arc(239))
    return 2 * one * (1 << bits) // pi


@pytest.mark.parametrize(("name", "ahead"), [("sin", 0), ("cos", 1)])
def test_waves_are_near_the_function_for_arguments_of_every_size(
    name: str, ahead: int
) -> None:
    """The angle is brought to a quarter of a turn in integers, which are exact."""
    bits = 256
    ratio = _two_over_pi(bits)
    numbers = _hard_angles()
    exact = []
    for x in numbers.tolist():
        fraction = Fraction(x) * ratio
        turns = round(fraction / (1 << bits))
        rest = float(fraction / (1 << bits) - turns) * (math.pi / 2)
        quarter = (turns + ahead) % 4
        value = math.cos(rest) if quarter % 2 else math.sin(rest)
        exact.append(-value if quarter > 1 else value)
    wanted = np.asarray(exact)
    result = FUNCTIONS[name][1](ArrayElements(()), numbers)
    unit = np.spacing(np.abs(wanted.astype(np.float32))).astype(np.float64)
    assert np.max(np.abs(result - wanted) / unit) <= 1.1


def test_powers_are_near_the_function() -> None:
    rng = np.random.default_rng(1)
    bases = np.concatenate(
        [
            np.abs(everywhere()[:100_000]),
            10 ** rng.uniform(-3, 3, 100_000),
            1 + 0.1 * rng.standard_normal(100_000),
        ]
    ).astype(np.float32)
    exponents = np.concatenate(
        [
            rng.permutation(everywhere()[:100_000]),
            rng.uniform(-40, 40, 100_000),
            rng.uniform(-800, 800, 100_000),
        ]
    ).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = np.power(bases.astype(np.float64), exponents.astype(np.float64))
        nearest = exact.astype(np.float32)
        result = FUNCTIONS["pow"][1](ArrayElements(()), bases, exponents)
        error = np.abs(result.astype(np.float64) - exact) / np.spacing(np.abs(nearest))
    assert np.array_equal(result[np.isinf(nearest)], nearest[np.isinf(nearest)])
    assert np.max(error[np.isfinite(nearest)]) <= 4


SPECIAL = np.asarray(
    [
        *(0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 2.5, -2.5, 1e-45, -1e-45),
        *(3e38, -3e38, INF, -INF, NAN, 2.0**24, 2.0**25 + 4),
    ],
    np.float32,
)


@pytest.mark.parametrize(
    "name", sorted(n for n, row in ROWS.items() if row.count == 1 and n != "relu")
)
def test_special_values_are_those_of_the_function(name: str) -> None:
    with np.errstate(all="ignore"):
        wanted = ROWS[name].exact(SPECIAL.astype(np.float64)).astype(np.float32)
        result = FUNCTIONS[name][1](ArrayElements(()), SPECIAL)
    _check_special(result, wanted)


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "div", "equal", "less", "less_equal", "where"]
)
def test_special_values_of_several_are_those_of_the_function(name: str) -> None:
    """Rounding f64 once more gives what f32 does; a condition is all but 0."""
    row = ROWS[name]
    numbers = [a.ravel() for a in np.meshgrid(*[SPECIAL] * row.count)]
    with np.errstate(all="ignore"):
        wide = row.exact(*(array.astype(np.float64) for array in numbers))
        wanted = wide.astype(np.float32)
        result = np.asarray(row.code(ArrayElements(()), *numbers), np.float32)
    same = result.view(np.int32) == wanted.view(np.int32)
    assert np.all(same | (np.isnan(result) & np.isnan(wanted)))


def test_special_powers_are_those_of_ieee_754() -> None:
    x, y = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64))
        result = FUNCTIONS["pow"][1](ArrayElements(()), x, y)
        _check_special(result, wanted.astype(np.float32))


def _check_special(result: Floats, wanted: Floats) -> None:
    """NaN, infinities and signed zeros agree; what is between them nearly."""
    between = np.isfinite(wanted) & (wanted != 0)
    np.testing.assert_allclose(result[between], wanted[between], rtol=1e-6, atol=1e-45)
    np.testing.assert_array_equal(result[~between], wanted[~between])
    zero = wanted == 0
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(wanted[zero]))


def test_exp_of_what_is_masked_does_not_underflow() -> None:
    """A result that underflows takes a hundred cycles: a mask would be all the time."""
    with np.errstate(under="raise"):
        assert unary("exp", -INF, -3.4e38, -1e4, -176) == [0, 0, 0, 0]


def test_functions_reach_their_ends() -> None:
    assert unary("exp", 0, -0.0) == [1, 1]
    assert unary("tanh", INF, -INF, 50, -50) == [1, -1, 1, -1]
    assert unary("sigmoid", INF, 0) == [1, 0.5]
    assert unary("erf", INF, -INF) == [1, -1]
    positive = np.where(SPECIAL < 0, np.float32(0), SPECIAL)
    np.testing.assert_array_equal(unary("relu", *SPECIAL), positive)
    assert np.signbit(unary("relu", -0.0)[0])


def _bf16(x: Floats) -> Floats:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def _f16(x: Floats) -> Floats:
    return x.astype(np.float16).astype(np.float32)


def _s8(x: Floats) -> Floats:
    return np.clip(np.rint(np.where(np.isnan(x), 0, x)), -128, 127) + 0.0


def _u8(x: Floats) -> Floats:
    return np.clip(np.rint(np.where(np.isnan(x), 0, x)), 0, 255) + 0.0


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("ceil", np.ceil),
        ("floor", np.floor),
        ("round", np.rint),
        (
            "round_away",
            lambda x: np.copysign(np.floor(np.abs(x.astype("f8")) + 0.5), x),
        ),
        ("sign", lambda x: np.where(x == 0, x, np.sign(x))),
        ("trunc", np.trunc),
        ("round_bf16", _bf16),
        ("round_f16", _f16),
        ("round_s8", _s8),
        ("round_u8", _u8),
    ],
)
def test_it_rounds_to_the_same_bits(
    name: str, function: Callable[[Floats], Floats]
) -> None:
    ties = np.arange(-300, 300, dtype=np.float32) / 4
    tiny = (np.arange(-99, 99) * 2.0**-26).astype(np.float32)
    near = np.asarray([65519, 65519.996, 65520, 2.0**23 - 0.5, 3.4e38, INF, -INF, NAN])
    halves = 1 + np.arange(64, dtype=np.float32) * 2.0**-12
    wide = 1 + np.arange(64, dtype=np.float32) * 2.0**-9
    numbers = np.concatenate(
        [everywhere(), ties, tiny, near.astype(np.float32), halves, -wide, [-0.0]]
    ).astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = function(numbers).astype(np.float32)
        result = FUNCTIONS[name][1](ArrayElements(()), numbers)
    same = result.view(np.int32) == wanted.view(np.int32)
    assert np.all(same | np.isnan(wanted))
    assert np.all(np.isnan(result[np.isnan(wanted)]))


def test_maximum_and_minimum_tell_zeros_and_pass_nan_on() -> None:
    e = ArrayElements(())
    a = np.asarray([0.0, -0.0, NAN, 1.0, 3.0], np.float32)
    b = np.asarray([-0.0, 0.0, 1.0, NAN, 2.0], np.float32)
    high, low = BINARY["maximum"](e, a, b), BINARY["minimum"](e, a, b)
    assert not np.signbit(high[:2]).any()
    assert np.signbit(low[:2]).all()
    assert np.isnan([*high[2:4], *low[2:4]]).all()
    assert (high[4], low[4]) == (3, 2)


def test_a_fused_product_is_rounded_once() -> None:
    """Where rounding the sum to f64 first would end on the other side of a tie."""
    one, tiny = np.float32(1), np.float32(2.0**-60)
    tie = np.float32(2.0**-24)
    exact = fused(np.float32(1 + 2.0**-23), np.float32(1 + 2.0**-23), -one)
    assert exact == np.float32(2.0**-22 + 2.0**-46)
    assert fused(tie, one + np.float32(0), one) == one  # to the even one
    above = fused(tiny, one, np.float32(0)) + 0
    assert above == tiny
    a = np.float32(2.0**-24 * (1 + 2.0**-23))
    assert fused(a, one, one) == np.float32(1 + 2.0**-23)
    third = fused(np.float32(2.0**-30), np.float32(2.0**-40), np.float32(1))
    assert third == one
