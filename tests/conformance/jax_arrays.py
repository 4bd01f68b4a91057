"""Cases of JAX's indices, pads and updates that NumPy does not have."""

import jax
import jax.numpy as jnp
from jax import lax

from tests.conformance import array_shapes
from tests.conformance.arguments import Case, between, case, normal
from tests.conformance.jax_layers import CHOICES


def cases() -> dict[str, Case]:
    """All cases by name."""
    functions = _reductions() | _others() | _pads() | _indices() | _constants()
    return array_shapes.cases(jnp) | functions


def _reductions() -> dict[str, Case]:
    return {
        "sum all": case(jnp.sum, normal(5, 7)),
        "mean two": case(lambda x: x.mean((0, 2)), normal(3, 4, 5)),
        "max middle": case(lambda x: x.max(1), normal(3, 4, 5)),
        "top_k": case(lambda x: lax.top_k(x, 3), normal(4, 9)),
        "histogram": case(lambda x: jnp.histogram(x, 5, (-2, 2))[0], normal(20)),
    }


def _others() -> dict[str, Case]:
    cube = normal(3, 4, 5)
    return {
        "select_n": case(
            lambda c, a, b: lax.select_n(c > 0, a, b),
            *(normal(4, 5), normal(4, 5), normal(4, 5)),
        ),
        "moveaxis product": case(
            lambda x: jnp.moveaxis(x, 0, -1) @ jnp.ones((3, 2)), cube
        ),
        "broadcast_in_dim": case(
            lambda x: lax.broadcast_in_dim(x, (3, 4, 5), (1,)), normal(4)
        ),
    }


def _resized(x: tuple[int, ...], to: tuple[int, ...], method: str) -> Case:
    return case(lambda x: jax.image.resize(x, to, method), normal(*x))


def _pads() -> dict[str, Case]:
    x, small = normal(4, 5), (1, 4, 4, 3)
    return {
        "pad reflect": case(lambda x: jnp.pad(x, 2, mode="reflect"), x),
        "pad negative": case(lambda x: lax.pad(x, 0.0, [(-1, 0, 0), (1, -2, 1)]), x),
        "resize bilinear": _resized(small, (1, 8, 8, 3), "bilinear"),
        "resize nearest": _resized(small, (1, 8, 8, 3), "nearest"),
        "resize cubic": _resized((1, 4, 4, 1), (1, 7, 9, 1), "cubic"),
        "resize down": _resized((1, 7, 7, 1), (1, 3, 3, 1), "linear"),
    }


def _indices() -> dict[str, Case]:
    table = normal(5, 6)
    return {
        "one_hot": case(lambda i: jax.nn.one_hot(i, 5), CHOICES),
        "take": case(lambda x, i: jnp.take(x, i, 0), table, CHOICES),
        "take_along_axis of data": case(
            lambda x, i: jnp.take_along_axis(x, i[:, None], 1), normal(4, 6), CHOICES
        ),
        "dynamic_slice": case(
            lambda x, i: lax.dynamic_slice(x, (i[0], 1), (2, 3)), normal(6, 5), CHOICES
        ),
        "dynamic_update_slice": case(
            lambda x, y, i: lax.dynamic_update_slice(x, y, (i[1], i[2])),
            *(normal(6, 5), normal(2, 2), CHOICES),
        ),
        "at set": case(lambda x: x.at[1].set(0.0), normal(4, 5)),
        "at add": case(lambda x, i: x.at[i].add(1.0), normal(5, 4), CHOICES),
        "scatter max": case(
            lambda x, i, y: x.at[i].max(y), normal(5, 4), CHOICES, normal(4, 4)
        ),
        "searchsorted": case(
            lambda a, v: jnp.searchsorted(jnp.sort(a), v), normal(9), normal(4)
        ),
        "interp": case(
            lambda x: jnp.interp(x, jnp.arange(5.0), jnp.arange(5.0) ** 2),
            between(0.4, 3.6, 7),
        ),
    }


def _constants() -> dict[str, Case]:
    x = normal(4, 5)
    return {
        "iota add": case(lambda x: x + lax.broadcasted_iota(jnp.float32, (4, 5), 1), x),
        "polyval": case(lambda x: jnp.polyval(jnp.array([1.0, 2, 3]), x), normal(9)),
    }
