"""Dtypes, signs and names of arguments and results are those of the function of JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import morello.jax
from morello.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("one_database")

SMALL = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32")
FLOATS = ("float16", "bfloat16", "float32")
WIDE = ("int64", "uint64", "float64")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "copy": lambda x: x,
    "places": lambda x: x[::-1],
    "sum": lambda x: x.sum(),
    "greatest": lambda x: x.max(),
    "where it is": lambda x: jnp.argmax(x),
    "comparison": lambda x: x > x[0],
    "weak number": lambda x: x + 1,
    "weak fraction": lambda x: x * 0.5,
    "to f32": lambda x: x.astype(jnp.float32),
    "to bytes": lambda x: (x != 0).astype(jnp.uint8) * 200,
    "choice": lambda x: jnp.where(x == x[0], x, x[::-1]),
}


def values(dtype: str) -> Any:
    """The least and the greatest, and some between."""
    if dtype == "bool":
        return jnp.array([True, False, True, True])
    if dtype in FLOATS or dtype == "float64":
        return jnp.array([1.5, -2.25, 0.0, 100.0], dtype)
    info = jnp.iinfo(dtype)
    return jnp.array([info.max, info.min, 1, info.max // 2 + 1], dtype)


def check(dtype: str) -> None:
    x = values(dtype)

    def function(x: Any) -> Any:
        return {name: each(x) for name, each in FUNCTIONS.items()}

    run = morello.jax.compile(function, x, threads=1, fallback=True, time_limit=0.2)
    result, wanted = run(x), jax.jit(function)(x)
    for name in FUNCTIONS:
        assert result[name].dtype == wanted[name].dtype, name
        np.testing.assert_array_equal(
            np.asarray(result[name], np.float64),
            np.asarray(wanted[name], np.float64),
            err_msg=name,
        )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", SMALL + FLOATS)
def test_dtypes_in_and_out(dtype: str) -> None:
    check(dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["int8", "float32", *WIDE])
def test_dtypes_with_64_bits(dtype: str) -> None:
    with jax.enable_x64(True):
        check(dtype)


def test_names_are_those_of_the_function() -> None:
    def function(image: Any, weights: dict[str, Any]) -> Any:
        return image @ weights["first"]

    image, weights = jnp.ones((2, 3)), {"first": jnp.ones((3, 4))}
    run = morello.jax.compile(function, image, weights, threads=1)
    with pytest.raises(ArgumentError, match=r"input 'image' .* float32\[2, 4\]"):
        run(jnp.ones((2, 4)), weights)
    with pytest.raises(ArgumentError, match=r"""input 'weights\["?'?first"""):
        run(image, {"first": jnp.ones((4, 4))})


OUTSIDE = [*(np.nan, np.inf, -np.inf, 3e9, -3e9, -1.7, 300, -200, 127.9, -128.9, 255.9)]
OUTSIDE += [*(2.0**31, -(2.0**31), 65535.5, 32768, -0.5, 4294967040)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("cast", SMALL)
def test_casts_of_floats_to_integers_saturate(cast: str, dtype: str) -> None:
    x = jnp.array(OUTSIDE).astype(dtype)

    def f(x: Any) -> Any:
        within = jnp.clip(jnp.round(x * 2), -100, 100)
        return (x * 1).astype(cast), within.astype(cast)

    results = morello.jax.compile(f, x, threads=1)(x)
    for result, wanted in zip(results, jax.jit(f)(x), strict=True):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)
