"""What NumPy's users write is traced to graphs that mean the same, by definition."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import morello
from morello.errors import MorelloError
from morello.machine import AVX2
from morello.tracing.arguments import filled
from morello.tracing.jit import _shapes
from morello.tracing.traced import TracedFunction
from tests.tracing.beside import Array, arrays, pairs

pytestmark = pytest.mark.quick

Functions = list[tuple[Callable[..., Any], list[tuple[int, ...]]]]


def traced_function(function: Callable[..., Any], *arguments: Any) -> TracedFunction:
    """What a function does with arguments of the shapes of some."""
    return TracedFunction(function, *_shapes(function, arguments, {}))


def by_definition(function: Callable[..., Any], arguments: list[Array]) -> Any:
    """The results of the program that a function is traced to."""
    traced = traced_function(function, *arguments)
    results = traced.model().evaluate(*arguments)
    outputs = results if isinstance(results, tuple) else (results,)
    return filled(traced.results, (result.of(outputs) for result in traced.returned))


def cosines(x: Any) -> Any:
    unit = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return unit @ unit.T


def log_sum_exp(x: Any) -> Any:
    m = x.max(axis=-1, keepdims=True)
    return np.squeeze(m, -1) + np.log(np.exp(x - m).sum(axis=-1))


def entropy(x: Any) -> Any:
    m = x.max(-1, keepdims=True)
    return -(x - m - np.log(np.exp(x - m).sum(-1, keepdims=True)))[:, 0].mean()


def morello_softmax(x: Any) -> Any:
    powers = np.exp(x)
    return powers / powers.sum(1, keepdims=True)


def in_place(x: Any) -> Any:
    y = x * 2
    y += 1
    y *= x
    y /= 3
    y -= 0.5
    return y


def heads(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (x.reshape(2, -1, 2, 4).transpose(0, 2, 1, 3) for x in (q, k, v))
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) * 0.5
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    weights = powers / powers.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bqhd", weights, v)


def rotated(x: Any) -> Any:
    a, b = x[..., ::2], x[..., 1::2]
    return a * COSINES - b * SINES, a * SINES + b * COSINES


def average_pool(x: Any) -> Any:
    around = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(around, (3, 3), axis=(2, 3))
    return windows[:, :, ::2, ::2].mean(axis=(-2, -1))


ANGLES = np.arange(24).reshape(6, 4)
COSINES, SINES = (f(ANGLES).astype(np.float32) for f in (np.cos, np.sin))

DISTANCES: Functions = [
    (lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1), [(7, 5), (9, 5)]),
    (
        lambda x: (x * x).sum(1)[:, None] + (x * x).sum(1)[None] - 2 * (x @ x.T),
        [(7, 5)],
    ),
    (cosines, [(7, 5)]),
    (
        lambda x, c, w: np.exp(-((x[:, None] - c) ** 2).sum(-1)) @ w,
        [(5, 4), (6, 4), (6,)],
    ),
    (lambda x: (x + x.T) / 2, [(6, 6)]),
    (lambda x: x.sum(1) + x.sum(0), [(6, 6)]),
    (lambda x: (lambda k: k + k.T - k.sum(0))(x @ x.T), [(6, 6)]),
    (lambda x, a: x @ a @ x, [(5,), (5, 5)]),
]
"""One array along two axes at once."""

STATISTICS: Functions = [
    (log_sum_exp, [(7, 5)]),
    (entropy, [(6, 8)]),
    (lambda x: x.var(axis=0) + np.std(x), [(7, 5)]),
    (lambda x: (x - x.mean(0)) / (x.std(0, ddof=1) + 1e-6), [(7, 5)]),
    (lambda x: x.sum(axis=(-2, -1), keepdims=True) + x.max(-2), [(6, 7)]),
    (lambda x, w: np.average(x, axis=1, weights=w), [(6, 8), (8,)]),
    (lambda x: np.linalg.norm(x, 1, 0) + np.ptp(x), [(6, 8)]),
]

PRODUCTS: Functions = [
    (lambda x, y: x @ y, [(2, 1, 4, 5), (3, 5, 6)]),
    (lambda x, y: np.dot(x, y), [(3, 4, 5), (2, 5, 6)]),
    (lambda x, y: np.einsum("...qd,...kd->...qk", x, y), [(2, 3, 4, 5), (2, 3, 6, 5)]),
    (lambda x, y: np.einsum("ij,jk", x, y), [(4, 5), (5, 6)]),
    (lambda x, y, z: np.einsum("ij,jk,kl->il", x, y, z), [(4, 5), (5, 6), (6, 3)]),
    (lambda x, y: np.einsum("ij,kl->jl", x, y), [(4, 5), (6, 7)]),
    (lambda x, y: np.tensordot(x, y, axes=([1, 2], [1, 0])), [(3, 4, 5), (5, 4, 2)]),
    (lambda x, y: np.outer(x, y) + np.multiply.outer(x, y), [(7,), (5,)]),
    (lambda x, y: np.inner(x, y) + np.vecdot(x[:, None], y), [(4, 5), (3, 5)]),
    (heads, [(2, 6, 8), (2, 5, 8), (2, 5, 8)]),
]

PARTS: Functions = [
    (rotated, [(2, 6, 8)]),
    (lambda x, w: (lambda h: h[:, :4] * np.tanh(h[:, 4:]))(x @ w), [(6, 9), (9, 8)]),
    (lambda x: np.multiply(*np.split(x, 2, axis=-1)), [(6, 8)]),
    (lambda qkv: (lambda q, k, v: q @ k.T @ v)(*qkv), [(3, 6, 8)]),
    (lambda x: x[2] - x[-1] + x[0, 3], [(6, 8)]),
    (lambda x: x[::-1, ::-1] + np.flip(x, 1) + np.tril(x) + np.triu(x, 1), [(6, 8)]),
    (lambda x: np.diff(x, axis=1), [(5, 6, 7)]),
    (lambda x: (x.reshape(2, 3, 8) * 2).sum(1) + x.reshape(2, -1)[:, :8], [(6, 8)]),
    (lambda x: (x * 2).reshape(2, 3, 8).max(1), [(6, 8)]),
    (lambda x: np.exp(x.reshape(6, 2, 4)).reshape(6, 8), [(6, 8)]),
    (lambda x: np.moveaxis(x, 0, -1).ravel() * 2, [(2, 6, 8)]),
]

TOGETHER: Functions = [
    (lambda x, y: np.concatenate([x, y + 1, x[:, :2]], 1), [(3, 4), (3, 5)]),
    (lambda x, y: np.concatenate([np.stack([x, x * y]), y[None]]), [(3, 4), (3, 4)]),
    (lambda x, y: np.vstack([1 / x, y]) @ np.hstack([x, x]).T[:4], [(3, 4), (4,)]),
    (lambda x, y: np.append(np.log(x * x), y, 0).sum(0), [(3, 4), (2, 4)]),
    (lambda x: x - np.concatenate([morello_softmax(x), x], 1)[:, 2:7], [(4, 5)]),
    (lambda x: np.roll(x, 1, 1) - np.roll(x, 2) + np.roll(x, 0, 0), [(3, 5)]),
    (lambda x: np.take(x, [3, 1, 0, 2, 2], 1) * np.take(x, -1, 1)[:, None], [(3, 5)]),
    (lambda x: np.take(np.exp(x), [[4, 2], [0, 1]], 0), [(5, 3)]),
    (lambda x: x[:, np.array([2, 0])] * x[np.array([1, 3, 0, 0])][:, :2], [(4, 3)]),
    (lambda x: np.array_split(x, 3)[1] + np.hsplit(x, 2)[0].sum(), [(7, 2)]),
]

WINDOWS: Functions = [
    (lambda x: sliding_window_view(x, 3, axis=-1).mean(-1), [(2, 6, 8)]),
    (average_pool, [(1, 2, 6, 8)]),
    (lambda x, w: (sliding_window_view(x, 3) * w[::-1]).sum(-1), [(12,), (3,)]),
]

ELEMENTS: Functions = [
    (in_place, [(6, 7)]),
    (lambda x: 3 * x**3 - x**-2 + np.abs(x) ** 1.5 + x**0, [(7, 5)]),
    (lambda x: np.where((x > 0) & (x < 1), np.clip(x, 0.2, 0.8), -x), [(7, 5)]),
    (lambda x: np.where(x > 0, x, np.nan), [(6, 7)]),
    (lambda x: np.where(~(x > 0) | (x > 1), 1.0, np.sign(x)), [(6, 8)]),
    (lambda x: np.sin(x) * np.cos(x) + np.arctan(x) + np.exp2(x), [(6, 8)]),
    (lambda x: 2.0**x + np.abs(x) ** 0.3 + np.abs(x) ** x, [(6, 8)]),
    (lambda x: np.rint(x) + np.floor(x) + np.ceil(x) + np.trunc(x), [(6, 8)]),
    (lambda x: np.log1p(np.exp(x)) + np.expm1(x / 100) + np.log2(x * x), [(6, 8)]),
    (lambda x: np.logaddexp(x[:, :4], x[:, 4:]), [(6, 8)]),
    (lambda x: np.isfinite(x) + np.isnan(x) + np.reciprocal(x), [(6, 8)]),
    (lambda x, s: x * s + s, [(6, 7), ()]),
    (lambda s, x: s - x, [(1, 1), (6, 7)]),
    (lambda x: x.clip(0, 1) + x.copy(), [(6, 7)]),
]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [*DISTANCES, *STATISTICS, *PRODUCTS, *PARTS, *TOGETHER, *WINDOWS, *ELEMENTS],
)
def test_graphs_mean_what_numpy_computes(
    function: Callable[..., Any], shapes: list[tuple[int, ...]]
) -> None:
    inputs = arrays(*shapes)
    wanted = function(*(array.astype(np.float64) for array in inputs))
    result = by_definition(function, inputs)
    for got, want in pairs(result, wanted):
        assert got.shape == np.shape(want)
        largest = max(1.0, np.abs(want).max())  # what cancels is as far off
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7 * largest)


@pytest.mark.parametrize("x", [0.0, 1e-30, 1e-8, -1e-8, 0.3, -0.9, 50.0, np.inf])
def test_functions_near_zero_and_far_from_it(x: float) -> None:
    def both(x: Any) -> Any:
        return np.log1p(x), np.expm1(x)

    inputs = [np.full((2,), x, np.float32)]
    (part,) = traced_function(both, *inputs).model().parts
    spec = part.spec(AVX2.limits)
    with np.errstate(all="ignore"):
        result = spec.outputs(*inputs)  # f32, as kernels compute it
        wanted = both(inputs[0].astype(np.float64))
    for got, want in zip(result, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_what_is_seen_twice_is_one_input() -> None:
    model = morello.trace(lambda x: x[1:] * 2 + x[1:] / x[:-1], np.ones((4, 3)))
    (part,) = model.parts
    assert len(part.inputs) == 2


CONVOLUTIONS: list[tuple[dict[str, Any], tuple[int, ...], Any]] = [
    ({"padding": 1, "groups": 4, "stride": 2}, (4, 1, 3, 3), ((1, 1), (1, 1))),
    (
        {"padding": (1, 0), "groups": 2, "dilation": (1, 2)},
        (6, 2, 3, 2),
        ((1, 1), (0, 0)),
    ),
    ({"padding": "same"}, (5, 4, 3, 4), ((1, 1), (1, 2))),
    ({"padding": "valid", "stride": (2, 1)}, (5, 4, 1, 8), ((0, 0), (0, 0))),
]


@pytest.mark.parametrize(("options", "filters", "around"), CONVOLUTIONS)
def test_convolutions_with_every_option(
    options: dict[str, Any], filters: tuple[int, ...], around: Any
) -> None:
    x, w = arrays((2, 4, 9, 8), filters)
    result = by_definition(lambda x, w: morello.nn.conv2d(x, w, **options), [x, w])
    (a, b), (c, d) = (
        np.broadcast_to(options.get(name, 1), 2) for name in ("stride", "dilation")
    )
    groups, (f, each, fh, fw) = options.get("groups", 1), filters
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *around))
    reach = (c * (fh - 1) + 1, d * (fw - 1) + 1)
    windows = sliding_window_view(padded, reach, (2, 3))[:, :, ::a, ::b, ::c, ::d]
    n, _, u, v = windows.shape[:4]
    windows = windows.reshape(n, groups, each, u, v, fh, fw)
    filters_of_groups = w.reshape(groups, f // groups, each, fh, fw)
    wanted = np.einsum("gfcij,ngcuvij->ngfuv", filters_of_groups, windows).reshape(
        n, f, u, v
    )
    np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-6)


def test_a_convolution_is_its_short_name() -> None:
    convolve = morello.trace(
        lambda x, w: morello.nn.conv2d(x, w, padding=1), (1, 3, 9, 8), (4, 3, 3, 3)
    )
    wanted = morello.Spec.parse("conv:1x3x9x8x4x3x3:f32:pad=1")
    assert [part.kind for part in convolve.parts] == [wanted.kind]


def _changed(x: Any) -> Any:
    y = x * 2
    z = y.T
    y += 1
    return z


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (lambda x: x.transpose(()) + 1, "no order of 2 axes"),
    (lambda x: np.cumprod(x, (0, 1)), r"axis=\(0, 1\) is no axis; give one number"),
    (lambda x: np.roll(x, 1, (0, 1)), "is no axis; give one number"),
    (lambda x: np.argmax(x, (0, 1)), "is no axis; give one number"),
    (lambda x: x.transpose(2, 1), "axis 2 of an array of 2 axes"),
    (lambda x: np.pad(x, -1), "np.pad by -1; cut elements off by a slice"),
    (lambda x: np.cov(x, ddof=4), "the covariance of 4 elements with ddof=4"),
    (lambda x: x.sum((0, -2)), r"axis=\(0, -2\) has an axis twice"),
    (lambda x: np.linalg.norm(x, "fro", 0), "the norm ord=fro along 1 axes"),
    (lambda x: np.concatenate([x, x[:, :2]]), r"\(4, 4\) and \(4, 2\) cannot be conc"),
    (lambda x: np.stack([x, 1.0]), r"cannot be stacked; write np\.full\(shape, number"),
    (lambda x: np.take(x, x[0]), "np.take at places that are computed is not traced"),
    (lambda x: x.sum(dtype=np.float64), "sum with dtype is not traced"),
    (lambda x: np.std(x, mean=0), "np.std: got an unexpected keyword argument 'mean'"),
    (lambda x: np.linalg.inv(x), r"np\.linalg\.inv is not traced"),
    (lambda x: np.add.reduce(x), r"np\.add\.reduce .* is not traced"),
    (lambda x: np.add(x, 1, out=x), r"np\.add with out is not traced"),
    (lambda x: x.__iadd__(1), r"\+= on an argument, .* write x = x \+ …"),
    (_changed, r"\+= on an argument, or on a part of an array"),
    (lambda x: x.__setitem__(0, 1), r"assignment to elements .* x = x\.copy"),
    (lambda x: x[x > 0], "an index of an array that is computed is not traced"),
    (lambda x: x[4], "the index 4 of an axis of 4 elements"),
    (lambda x: x[:0], "the slice 0:0:1 of 4 is empty"),
    (lambda x: np.where(x > 0, x, -1e300), "-1e\\+300 is too large for float32"),
    (lambda x: np.array([x.sum()]), "several results are a tuple"),
]


@pytest.mark.parametrize(("function", "words"), REFUSED)
def test_refusals_say_what_to_do(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(MorelloError, match=words) as caught:
        morello.trace(function, (4, 4))
    assert str(caught.value).startswith(f"{__file__}:")


def test_a_function_that_is_too_large_for_a_graph_is_several() -> None:
    def power(x: Any) -> Any:
        for _ in range(3):
            x = x @ x.T @ x
        return x

    model = morello.trace(power, (4, 4))
    assert len(model.parts) == 6
    x = arrays((4, 4))[0] / 4
    np.testing.assert_allclose(model.evaluate(x), power(x), rtol=1e-5)
