"""NumPy's functions under `morello.jit` give NumPy's numbers and dtypes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from tests.tracing.beside import Array, check

RNG = np.random.default_rng(7)
X, Y = RNG.standard_normal((2, 4, 6), np.float32)
V, W = RNG.standard_normal((2, 6), np.float32)
LEAST = np.array([0, -0.0, 2, -2, 4, 1, -3, 1e-45, -1e-45, 3e38, -2.5], np.float32)
ODD = np.array([[np.nan, 1, np.inf, -0.0], [2, 2, -np.inf, 0.5]], np.float32)


def assigned(x: Any) -> Any:
    y = np.zeros_like(x)
    y[:, 1:] = x[:, :-1]
    y[0] = 2.0
    y[1:3, 2] = x[1, 3]
    return y


CASES: list[tuple[Callable[..., Any], tuple[Array, ...]]] = [
    (lambda x: (np.floor(x), np.ceil(x), np.rint(x), np.trunc(x)), (X,)),
    (lambda x: (np.amax(x, 0), np.amin(x), x.argmax(1), np.argmin(x)), (X,)),
    (lambda x: (np.argmax(x, 1), np.argmin(x, 0)), (ODD,)),
    (lambda x: ((x > 0).any(0), np.all(x > -9, axis=1), np.any(x)), (X,)),
    (lambda x: (np.cumsum(x, 0), np.cumprod(x, 1), np.cumsum(x)), (X,)),
    (lambda x: (np.cumsum(x, 1), np.nan_to_num(x), np.isinf(x)), (ODD,)),
    (lambda x: (np.prod(x, 1), x.prod(), np.count_nonzero(x > 0, 0)), (X,)),
    (lambda x: (x[[2, 0, 1]], x[:, [0, 0, 5]], x[[0, 1], [3, 2]]), (X,)),
    (lambda x: (np.tile(x, (2, 2)), np.repeat(x, 3, 1), np.repeat(x, 2)), (X,)),
    (lambda x: (np.broadcast_to(x, (3, 6)) + 1, np.diag(x), np.diag(x, -1)), (V,)),
    (lambda x: (np.trace(x), np.diagonal(x, 1), np.diagonal(x, -2) + 1), (X,)),
    (lambda x: (np.einsum("ii", x @ x.T), np.einsum("iij->j", x[None])), (X[:1],)),
    (lambda a, v: (np.convolve(a, v[:3]), np.convolve(v, a, "same")), (V, W)),
    (lambda a, v: (np.correlate(a, v[:2]), np.kron(a[:2], v)), (V, W)),
    (lambda a, b: (np.cross(a[:, :3], b[:, :3]), np.dstack([a, b])), (X, Y)),
    (lambda a, b: (np.column_stack([a, b]), np.meshgrid(a, b)[1]), (V, W)),
    (lambda x: (np.rot90(x), np.gradient(x[0]), np.trapezoid(x)), (X,)),
    (lambda x: (np.polyval([1.0, 2.0, 3.0], x), np.cov(x), np.corrcoef(x[:1])), (X,)),
    (lambda x: (x % 2, x // 0.5, np.fmod(x, 4), 2.0**x), (X * 9,)),
    (lambda x: (x % 3, x // -0.7, np.fmod(x, 0.3)), (X * 9,)),
    (lambda a, b: (np.arctan2(a, b), np.copysign(a, b)), (X, Y)),
    (lambda x: (np.sinh(x), np.cosh(x), np.tan(x), np.arcsinh(x)), (X,)),
    (lambda x: (np.arcsin(x), np.arccos(x), np.arctanh(x)), (np.tanh(X),)),
    (lambda x: (np.cbrt(x), np.sinc(x), np.deg2rad(x), np.degrees(x)), (X,)),
    (lambda a, b: (np.fmax(a, b), np.hypot(a, b), np.heaviside(a, b)), (X, Y)),
    (lambda x: (np.fmin(x, 1.0), np.hypot(x, 1.0), np.sign(x)), (ODD,)),
    (lambda a, b: (np.isclose(a, b), np.isclose(a, a + 1e-7)), (X, Y)),
    (lambda x: (np.select([x > 1, x < -1], [x, -x], 0), np.round(x, 1)), (X,)),
    (lambda x: (np.nansum(x, 1), np.nanmax(x, 1)), (ODD,)),
    (lambda x: np.nanmean(x, 0), (ODD,)),
    (lambda x: (np.flip(np.tanh(x).reshape(-1)), np.rollaxis(x[None], 0, -1)), (X,)),
    (lambda x: np.nanstd(x, 1), (ODD[:, :2],)),
    (lambda x: np.nanmin(x), (ODD[:, :2],)),
    (assigned, (X,)),
    (lambda x: (x + 1, np.ones(3, np.float32), 2.5), (X,)),
    (lambda x: np.pad(x[:1] * 2, ((1, 2), (0, 1)), constant_values=4), (X,)),
    (lambda x: (x + 1, x > 0, (x > 0) & ~(x < 1), (x > 0)[1:].T), (X,)),
    (lambda x: (np.isnan(x).reshape(-1), np.isclose(x, 1.0), np.all(x, 0)), (X,)),
    (lambda x: ((x > 0).max(0), (x > 0).sum(0), np.count_nonzero(x, axis=0)), (X,)),
    (lambda x: (np.concatenate([x > 0, x < 1]), np.where(x > 0, x, 0)), (X,)),
    (lambda x: (x * (x > 0), x.astype(np.int64), x.astype(bool)), (X,)),
    (lambda x: (x > 0).astype(np.float32), (X,)),
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("function", "arrays"), CASES)
def test_results_are_those_of_numpy(
    function: Callable[..., Any], arrays: tuple[Array, ...]
) -> None:
    check(function, arrays)


@pytest.mark.parametrize("divisor", [2, -2, -1, 0.5, -8, 3])
def test_remainders_have_the_zeros_of_numpy_and_those_of_the_least_numbers(
    divisor: float,
) -> None:
    def function(x: Any) -> Any:
        return x % divisor, x // divisor, np.fmod(x, divisor)

    computed = morello.jit(function)(LEAST)
    with np.errstate(all="ignore"):
        wanted = function(LEAST)
    for one, other in zip(computed, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))
