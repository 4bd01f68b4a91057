"""`compile`: a function of JAX arrays, compiled by Morello, of a function of JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from morello.errors import ArgumentError
from morello.frontends.model import trusted_model
from morello.jax.call import call


def compile(
    function: Callable[..., Any],
    *arrays: Any,
    fallback: bool = False,
    flushing: bool = False,
    **options: Any,
) -> Callable[..., Any]:
    """A function of JAX, compiled by Morello for arguments of some shapes.

    It is traced once, as ``jax.jit`` does: what it reads besides its arguments is part
    of the program. The result is as of `call`, and has the derivatives that JAX
    computes for the function that was traced, of any order: ``jax.grad``, ``jvp``,
    ``hessian`` and ``vmap`` of it may be composed.

    Args:
        function: of arrays, or of trees of them, such as a dictionary of weights; it
            returns one, too.
        arrays: arguments, or ``jax.ShapeDtypeStruct`` of their shapes and dtypes.
        fallback: leave what is no Spec to upstream's plain lowering, as
            `morello.from_mlir` takes it.
        flushing: as `morello.from_mlir` takes it.
        options: of `morello.frontends.model.Model.compile`: ``threads``, ``target``,
            ``db``, ``time_limit``, ``progress``.

    Raises:
        MorelloError: ops that have no Spec, all of them; or no program is found.
        ArgumentError: of the result: arguments are another tree, or do not fit.
    """
    # What is not read is an argument all the same.
    traced = jax.jit(function, keep_unused=True).trace(*arrays)
    lowered = traced.lower()
    name = getattr(function, "__name__", "function")
    text = lowered.as_text(debug_info=True)
    model = trusted_model(text, None, name, fallback=fallback, flushing=flushing)
    compiled = _differentiable(call(model.compile(**options)), traced.jaxpr)
    avals = traced.jaxpr.in_avals
    tree = jax.tree.structure(arrays)

    def run(*arguments: Any) -> Any:
        leaves, given_tree = jax.tree.flatten(arguments)
        if given_tree != tree:
            raise ArgumentError(
                f"{name} was compiled for arguments {tree}, and {given_tree} was given",
                "give the same tree of arrays, or compile it again",
            )
        fitting = map(_as_array, leaves, avals)
        return jax.tree.unflatten(lowered.out_tree, compiled(*fitting))

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"Run {name}, compiled by Morello."
    return run


def _differentiable(flat: Callable[..., Any], jaxpr: ClosedJaxpr) -> Any:
    """A kernel with the derivatives of the function that it was compiled of.

    Args:
        flat: the kernel, as `call` gives it.
        jaxpr: the function.
    """
    original = jaxpr_as_fun(jaxpr)

    def run(*leaves: Any) -> tuple[Any, ...]:
        results = flat(*leaves)
        return results if isinstance(results, tuple) else (results,)

    if _has_reverse_rule(jaxpr.jaxpr):  # which has reverse mode alone in JAX, too
        reversed_ = jax.custom_vjp(run)
        reversed_.defvjp(
            lambda *leaves: (reversed_(*leaves), leaves),
            lambda leaves, gradient: jax.vjp(original, *leaves)[1](list(gradient)),
        )
        return reversed_
    compiled = jax.custom_jvp(run)
    compiled.defjvp(
        lambda leaves, tangents: (
            compiled(*leaves),
            tuple(jax.jvp(original, leaves, tangents)[1]),
        )
    )
    return compiled


def _has_reverse_rule(jaxpr: Jaxpr) -> bool:
    """Whether a function calls one that has a rule of ``jax.custom_vjp``."""
    for equation in jaxpr.eqns:
        if equation.primitive.name.startswith("custom_vjp"):
            return True
        for value in jax.tree.leaves(equation.params):
            inner = value.jaxpr if isinstance(value, ClosedJaxpr) else value
            if isinstance(inner, Jaxpr) and _has_reverse_rule(inner):
                return True
    return False


def _as_array(leaf: Any, aval: Any) -> Any:
    """An argument as an array; a number of Python has the dtype that is wanted."""
    is_number = isinstance(leaf, bool | int | float)
    if is_number and jnp.promote_types(aval.dtype, type(leaf)) == aval.dtype:
        return jnp.asarray(leaf, aval.dtype)
    return jnp.asarray(leaf)
