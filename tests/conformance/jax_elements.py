"""Cases of JAX's functions of elements, and of its reductions."""

import jax
import jax.numpy as jnp
from jax import lax

from tests.conformance import array_elements
from tests.conformance.arguments import SPECIAL, Case
from tests.conformance.array_elements import named

_ACTIVATIONS = """
relu relu6 sigmoid softplus sparse_plus sparse_sigmoid soft_sign silu swish mish
log_sigmoid leaky_relu hard_sigmoid hard_silu hard_swish hard_tanh elu celu selu gelu
squareplus identity standardize
"""
_ONE = "round arccosh arctanh i0"
_OTHERS = {
    "erf": jax.scipy.special.erf,
    "erfc": jax.scipy.special.erfc,
    "lax.rsqrt": lax.rsqrt,
    "lax.logistic": lax.logistic,
    "lax.erf_inv": lax.erf_inv,
    "lgamma": lax.lgamma,
    "digamma": lax.digamma,
    "gelu_exact": lambda x: jax.nn.gelu(x, approximate=False),
    "power2": lambda x: x**2,
    "power3": lambda x: x**3,
    "power0.5": lambda x: x**0.5,
    "integer_pow-1": lambda x: lax.integer_pow(x, -1),
    "clip": lambda x: jnp.clip(x, -1, 1),
    "lax.clamp": lambda x: lax.clamp(-1.0, x, 1.0),
    "where": lambda x: jnp.where(x > 0, x, 0.1 * x),
    "bf16 and back": lambda x: x.astype(jnp.bfloat16).astype(jnp.float32),
    "f16 and back": lambda x: x.astype(jnp.float16).astype(jnp.float32),
    "reduce_precision": lambda x: lax.reduce_precision(x, 8, 7),
    "int and back": lambda x: (
        jnp.clip(jnp.nan_to_num(x), -9, 9).astype(jnp.int32).astype(jnp.float32)
    ),
}
_TWO = "mod nextafter"
_OTHER_REDUCTIONS = {
    "logsumexp": jax.nn.logsumexp,
    "softmax": jax.nn.softmax,
    "log_softmax": jax.nn.log_softmax,
    "norm": lambda x, axis: jnp.linalg.norm(x, axis=axis),
    "linf": lambda x, axis: jnp.linalg.norm(x, jnp.inf, axis=axis),
    "logcumsumexp": lambda x, axis: lax.cumlogsumexp(x, axis % 2),
    "cummax": lambda x, axis: lax.cummax(x, axis % 2),
    "standardize": lambda x, axis: jax.nn.standardize(x, axis=axis),
}


def cases() -> dict[str, Case]:
    """All cases by name."""
    return array_elements.cases(
        jnp,
        SPECIAL,
        named(jax.nn, _ACTIVATIONS) | named(jnp, _ONE) | _OTHERS,
        named(jnp, _TWO) | {"xlogy": jax.scipy.special.xlogy},
        _OTHER_REDUCTIONS,
    )
