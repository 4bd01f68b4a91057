"""Ops of ONNX that become smaller ones compute what ONNX's reference does."""

from typing import Any

import numpy as np
import pytest
from onnx import helper

from morello.errors import CompileError
from tests.onnx.models import (
    check_by_reference,
    check_node,
    evaluated,
    model,
    node,
    read,
)

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
IMAGE = (1, 2, 4, 5)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def numbers(*values: int) -> Any:
    return np.array(values, np.int64)


def resize(*inputs: str, **options: Any) -> Any:
    return node("Resize", ["x", *inputs], ["y"], **options)


def scales(*factors: float) -> dict[str, Any]:
    return {"s": np.array(factors, np.float32)}


def recurrence(kind: str, gates: int, directions: int) -> dict[str, Any]:
    return {
        "w": floats(directions, gates * 3, 4),
        "r": floats(directions, gates * 3, 3),
        "b": floats(directions, 2 * gates * 3),
    }


CUBIC = {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1}
CROP = {
    "mode": "linear",
    "coordinate_transformation_mode": "tf_crop_and_resize",
    "extrapolation_value": 7.0,
    "axes": [2, 3],
}
AXES = {"axes": [3, 2], "mode": "linear"}
LAST = {"i": np.array([[0, 1], [1, 2], [3, 0], [-2, 2]], np.int64)}
ALIKE = {"i": np.array([[3, -3]] * 4, np.int64)}


def pool(**options: Any) -> Any:
    sizes = {"kernel_shape": [3, 3], "strides": [2, 2]}
    return node("AveragePool", ["x"], ["y"], **sizes, **options)


def running(**options: Any) -> Any:
    return node("CumSum", ["x", "a"], ["y"], **options)


CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "nearest in whole steps": (resize("", "s"), IMAGE, scales(1, 1, 3, 2)),
    "nearest in steps and a half": (resize("", "s"), IMAGE, scales(1, 1, 1.5, 1.5)),
    "nearest of fewer": (resize("", "s"), IMAGE, scales(1, 1, 0.5, 0.5)),
    "nearest, the one after": (
        resize("", "", "n", nearest_mode="ceil"),
        IMAGE,
        {"n": numbers(1, 2, 8, 5)},
    ),
    "elements of rows": (
        node("GatherElements", ["x", "i"], ["y"], axis=1),
        (4, 4),
        LAST,
    ),
    "one element of each row": (
        node("GatherElements", ["x", "i"], ["y"], axis=1),
        (4, 4),
        ALIKE,
    ),
    "sums so far": (running(), (4, 5), {"a": np.array(1)}),
    "sums from there": (running(reverse=1), (4, 5), {"a": np.array(-1)}),
    "sums before": (running(exclusive=1), (3, 5, 2), {"a": np.array(1)}),
    "sums after": (running(exclusive=1, reverse=1), (4, 5), {"a": np.array(0)}),
    "windows past the end": (pool(ceil_mode=1), IMAGE, {}),
    "padded windows past the end": (pool(ceil_mode=1, pads=[1] * 4), IMAGE, {}),
    "windows that count what is around": (
        pool(count_include_pad=1, ceil_mode=1, pads=[1] * 4),
        IMAGE,
        {},
    ),
    "moments": (node("MeanVarianceNormalization", ["x"], ["y"]), IMAGE, {}),
    "moments of channels": (
        node("MeanVarianceNormalization", ["x"], ["y"], axes=[1]),
        IMAGE,
        {},
    ),
    "products of rows": (
        node("ReduceProd", ["x", "a"], ["y"], keepdims=0),
        (4, 5),
        {"a": numbers(1)},
    ),
    "a product of all": (
        node("ReduceProd", ["x", "a"], ["y"], keepdims=0),
        (2, 4),
        {"a": numbers()},
    ),
    "channels to places": (
        node("DepthToSpace", ["x"], ["y"], blocksize=2),
        (1, 8, 2, 3),
        {},
    ),
    "channels to places, row by row": (
        node("DepthToSpace", ["x"], ["y"], blocksize=2, mode="CRD"),
        (1, 8, 2, 3),
        {},
    ),
    "places to channels": (
        node("SpaceToDepth", ["x"], ["y"], blocksize=2),
        (1, 2, 4, 6),
        {},
    ),
    "integers below": (node("Floor", ["x"], ["y"]), (4, 5), {}),
    "integers nearby": (node("Round", ["x"], ["y"]), (4, 5), {}),
    "recurrence": (
        node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=3),
        (5, 2, 4),
        recurrence("LSTM", 4, 1),
    ),
    "a norm, its mean and its deviation": (
        node("LayerNormalization", ["x", "w", "b"], ["y", "m", "d"], axis=1),
        (4, 3, 2),
        {"w": floats(3, 2), "b": floats(3, 2)},
    ),
    "recurrence backwards": (
        node("RNN", ["x", "w", "r", "b"], ["y"], hidden_size=3, direction="reverse"),
        (5, 2, 4),
        recurrence("RNN", 1, 1),
    ),
    "recurrence in both directions": (
        node("GRU", ["x", "w", "r"], ["y"], hidden_size=3, direction="bidirectional"),
        (4, 2, 4),
        {n: a for n, a in recurrence("GRU", 3, 2).items() if n != "b"},
    ),
    "recurrence in both directions, its last states": (
        node(
            "LSTM",
            ["x", "w", "r", "b"],
            ["", "y"],
            hidden_size=3,
            direction="bidirectional",
        ),
        (4, 2, 4),
        recurrence("LSTM", 4, 2),
    ),
    "elements that others replace": (
        node("ScatterElements", ["x", "i", "u"], ["y"], axis=1),
        (3, 5),
        {"i": np.array([[1, -1], [0, 3]]), "u": floats(2, 2)},
    ),
    "elements that others are added to, twice at one place": (
        node("ScatterElements", ["x", "i", "u"], ["y"], axis=0, reduction="add"),
        (4, 2),
        {"i": np.array([[1, 1], [1, 3]]), "u": floats(2, 2)},
    ),
    "rows that others replace": (
        node("ScatterND", ["x", "i", "u"], ["y"]),
        (4, 3),
        {"i": np.array([[2], [-4]]), "u": floats(2, 3)},
    ),
    "rows and the largest of others": (
        node("ScatterND", ["x", "i", "u"], ["y"], reduction="max"),
        (4, 3),
        {"i": np.array([[2], [0]]), "u": floats(2, 3)},
    ),
    "rows that a condition picks": (
        node("Compress", ["x", "c"], ["y"], axis=1),
        (3, 4),
        {"c": np.array([True, False, True])},
    ),
    "elements that a condition picks": (
        node("Compress", ["x", "c"], ["y"]),
        (2, 3),
        {"c": np.array([False, True, True, False, True, False])},
    ),
    "parts of several sizes": (
        node("Split", ["x", "n"], ["a", "y"], axis=1),
        (3, 5),
        {"n": numbers(2, 3)},
    ),
    "a last part that is smaller": (
        node("Split", ["x"], ["a", "b", "y"], axis=1, num_outputs=3),
        (3, 5),
        {},
    ),
    "a vector and a stack of matrices": (
        node("MatMul", ["v", "x"], ["y"]),
        (2, 4, 3),
        {"v": floats(4)},
    ),
    "a stack of matrices and a vector": (
        node("MatMul", ["x", "v"], ["y"]),
        (1, 2, 4, 3),
        {"v": floats(3)},
    ),
    "transposed convolution to sizes": (
        node("ConvTranspose", ["x", "w"], ["y"], strides=[3, 2], output_shape=[10, 8]),
        (1, 1, 3, 3),
        {"w": floats(1, 2, 3, 3)},
    ),
    "transposed convolution to sizes, padded alike": (
        node(
            "ConvTranspose",
            ["x", "w"],
            ["y"],
            strides=[2, 2],
            auto_pad="SAME_LOWER",
            output_shape=[6, 6],
        ),
        (1, 1, 3, 3),
        {"w": floats(1, 2, 3, 3)},
    ),
    "sequences from their ends": (
        node("ReverseSequence", ["x", "n"], ["y"], time_axis=0, batch_axis=1),
        (4, 3, 2),
        {"n": numbers(4, 1, 3)},
    ),
    "a product of axes in order": (
        node("Einsum", ["x", "w"], ["y"], equation="kj, ji"),
        (2, 3),
        {"w": floats(3, 4)},
    ),
    "a border that is repeated along one axis": (
        node("Pad", ["x", "n"], ["y"], mode="edge"),
        (5,),
        {"n": numbers(2, 1)},
    ),
    "a border that has no use of a number": (
        node("Pad", ["x", "n", "v"], ["y"], mode="reflect"),
        (5,),
        {"n": numbers(2, 1), "v": np.float32(2)},
    ),
    "a border that is turned along all axes": (
        node("Pad", ["x", "n"], ["y"], mode="reflect"),
        (3, 4, 2),
        {"n": numbers(2, 1, 0, 1, 3, 1)},
    ),
    "transposed convolution, padded alike": (
        node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], auto_pad="SAME_LOWER"),
        (1, 1, 3, 3),
        {"w": floats(1, 2, 3, 3)},
    ),
    "columns to an image": (
        node(
            "Col2Im",
            ["x", "n", "k"],
            ["y"],
            strides=[2, 2],
            pads=[1, 0, 1, 0],
            dilations=[1, 2],
        ),
        (1, 4, 9),
        {"n": numbers(4, 7), "k": numbers(2, 2)},
    ),
    "transform": (
        node("DFT", ["x", "", "a"], ["y"]),
        (1, 6, 3, 2),
        {"a": np.array(1, np.int64)},
    ),
    "transform of real numbers to half": (
        node("DFT", ["x", "", "a"], ["y"], onesided=1),
        (1, 6, 3, 1),
        {"a": np.array(1, np.int64)},
    ),
    "transform back": (
        node("DFT", ["x", "n", "a"], ["y"], inverse=1),
        (1, 5, 2),
        {"n": np.array(4, np.int64), "a": np.array(1, np.int64)},
    ),
    "filters that are moved": (
        node("DeformConv", ["x", "w", "o", "b"], ["y"], pads=[1, 0, 1, 0]),
        (1, 2, 4, 3),
        {"w": floats(3, 2, 2, 2), "o": floats(1, 8, 5, 2), "b": floats(3)},
    ),
    "a dropout that drops nothing": (
        node("Dropout", ["x", "r"], ["y"], seed=3),
        (2, 3),
        {"r": np.array(0.7, np.float32)},
    ),
    "functions of the standard": (
        node("CenterCropPad", ["x", "n"], ["y"], axes=[1, 2]),
        (2, 5, 3),
        {"n": numbers(3, 6)},
    ),
    "axes of an image": (resize("", "s", **AXES), IMAGE, scales(1.6, 2)),
    "cubic": (resize("", "s", **CUBIC), IMAGE, scales(1, 1, 0.5, 1.6)),
    "antialias": (
        resize("", "s", mode="linear", antialias=1),
        IMAGE,
        scales(1, 1, 0.5, 0.4),
    ),
    "symmetric": (
        resize(
            "",
            "s",
            mode="linear",
            coordinate_transformation_mode="half_pixel_symmetric",
        ),
        IMAGE,
        scales(1, 1, 2.3, 1.1),
    ),
    "crop": (
        resize("roi", "", "n", **CROP),
        IMAGE,
        {"roi": np.array([0.4, 0.6, 0.9, 1.3], np.float32), "n": numbers(3, 3)},
    ),
    "the same aspect ratio": (
        resize("", "", "n", keep_aspect_ratio_policy="not_larger", axes=[2, 3]),
        IMAGE,
        {"n": numbers(2, 4)},
    ),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CASES)
