"""`compile`: a function of JAX arrays, compiled by Morello, of a function of JAX."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from morello.errors import ArgumentError
from morello.frontends.dry_run import check_survival
from morello.frontends.model import Model, trusted_model
from morello.frontends.ranged import one_range, ranged
from morello.jax.call import call


def compile(
    function: Callable[..., Any],
    *arrays: Any,
    ranges: Mapping[str, str] | None = None,
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
        arrays: arguments, or ``jax.ShapeDtypeStruct`` of their shapes and dtypes, in
            which a symbol of ``jax.export.symbolic_shape`` may stand for a size.
        ranges: the sizes that calls may say for the one symbol: ``{"b": "1..64"}``.
        fallback: leave what is no Spec to upstream's plain lowering, as
            `morello.from_mlir` takes it.
        flushing: as `morello.from_mlir` takes it.
        options: of `morello.frontends.model.Model.compile`: ``threads``, ``target``,
            ``db``, ``time_limit``, ``progress``.

    Raises:
        MorelloError: ops that have no Spec, all of them; what depends on the size of a
            range in another way than by how long dimensions are; or no program is
            found.
        ArgumentError: a symbol has no range; of the result: arguments are another
            tree, or do not fit.
    """
    name = getattr(function, "__name__", "function")

    def traced(shapes: Sequence[Any]) -> Any:
        # What is not read is an argument all the same.
        return jax.jit(function, keep_unused=True).trace(*shapes)

    def read(shapes: Sequence[Any]) -> Model:
        text = traced(shapes).lower().as_text(debug_info=True)

        def model() -> Model:
            return trusted_model(text, None, name, fallback=fallback, flushing=flushing)

        check_survival(model, name, "write it in other ops")
        return model()

    tree = jax.tree.structure(arrays)
    if ranges:
        symbol, sizes = one_range(ranges)
        shapes = _settled(arrays, symbol, sizes[-1])
        model = ranged(lambda size: read(_settled(arrays, symbol, size)), sizes, symbol)
    else:
        shapes = _settled(arrays)
        model = read(shapes)
    lowered = traced(shapes)
    jaxpr, avals = lowered.jaxpr, lowered.jaxpr.in_avals
    out_tree = lowered.lower().out_tree

    def of_any_size(*leaves: Any) -> Any:
        return jax.tree.leaves(function(*jax.tree.unflatten(tree, leaves)))

    original = of_any_size if ranges else jaxpr_as_fun(jaxpr)
    compiled = _differentiable(call(model.compile(**options)), original, jaxpr)

    return _of_trees(compiled, name, (tree, out_tree), avals)


def _of_trees(
    flat: Any, name: str, trees: tuple[Any, Any], avals: Sequence[Any]
) -> Callable[..., Any]:
    """A function of trees of arrays, by one of flat arguments.

    Args:
        trees: of the arguments, and of the results.
        avals: the shapes and dtypes of the flat arguments.
    """
    tree, out_tree = trees

    def run(*arguments: Any) -> Any:
        leaves, call_tree = jax.tree.flatten(arguments)
        if call_tree != tree:
            raise ArgumentError(
                f"{name} was compiled for arguments {tree}, and {call_tree} was given",
                "give the same tree of arrays, or compile it again",
            )
        return jax.tree.unflatten(out_tree, flat(*map(_as_array, leaves, avals)))

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"Run {name}, compiled by Morello."
    return run


def _settled(arrays: Any, symbol: str = "", size: int = 0) -> Any:
    """Arguments of which a symbol in their shapes is a size.

    Raises:
        ArgumentError: another symbol is in them.
    """

    def settled(array: Any) -> Any:
        shape: tuple[Any, ...] = getattr(array, "shape", ())
        symbols = [dim for dim in shape if jax.export.is_symbolic_dim(dim)]
        others = [dim for dim in symbols if str(dim) != symbol]
        if others:
            raise ArgumentError(
                f"a size of an argument is {others[0]}, of which no range is given",
                "give one: ranges={'b': '1..64'} for the symbol b, or a number",
            )
        if not symbols:
            return array
        sizes = tuple(size if dim in symbols else dim for dim in shape)
        return jax.ShapeDtypeStruct(sizes, array.dtype)

    return jax.tree.map(settled, arrays)


def _differentiable(
    flat: Callable[..., Any], original: Callable[..., Any], jaxpr: ClosedJaxpr
) -> Any:
    """A kernel with the derivatives of the function that it was compiled of.

    Args:
        flat: the kernel, as `call` gives it.
        original: the function, of flat arguments.
        jaxpr: it, traced for some shapes.
    """

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
