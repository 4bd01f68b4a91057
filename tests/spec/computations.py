"""Computations as a name, a graph, a function of NumPy or jax, and nodes of ONNX.

Exporters and NumPy divide by sums and roots; front ends multiply by the inverse, up to
rounding, and so does the graph that a name is.
"""

import dataclasses
import functools  # noqa: F401 (the table has it)
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.tables import rows

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Way:
    """One computation by each door."""

    name: str
    graph: str
    function: Callable[..., Any]
    """On arrays of a module that has the names of NumPy, which is the first
    argument."""
    shapes: tuple[Shape, ...]
    ops: tuple[str, ...]
    """Nodes in ONNX's text, of the inputs x0, x1 …; none where it cannot say this."""
    exporters: bool
    """Whether other front ends than jit take it as one part."""

    @property
    def reads_windows(self) -> bool:
        """Whether its function is another one for another module."""
        return self.function in (max_pool, mean_pool) or "conv" in self.name


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def log_softmax(xp: Any, x: Any) -> Any:
    m = x.max(-1, keepdims=True)
    return x - (m + xp.log(xp.exp(x - m).sum(-1, keepdims=True)))


def layer_norm(xp: Any, x: Any, g: Any, b: Any) -> Any:
    u, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - u) / xp.sqrt(v + 1e-5) * g + b


def rms_norm(xp: Any, x: Any, g: Any) -> Any:
    return x / xp.sqrt(xp.mean(x**2, -1, keepdims=True) + 1e-5) * g


def gelu(xp: Any, x: Any) -> Any:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + xp.tanh(inner))


def attention(xp: Any, q: Any, k: Any, v: Any) -> Any:
    scores = q @ xp.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    return softmax(xp, scores) @ v


def windows(xp: Any, x: Any, taps: int, step: int = 1) -> Any:
    """Windows of the last two axes, which come last."""
    if xp is np:
        every = np.lib.stride_tricks.sliding_window_view(x, (taps, taps), (-2, -1))
        return every[..., ::step, ::step, :, :]
    count = (x.shape[-1] - taps) // step + 1
    place = step * np.arange(count)[:, None] + np.arange(taps)
    return xp.swapaxes(x[..., place, :][..., place], -3, -2)


def conv(xp: Any, x: Any, w: Any, step: int = 1, pad: int = 0) -> Any:
    if xp is np:
        x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)]) if pad else x
        return np.einsum("nchwij,fcij->nfhw", windows(xp, x, 3, step), w)
    from jax import lax

    return lax.conv_general_dilated(x, w, (step, step), [(pad, pad)] * 2)


def max_pool(xp: Any, x: Any) -> Any:
    if xp is np:
        return windows(xp, x, 2, 2).max((-2, -1))
    from jax import lax

    sizes = (1, 1, 2, 2)
    return lax.reduce_window(x, -np.inf, lax.max, sizes, sizes, "VALID")


def mean_pool(xp: Any, x: Any) -> Any:
    if xp is np:
        return windows(xp, x, 2, 2).mean((-2, -1))
    from jax import lax

    sizes = (1, 1, 2, 2)
    return lax.reduce_window(x, 0.0, lax.add, sizes, sizes, "VALID") / 4


WAYS = [
    Way(
        name,
        graph,
        eval(function),
        eval(shapes),
        tuple(filter(None, ops.split("; "))),
        not alone,
    )
    for name, graph, function, shapes, ops, alone in rows(__file__, "computations")
]
"""The table. ONNX cannot say the logarithm of softmax, which it rounds in another way,
nor places, which have 64 bits; others store the value between two products."""
