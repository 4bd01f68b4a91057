"""Cases of layers in JAX: products, attention, convolutions, gradients, loops."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.conformance.arguments import Case, Drawn, between, case, normal

CHOICES = np.array([3, 0, 2, 2], np.int32)


def cases() -> dict[str, Case]:
    """All cases by name."""
    return (
        _products()
        | _attention()
        | _convolutions()
        | _pools()
        | _norms()
        | _models()
        | _gradients()
        | _loops()
    )


def _products() -> dict[str, Case]:
    a8 = np.arange(-20, 20, dtype=np.int8).reshape(5, 8)
    b8 = np.arange(-24, 24, dtype=np.int8).reshape(8, 6)
    return {
        "dot": case(jnp.dot, normal(5, 7), normal(7, 6)),
        "matmul batch": case(jnp.matmul, normal(3, 5, 7), normal(3, 7, 4)),
        "matmul broadcast": case(jnp.matmul, normal(2, 3, 5, 7), normal(7, 4)),
        "vdot": case(jnp.vdot, normal(9), normal(9)),
        "inner": case(jnp.inner, normal(4, 6), normal(5, 6)),
        "outer": case(jnp.outer, normal(4), normal(5)),
        "vmap dot": case(jax.vmap(jnp.dot), normal(3, 5), normal(3, 5)),
        "tensordot": case(
            lambda a, b: jnp.tensordot(a, b, 2), normal(3, 4, 5), normal(4, 5, 6)
        ),
        "kron": case(jnp.kron, normal(2, 3), normal(3, 2)),
        "einsum bhqd": case(
            lambda a, b: jnp.einsum("bqhd,bkhd->bhqk", a, b),
            *(normal(2, 3, 4, 5), normal(2, 6, 4, 5)),
        ),
        "einsum trace": case(lambda a: jnp.einsum("ii->", a), normal(5, 5)),
        "einsum diag": case(lambda a: jnp.einsum("ii->i", a), normal(5, 5)),
        "trace": case(jnp.trace, normal(5, 6)),
        "cross": case(jnp.cross, normal(4, 3), normal(4, 3)),
        "bf16 matmul": case(
            lambda a, b: jnp.matmul(
                a.astype(jnp.bfloat16),
                b.astype(jnp.bfloat16),
                preferred_element_type=jnp.float32,
            ),
            *(normal(5, 8), normal(8, 6)),
        ),
        "int8 matmul": case(
            lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), a8, b8
        ),
        "solve": case(
            lambda a, b: jnp.linalg.solve(a + 4 * jnp.eye(4), b),
            *(normal(4, 4), normal(4, 2)),
        ),
    }


def _attention() -> dict[str, Case]:
    attend = jax.nn.dot_product_attention
    q, k = normal(2, 6, 3, 8), normal(2, 7, 3, 8)
    few = normal(1, 7, 2, 8)
    return {
        "attention": case(attend, q, k, k),
        "attention causal": case(
            lambda q, k, v: attend(q, k, v, is_causal=True), q, q, q
        ),
        "attention grouped": case(attend, normal(1, 6, 4, 8), few, few),
        "attention bias": case(
            lambda q, k, v, b: attend(q, k, v, b),
            *(normal(1, 6, 2, 8), few, few, normal(1, 2, 6, 7)),
        ),
        "attention lengths": case(
            lambda q, k, v: attend(q, k, v, key_value_seq_lengths=jnp.array([3, 5])),
            *(q, k, k),
        ),
        "attention window": case(
            lambda q, k, v: attend(q, k, v, local_window_size=(2, 1)), q, q, q
        ),
    }


def _convolution(x: Drawn, w: Drawn, *args: object, **options: object) -> Case:
    return case(lambda x, w: lax.conv_general_dilated(x, w, *args, **options), x, w)


_NHWC = ("NHWC", "HWIO", "NHWC")


def _convolutions() -> dict[str, Case]:
    image, kernel = normal(1, 8, 8, 3), normal(3, 3, 3, 4)
    return {
        "conv": _convolution(image, kernel, (1, 1), "SAME", dimension_numbers=_NHWC),
        "conv stride": _convolution(
            *(normal(1, 9, 8, 3), kernel, (2, 2), "SAME"), dimension_numbers=_NHWC
        ),
        "conv depthwise": _convolution(
            *(normal(1, 8, 8, 4), normal(3, 3, 1, 4), (1, 1), "VALID"),
            dimension_numbers=_NHWC,
            feature_group_count=4,
        ),
        "conv dilated": _convolution(
            *(normal(1, 8, 8, 2), normal(3, 3, 2, 3), (1, 1), "SAME"),
            rhs_dilation=(2, 2),
            dimension_numbers=_NHWC,
        ),
        "conv groups": _convolution(
            *(normal(1, 4, 6, 6), normal(6, 2, 3, 3), (1, 1), "SAME"),
            feature_group_count=2,
        ),
        "conv1d": _convolution(
            *(normal(2, 9, 3), normal(3, 3, 4), (1,), [(2, 0)]),
            dimension_numbers=("NWC", "WIO", "NWC"),
        ),
        "conv transpose": case(
            lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"),
            *(normal(1, 4, 4, 3), normal(3, 3, 3, 2)),
        ),
        "convolve": case(jnp.convolve, normal(9), normal(3)),
        "correlate": case(
            lambda a, b: jnp.correlate(a, b, "same"), normal(9), normal(3)
        ),
        "unfold": case(
            lambda x: lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID"),
            normal(1, 2, 4, 4),
        ),
    }


def _pools() -> dict[str, Case]:
    window, image = (1, 2, 2, 1), normal(1, 7, 8, 3)
    return {
        "max_pool": case(
            lambda x: lax.reduce_window(x, -jnp.inf, lax.max, window, window, "SAME"),
            image,
        ),
        "avg_pool": case(
            lambda x: (
                lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1,) * 4, "VALID") / 9
            ),
            image,
        ),
        "max_pool gradient": case(
            jax.grad(
                lambda x: lax.reduce_window(
                    x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"
                ).sum()
            ),
            image,
        ),
        "min_pool": case(
            lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1, 2), (1, 2), "VALID"),
            normal(4, 8),
        ),
    }


def layer_norm(x, scale, shift):
    """Normalised rows."""
    low = x - x.mean(-1, keepdims=True)
    return low * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def group_norm(x):
    """Rows normalised by groups of three."""
    parts = jax.nn.standardize(x.reshape(2, 5, 3, 4), axis=(1, 3))
    return parts.reshape(2, 5, 12)


def _norms() -> dict[str, Case]:
    return {
        "layer_norm": case(layer_norm, normal(4, 16), normal(16), normal(16)),
        "rms_norm": case(
            lambda x, g: x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g,
            *(normal(4, 16), normal(16)),
        ),
        "group_norm": case(group_norm, normal(2, 5, 12)),
        "batch_norm": case(
            lambda x, m, v: (x - m) / jnp.sqrt(v + 1e-5),
            *(normal(6, 8), normal(8), between(0.1, 0.9, 8)),
        ),
        "normalize": case(
            lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True), normal(4, 6)
        ),
        "softmax where": case(lambda x: jax.nn.softmax(x, where=x > 0), normal(4, 6)),
        "glu": case(jax.nn.glu, normal(4, 8)),
        "mse": case(lambda a, b: ((a - b) ** 2).mean(), normal(5, 4), normal(5, 4)),
        "cdist": case(
            lambda a, b: jnp.sqrt(((a[:, None] - b[None]) ** 2).sum(-1)),
            *(normal(5, 4), normal(6, 4)),
        ),
    }


def lstm_cell(x, h, c, w, v):
    """One step of an LSTM."""
    into, forget, new, out = jnp.split(x @ w + h @ v, 4, -1)
    state = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(into) * jnp.tanh(new)
    return jax.nn.sigmoid(out) * jnp.tanh(state), state


def rotated(x, angles):
    """Pairs of columns, each rotated by its angle."""
    a, b = jnp.split(x, 2, -1)
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def angles(places):
    """Angles of rotary embeddings."""
    return places[:, None] / 10000 ** (jnp.arange(4.0) / 4)


def cross_entropy(x, labels):
    """The mean loss of rows."""
    rows = jnp.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1)
    return -rows.mean()


def _models() -> dict[str, Case]:
    wide, x = normal(8, 16), normal(4, 8)
    return {
        "lstm cell": case(
            lstm_cell,
            *(normal(2, 4), normal(2, 3), normal(2, 3), normal(4, 12), normal(3, 12)),
        ),
        "rope": case(lambda x: rotated(x, angles(jnp.arange(6.0))), normal(2, 6, 8)),
        "rope data": case(
            lambda x, p: rotated(x, angles(p)),
            *(normal(6, 8), np.arange(6, dtype=np.float32)),
        ),
        "mlp": case(
            lambda x, w, b, v: jax.nn.gelu(x @ w + b) @ v,
            *(x, wide, normal(16), normal(16, 8)),
        ),
        "swiglu": case(
            lambda x, w, v, z: (jax.nn.silu(x @ w) * (x @ v)) @ z,
            *(x, wide, wide, normal(16, 8)),
        ),
        "cross entropy": case(cross_entropy, normal(4, 6), CHOICES),
        "embedding": case(
            lambda t, i, w: t[i] @ w, normal(9, 6), CHOICES, normal(6, 5)
        ),
    }


def _squared_convolution(w, x):
    result = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=_NHWC)
    return (result**2).sum()


def _gradients() -> dict[str, Case]:
    pair = normal(4, 6), normal(4, 6)
    return {
        "grad mlp": case(
            jax.grad(lambda w, x, v: (jax.nn.relu(x @ w) @ v).sum()),
            *(normal(8, 16), normal(4, 8), normal(16, 8)),
        ),
        "grad softmax": case(
            jax.grad(lambda x, y: (jax.nn.softmax(x) * y).sum()), *pair
        ),
        "grad layer norm": case(
            jax.grad(lambda x, y: (jax.nn.standardize(x) * y).sum()), *pair
        ),
        "grad max": case(jax.grad(lambda x: x.max(-1).sum()), normal(4, 6)),
        "grad conv": case(
            jax.grad(_squared_convolution), normal(3, 3, 2, 3), normal(1, 5, 5, 2)
        ),
    }


def recurrent(x, w):
    """States of a simple recurrent layer."""

    def step(state, row):
        return jnp.tanh(state @ w + row), state

    return lax.scan(step, jnp.zeros((5,)), x)


def _loops() -> dict[str, Case]:
    return {
        "scan": case(recurrent, normal(4, 5), normal(5, 5)),
        "fori": case(
            lambda x: lax.fori_loop(0, 5, lambda i, v: v * 0.5 + i, x), normal(4, 5)
        ),
        "while data": case(
            lambda x: lax.while_loop(lambda v: jnp.sum(v) < 10, lambda v: v + 1, x),
            normal(4),
        ),
        "cond": case(
            lambda x: lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: -v, x),
            normal(4, 5),
        ),
        "map": case(
            lambda x: lax.map(lambda r: r / r.sum(), x), between(0.1, 0.9, 4, 5)
        ),
        "associative_scan": case(
            lambda x: lax.associative_scan(jnp.add, x), normal(8, 3)
        ),
        "cumsum reverse": case(lambda x: lax.cumsum(x, 0, True), normal(8, 3)),
    }
