"""NumPy's functions where they are hard: NaN, infinities, zeros, uneven parts."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from tests.tracing.beside import pairs

INF, NAN = np.inf, np.nan
GAPS = [[1, NAN, 3, 4], [2, 2, NAN, NAN], [0, 1, 2, 3], [NAN] * 4]
ODD = [[-INF, INF, -0.0, 0.0, NAN, 4], [-INF, INF, 0.0, -0.0, 1, -4]]

CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "variance of numbers": (lambda x: np.nanvar(x[:3], 1), GAPS),
    "deviation of numbers": (lambda x: np.nanstd(x[:3], 1, ddof=1), GAPS),
    "greatest of numbers": (lambda x: np.nanmax(x, 1), GAPS),
    "least of numbers": (lambda x: np.nanmin(x, 1), GAPS),
    "mean of numbers": (lambda x: np.nanmean(x, 1), GAPS),
    "sums of exponentials": (lambda x: np.logaddexp(x[0], x[1]), ODD),
    "roots of powers": (lambda x: (x**1.5, x**0.5, x**-0.5, x**2.5), ODD),
    "signs": (lambda x: np.sign(x), ODD),
    "places": (lambda x: (x.argmax(1), x.argmin(1)), ODD),
    "running products": (lambda x: np.cumprod(x, 1), [[2, 3, -1, 0.5, 4]]),
    "products": (lambda x: np.prod(x, 1), [[2, 3, -1, 0.5, 4], [1, 2, 3, 4, 5]]),
    "one axis backwards": (lambda x: (np.flip(x, 1), np.flip(x, 0)), GAPS),
    "triangles": (lambda x: (np.triu(x, 1), np.tril(x, -1), np.triu(x)), GAPS),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CASES)
def test_special_values_are_those_of_numpy(name: str) -> None:
    function, rows = CASES[name]
    x = np.array(rows, np.float32)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = function(x)
        result = morello.jit(function, threads=1)(x)
    for one, other in pairs(result, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-5)
        zeros = other == 0
        assert np.array_equal(np.signbit(one)[zeros], np.signbit(other)[zeros])


@pytest.mark.parametrize(("parts", "axis"), [(3, 0), (2, 1)])
def test_parts_are_as_even_as_numpy_makes_them(parts: int, axis: int) -> None:
    x = np.arange(33, dtype=np.float32).reshape(11, 3)
    run = morello.jit(
        lambda x: [p + 1 for p in np.array_split(x, parts, axis)], threads=1
    )
    for one, other in zip(run(x), np.array_split(x + 1, parts, axis), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_weights_of_an_axis(axis: int) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    w = np.arange(1, x.shape[axis] + 1, dtype=np.float32)
    run = morello.jit(lambda x, w: np.average(x, axis, weights=w), threads=1)
    np.testing.assert_allclose(run(x, w), np.average(x, axis, weights=w), rtol=1e-5)


@pytest.mark.parametrize(("source", "to"), [(0, 2), (2, 0), ((0, 1), (1, 2)), (1, -1)])
def test_axes_are_moved_there(source: Any, to: Any) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    run = morello.jit(lambda x: np.moveaxis(x, source, to) * 2, threads=1)
    assert np.array_equal(run(x), np.moveaxis(x, source, to) * 2)


BROADCAST = """
func.func @main(%x: tensor<3xf32>) -> tensor<2x3xf32> {
  %y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""


def test_a_broadcast_keeps_the_sign_of_zero() -> None:
    x = np.array([-0.0, 0.0, np.nan], np.float32)
    wanted = np.signbit([x[:2], x[:2]])
    repeated = morello.jit(lambda x: np.broadcast_to(x, (2, 3)), threads=1)
    for result in (repeated(x), morello.from_mlir(BROADCAST).evaluate(x)):
        assert isinstance(result, np.ndarray)
        assert np.array_equal(np.signbit(result[:, :2]), wanted)
        assert np.isnan(result[:, 2]).all()
