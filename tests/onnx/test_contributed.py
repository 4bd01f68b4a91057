"""Ops of onnxruntime are what it documents, in each type of floats; ops of f16 are
those of f32, rounded once."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morello
from morello.errors import CompileError
from tests.onnx.models import evaluated, model, node

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
X, SKIP, ROW, SCALE, SHIFT = (
    RNG.standard_normal(shape) for shape in ((2, 3, 8), (2, 3, 8), 8, 8, 8)
)
TOLERANCES = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
MICROSOFT = "com.microsoft"


def gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))))


def fast_gelu(x: Array, bias: Any = 0) -> Array:
    x = x + bias
    inner = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return np.asarray(0.5 * x * (1 + inner))


def norm(x: Array, scale: Array, shift: Any = 0) -> Array:
    deviation = np.sqrt(x.var(-1, keepdims=True) + 0.125)
    return np.asarray((x - x.mean(-1, keepdims=True)) / deviation * scale + shift)


def rms_norm(x: Array, scale: Array) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.125) * scale)


Case = tuple[list[Array | None], dict[str, Any], Callable[..., Any]]
CASES: dict[str, list[Case]] = {
    "BiasGelu": [([X, ROW], {}, lambda x, b: [gelu(x + b)])],
    "FastGelu": [
        ([X], {}, lambda x: [fast_gelu(x)]),
        ([X, ROW], {}, lambda x, b: [fast_gelu(x, b)]),
    ],
    "Gelu": [([X], {}, lambda x: [gelu(x)])],
    "QuickGelu": [([X], {"alpha": 2.0}, lambda x: [x / (1 + np.exp(-2 * x))])],
    "SimplifiedLayerNormalization": [
        ([X, SCALE], {"epsilon": 0.125}, lambda x, s: [rms_norm(x, s)])
    ],
    "SkipLayerNormalization": [
        (
            [X, SKIP, SCALE, None, ROW],
            {"epsilon": 0.125},
            lambda x, y, s, b: [norm(x + y + b, s), x + y + b],
        ),
        (
            [X, SKIP, SCALE, SHIFT],
            {"epsilon": 0.125},
            lambda x, y, s, b: [norm(x + y, s, b)],
        ),
    ],
    "SkipSimplifiedLayerNormalization": [
        (
            [X, SKIP, SCALE, ROW],
            {"epsilon": 0.125},
            lambda x, y, s, b: [rms_norm(x + y + b, s), x + y + b],
        )
    ],
}


def check(results: Any, wanted: list[Array], dtype: Any) -> None:
    results = results if isinstance(results, tuple) else (results,)
    for y, right in zip(results, wanted, strict=True):
        assert y.dtype == dtype
        tolerance = TOLERANCES[dtype.name]
        y = y.astype(np.float64)
        np.testing.assert_allclose(y, right, rtol=tolerance, atol=2 * tolerance)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("op", CASES)
def test_it_computes_what_it_documents(op: str, dtype: str) -> None:
    for inputs, options, definition in CASES[op]:
        kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
        arrays = [None if x is None else x.astype(kind) for x in inputs]
        given = {f"x{i}": x for i, x in enumerate(arrays) if x is not None}
        whole = [x.astype(np.float64) for x in given.values()]
        wanted = definition(*whole)
        names = ["" if x is None else f"x{i}" for i, x in enumerate(arrays)]
        outputs = ["y", "", "", "z"] if len(wanted) > 1 else ["y"]
        layer = node(op, names, outputs, domain=MICROSOFT, **options)
        results = {
            name: right.astype(kind)
            for name, right in zip(filter(None, outputs), wanted, strict=True)
        }
        check(evaluated(model([layer], given, results), *given.values()), wanted, kind)


def test_a_chain_of_halves_has_types() -> None:
    """Nothing says the type of what is between."""
    numbers = RNG.integers(0, 16, (8, 32), np.uint8)
    scales = RNG.random((8, 1)).astype(np.float16)
    x, scale = (a.astype(np.float16) for a in RNG.standard_normal((2, 3, 32)))
    nodes = [
        node("SkipLayerNormalization", ["x", "x", "g"], ["a"], domain=MICROSOFT),
        node(
            "MatMulNBits", ["a", "w", "s"], ["b"], domain=MICROSOFT,
            K=32, N=8, block_size=32,
        ),
        node("FastGelu", ["b"], ["y"], domain=MICROSOFT),
    ]  # fmt: skip
    packed = numbers[:, ::2] | numbers[:, 1::2] << 4
    held = {"g": scale[0], "w": packed.reshape(8, 1, 16), "s": scales.reshape(-1)}
    y = evaluated(model(nodes, {"x": x}, {"y": np.zeros((3, 8), np.float16)}, held), x)
    total = 2 * x.astype(np.float64)
    deviation = total.std(-1, keepdims=True)
    normal = (total - total.mean(-1, keepdims=True)) / deviation * scale[0]
    weights = (numbers.astype(float) - 8) * scales
    assert y.dtype == np.float16
    right = fast_gelu(normal @ weights.T)
    np.testing.assert_allclose(y, right, rtol=1e-2, atol=0.1)


def test_what_is_not_read_is_refused() -> None:
    layer = node("SkipLayerNormalization", ["x", "x", "g"], ["y", "m"], "n")
    layer.domain = MICROSOFT
    proto = model([layer], {"x": (3, 8)}, {"y": (3, 8), "m": (3, 1)}, {"g": (8,)})
    with pytest.raises(CompileError, match="has its mean or deviation as a result"):
        morello.from_onnx(proto)
    layer = node("CropAndResize", ["x"], ["t"], "n", domain=MICROSOFT)
    proto = model([layer, node("Relu", ["t"], ["y"])], {"x": (3, 8)}, {"y": (3, 8)})
    with pytest.raises(
        CompileError, match=r"n \(com.microsoft.CropAndResize\) is no op"
    ):
        morello.from_onnx(proto)


@pytest.mark.parametrize(
    ("op", "shapes", "options"),
    [
        ("Celu", [(2, 5)], {}),
        ("ConvTranspose", [(1, 2, 5, 5), (2, 3, 3, 3)], {"pads": [1, 0, 0, 1]}),
        ("Einsum", [(3, 4), (4, 5)], {"equation": "ij,jk"}),
        ("GRU", [(3, 2, 5), (1, 12, 5), (1, 12, 4), (1, 24)], {"hidden_size": 4}),
        ("MatMul", [(4,), (2, 4, 5)], {}),
        ("MeanVarianceNormalization", [(2, 3, 4, 5)], {}),
    ],
)
def test_an_op_of_halves_is_rounded_once(
    op: str, shapes: list[tuple[int, ...]], options: dict[str, Any]
) -> None:
    arrays = [RNG.standard_normal(shape).astype(np.float16) for shape in shapes]
    results = []
    for dtype in (np.float16, np.float32):
        given = {f"x{i}": array.astype(dtype) for i, array in enumerate(arrays)}
        kind = {np.float16: 10, np.float32: 1}[dtype]
        proto = model([node(op, list(given), ["y"], **options)], given, {"y": kind})
        results.append(evaluated(proto, *given.values()))
    assert results[0].dtype == np.float16
    np.testing.assert_array_equal(results[0], results[1].astype(np.float16))
