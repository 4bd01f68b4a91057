"""Transformations of JAX compose around functions that Morello compiled."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import morello.jax
from morello.errors import ArgumentError
from morello.jax.function import _has_reverse_rule

pytestmark = pytest.mark.usefixtures("one_database")

X = jnp.linspace(-1, 1, 6).reshape(2, 3)
W = jnp.linspace(0, 1, 9).reshape(3, 3)
SEVERAL = jnp.stack([X, 2 * X, X - 1])

Function = Callable[..., Any]


def plain(x: Any) -> Any:
    return jnp.tanh(x @ W)


@jax.custom_vjp
def clipped(x: Any) -> Any:
    """Its own rule doubles the gradient, which shows that the rule is used."""
    return x * 1.5


clipped.defvjp(lambda x: (clipped(x), None), lambda residuals, g: (3.0 * g,))


@jax.custom_jvp
def ruled(x: Any) -> Any:
    return x * x


ruled.defjvp(lambda x, t: (ruled(x[0]), 5.0 * x[0] * t[0]))


FUNCTIONS: dict[str, Function] = {
    "plain": plain,
    "jit inside": lambda x: jax.jit(plain)(x) + 1,
    "checkpoint inside": lambda x: jax.checkpoint(plain)(x) * 2,
    "custom_jvp inside": lambda x: ruled(x) + x,
    "custom_vjp inside": lambda x: clipped(x) + x,
    "vmap inside": lambda x: jax.vmap(lambda row: jnp.tanh(row) * row.sum())(x),
    "grad inside": jax.grad(lambda x: (jnp.tanh(x) ** 2).sum()),
}


@pytest.fixture(scope="module")
def compiled() -> Callable[[str], Function]:
    known: dict[str, Function] = {}

    def get(name: str) -> Function:
        if name not in known:
            known[name] = morello.jax.compile(
                FUNCTIONS[name], X, threads=1, time_limit=0.5
            )
        return known[name]

    return get


def total(f: Function) -> Function:
    return lambda x: f(x).sum()


def square(f: Function) -> Function:
    """Of a function that keeps a shape: applied twice."""
    return lambda x: f(f(x))


FORWARD: dict[str, Callable[[Function], Any]] = {
    "jvp": lambda f: jax.jvp(f, (X,), (X,)),
    "jacfwd": lambda f: jax.jacfwd(f)(X),
    "hessian": lambda f: jax.hessian(total(f))(X),
    "jacfwd of grad": lambda f: jax.jacfwd(jax.grad(total(f)))(X),
    "jvp of jvp": lambda f: jax.jvp(lambda x: jax.jvp(f, (x,), (x,))[1], (X,), (X,)),
}
"""What a rule for reverse mode alone does not have in JAX, either."""

TRANSFORMATIONS: dict[str, Callable[[Function], Any]] = {
    "call": lambda f: f(X),
    "jit": lambda f: jax.jit(f)(X),
    "twice": lambda f: square(f)(X),
    "grad": lambda f: jax.grad(total(f))(X),
    "value_and_grad": lambda f: jax.value_and_grad(total(f))(X),
    "grad of jit": lambda f: jax.grad(jax.jit(total(f)))(X),
    "jit of grad": lambda f: jax.jit(jax.grad(total(f)))(X),
    "grad of twice": lambda f: jax.grad(total(square(f)))(X),
    "grad of grad": lambda f: jax.grad(total(jax.grad(total(f))))(X),
    "jacrev": lambda f: jax.jacrev(f)(X),
    "vjp": lambda f: jax.vjp(f, X)[1](X),
    "vmap": lambda f: jax.vmap(f)(SEVERAL),
    "vmap along others": lambda f: jax.vmap(f, 2, 1)(jnp.moveaxis(SEVERAL, 0, 2)),
    "vmap of vmap": lambda f: jax.vmap(jax.vmap(f))(SEVERAL[None]),
    "vmap of grad": lambda f: jax.vmap(jax.grad(total(f)))(SEVERAL),
    "grad of vmap": lambda f: jax.grad(total(jax.vmap(f)))(SEVERAL),
    "jit of vmap of grad": lambda f: jax.jit(jax.vmap(jax.grad(total(f))))(SEVERAL),
    "checkpoint": lambda f: jax.grad(total(jax.checkpoint(square(f))))(X),
    "scan": lambda f: lax.scan(lambda c, _: (f(c), c.sum()), X, None, 3),
    "grad of scan": lambda f: jax.grad(
        lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 3)[0].sum()
    )(X),
    "map": lambda f: lax.map(f, SEVERAL),
    "cond": lambda f: [lax.cond(b, f, lambda x: -x, X) for b in (True, False)],
    "grad of cond": lambda f: jax.grad(
        lambda x: lax.cond(x.sum() < 1, total(f), jnp.sum, x)
    )(X),
    "while": lambda f: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, f(c[1])), (0, X)
    ),
    **FORWARD,
}


FEW = ("call", "jit of vmap of grad", "grad of vmap", "jacfwd", "hessian")
CASES = [
    (way, name)
    for name in FUNCTIONS
    for way in (TRANSFORMATIONS if name in ("plain", "custom_vjp inside") else FEW)
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("way", "name"), CASES)
def test_it_is_what_the_function_itself_gives(
    way: str, name: str, compiled: Callable[[str], Function]
) -> None:
    transform, function = TRANSFORMATIONS[way], FUNCTIONS[name]
    if name == "custom_vjp inside" and way in FORWARD:
        for one in (function, compiled(name)):
            with pytest.raises(TypeError, match="forward-mode"):
                transform(one)
        return
    wanted, result = transform(function), transform(compiled(name))
    assert jax.tree.structure(wanted) == jax.tree.structure(result)
    for one, other in zip(
        jax.tree.leaves(result), jax.tree.leaves(wanted), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


DEEP: dict[str, Callable[[Function], Function]] = {
    "alone": lambda f: f,
    "in jit": jax.jit,
    "in checkpoint": jax.checkpoint,
    "in vmap": jax.vmap,
    "in a loop": lambda f: lambda x: lax.scan(lambda c, r: (c, f(r)), 0.0, x)[1],
    "in a branch": lambda f: lambda x: lax.cond(x[0, 0] > 0, f, lambda x: x, x),
}


@pytest.mark.parametrize("name", DEEP)
def test_a_reverse_rule_is_found_however_deep(name: str) -> None:
    for function in (clipped, ruled, jnp.tanh):
        traced = jax.make_jaxpr(DEEP[name](function))(X)
        assert _has_reverse_rule(traced.jaxpr) == (function is clipped)


def test_a_reverse_rule_in_jit_is_used() -> None:
    run = morello.jax.compile(lambda x: jax.jit(clipped)(x) + x, X, threads=1)
    np.testing.assert_array_equal(jax.grad(total(run))(X), np.full(X.shape, 4.0))


def test_derivatives_are_those_of_what_was_traced() -> None:
    """Not of what the function has become since."""
    scale = {"by": 2.0}
    run = morello.jax.compile(lambda x: x * scale["by"], X, threads=1)
    scale["by"] = 7.0
    np.testing.assert_array_equal(run(X), 2 * X)
    np.testing.assert_array_equal(jax.grad(total(run))(X), np.full(X.shape, 2.0))


def test_the_others_of_several_arguments_and_results() -> None:
    def function(weights: dict[str, Any], x: Any) -> tuple[Any, Any]:
        y = jnp.tanh(x @ weights["w"] + weights["b"])
        return y, (y * y).sum()

    weights = {"w": W, "b": jnp.ones(3)}
    run = morello.jax.compile(function, weights, X, threads=1, time_limit=0.5)

    def loss(f: Function) -> Any:
        return jax.value_and_grad(lambda w: f(w, X)[::-1], has_aux=True)(weights)

    wanted, result = loss(function), loss(run)
    assert jax.tree.structure(wanted) == jax.tree.structure(result)
    for one, other in zip(
        jax.tree.leaves(result), jax.tree.leaves(wanted), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_numbers_of_python_have_the_dtype_that_is_wanted() -> None:
    run = morello.jax.compile(lambda x, s: x * s, X, 2.0, threads=1)
    np.testing.assert_array_equal(run(X, 3), 3 * X)
    np.testing.assert_array_equal(run(np.asarray(X, np.float64), 3.0), 3 * X)
    with pytest.raises(ArgumentError, match=r"int32\[2, 3\] was given"):
        run(jnp.ones((2, 3), jnp.int32), 3.0)


def test_numbers_of_python_that_another_dtype_holds_alone_are_refused() -> None:
    run = morello.jax.compile(lambda x, n: x * n, X, 2, threads=1)
    for number in (3, True, np.int32(3)):
        np.testing.assert_array_equal(run(X, number), int(number) * X)
    for wrong, dtype in (
        (2.5, "float32"),
        (3.0, "float32"),
        (np.float32(3), "float32"),
    ):
        with pytest.raises(ArgumentError, match=rf"{dtype}\[\] was given"):
            run(X, wrong)
    choose = morello.jax.compile(jnp.where, X > 0, X, 1.0, threads=1)
    np.testing.assert_array_equal(choose(X > 0, X, 1), np.where(X > 0, X, 1))
    with pytest.raises(ArgumentError, match="was given"):
        morello.jax.compile(jnp.where, True, X, X, threads=1)(2, X, X)


@pytest.mark.sampled(2)
def test_integers_have_no_gradient_and_others_have_theirs() -> None:
    def function(table: Any, i: Any) -> Any:
        return jnp.tanh(table[i]) * 2

    table, i = jnp.linspace(-1, 1, 12).reshape(4, 3), jnp.array([3, 0, 3])
    run = morello.jax.compile(function, table, i, threads=1, fallback=True)
    for way in (jax.grad, jax.jacfwd):
        wanted, result = (
            way(lambda t, f=f: f(t, i).sum())(table) for f in (function, run)
        )
        np.testing.assert_allclose(result, wanted, rtol=1e-5)


def test_a_refusal_has_the_line_of_the_program() -> None:
    def function(x: Any) -> Any:
        return jnp.fft.fft(x).real

    line = function.__code__.co_firstlineno + 1
    with pytest.raises(
        morello.MorelloError, match=rf"{__file__}:{line}:15: stablehlo\.fft: no graph"
    ):
        morello.jax.compile(function, X, threads=1)


def test_with_fallback_an_op_that_is_no_spec_refuses_nothing() -> None:
    def function(x: Any) -> Any:
        return jnp.cumsum(jnp.tanh(x @ W), 1), jnp.argmax(x, 1), x > 0

    run = morello.jax.compile(function, X, threads=1, fallback=True, time_limit=0.5)
    for one, other in zip(run(X), function(X), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5)
