"""Short names of graphs: their sizes and options, and what they compute."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morello.errors import SpecError
from morello.spec import Compose, Limits, Spec, parse_spec, print_spec
from morello.spec.checking import reference
from morello.spec.graphs.graph import canonical
from morello.spec.graphs.names import SHORT_NAMES
from morello.spec.graphs.text import parse_canonical, parse_graph, parse_named
from morello.spec.text.graphs import print_graph
from tests.graphs.slow_evaluation import in_any_order
from tests.tables import rows

pytestmark = pytest.mark.quick

HAVE = Limits.of(vrf=16, l1=512, l2=16384)

Array = np.ndarray[Any, np.dtype[Any]]
By = dict[str, Array]


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    result: Array = e / e.sum(axis=-1, keepdims=True)
    return result


def _gelu(x: Array) -> Array:
    result: Array = (
        x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    )
    return result


def _layer_norm(x: Array, eps: float) -> Array:
    result: Array = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(
        x.var(axis=-1, keepdims=True) + eps
    )
    return result


def _rms_norm(x: Array, eps: float) -> Array:
    result: Array = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    return result


def _attention(v: By) -> Array:
    scores = v["Q"] @ np.swapaxes(v["K"], -1, -2) / math.sqrt(v["Q"].shape[-1])
    result: Array = _softmax(scores) @ v["V"]
    return result


def _conv(v: By, pad: int = 0, stride: int = 1, dilation: int = 1) -> Array:
    """Of images n x c x h x w, in one group, tap by tap."""
    w, x = v["w"], v["x"]
    x = x if x.ndim == len("nchw") else x[None]
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    rows, columns = (
        (size - dilation * (taps - 1) - 1) // stride + 1
        for size, taps in zip(x.shape[2:], w.shape[2:], strict=True)
    )
    result = np.zeros((x.shape[0], w.shape[0], rows, columns))
    for i, j in np.ndindex(*w.shape[2:]):
        part = x[:, :, dilation * i :, dilation * j :]
        part = part[:, :, ::stride, ::stride][:, :, :rows, :columns]
        result += np.einsum("fc,ncuv->nfuv", w[:, :, i, j], part)
    return result


def _by_group(v: By, pad: int) -> Array:
    pairs = zip(v["w"], v["x"], strict=True)
    return np.stack([_conv({"w": w, "x": x}, pad)[0] for w, x in pairs])


def _depthwise(v: By, pad: int) -> Array:
    one = {"w": v["w"][:, None, None], "x": v["x"][:, None]}
    return _by_group(one, pad)[:, 0]


def _channels_last(v: By, pad: int) -> Array:
    w, x = np.moveaxis(v["w"], -1, 1), np.moveaxis(v["x"], -1, 0)
    return np.moveaxis(_conv({"w": w, "x": x}, pad)[0], 0, -1)


def _state(x: Array) -> tuple[Array, Array, Array]:
    """The maximum of each row, exp(x - maximum), and its sum."""
    m = x.max(axis=1)
    p = np.exp(x - m[:, None])
    return m, p, p.sum(axis=1)


def _gelu_by_erf(x: Array) -> Array:
    erf = np.asarray(np.vectorize(math.erf)(x * math.sqrt(0.5)))
    return np.asarray(x / 2 * (1 + erf))


def _causal(v: By) -> Array:
    scores = v["Q"] @ np.swapaxes(v["K"], -1, -2) / math.sqrt(v["Q"].shape[-1])
    seen = v["key_place"][None, :] <= v["query_place"][:, None]
    lowest = np.finfo(np.float32).min
    result: Array = _softmax(np.where(seen, scores, lowest)) @ v["V"]
    return result


MEANING: dict[str, Callable[[By], Array | tuple[Array, ...]]] = {
    "softmax:5x9:f32": lambda v: _softmax(v["x"]),
    "log_softmax:5x9:f32": lambda v: np.log(_softmax(v["x"])),
    "softmax_max_and_sum:5x9:f32": lambda v: _state(v["x"])[::2],
    "softmax_unscaled:5x9:f32": lambda v: _state(v["x"])[1:],
    "softmax_complete:5x9:f32": lambda v: (
        np.exp(v["x"] - v["m"][:, None]) / v["l"][:, None]
    ),
    "layer_norm:5x9:f32": lambda v: _layer_norm(v["x"], 1e-5) * v["g"] + v["b"],
    "layer_norm:5x9:f32:eps=0.25": lambda v: (
        _layer_norm(v["x"], 0.25) * v["g"] + v["b"]
    ),
    "rms_norm:5x9:f32": lambda v: _rms_norm(v["x"], 1e-5) * v["g"],
    "rms_norm:5x9:f32:eps=0": lambda v: _rms_norm(v["x"], 0) * v["g"],
    "gelu_matmul:5x6x7:f32": lambda v: _gelu(v["a"] @ v["w"] + v["c"]),
    "gelu_matmul:5x6x7:f32:gelu=erf": lambda v: _gelu_by_erf(v["a"] @ v["w"] + v["c"]),
    "residual_matmul:5x7x6:f32": lambda v: v["a"] @ v["w"] + v["c"],
    "chain:5x7x6x4:f32": lambda v: v["a"] @ v["b"] @ v["c"],
    "attention:5x9x4x6:f32": _attention,
    "attention:3x5x9x4x6:f32": _attention,
    "attention:5x9x4x6:f32:causal=true": _causal,
    "attention:3x5x9x4x6:f32:causal=true": _causal,
    "conv:2x3x6x7x4x3x2:f32": _conv,
    "conv:1x3x6x7x4x3x3:f32:pad=1": lambda v: _conv(v, pad=1)[0],
    "conv:1x3x9x8x4x3x3:f32:pad=2:stride=2": lambda v: _conv(v, 2, 2)[0],
    "conv:1x3x9x8x4x3x3:f32:dilation=2": lambda v: _conv(v, dilation=2)[0],
    "conv:1x6x6x7x4x3x3:f32:groups=2:pad=1": lambda v: _by_group(v, 1),
    "conv:1x5x6x7x5x3x3:f32:groups=5:pad=1": lambda v: _depthwise(v, 1),
    "conv:1x3x6x7x4x3x3:f32:pad=1:layout=nhwc": lambda v: _channels_last(v, 1),
}
"""Specs, and what they compute in NumPy, from the inputs by their names."""


def _inputs(text: str) -> tuple[Spec, tuple[Array, ...], By]:
    """The Spec, its inputs in order, and the same by the names of its text."""
    spec = parse_spec(text, HAVE)
    label, sizes, _, *options = text.split(":")
    short = SHORT_NAMES[label]
    extents = [int(size) for size in sizes.split("x")]
    extents = [1] * (len(short.dims) - len(extents)) + extents
    by_hand = short.text(
        dict(zip(short.dims, extents, strict=True)), dict(o.split("=") for o in options)
    )
    graph, names = parse_named(by_hand)
    part = canonical(graph)
    rng = np.random.default_rng(len(text))
    operands = spec.kind.operands
    arrays = tuple(
        rng.standard_normal(operand.sizes(spec.sizes), np.float32)
        for operand in operands
        if operand.is_read
    )
    called = {value: name for name, value in names.values.items()}
    by_name = {
        called[part.values[i]]: array.astype(np.float64)
        for i, array in enumerate(arrays)
    }
    return spec, arrays, by_name


@pytest.mark.parametrize("text", MEANING)
def test_what_a_short_name_computes(text: str) -> None:
    spec, arrays, by_name = _inputs(text)
    wanted = MEANING[text](by_name)
    outputs = spec.kind.evaluate(spec.sizes, spec.dtypes, arrays)
    exact = tuple(array.astype(np.float64) for array in arrays)
    bounds = reference(spec.kind, spec.sizes, exact)
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    for output, expected, (number, error) in zip(outputs, several, bounds, strict=True):
        assert output.dtype == np.float32
        np.testing.assert_allclose(output, expected, rtol=3e-5, atol=3e-6)
        # Constants are of f32, such as 1/n.
        np.testing.assert_allclose(number, expected, rtol=1e-7, atol=1e-7)
        assert np.all(np.abs(output - number) <= error)
        # Within 1e-3 of the numbers, but where exp(x - m) / l is given any m and l.
        assert np.all(error <= 2e-3 * np.maximum(1, np.abs(number)))


@pytest.mark.parametrize("text", MEANING)
def test_the_bound_holds_whatever_the_order_of_sums(text: str) -> None:
    spec, arrays, _ = _inputs(text)
    exact = tuple(array.astype(np.float64) for array in arrays)
    bounds = reference(spec.kind, spec.sizes, exact)
    graph = spec.kind.as_graph
    assert graph is not None
    for seed in range(5):
        outputs = in_any_order(graph, spec.sizes, arrays, seed)
        for output, (number, error) in zip(outputs, bounds, strict=True):
            assert np.all(np.abs(output - number) <= error)
            wrong = output * np.float32(1.01)
            assert np.any(np.abs(wrong - number) > error)


@pytest.mark.parametrize("name", SHORT_NAMES)
def test_every_name_has_its_meaning_here(name: str) -> None:
    assert any(text.startswith(f"{name}:") for text in MEANING)


@pytest.mark.parametrize(
    "text", [t for t in MEANING if "=" not in t and "conv" not in t]
)
def test_names_are_printed_as_they_are_read(text: str) -> None:
    assert print_spec(parse_spec(text, HAVE), HAVE) == text


@pytest.mark.parametrize("text", MEANING)
def test_what_is_printed_is_the_same_spec(text: str) -> None:
    spec = parse_spec(text, HAVE)
    assert parse_spec(print_spec(spec, HAVE), HAVE) == spec


def test_other_options_are_printed_as_a_graph() -> None:
    spec = parse_spec("rms_norm:5x9:f32:eps=0.25", HAVE)
    assert print_spec(spec, HAVE).startswith("compose:5x9:f32:graph=v0[d0]=sum(")


def test_a_graph_that_has_a_name_is_printed_by_it() -> None:
    text = "compose:8x33:f32:graph=t[i,j]=sum(a[i,k]*b[k,j]);z[i,l]=sum(t*c[j,l])"
    text = text.replace("8x33", "4x5x6x7")
    # Sizes stand in the order in which the text uses the dimensions: i, j, k, l.
    assert print_spec(parse_spec(text, HAVE), HAVE) == "chain:4x6x5x7:f32"


@pytest.mark.parametrize("name", [name for name in SHORT_NAMES if name != "conv"])
def test_sizes_stand_in_the_order_of_the_name(name: str) -> None:
    """Each operand has the extents that the dimensions of its text have."""
    short = SHORT_NAMES[name]
    sizes = {dim: 11 + i for i, dim in enumerate(short.dims)}
    text = f"{name}:{'x'.join(map(str, sizes.values()))}:f32"
    spec = parse_spec(text, HAVE)
    graph, names = parse_named(short.text(sizes, {}))
    part = canonical(graph)
    by_number = {number: dim for dim, number in names.dims.items()}
    expected = tuple(sizes[by_number[dim]] for dim in part.dims)
    assert spec.sizes == expected
    assert print_spec(spec, HAVE) == text


def test_one_head_needs_no_dimension_of_its_own() -> None:
    one = parse_spec("attention:1x5x9x4x6:f32", HAVE)
    assert one == parse_spec("attention:5x9x4x6:f32", HAVE)
    assert one.kind != parse_spec("attention:2x5x9x4x6:f32", HAVE).kind


@pytest.mark.parametrize(("text", "message"), rows(__file__, "refused_names"))
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse_spec(text, HAVE)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("sum:3x4x5:f32", -1),
        ("max:7:f32", -1),
        ("min:3x4x5:f32:axis=0,-1", (0, -1)),
        ("mean:3x4:f32", -1),
        ("mean:3x4x5:f32:axis=all", None),
        ("sum:3x4:f32:axis=0", 0),
        ("sum:3x4:bf16,f32", -1),
        ("max:3x4:bf16,f32", -1),
    ],
)
def test_reductions_of_any_rank(text: str, axis: Any) -> None:
    spec = parse_spec(text, HAVE)
    rng = np.random.default_rng(0)
    x = rng.standard_normal(spec.shape(0), np.float32).astype(spec.dtypes[0].numpy)
    (result,) = spec.kind.evaluate(spec.sizes, spec.dtypes, (x,))
    x = x.astype(np.float32)
    # Where all is reduced there is an axis of size 1 before the others.
    array = x[0] if axis in (None, -1) and result.shape == (1,) else x
    wanted = getattr(array, text[: text.index(":")])(axis=axis)
    np.testing.assert_allclose(result, np.reshape(wanted, result.shape), rtol=1e-5)


def test_a_kind_is_in_canonical_form() -> None:
    graph = parse_graph("b[m,n]=exp(x[m,n]);y[m,n]=b+1.0")
    text = print_graph(canonical(graph).graph)
    with pytest.raises(SpecError) as refused:
        Compose(graph)
    assert str(refused.value) == (
        f"the graph '{print_graph(graph)}' is not in canonical form; write {text}"
    )
    with pytest.raises(SpecError, match="not in canonical form; write out v0"):
        parse_canonical("y[m]=sum(x[m,n])")
    assert Compose(parse_canonical(text)).text == text
