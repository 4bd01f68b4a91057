"""Sorts, scatters, choices and loops by data are what JAX computes itself."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip(
    "jax", reason="jax is not installed: pip install -e '.[test-frameworks]'"
)

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

import morello  # noqa: E402
from morello.frontends.refusals import ModelError  # noqa: E402
from tests.tables import rows  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_database")

Function = Callable[..., Any]

X = np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32)
TIES = np.array([[3, 1, 3, np.nan, -np.inf, 1], [0.0, -0.0, 0.0, np.inf, -1, -1]])
TIES = TIES.astype(np.float32)
I = np.array([3, 0, 3, 9, -1], np.int32)  # noqa: E741
"""Places among five, of which one is beyond, and one counts from the end."""
U = np.array([3, 2**32 - 1, 0, 2**31, 7], np.uint32)
WINDOWS = lax.ScatterDimensionNumbers((1,), (0,), (1,))
TRUE, FALSE = np.array([2.0], np.float32), np.array([-2.0], np.float32)


def swapped(x: Any, y: Any) -> Any:
    """Each result of the body is the other argument."""
    return lax.while_loop(lambda s: s[0].sum() < 4, lambda s: (s[1], s[0] + 1), (x, y))


def nested(x: Any) -> Any:
    def outer(state: Any) -> Any:
        count, x = state
        x = lax.while_loop(lambda v: v.max() < 10 * count, lambda v: v * 2, x)
        return count + 1, x

    return lax.while_loop(lambda s: s[1].max() < 50, outer, (jnp.int32(1), x))


def bisected(x: Any) -> Any:
    def step(bounds: Any) -> Any:
        low, high = bounds
        middle = (low + high) / 2
        return jnp.where(middle**2 < x, middle, low), jnp.where(
            middle**2 < x, high, middle
        )

    return lax.while_loop(
        lambda s: (s[1] - s[0]).max() > 1e-4, step, (jnp.zeros_like(x), x + 1)
    )


def by_index(i: Any, x: Any) -> Any:
    return lax.switch(i[0], [lambda v: v, lambda v: v * 2, lambda v: v.sum() + v], x)


def gradient(of: Function, start: float, padding: str = "SAME") -> Function:
    """The gradient of extremes over windows which overlap."""

    def extremes(x: Any) -> Any:
        return lax.reduce_window(x, start, of, (2, 3), (1, 2), padding)

    def function(x: Any) -> Any:
        values, derivative = jax.vjp(extremes, x)
        return derivative(values + 2)[0]

    return function


LINEAR = {name: line for name, *line in rows(__file__, "linear_loops")}
"""Functions of jax, and their arguments."""

SLOW: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "swapped": (swapped, (np.zeros(2, np.float32), np.ones(2, np.float32))),
    "no trip": (swapped, (X, X + 100)),
    "nested": (nested, (np.abs(X),)),
    "bisected": (bisected, (np.abs(X),)),
    "counted long": (lambda x: lax.fori_loop(0, 100, lambda i, v: v + i, x), (X,)),
    "scan of many": (
        lambda x: lax.scan(lambda c, v: (c + v, c), jnp.float32(0), x),
        (np.ones(50, np.float32),),
    ),
}


def check(function: Function, arguments: tuple[Any, ...], fallback: bool) -> None:
    program = jax.jit(function)
    model = morello.from_mlir(program.lower(*arguments).as_text(), fallback=fallback)
    results = model.compile(threads=1, time_limit=0.2)(*arguments)
    wanted = jax.tree.leaves(program(*arguments))
    for one, other in zip(
        results if isinstance(results, tuple) else (results,), wanted, strict=True
    ):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("name", LINEAR)
def test_what_takes_linear_time_needs_no_leave(name: str) -> None:
    function, arguments = map(eval, LINEAR[name])
    check(function, arguments, fallback=False)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SLOW)
def test_what_takes_longer_needs_fallback(name: str) -> None:
    check(*SLOW[name], fallback=True)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("swapped", "how often the loop runs depends on data"),
        ("counted long", "a loop of 100 trips is not unrolled"),
    ],
)
def test_without_it_is_refused(name: str, reason: str) -> None:
    function, arguments = SLOW[name]
    text = jax.jit(function).lower(*arguments).as_text()
    with pytest.raises(ModelError, match=rf"model:\d+:\d+: .*{reason}"):
        morello.from_mlir(text)


def test_a_loop_in_a_branch_is_refused() -> None:
    """It may have no end where the branch is not taken."""

    def function(x: Any) -> Any:
        def loop(v: Any) -> Any:
            return lax.while_loop(lambda w: w[0] > 0, lambda w: w + 1, v)

        return lax.cond(x[0] < 0, loop, lambda v: v, x)

    text = jax.jit(function).lower(TRUE).as_text()
    with pytest.raises(ModelError, match="control flow depends on data"):
        morello.from_mlir(text, fallback=True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("size", [2, 3, 33, 20_000])
def test_sorts_of_any_size_are_stable(size: int) -> None:
    """The long one takes n·log(n) steps: n² would be 400 million."""
    keys = np.random.default_rng(0).integers(0, 1 + size // 3, size).astype(np.float32)
    text = jax.jit(lambda x: (jnp.sort(x), jnp.argsort(x))).lower(keys).as_text()
    compiled = morello.from_mlir(text).compile(threads=1, time_limit=0.2)
    start = time.thread_time()
    values, places = compiled(keys)
    assert time.thread_time() - start < 0.2
    np.testing.assert_array_equal(values, np.sort(keys))
    np.testing.assert_array_equal(places, np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("count", [1, 3, 7])
def test_runs_keep_the_greatest(count: int) -> None:
    """A pass over short runs writes no more than is read afterwards."""
    keys = np.random.default_rng(0).integers(0, 30, (2, 50)).astype(np.float32)
    program = jax.jit(lambda x: lax.top_k(x, count))
    model = morello.from_mlir(program.lower(keys).as_text())
    assert min(tensor.shape[-1] for tensor in model.tensors.all) == count
    for one, other in zip(model.compile(threads=1)(keys), program(keys), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_few_elements_are_selected_in_any_order() -> None:
    """The first ones of equal elements, also where each is inserted, or none."""
    drawn = np.random.default_rng(1).integers(0, 9, 300)
    rows = drawn, np.arange(300), -np.arange(300), np.ones(300)
    x = np.stack(rows).astype(np.float32)
    program = jax.jit(lambda x: lax.top_k(x, 20))
    kernel = morello.from_mlir(program.lower(x).as_text()).compile(threads=1)
    for one, other in zip(kernel(x), program(x), strict=True):
        np.testing.assert_array_equal(one, other)


WINDOWED = """
func.func @f(%x: tensor<4x5xui8>, %s: tensor<3x4xui8>, %i: tensor<ui8>)
    -> tensor<4x5xui8> {
  %r = "stablehlo.select_and_scatter"(%x, %s, %i) <{
      padding = dense<[[3, 0], [1, 2]]> : tensor<2x2xi64>,
      window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
      %t = stablehlo.compare GE, %a, %b : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
  }, {
    ^bb0(%a: tensor<ui8>, %b: tensor<ui8>):
      %t = stablehlo.add %a, %b : tensor<ui8>
      stablehlo.return %t : tensor<ui8>
  }) : (tensor<4x5xui8>, tensor<3x4xui8>, tensor<ui8>) -> tensor<4x5xui8>
  return %r : tensor<4x5xui8>
}
"""


def test_a_window_in_the_padding_chooses_nothing() -> None:
    """The first row of windows is one, and the last column."""
    rng = np.random.default_rng(3)
    x, source = (rng.integers(0, 256, s).astype(np.uint8) for s in ((4, 5), (3, 4)))
    wanted = np.full(x.shape, 7)
    for window in np.ndindex(3, 4):
        rows, columns = (
            [2 * w - b + i for i in range(n)]
            for w, b, n in zip(window, (3, 1), (3, 2), strict=True)
        )
        inside = [(r, c) for r in rows for c in columns if 0 <= r < 4 and 0 <= c < 5]
        if inside:
            wanted[max(inside, key=lambda at: x[at])] += source[window]
    compiled = morello.from_mlir(WINDOWED).compile(threads=1)
    np.testing.assert_array_equal(
        compiled(x, source, np.array(7, np.uint8)), wanted % 256
    )
