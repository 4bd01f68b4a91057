"""Functions of arrays that become parts of a graph, under `morello.jit`."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.frontends.nodes.tensors import window_of
from morello.spec.graphs.loops import LOWEST
from morello.spec.index_map import ONE, IndexMap
from morello.tracing.functions import products
from morello.tracing.nodes import pointwise
from morello.tracing.numbers import is_narrow, together
from morello.tracing.operands import rounded, traced, tracers, widened
from morello.tracing.refusals import refusal
from morello.tracing.tracer import Tracer


def _of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that computes in f32, whose result is rounded to NumPy's dtype of its
    arguments together."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        dtypes = [one.dtype for one in tracers((args, kwargs))]
        if not any(map(is_narrow, dtypes)):
            return function(*args, **kwargs)
        wide = {name: widened(value) for name, value in kwargs.items()}
        result = function(*map(widened, args), **wide)
        return rounded(result, together(dtypes), function.__name__)

    return call


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
    return pointwise(array._recording, name, array)


def _maximum(x: Tracer, number: float) -> Tracer:
    return pointwise(x._recording, "maximum", x, number)


def _times(x: Tracer, factor: Any) -> Tracer:
    return pointwise(x._recording, "mul", x, factor)


@_of_floats
def relu(x: Any) -> Tracer:
    """The greater of x and 0."""
    return _function("relu", x)


@_of_floats
def gelu(x: Any, approximate: bool = True) -> Tracer:
    """x/2 · (1 + tanh(sqrt(2/π) · (x + 0.044715·x³))); x/2 · (1 + erf(x/sqrt(2))) where
    it is not approximate."""
    if approximate:
        return _function("gelu", x)
    x = _tracer(x, "gelu")
    return _times(x, _times(erf(_times(x, 0.5**0.5)) + 1.0, 0.5))


@_of_floats
def erf(x: Any) -> Tracer:
    """The error function."""
    return _function("erf", x)


@_of_floats
def silu(x: Any) -> Tracer:
    """x / (1 + exp(-x))."""
    return _function("silu", x)


@_of_floats
def sigmoid(x: Any) -> Tracer:
    """1 / (1 + exp(-x))."""
    return _function("sigmoid", x)


@_of_floats
def rsqrt(x: Any) -> Tracer:
    """1 / sqrt(x)."""
    return _function("rsqrt", x)


@_of_floats
def softmax(x: Any, axis: int = -1) -> Tracer:
    """exp(x - max) over its sum, along an axis. A row of -inf alone gives NaN."""
    x = _tracer(x, "softmax")
    greatest = x.max(axis, keepdims=True)
    powers = _function("exp", x - _maximum(greatest, LOWEST))
    total = powers.sum(axis, keepdims=True)
    return _times(powers, pointwise(x._recording, "div", 1.0, total))


@_of_floats
def layer_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """x less its mean over its deviation, along the last axis; times weight, plus
    bias."""
    x = _tracer(x, "layer_norm")
    centred = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    normed = centred * rsqrt(variance + eps)
    normed = normed if weight is None else normed * weight
    return normed if bias is None else normed + bias


@_of_floats
def rms_norm(x: Any, weight: Any = None, eps: float = 1e-5) -> Any:
    """x over the root of its mean square, along the last axis; times weight."""
    x = _tracer(x, "rms_norm")
    normed = x * rsqrt(np.square(x).mean(-1, keepdims=True) + eps)
    return normed if weight is None else normed * weight


@_of_floats
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
        seen = pointwise(q._recording, "less_equal", *_places(q, keys, queries))
        scores = pointwise(q._recording, "where", seen, scores, LOWEST)
    greatest = _maximum(scores.max(-1, keepdims=True), LOWEST)
    powers = _function("exp", scores - greatest)
    total = powers.sum(-1, keepdims=True)
    return pointwise(q._recording, "div", powers @ v, total)


def _places(like: Tracer, keys: Any, queries: Any) -> tuple[Tracer, Tracer]:
    """The places of keys, as a row, and those of queries, as a column."""
    row, column = (traced(like._recording, array) for array in (keys, queries))
    assert row is not None
    assert column is not None
    return row, column[:, None]


@_of_floats
def conv2d(
    x: Any,
    weight: Any,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] | str = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Tracer:
    """Filters ``weight`` [f,c/groups,fh,fw] over images ``x`` [n,c,h,w]: [n,f,oh,ow].

    Args:
        x: the images.
        weight: the filters, those of each group together.
        stride: rows, columns, or one number for both; so are padding and dilation.
        padding: places of 0 on each side; ``"same"`` for as many as keep the size, the
            odd one at the end; ``"valid"`` for none.
        dilation: places from tap to tap.
        groups: shares of channels, each with filters of its own.
    """
    x = _tracer(x, "conv2d")
    weight = _array(x, weight)
    if x.ndim != 4 or weight.ndim != 4 or x.shape[1] != weight.shape[1] * groups:
        raise refusal(
            f"conv2d of images {x.shape} by filters {weight.shape} in {groups} groups",
            "give images [n,c,h,w] and filters [f,c/groups,fh,fw]",
        )
    if weight.shape[0] % groups:
        raise refusal(f"{groups} groups do not share {weight.shape[0]} filters evenly")
    steps = _Steps(_pair(stride), padding, _pair(dilation))
    if groups == 1:
        return products.einsum("fcij,ncuvij->nfuv", weight, _windows(x, weight, steps))
    (n, c, h, w), (f, _, fh, fw) = x.shape, weight.shape
    images = x.reshape(n, groups, c // groups, h, w)
    filters = weight.reshape(groups, f // groups, c // groups, fh, fw)
    windows = _windows(images, filters, steps)
    sums = products.einsum("gfcij,ngcuvij->ngfuv", filters, windows)
    return sums.reshape(n, f, *sums.shape[-2:])


def _array(like: Tracer, operand: Any) -> Tracer:
    tracer = traced(like._recording, operand)
    if tracer is None:
        raise refusal("a number stands where filters should")
    return tracer


def _pair(extents: Any) -> tuple[int, int]:
    return (extents, extents) if isinstance(extents, int) else (extents[0], extents[1])


@dataclasses.dataclass(frozen=True)
class _Steps:
    """How filters move over rows and columns."""

    stride: tuple[int, int]
    padding: int | tuple[int, int] | str
    dilation: tuple[int, int]

    def along(self, axis: int, extent: int, taps: int) -> tuple[int, int]:
        """Number of outputs along rows or columns, and of padded places before the
        first.

        Raises:
            MorelloError: the filter does not fit.
        """
        stride, reach = self.stride[axis], self.dilation[axis] * (taps - 1) + 1
        if self.padding == "same":
            count = -(-extent // stride)
            around = max((count - 1) * stride + reach - extent, 0)
            before = around // 2
        elif isinstance(self.padding, str) and self.padding != "valid":
            raise refusal(f"the padding {self.padding!r}", "write 'same' or 'valid'")
        else:
            valid = isinstance(self.padding, str)
            before = 0 if valid else _pair(self.padding)[axis]
            count = (extent + 2 * before - reach) // stride + 1
        if count < 1:
            raise refusal(f"a filter of {taps} does not fit {extent} rows or columns")
        return count, before


def _windows(x: Tracer, weight: Tracer, steps: _Steps) -> Tracer:
    """The images, read at the sum of a place of the output and a tap: its axes, then
    the taps."""
    inner = [IndexMap.of(i) if n > 1 else ONE for i, n in enumerate(x.shape)]
    shape = [*x.shape, *weight.shape[-2:]]
    for axis, place in enumerate((x.ndim - 2, x.ndim - 1)):
        extent, taps = x.shape[place], weight.shape[axis - 2]
        size, before = steps.along(axis, extent, taps)
        if extent == 1 and (taps > 1 or before):
            raise refusal("a filter on images of one row or column is not traced")
        shape[place] = size
        terms = {place: steps.stride[axis], x.ndim + axis: steps.dilation[axis]}
        inner[place] = window_of(terms, before, tuple(shape), extent)
    return x.through(tuple(inner), tuple(shape))


einsum = _of_floats(products.einsum)

__all__ = [
    "attention", "conv2d", "einsum", "erf", "gelu", "layer_norm", "relu", "rms_norm",
    "rsqrt", "sigmoid", "silu", "softmax",
]  # fmt: skip
