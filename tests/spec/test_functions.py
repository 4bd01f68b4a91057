"""Elementary functions: how far from the function itself, and special values."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.spec.array_elements import ArrayElements, fused
from morello.spec.functions import BINARY, FUNCTIONS, UNARY

pytestmark = pytest.mark.quick

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]

INF, NAN = np.inf, np.nan


def unary(name: str, *values: float) -> list[float]:
    found = UNARY[name](ArrayElements(()), np.asarray(values, np.float32))
    return [float(value) for value in found]


def everywhere() -> Floats:
    """Numbers of every exponent, and many where functions bend."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 32, 200_000, np.uint32).view(np.float32)
    spread = np.linspace(-110, 95, 200_001, dtype=np.float32)
    near = 3 * rng.standard_normal(100_000, np.float32)
    found = np.concatenate([bits, spread, near])
    return found[np.isfinite(found)]


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


_erf = np.frompyfunc(math.erf, 1, 1)


def _gelu(x: Floats) -> Floats:
    return x * _sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


@pytest.mark.parametrize(
    ("name", "function", "least", "ulps"),
    [
        ("abs", np.abs, -INF, 0),
        ("erf", lambda x: _erf(x).astype(np.float64), -INF, 3),
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
    given = everywhere()
    given = given[given > least]
    with np.errstate(all="ignore"):
        exact = function(given.astype(np.float64))
        nearest = exact.astype(np.float32)
        found = UNARY[name](ArrayElements(()), given)
        unit = np.spacing(np.abs(nearest)).astype(np.float64)
        error = np.abs(found.astype(np.float64) - exact) / unit
    assert np.array_equal(found[np.isinf(nearest)], nearest[np.isinf(nearest)])
    assert np.max(error[np.isfinite(nearest)]) <= ulps


def test_exp_of_what_is_masked_does_not_underflow() -> None:
    """A result that underflows takes a hundred cycles: a mask would be all the time."""
    with np.errstate(under="raise"):
        assert unary("exp", -INF, -3.4e38, -1e4, -176) == [0, 0, 0, 0]


def test_special_values() -> None:
    assert unary("exp", -INF, INF, -104, 89, 0, -0.0) == [0, INF, 0, INF, 1, 1]
    assert unary("exp", -103) == [float(np.float32(np.exp(-103.0)))]
    assert unary("tanh", INF, -INF, 50, -50) == [1, -1, 1, -1]
    assert unary("sigmoid", INF, -INF, 0) == [1, 0, 0.5]
    assert unary("silu", INF, 0) == [INF, 0]
    assert unary("gelu", INF, 0) == [INF, 0]
    assert unary("relu", INF, -INF, 2, -2) == [INF, 0, 2, 0]
    assert unary("erf", INF, -INF, 0) == [1, -1, 0]
    assert unary("log", INF, 0, -0.0, 1) == [INF, -INF, -INF, 0]
    assert np.isnan(unary("log", -1, -INF)).all()
    assert unary("abs", -INF, -0.0, 3) == [INF, 0, 3]
    assert not np.signbit(unary("abs", -0.0)[0])
    assert np.signbit(unary("erf", -0.0)[0])
    assert all(np.isnan(unary(name, NAN)[0]) for name in UNARY)
    assert not np.signbit(unary("tanh", -0.0)[0])
    assert np.signbit(unary("relu", -0.0)[0])


def _bf16(x: Floats) -> Floats:
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def _f16(x: Floats) -> Floats:
    return x.astype(np.float16).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("ceil", np.ceil),
        ("floor", np.floor),
        ("round", np.rint),
        ("round_bf16", _bf16),
        ("round_f16", _f16),
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
    given = np.concatenate(
        [everywhere(), ties, tiny, near.astype(np.float32), halves, -wide, [-0.0]]
    ).astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = function(given)
        found = FUNCTIONS[name][1](ArrayElements(()), given)
    same = found.view(np.int32) == wanted.view(np.int32)
    assert np.all(same | np.isnan(wanted))
    assert np.all(np.isnan(found[np.isnan(wanted)]))


def test_maximum_and_minimum_tell_zeros_and_pass_nan_on() -> None:
    e = ArrayElements(())
    a = np.asarray([0.0, -0.0, NAN, 1.0, 3.0], np.float32)
    b = np.asarray([-0.0, 0.0, 1.0, NAN, 2.0], np.float32)
    high, low = BINARY["maximum"](e, a, b), BINARY["minimum"](e, a, b)
    assert not np.signbit(high[:2]).any()
    assert np.signbit(low[:2]).all()
    assert np.isnan([*high[2:4], *low[2:4]]).all()
    assert (high[4], low[4]) == (3, 2)


def test_comparisons_are_0_or_1_and_false_for_nan() -> None:
    e = ArrayElements(())
    a = np.asarray([1, 2, 2, NAN, 1, -0.0], np.float32)
    b = np.asarray([2, 2, 1, 1, NAN, 0.0], np.float32)

    def found(name: str, *given: Any) -> list[float]:
        return [float(value) for value in FUNCTIONS[name][1](e, *given)]

    assert found("less", a, b) == [1, 0, 0, 0, 0, 0]
    assert found("equal", a, b) == [0, 1, 0, 0, 0, 1]
    assert found("less_equal", a, b) == [1, 1, 0, 0, 0, 1]
    assert found("where", np.asarray([0, -0.0, 2, NAN], np.float32), a[:4], b[:4])[
        :3
    ] == [2, 2, 2]
    assert np.isnan(found("where", a[3:4], a[3:4], b[3:4]))


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
