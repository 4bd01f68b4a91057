"""Ops of ONNX by their definitions, where importers and references often differ."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, parser

from morello.errors import CompileError
from tests.onnx.models import evaluated, model, node, numbered, read
from tests.tables import rows

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)


def computed(
    layer: Any,
    *inputs: Array,
    constants: dict[str, Any] | None = None,
    kinds: Sequence[int] = (TensorProto.FLOAT,),
    opset: int = 20,
) -> Any:
    """What a node computes of its first inputs, with constants for the others."""
    names = layer.input[: len(inputs)]
    feeds = dict(zip(names, inputs, strict=True))
    results = dict(zip(layer.output, kinds, strict=True))
    proto = model([layer], feeds, results, constants, opset)
    return read(proto, fallback=True).evaluate(*inputs)


def f32(*values: Any) -> Array:
    return np.array(values, np.float32)


def of_dtype(dtype: str) -> Callable[..., Array]:
    return lambda *values: np.array(values, dtype)


NAMES = {"f32": "f4", "i64": "i8", "i32": "i4", "i8": "i1", "b8": "?"}
NAMES |= {"u8": "u1", "u32": "u4", "u64": "u8"}
NUMBERS = {"nan": np.nan, "inf": np.inf, "arrays": dict}
NUMBERS |= {name: of_dtype(dtype) for name, dtype in NAMES.items()}


NODES = rows(__file__, "values")
"""Opsets, nodes, tolerances, arrays and results; names of constants are in capitals."""


LONG = [line for line in NODES if "GridSample" in line[1]]
OPSETS = {
    opset: [n for n in NODES if n[0] == opset and n not in LONG] for opset, *_ in NODES
}
GROUPS = [pytest.param(lines, id=opset) for opset, lines in OPSETS.items()]
GROUPS += [pytest.param([n], id=n[1], marks=pytest.mark.sampled(3)) for n in LONG]


@pytest.mark.parametrize("lines", GROUPS)
def test_nodes_of_numbers(lines: list[tuple[str, ...]]) -> None:
    values: dict[str, Array] = {}
    for n, line in enumerate(lines):
        arrays = eval(f"arrays({line[3]})", NUMBERS)
        values |= {f"{name}_{n}": array for name, array in arrays.items()}
    wanted = {f"y_{n}": eval(line[4], NUMBERS) for n, line in enumerate(lines)}
    held = {name: value for name, value in values.items() if name[0].isupper()}
    feeds = {name: value for name, value in values.items() if name not in held}
    nodes = [numbered(line[1], n) for n, line in enumerate(lines)]
    proto = model(nodes, feeds, wanted, held, int(lines[0][0]))
    results = read(proto, fallback=True).evaluate(*feeds.values())
    results = results if isinstance(results, tuple) else (results,)
    for line, y, right in zip(lines, results, wanted.values(), strict=True):
        assert (y.shape, y.dtype) == (right.shape, right.dtype), line
        rtol, text = float(line[2]), line[1]
        np.testing.assert_allclose(y, right, rtol=rtol, atol=0, err_msg=text)


@pytest.mark.parametrize("constant", ["<int64[1] a = {1}>", ""])
def test_a_constant_may_be_of_numbers(constant: str) -> None:
    node = "" if constant else "a = Constant<value_ints = [1]>()"
    proto = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[1,2] x) => (float[1] y) '
        f"{constant} {{ {node} y = ReduceLogSumExp<keepdims = 0>(x, a) }}"
    )
    np.testing.assert_allclose(evaluated(proto, f32([200, 100])), [200], rtol=1e-6)


SMALL = f32(-50, -20, -1, -1e-3, -1e-6, -0.0, 0, 1e-6, 1, 20)
WIDE = SMALL.astype(np.float64)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("layer", "wanted"),
    [
        (node("Elu", ["x"], ["y"], alpha=0.5), np.expm1(WIDE) / 2),
        (node("Elu", ["x"], ["y"], alpha=np.inf), 0 * WIDE - np.inf),
        (node("LeakyRelu", ["x"], ["y"], alpha=-np.inf), 0 * WIDE + np.inf),
        (node("Celu", ["x"], ["y"], alpha=0.5), np.expm1(2 * WIDE) / 2),
        (node("Selu", ["x"], ["y"], alpha=1.5, gamma=2.0), 3 * np.expm1(WIDE)),
        (node("Softplus", ["x"], ["y"]), np.logaddexp(0, WIDE)),
        (node("Mish", ["x"], ["y"]), WIDE * np.tanh(np.logaddexp(0, WIDE))),
        (node("Sigmoid", ["x"], ["y"]), 1 / (1 + np.exp(-WIDE))),
        (node("Softsign", ["x"], ["y"]), WIDE / (1 + abs(WIDE))),
    ],
    ids=lambda value: getattr(value, "op_type", ""),
)
def test_digits_do_not_cancel(layer: Any, wanted: Array) -> None:
    if layer.op_type.endswith("lu") and layer.op_type != "Softplus":
        gamma = 2 if layer.op_type == "Selu" else 1
        wanted = np.where(SMALL >= 0, gamma * WIDE, wanted)
    np.testing.assert_allclose(computed(layer, SMALL), wanted, rtol=5e-7)


@pytest.mark.parametrize(("opset", "count"), [(21, 6), (18, 2)])
def test_a_group_far_from_zero_has_its_deviation(opset: int, count: int) -> None:
    x = RNG.standard_normal((1, 6, 4, 4), np.float32) + np.float32(1e4)
    scale, bias = (RNG.standard_normal(count).astype(np.float32) for _ in range(2))
    layer = node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)
    result = computed(layer, x, constants={"s": scale, "b": bias}, opset=opset)
    groups = x.astype(np.float64).reshape(2, -1)
    deviation = np.sqrt(groups.var(1, keepdims=True) + 1e-5)
    plain = (groups - groups.mean(1, keepdims=True)) / deviation
    each = [
        np.repeat(of_group, 6 // count).reshape(6, 1, 1) for of_group in (scale, bias)
    ]
    wanted = plain.reshape(6, 4, 4) * each[0] + each[1]
    np.testing.assert_allclose(result[0], wanted, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_determinants_need_no_pivot(size: int) -> None:
    x = RNG.integers(-3, 4, (2, size, size)).astype(np.float32)
    x[:, 0, 0] = 0 if size > 1 else 5
    result = computed(node("Det", ["x"], ["y"]), x)
    np.testing.assert_allclose(result, np.linalg.det(x.astype(float)), atol=1e-4)


@pytest.mark.parametrize(("fmod", "define"), [(1, np.fmod), (0, np.remainder)])
def test_remainders_are_exact(fmod: int, define: Any) -> None:
    x = np.float32([7.5, -7.5, 1e30, -0.0, 5, np.inf, -1, 3, 6, -6, -3, 0, np.nan])
    y = np.float32([2, 2, 0.7, 3, 0, 2, 1, -np.inf, -4, -4, np.inf, -2, 1])
    result = computed(node("Mod", ["x", "y"], ["z"], fmod=fmod), x, y)
    with np.errstate(invalid="ignore"):
        wanted = define(x, y)
    np.testing.assert_array_equal(result, wanted)
    zeros = wanted == 0
    np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    "options",
    [{}, {"strides": [2, 2], "pads": [1, 0, 1, 1]}, {"dilations": [2, 2]}],
    ids=["plain", "padded", "dilated"],
)
def test_indices_of_maxima_count_over_the_tensor(
    order: int, options: dict[str, Any]
) -> None:
    x = RNG.standard_normal((2, 3, 5, 4), np.float32)
    layer = node(
        "MaxPool",
        ["x"],
        ["y", "i"],
        kernel_shape=[2, 2],
        storage_order=order,
        **options,
    )
    y, index = computed(layer, x, kinds=(TensorProto.FLOAT, TensorProto.INT64))
    planes = x.swapaxes(2, 3) if order else x
    np.testing.assert_array_equal(planes.ravel()[index], y)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", ["AveragePool", "MaxPool", "LpPool"])
@pytest.mark.parametrize(
    ("kernel", "stride", "before", "after", "dilation"),
    [
        (1, 4, 0, 0, 1),
        (2, 4, 0, 0, 1),
        (2, 3, 1, 1, 1),
        (3, 2, 0, 1, 1),
        (2, 2, 1, 1, 2),
    ],
)
def test_no_window_is_of_padding_alone(
    kind: str, kernel: int, stride: int, before: int, after: int, dilation: int
) -> None:
    x = RNG.standard_normal((1, 2, 6), np.float32)
    layer = node(
        kind,
        ["x"],
        ["y"],
        kernel_shape=[kernel],
        strides=[stride],
        pads=[before, after],
        dilations=[dilation],
        ceil_mode=1,
    )
    result = computed(layer, x, opset=19)
    reach = (kernel - 1) * dilation + 1
    count = -(-(6 + before + after - reach) // stride) + 1
    if (count - 1) * stride >= 6 + before:
        count -= 1
    wanted = []
    for start in range(-before, count * stride - before, stride):
        places = [p for p in range(start, start + reach, dilation) if 0 <= p < 6]
        window = x[0, :, places].astype(float)
        match kind:
            case "AveragePool":
                wanted.append(window.mean(0))
            case "MaxPool":
                wanted.append(window.max(0))
            case _:
                wanted.append(np.sqrt((window**2).sum(0)))
    np.testing.assert_allclose(result[0].T, wanted, rtol=1e-5, atol=1e-6)


Q, K, V = (
    RNG.standard_normal(s).astype(np.float32)
    for s in ((2, 3, 4, 8), *[(2, 3, 6, 8)] * 2)
)
SEEN = np.ones((4, 6), np.bool_)
SEEN[1] = False
SEEN[2, 3:] = False
BEHIND = np.arange(4)[:, None] - np.arange(6)


def attended(scores: Array, seen: Array) -> Array:
    """Attention of what is seen; 0 where that is nothing."""
    powers = np.where(seen, np.exp(scores), 0)
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total > 0, total, 1) @ V.astype(float)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("options", "mask", "seen"),
    [
        ({"scale": 0.0}, None, BEHIND > -9),
        ({"is_causal": 1}, None, BEHIND >= 0),
        ({"left_window_size": 1}, None, BEHIND <= 1),
        ({"right_window_size": 0}, None, BEHIND >= 0),
        ({"left_window_size": 1, "is_causal": 1}, SEEN, SEEN & (abs(BEHIND - 0.5) < 1)),
        ({}, SEEN, SEEN),
        ({}, np.where(SEEN, 0, -np.inf).astype(np.float32), SEEN),
        ({}, SEEN[:, :2], SEEN & (np.arange(6) < 2)),
    ],
)
@pytest.mark.parametrize("is_constant", [True, False], ids=["constant", "argument"])
def test_attention_to_what_is_seen(
    options: dict[str, Any], mask: Array | None, seen: Array, is_constant: bool
) -> None:
    inputs = ["x", "k", "v"] + ([] if mask is None else ["m"])
    layer = node("Attention", inputs, ["y"], **options)
    arrays, constants = [Q, K, V], {}
    if mask is not None and is_constant:
        constants["m"] = mask
    elif mask is not None:
        arrays.append(mask)
    result = computed(layer, *arrays, constants=constants, opset=25)
    scale = options.get("scale", 1 / np.sqrt(8))
    scores = scale * Q.astype(float) @ K.swapaxes(2, 3)
    np.testing.assert_allclose(result, attended(scores, seen), rtol=2e-5, atol=1e-6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize(("reduction", "joined"), [("max", max), ("min", min)])
def test_the_extreme_of_updates_at_places_that_are_data(
    reduction: str, joined: Any, axis: int
) -> None:
    x, updates = (RNG.standard_normal((3, 3)).astype(np.float32) for _ in range(2))
    places = np.array([[2, 0, -1], [-1, -3, 2], [2, 1, 0]])
    layer = node(
        "ScatterElements", ["x", "i", "u"], ["y"], axis=axis, reduction=reduction
    )
    wanted = x.copy()
    for (row, column), place in np.ndenumerate(places):
        at = (place, column) if axis == 0 else (row, place)
        wanted[at] = joined(wanted[at], updates[row, column])
    np.testing.assert_array_equal(computed(layer, x, places, updates), wanted)


@pytest.mark.parametrize(
    ("mode", "coordinates", "words"),
    [
        ("nearest", "middle", "coordinate_transformation_mode is 'middle'"),
        ("linear", "tf_half_pixel_for_nn", "is 'tf_half_pixel_for_nn'; export"),
        ("quintic", "half_pixel", "mode is 'quintic'; .* cubic, linear, nearest"),
    ],
)
def test_ways_to_resize_that_are_none_are_refused(
    mode: str, coordinates: str, words: str
) -> None:
    way = {"mode": mode, "coordinate_transformation_mode": coordinates}
    layer = node("Resize", ["x", "r", "s"], ["y"], **way)
    held = {"r": f32(), "s": f32(1, 1, 1.5)}
    with pytest.raises(CompileError, match=rf"\(onnx\.Resize\): .*{words}"):
        computed(layer, f32([[1, 2, 3, 4]]), constants=held, opset=11)


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": 2}])
def test_old_hardmax_is_over_all_axes_that_follow(options: dict[str, int]) -> None:
    x = f32(*np.random.default_rng(3).permutation(24).reshape(2, 3, 4))
    y = computed(node("Hardmax", ["x"], ["y"], **options), x, opset=11)
    axes = tuple(range(options.get("axis", 1), 3))
    assert np.array_equal(y, x == x.max(axis=axes, keepdims=True))


WEIGHTS = {
    name: RNG.standard_normal(shape).astype(np.float32)
    for name, shape in {"w": (1, 8, 3), "r": (1, 8, 2), "b": (1, 16)}.items()
}
"""Of an LSTM with a state of 2."""
SEQUENCES = RNG.standard_normal((3, 2, 3), np.float32)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_shorter_sequence_ends_before(direction: str) -> None:
    options = {"hidden_size": 2, "direction": direction}
    kinds = [TensorProto.FLOAT] * 3
    names = ["x", "w", "r", "b"]
    whole = node("LSTM", [*names, "n"], ["y", "h", "c"], **options)
    lengths = np.array([3, 1], np.int32)
    y, h, c = computed(
        whole, SEQUENCES, constants={**WEIGHTS, "n": lengths}, kinds=kinds
    )
    alone = node("LSTM", names, ["y", "h", "c"], **options)
    for number, length in enumerate(lengths):
        rows = SEQUENCES[:length, number : number + 1]
        wanted = computed(alone, rows, constants=WEIGHTS, kinds=kinds)
        one = slice(number, number + 1)
        np.testing.assert_allclose(y[:length, :, one], wanted[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(y[length:, :, one], 0)
        np.testing.assert_allclose(h[:, one], wanted[1], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(c[:, one], wanted[2], rtol=1e-5, atol=1e-6)


def test_peepholes_clips_and_activations_of_an_lstm() -> None:
    peepholes = RNG.standard_normal((1, 6)).astype(np.float32)
    activations = ["HardSigmoid", "LeakyRelu", "Softsign"]
    layer = node(
        "LSTM",
        ["x", "w", "r", "b", "", "", "", "p"],
        ["y"],
        hidden_size=2,
        clip=1.5,
        activations=activations,
        activation_alpha=[0.3, 0.1],
    )
    result = computed(layer, SEQUENCES, constants={**WEIGHTS, "p": peepholes})

    def inner(x: Array) -> Array:
        return np.clip(0.3 * np.clip(x, -1.5, 1.5) + 0.5, 0, 1)

    def outer(x: Array) -> Array:
        x = np.clip(x, -1.5, 1.5)
        return np.where(x < 0, 0.1 * x, x)

    w, r, b = (WEIGHTS[name][0].astype(float) for name in "wrb")
    of_i, of_o, of_f = np.split(peepholes[0].astype(float), 3)
    h = cell = np.zeros((2, 2))
    for step, row in enumerate(SEQUENCES.astype(float)):
        i, o, f, c = np.split(row @ w.T + h @ r.T + b[:8] + b[8:], 4, axis=1)
        cell = inner(f + of_f * cell) * cell + inner(i + of_i * cell) * outer(c)
        h = inner(o + of_o * cell) * cell / (1 + abs(cell))
        np.testing.assert_allclose(result[step, 0], h, rtol=1e-5, atol=1e-6)


def recurrence(layer: Any, *inputs: Array) -> list[Array]:
    """All results of a recurrence, of inputs that it is given in a call."""
    names = [name for name in layer.input if name]
    feeds = dict(zip(names, inputs, strict=True))
    results = evaluated(model([layer], feeds, dict.fromkeys(layer.output)), *inputs)
    return list(results) if isinstance(results, tuple) else [results]


@pytest.mark.sampled(2)
def test_lengths_of_sequences_may_be_those_of_a_call() -> None:
    layer = node("LSTM", ["x", "w", "r", "b", "n"], ["y", "h", "c"], hidden_size=2)
    weights = list(WEIGHTS.values())
    results = recurrence(layer, SEQUENCES, *weights, np.array([3, 1], np.int32))
    kinds = [TensorProto.FLOAT] * 3
    lengths = {"n": np.array([3, 1], np.int32)}
    wanted = computed(layer, SEQUENCES, constants={**WEIGHTS, **lengths}, kinds=kinds)
    for result, known in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, known, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("is_linear", [False, True])
def test_a_state_of_a_gru_is_reset_before_or_after_its_product(is_linear: bool) -> None:
    layer = node(
        "GRU",
        ["x", "w", "r", "b", "", "h0"],
        ["y", "h"],
        hidden_size=2,
        linear_before_reset=int(is_linear),
        activations=["SIGMOID", "Affine"],
        activation_alpha=[0.5],
        activation_beta=[0.25],
        clip=2.0,
    )
    weights = (
        RNG.standard_normal(s).astype(np.float32)
        for s in ((1, 6, 3), (1, 6, 2), (1, 12))
    )
    w, r, b = weights
    first = RNG.standard_normal((1, 2, 2)).astype(np.float32)
    y, last = recurrence(layer, SEQUENCES, w, r, b, first)
    h = first[0].astype(float)
    of_w, of_r, bias = w[0].astype(float), r[0].astype(float), b[0].astype(float)
    for step, row in enumerate(SEQUENCES.astype(float)):
        z, reset, new = np.split(row @ of_w.T + bias[:6], 3, axis=1)
        of_state = [h @ part.T for part in np.split(of_r, 3)]
        z, reset = (
            1
            / (
                1
                + np.exp(
                    -np.clip(gate + of_state[n] + bias[6 + 2 * n : 8 + 2 * n], -2, 2)
                )
            )
            for n, gate in enumerate((z, reset))
        )
        if is_linear:
            rest = reset * (of_state[2] + bias[10:])
        else:
            rest = (reset * h) @ of_r[4:].T + bias[10:]
        new = 0.5 * np.clip(new + rest, -2, 2) + 0.25
        h = (1 - z) * new + z * h
        np.testing.assert_allclose(y[step, 0], h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last[0], h, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("steps", "options", "words"),
    [
        (300, {}, "has 300 steps, and at most 256 are written out; call a model"),
        (3, {"activations": ["Cosine"]}, "activation 'Cosine', which is not known"),
        (3, {"hidden_size": 3}, "hidden_size=3, and weights of 2 rows, not 3"),
    ],
    ids=["steps", "activation", "size"],
)
def test_a_recurrence_is_refused_in_a_sentence(
    steps: int, options: dict[str, Any], words: str
) -> None:
    layer = node("RNN", ["x", "w", "r"], ["y"], name="layer", **options)
    x, w, r = (
        np.zeros(shape, np.float32) for shape in ((steps, 1, 4), (1, 2, 4), (1, 2, 2))
    )
    with pytest.raises(CompileError, match=rf"layer \(onnx\.RNN\) .*{words}"):
        recurrence(layer, x, w, r)
