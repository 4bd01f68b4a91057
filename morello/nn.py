"""Functions of arrays that become parts of a graph, under `morello.jit`."""

from typing import Any

import numpy as np

from morello.spec.graphs.expression import Call, Reference
from morello.spec.graphs.loops import LOWEST
from morello.spec.operand import Window
from morello.tracing.tracer import ONE, Tracer, einsum, pointwise, refusal, traced


def _tracer(array: Any, name: str) -> Tracer:
    if not isinstance(array, Tracer):
        raise refusal(
            f"morello.nn.{name} is given {type(array).__name__}",
            "call it in a function under morello.jit, on an array argument",
        )
    return array


def _function(name: str, x: Any) -> Tracer:
    """A function of elements, by its name."""
    array = _tracer(x, name)
    return pointwise(array._builder, name, array)


def _maximum(x: Tracer, number: float) -> Tracer:
    return pointwise(x._builder, "maximum", x, number)


def _times(x: Tracer, factor: Any) -> Tracer:
    return pointwise(x._builder, "mul", x, factor)


def relu(x: Any) -> Tracer:
    """The greater of x and 0."""
    return _function("relu", x)


def gelu(x: Any, approximate: bool = True) -> Tracer:
    """x/2 · (1 + tanh(sqrt(2/π) · (x + 0.044715·x³))); x/2 · (1 + erf(x/sqrt(2))) where
    it is not approximate."""
    if approximate:
        return _function("gelu", x)
    x = _tracer(x, "gelu")
    return _times(x, _times(erf(_times(x, 0.5**0.5)) + 1.0, 0.5))


def erf(x: Any) -> Tracer:
    """The error function."""
    return _function("erf", x)


def silu(x: Any) -> Tracer:
    """x / (1 + exp(-x))."""
    return _function("silu", x)


def sigmoid(x: Any) -> Tracer:
    """1 / (1 + exp(-x))."""
    return _function("sigmoid", x)


def rsqrt(x: Any) -> Tracer:
    """1 / sqrt(x)."""
    return _function("rsqrt", x)


def softmax(x: Any, axis: int = -1) -> Tracer:
    """exp(x - max) over its sum, along an axis. A row of -inf alone gives NaN."""
    x = _tracer(x, "softmax")
    greatest = x.max(axis, keepdims=True)
    powers = _function("exp", x - _maximum(greatest, LOWEST))
    total = powers.sum(axis, keepdims=True)
    return _times(powers, pointwise(x._builder, "div", 1.0, total))


def layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """x less its mean over its deviation, along the last axis; times weight, plus
    bias."""
    x = _tracer(x, "layer_norm")
    centred = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    found = centred * rsqrt(variance + eps)
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


def rms_norm(x: Any, weight: Any = None, eps: float = 1e-5) -> Any:
    """x over the root of its mean square, along the last axis; times weight."""
    x = _tracer(x, "rms_norm")
    found = x * rsqrt(np.square(x).mean(-1, keepdims=True) + eps)
    return found if weight is None else found * weight


def attention(
    q: Any, k: Any, v: Any, scale: float | None = None, causal: bool = False
) -> Tracer:
    """softmax(q·kᵀ·scale)·v of arrays [..., rows, columns]; scale is 1/sqrt(columns of
    q) if it is left out. Where it is causal, query i sees keys 0 to i."""
    q = _tracer(q, "attention")
    if scale is None:
        scale = 1.0 / q.shape[-1] ** 0.5
    scores = _times(q @ k.swapaxes(-1, -2), scale)
    if causal:
        queries, keys = (np.arange(n, dtype=np.float32) for n in scores.shape[-2:])
        seen = pointwise(q._builder, "less_equal", *_places(q, keys, queries))
        scores = pointwise(q._builder, "where", seen, scores, LOWEST)
    greatest = _maximum(scores.max(-1, keepdims=True), LOWEST)
    powers = _function("exp", scores - greatest)
    total = powers.sum(-1, keepdims=True)
    return pointwise(q._builder, "div", powers @ v, total)


def _places(like: Tracer, keys: Any, queries: Any) -> tuple[Tracer, Tracer]:
    """The places of keys, as a row, and those of queries, as a column."""
    row, column = (traced(like._builder, array) for array in (keys, queries))
    assert row is not None
    assert column is not None
    return row, column[:, None]


def conv2d(
    x: Any,
    weight: Any,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
) -> Tracer:
    """Filters ``weight`` [f,c,fh,fw] over images ``x`` [n,c,h,w]: [n,f,oh,ow].

    Raises:
        MorelloError: x is no argument of the function: pad and store it first.
    """
    x = _tracer(x, "conv2d")
    builder = x._builder
    found = builder.inputs.get(x._value)
    if found is None:
        raise refusal(
            "conv2d of an array that is computed is not traced",
            "compile what comes before it by itself",
        )
    weight = _tracer(weight, "conv2d")
    if x.ndim != weight.ndim or x.ndim != 4 or x.shape[1] != weight.shape[1]:
        raise refusal(f"conv2d of images {x.shape} by filters {weight.shape}")
    dims = list(x._dims)
    for axis in (2, 3):
        taps, extent = weight.shape[axis], x.shape[axis]
        reach = dilation * (taps - 1) + 1
        count = (extent + 2 * padding - reach) // stride + 1
        if count < 1:
            raise refusal(f"filters {weight.shape} do not fit images {x.shape}")
        out = builder.dimension(count)
        tap = weight._dims[axis]
        after = (count - 1) * stride + reach - padding - extent
        terms = ((out, stride),) if tap == ONE else ((out, stride), (tap, dilation))
        dims[axis] = Window(terms, padding, after)
    axes = tuple(d for d in dims if d != ONE)
    kept = tuple(place for place, d in enumerate(dims) if d != ONE)
    again = type(found)(found.argument, axes, kept, found.array)
    window = Tracer(builder, builder.input(again), tuple(dims))
    return _convolved(window, weight)


def _convolved(x: Tracer, weight: Tracer) -> Tracer:
    builder = x._builder
    flat = [d if isinstance(d, Window) else None for d in x._dims]
    rows, columns = (d.terms[0][0] for d in flat if d is not None)
    if x._dims[1] != ONE and weight._dims[1] != ONE:
        builder.unify(x._dims[1], weight._dims[1])
    dims = (x._dims[0], weight._dims[0], rows, columns)
    product = Call("mul", (Reference(weight._value), Reference(x._value)))
    value = builder.node(tuple(d for d in dims if d != ONE), "sum", product)
    return Tracer(builder, value, dims)


__all__ = [
    "attention",
    "conv2d",
    "einsum",
    "erf",
    "gelu",
    "layer_norm",
    "relu",
    "rms_norm",
    "rsqrt",
    "sigmoid",
    "silu",
    "softmax",
]
