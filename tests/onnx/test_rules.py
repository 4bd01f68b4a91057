"""Ops of ONNX that become smaller ones compute what ONNX's reference does."""

import ast
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from morello.errors import CompileError
from tests.onnx.models import (
    check_by_reference,
    drawn,
    evaluated,
    model,
    node,
    numbered,
    read,
)
from tests.tables import rows

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def numbers(*values: int) -> Any:
    return np.array(values, np.int64)


def constant(value: Any) -> Any:
    """A constant of the table: a shape of values that are drawn, or values."""
    array = np.asarray(value, None if np.size(value) else np.int64)
    is_drawn = isinstance(value, tuple)
    return floats(*value) if is_drawn else array.astype(_DTYPES.get(array.dtype.char))


_DTYPES = {"d": np.float32, "l": np.int64, "?": np.bool_}


NODES = rows(__file__, "nodes")
"""Opsets, nodes, shapes of arguments, and constants."""


@pytest.mark.parametrize("opset", sorted({line[0] for line in NODES}))
def test_nodes_compute_what_the_reference_does(opset: str) -> None:
    nodes, shapes, held, arrays, wanted = [], {}, {}, [], {}
    for n, (_, text, inputs, constants) in enumerate(r for r in NODES if r[0] == opset):
        layer = numbered(text, n)
        ours = {f"{key}_{n}": v for key, v in ast.literal_eval(inputs).items()}
        values = ast.literal_eval(constants).items()
        known = {f"{key}_{n}": constant(v) for key, v in values}
        feeds = {key: drawn(shape, i) for i, (key, shape) in enumerate(ours.items(), 1)}
        results = dict.fromkeys(filter(None, layer.output))
        alone = model([layer], ours, results, known, int(opset))
        right = ReferenceEvaluator(alone).run(None, feeds)
        wanted |= dict(zip(results, [(each, text) for each in right], strict=True))
        nodes.append(layer)
        shapes, held, arrays = shapes | ours, held | known, [*arrays, *feeds.values()]
    proto = model(nodes, shapes, dict.fromkeys(wanted), held, int(opset))
    for y, (right, text) in zip(
        evaluated(proto, *arrays), wanted.values(), strict=True
    ):
        np.testing.assert_allclose(y, right, rtol=2e-5, atol=2e-6, err_msg=text)


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


def test_rows_that_are_replaced_in_a_cache() -> None:
    layer = node("TensorScatter", ["x", "u", "n"], ["y"], mode="circular", axis=1)
    held = {"u": floats(2, 2, 3), "n": numbers(1, 3)}
    proto = model([layer], {"x": (2, 4, 3)}, {"y": (2, 4, 3)}, held, opset=24)
    x = floats(2, 4, 3)
    wanted = x.copy()
    wanted[0, 1:3] = held["u"][0]
    wanted[1, [3, 0]] = held["u"][1]
    np.testing.assert_array_equal(evaluated(proto, x), wanted)


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


@pytest.mark.parametrize("axis", [0, -1])
def test_sums_so_far_of_integers_along_an_axis_of_the_call(axis: int) -> None:
    layer = node("CumSum", ["x", "a"], ["y"], exclusive=1)
    x, a = np.arange(12).reshape(3, 4) + 2**40, np.array(axis, np.int32)
    proto = model([layer], {"x": x, "a": a}, {"y": x})
    np.testing.assert_array_equal(evaluated(proto, x, a), np.cumsum(x, axis) - x)


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
