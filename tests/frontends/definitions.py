"""What the programs in `programs/` compute, in NumPy, in f64."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from morello.spec import Array

PROGRAMS = Path(__file__).parent / "programs"

RTOL, ATOL = 5e-5, 1e-5
"""Of results in f32, whose sums have at most 147 terms of about 1."""


def _gelu(x: Array) -> Array:
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _gelu_by_tanh(x: Array) -> Array:
    inner = x + 0.044715 * x**3
    return x / 2 * (1 + np.tanh(inner * math.sqrt(2 / math.pi)))


def _softmax(x: Array) -> Array:
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def _layer_norm(x: Array, weight: Array, bias: Array) -> Array:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * weight + bias


def _attention(q: Array, k: Array, v: Array) -> Array:
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
    return np.einsum("bhqk,bhkd->bhqd", _softmax(scores), v)


def _mlp(x: Array, *layers: Array) -> Array:
    """Weights are (in, out), each followed by its bias."""
    weights, biases = layers[::2], layers[1::2]
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        x = np.maximum(x @ weight + bias, 0)
    return x @ weights[-1] + biases[-1]


def _mlp_of_torch(x: Array, *layers: Array) -> Array:
    return _mlp(x, *(a.T for a in layers))


def _convolution(x: Array, filters: Array, step: int, border: int) -> Array:
    """Images (n, h, w, c), filters (kh, kw, c, out)."""
    height, width = filters.shape[:2]
    x = np.pad(x, ((0, 0), (border, border), (border, border), (0, 0)))
    rows = (x.shape[1] - height) // step + 1
    columns = (x.shape[2] - width) // step + 1
    result = np.zeros((x.shape[0], rows, columns, filters.shape[3]))
    for i in range(height):
        for j in range(width):
            seen = x[:, i : i + step * rows : step, j : j + step * columns : step]
            result += seen[:, :rows, :columns] @ filters[i, j]
    return result


def _block(x: Array, *parameters: Array) -> Array:
    """Two convolutions with a batch norm each, and what goes around them."""
    y = x
    for layer in range(2):
        filters, weight, bias, mean, variance = parameters[5 * layer : 5 * layer + 5]
        result = _convolution(y, filters, 1, 1)
        result = (result - mean) / np.sqrt(variance + 1e-5) * weight + bias
        y = np.maximum(result + x * layer, 0)
    return y


def _stem(x: Array, filters: Array, bias: Array) -> Array:
    result = _convolution(x.transpose(0, 2, 3, 1), filters.transpose(2, 3, 1, 0), 2, 3)
    return np.maximum(result + bias, 0).transpose(0, 3, 1, 2)


def _batched_dot(x: Array, y: Array) -> Array:
    return np.einsum("bmhk,bnhk->bhmn", x, y)


DEFINITIONS: dict[str, Callable[..., Array]] = {
    "linalg/attention": _attention,
    "linalg/layer_norm": _layer_norm,
    "linalg/matmul_bias_gelu": lambda x, w, b: _gelu(x @ w.T + b),
    "linalg/mlp": _mlp_of_torch,
    "linalg/softmax": _softmax,
    "stablehlo/basic_block": _block,
    "stablehlo/batched_dot": _batched_dot,
    "stablehlo/conv_stem": _stem,
    "stablehlo/layer_norm": _layer_norm,
    "stablehlo/matmul_bias_gelu": lambda x, w, b: _gelu_by_tanh(x @ w + b),
    "stablehlo/mlp": _mlp,
    "stablehlo/softmax": _softmax,
}
"""Of the path of a program, without its suffix."""


def drawn(name: str, shapes: list[tuple[int, ...]], seed: int = 0) -> list[Array]:
    """Arguments of a program in f32; variances of a batch norm are positive."""
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape, np.float32) for shape in shapes]
    if name == "stablehlo/basic_block":
        for place in (5, 10):
            arrays[place] = np.abs(arrays[place]) + np.float32(0.5)
    return arrays