def test_it_computes_what_the_reference_does(name: str) -> None:
    layer, inputs, constants = CASES[name]
    check_node(layer, [inputs], constants)


Q, KV = (1, 4, 3, 8), (1, 2, 5, 8)

NEWER: list[tuple[Any, list[tuple[int, ...]], dict[str, Any]]] = [
    (node("Softsign", ["x"], ["y"]), [(3, 5)], {}),
    (node("Swish", ["x"], ["y"], alpha=0.7), [(3, 5)], {}),
    (
        node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2),
        [(2, 4, 3, 3)],
        {"s": floats(4), "b": floats(4)},
    ),
    (
        node("RMSNormalization", ["x", "w"], ["y"], axis=1),
        [(2, 3, 4)],
        {"w": floats(3, 4)},
    ),
    (
        node("Pad", ["x", "pads"], ["y"], mode="wrap"),
        [(2, 3, 4)],
        {"pads": numbers(0, 1, 2, 0, 3, 1)},
    ),
    (
        node("RotaryEmbedding", ["x", "c", "s", "at"], ["y"]),
        [(1, 2, 3, 8)],
        {"c": floats(9, 4), "s": floats(9, 4), "at": np.array([[0, 2, 5]])},
    ),
    (
        node(
            "RotaryEmbedding",
            ["x", "c", "s"],
            ["y"],
            num_heads=2,
            interleaved=1,
            rotary_embedding_dim=4,
        ),
        [(1, 3, 16)],
        {"c": floats(1, 3, 2), "s": floats(1, 3, 2)},
    ),
    (
        node("Attention", ["x", "k", "v"], ["y"], is_causal=1, scale=0.3),
        [Q, KV, KV],
        {},
    ),
    (node("Attention", ["x", "k", "v"], ["y"], scale=0.0), [Q, KV, KV], {}),
    (
        node("Attention", ["x", "k", "v", "seen"], ["y"]),
        [Q, KV, KV],
        {"seen": np.tri(3, 5, 2) > 0},
    ),
    (
        node(
            "Attention",
            ["x", "k", "v", "mask", "pk", "pv"],
            ["y", "nk", "nv"],
            softcap=1.5,
        ),
        [Q, KV, KV, (3, 7), (1, 2, 2, 8), (1, 2, 2, 8)],
        {},
    ),
    (
        node("Attention", ["x", "k", "v"], ["y"], q_num_heads=4, kv_num_heads=2),
        [(1, 3, 32), (1, 5, 16), (1, 5, 12)],
        {},
    ),
]
"""Ops that the importer lacks."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", NEWER, ids=lambda case: case[0].op_type)
def test_ops_that_the_importer_lacks_are_smaller_ones(case: Any) -> None:
    check_node(*case, opset=24)


def test_a_transposed_convolution_of_groups_is_one_of_each() -> None:
    options = {"group": 2, "pads": [0, 1, 1, 0], "strides": [2, 1]}
    layer = node("ConvTranspose", ["x", "w", "b"], ["y"], **options)
    held = {"w": floats(2, 3, 2, 2), "b": floats(6)}
    proto = model([layer], {"x": (1, 2, 3, 3)}, {"y": (1, 6, 5, 3)}, held)
    x = floats(1, 2, 3, 3)
    whole = np.zeros((1, 6, 6, 4), np.float32)
    for channel, row, column in np.ndindex(2, 3, 3):
        part = x[0, channel, row, column] * held["w"][channel]
        spot = np.s_[0, 3 * channel : 3 * channel + 3]
        whole[spot][:, 2 * row : 2 * row + 2, column : column + 2] += part
    wanted = whole[:, :, :-1, 1:] + held["b"].reshape(1, 6, 1, 1)
    np.testing.assert_allclose(evaluated(proto, x), wanted, rtol=1e-5, atol=1e-6)


def test_a_transposed_convolution_to_a_size_loses_more_before() -> None:
    options = {"strides": [2], "output_shape": [6]}
    layer = node("ConvTranspose", ["x", "w"], ["y"], **options)
    held = {"w": np.array([[[1, 10, 100]]], np.float32)}
    proto = model([layer], {"x": (1, 1, 3)}, {"y": (1, 1, 6)}, held)
    x = np.array([[[1, 2, 3]]], np.float32)
    np.testing.assert_array_equal(evaluated(proto, x), [[[10, 102, 20, 203, 30, 300]]])


def test_rows_that_are_replaced_in_a_cache() -> None:
    layer = node("TensorScatter", ["x", "u", "n"], ["y"], mode="circular", axis=1)
    held = {"u": floats(2, 2, 3), "n": numbers(1, 3)}
    proto = model([layer], {"x": (2, 4, 3)}, {"y": (2, 4, 3)}, held, opset=24)
    x = floats(2, 4, 3)
    wanted = x.copy()
    wanted[0, 1:3] = held["u"][0]
    wanted[1, [3, 0]] = held["u"][1]
    np.testing.assert_array_equal(evaluated(proto, x), wanted)


def test_elements_that_a_pool_had_are_put_back() -> None:
    layer = node(
        "MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2], name="back"
    )
    held = {"i": np.array([[[[5, 7], [13, 10]]]])}
    proto = model([layer], {"x": (1, 1, 2, 2)}, {"y": (1, 1, 4, 4)}, held)
    x = np.array([[[[1, 2], [3, np.nan]]]], np.float32)
    wanted = np.zeros(16, np.float32)
    wanted[[5, 7, 13, 10]] = x.reshape(-1)
    np.testing.assert_array_equal(evaluated(proto, x).reshape(-1), wanted)


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("largest", [0, 1])
def test_the_greatest_or_the_least_are_in_order(largest: int, is_sorted: int) -> None:
    top = node(
        "TopK", ["x", "k"], ["y", "i"], axis=0, largest=largest, sorted=is_sorted
    )
    proto = model([top], {"x": (7, 2)}, {"y": (3, 2)}, {"k": numbers(3)})
    x = floats(7, 2)
    wanted = np.sort(x, 0)[::-1][:3] if largest else np.sort(x, 0)[:3]
    np.testing.assert_array_equal(evaluated(proto, x), wanted)


def test_slopes_of_channels_in_an_old_version() -> None:
    layer = node("PRelu", ["x", "s"], ["y"])
    held = {"s": np.array([2, 3, 4], np.float32)}
    proto = model([layer], {"x": (2, 3, 3)}, {"y": (2, 3, 3)}, held, opset=6)
    proto.ir_version = 3
    proto.graph.input.append(helper.make_tensor_value_info("s", 1, (3,)))
    x = floats(2, 3, 3)
    wanted = np.where(x < 0, held["s"][:, None] * x, x)
    np.testing.assert_allclose(evaluated(proto, x), wanted, rtol=1e-6)


@pytest.mark.parametrize("op", ["BlackmanWindow", "HammingWindow", "HannWindow"])
def test_functions_have_attributes_that_are_left_out(op: str) -> None:
    layers = [node(op, ["n"], ["w"]), node("Mul", ["x", "w"], ["y"])]
    held = {"n": np.array(10, np.int32)}
    proto = model(layers, {"x": (10,)}, {"y": (10,)}, held, opset=17)
    check_by_reference(proto, floats(10))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize(
    ("direction", "wanted"),
    [("RIGHT", [-4, -1, -1, 0, -1, 0]), ("LEFT", [-16, 0, 0, 0, "least", 0])],
)
def test_bits_are_shifted_by_any_number(
    direction: str, wanted: list[Any], dtype: Any
) -> None:
    layer = node("BitShift", ["x", "n"], ["y"], direction=direction)
    width, least = np.iinfo(dtype).bits, np.iinfo(dtype).min
    x = np.array([-8, -8, -1, 4, -1, 4], dtype)
    amounts = np.array([1, width, -1, -width, width - 1, width + 3], dtype)
    proto = model([layer], {"x": x, "n": amounts}, {"y": x}, opset=28)
    right = np.array([least if n == "least" else n for n in wanted], dtype)
    np.testing.assert_array_equal(evaluated(proto, x, amounts), right)


@pytest.mark.parametrize(
    ("source", "wanted", "values"),
    [
        (np.uint32, np.int32, {0: 0, 2**31: -(2**31), 2**32 - 1: -1}),
        (np.int8, np.uint8, {-128: 128, -1: 255, 127: 127}),
        (np.uint64, np.int64, {0: 0, 2**63: -(2**63), 2**64 - 1: -1}),
        (np.bool_, np.uint8, {True: 1, False: 0}),
    ],
)
def test_bits_are_read_with_another_sign(
    source: Any, wanted: Any, values: dict[int, int]
) -> None:
    dest = helper.np_dtype_to_tensor_dtype(np.dtype(wanted))
    layer = node("BitCast", ["x"], ["y"], to=dest)
    x, right = np.array(list(values), source), np.array(list(values.values()), wanted)
    result = evaluated(model([layer], {"x": x}, {"y": right}, opset=28), x)
    np.testing.assert_array_equal(result, right, strict=True)


@pytest.mark.parametrize("axis", [0, -1])
def test_sums_so_far_of_integers_along_an_axis_of_the_call(axis: int) -> None:
    layer = node("CumSum", ["x", "a"], ["y"], exclusive=1)
    x, a = np.arange(12).reshape(3, 4) + 2**40, np.array(axis, np.int32)
    proto = model([layer], {"x": x, "a": a}, {"y": x})
    np.testing.assert_array_equal(evaluated(proto, x, a), np.cumsum(x, axis) - x)


@pytest.mark.parametrize(
    ("mode", "wanted"), [("linear", [0, 1.5, 3]), ("cubic", [0, 1.5, 3])]
)
def test_corners_are_aligned_by_the_size_of_the_result(
    mode: str, wanted: list[float]
) -> None:
    options = {"coordinate_transformation_mode": "align_corners", "mode": mode}
    proto = model([resize("", "s", **options)], {"x": (4,)}, {"y": (3,)}, scales(0.8))
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(evaluated(proto, x), wanted, atol=1e-6)


@pytest.mark.parametrize("place", [5, -6])
@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (node("Gather", ["x", "i"], ["y"], axis=1), (2,)),
        (node("GatherElements", ["x", "i"], ["y"], axis=1), (1, 2)),
        (node("GatherND", ["x", "i"], ["y"], batch_dims=1), (3, 1)),
        (node("ScatterElements", ["x", "i", "u"], ["y"], axis=1), (1, 2)),
        (node("ScatterND", ["x", "i", "u"], ["y"]), (1, 2)),
    ],
    ids=["gather", "elements", "slices", "scatter", "scattered slices"],
)
def test_constant_places_outside_are_refused(
    layer: Any, shape: tuple[int, ...], place: int
) -> None:
    places = np.zeros(shape, np.int64)
    places.flat[-1] = place
    constants = {"i": places, "u": floats(*shape)}
    if layer.op_type == "ScatterND":
        constants["u"] = floats(1)
    results = {"Gather": (3, 2), "GatherElements": (1, 2), "GatherND": (3,)}
    result = results.get(layer.op_type, (3, 5))
    proto = model([layer], {"x": (3, 5)}, {"y": result}, constants)
    words = rf"onnx\.{layer.op_type}\) has the place {place} of an axis of 5 elements"
    with pytest.raises(CompileError, match=words):
        read(proto)
