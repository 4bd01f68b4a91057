"""Cases of JAX's functions of elements, and of its reductions."""

import jax
import jax.numpy as jnp
from jax import lax

from tests.conformance.arguments import (
    SPECIAL,
    SPECIAL_ROWS,
    SPECIAL_SUFFIX,
    Case,
    all_pairs,
    between,
    case,
    normal,
)

_ACTIVATIONS = """
relu relu6 sigmoid softplus sparse_plus sparse_sigmoid soft_sign silu swish mish
log_sigmoid leaky_relu hard_sigmoid hard_silu hard_swish hard_tanh elu celu selu gelu
squareplus identity standardize
"""
_OF_ONE = """
exp exp2 expm1 log log1p log2 log10 sqrt square cbrt abs sign floor ceil round trunc
rint reciprocal negative sin cos tan tanh sinh cosh arcsin arccos arctan arcsinh arccosh
arctanh isnan isinf isfinite signbit nan_to_num sinc deg2rad i0
"""
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
_OF_FRACTIONS = """
log log2 log10 sqrt lax.rsqrt power0.5 arcsin arccos arctanh lax.erf_inv lgamma digamma
reciprocal log1p integer_pow-1
"""
_OF_TWO = """
add subtract multiply divide maximum minimum fmax fmin power float_power arctan2 hypot
logaddexp logaddexp2 remainder mod fmod floor_divide copysign heaviside nextafter
greater less_equal equal
"""
_REDUCTIONS = """
sum mean max min var std prod ptp argmax argmin any all nansum nanmax nanmean
count_nonzero average cumsum cumprod sort argsort median
"""
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
    return _of_one() | _of_two() | _reductions()


def _of_one() -> dict[str, Case]:
    functions = {name: getattr(jax.nn, name) for name in _ACTIVATIONS.split()}
    functions |= {name: getattr(jnp, name) for name in _OF_ONE.split()} | _OTHERS
    found = {}
    for name, function in functions.items():
        argument = normal(6, 9)
        if name in _OF_FRACTIONS.split():
            argument = between(0.1, 0.9, 6, 9)
        elif name == "arccosh":
            argument = between(1.1, 5, 6, 9)
        found[name] = case(function, argument)
        found[name + SPECIAL_SUFFIX] = case(function, SPECIAL.reshape(4, 8))
    return found


def _of_two() -> dict[str, Case]:
    functions = {name: getattr(jnp, name) for name in _OF_TWO.split()}
    functions["xlogy"] = jax.scipy.special.xlogy
    found = {}
    for name, function in functions.items():
        right = between(0.1, 0.9, 9) if "power" in name else normal(9)
        found[name] = case(function, between(0.3, 1.1, 6, 9), right)
        found[name + SPECIAL_SUFFIX] = case(function, *all_pairs(SPECIAL))
    return found


def _reductions() -> dict[str, Case]:
    functions = {name: getattr(jnp, name) for name in _REDUCTIONS.split()}
    found = {}
    for name, f in (functions | _OTHER_REDUCTIONS).items():
        found[f"{name} last"] = case(lambda x, f=f: f(x, axis=-1), normal(5, 12))
        found[f"{name} first"] = case(lambda x, f=f: f(x, axis=0), normal(7, 6))
        if name != "average":
            special = case(lambda x, f=f: f(x, axis=-1), SPECIAL_ROWS)
            found[name + SPECIAL_SUFFIX] = special
    return found
