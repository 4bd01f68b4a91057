"""Integers of four and of two bits are what ONNX's files and NumPy's arrays hold."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper, numpy_helper

import morello

pytestmark = pytest.mark.quick

BOUNDS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}
TYPES = {"int4": 22, "uint4": 21, "int2": 26, "uint2": 25, "float": 1}


def run(
    nodes: list[Any], inputs: dict[str, Any], result: tuple[str, int], *held: Any
) -> Any:
    """The result 'y' of a graph, which has as many elements as its inputs."""
    types = {
        name: helper.np_dtype_to_tensor_dtype(a.dtype) for name, a in inputs.items()
    }
    values = [
        helper.make_tensor_value_info(name, types[name], array.shape)
        for name, array in inputs.items()
    ]
    y = helper.make_tensor_value_info("y", TYPES[result[0]], [result[1]])
    graph = helper.make_graph(nodes, "g", values, [y], held)
    opsets = [helper.make_opsetid("", 25)]
    data = helper.make_model(graph, ir_version=11, opset_imports=opsets)
    model = morello.from_onnx(data.SerializeToString(), fallback=True)
    return model.compile(threads=1, time_limit=2)(*inputs.values())


@pytest.mark.parametrize("name", BOUNDS)
def test_all_numbers_go_through_a_graph(name: str) -> None:
    low, high = BOUNDS[name]
    numbers = np.arange(low, high + 1)
    x = numbers.astype(getattr(ml_dtypes, name))
    as_float = [helper.make_node("Cast", ["x"], ["y"], to=1)]
    np.testing.assert_array_equal(run(as_float, {"x": x}, ("float", len(x))), numbers)
    back = [helper.make_node("Cast", ["x"], ["y"], to=TYPES[name])]
    y = run(back, {"x": numbers.astype(np.float32)}, (name, len(x)))
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(int), numbers)
    same = [helper.make_node("Identity", ["x"], ["y"])]
    np.testing.assert_array_equal(run(same, {"x": x}, (name, len(x))), x)


@pytest.mark.parametrize("name", BOUNDS)
def test_casts_keep_the_low_bits(name: str) -> None:
    x = np.array([-20, -9, 8, 17], np.int32)
    low, high = BOUNDS[name]
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TYPES[name])]
    y = run(nodes, {"x": x}, (name, 4)).astype(int)
    np.testing.assert_array_equal((y - x) % (high - low + 1), 0)
    assert y.min() >= low
    assert y.max() <= high


@pytest.mark.parametrize("name", BOUNDS)
def test_quantized_numbers_saturate(name: str) -> None:
    low, high = BOUNDS[name]
    one = numpy_helper.from_array(np.float32(1), "s")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=TYPES[name])
    ]
    x = np.array([-300, 0.5, 0.75, 300], np.float32)
    y = run(nodes, {"x": x}, (name, 4), one)
    np.testing.assert_array_equal(y.astype(int), [low, 0, 1, high])


def test_weights_of_four_bits_have_scales_of_blocks() -> None:
    numbers = np.array([[-8, 7, 1, -1], [2, 3, -4, 5]])
    scales = np.array([[1, 2], [0.5, 4]], np.float32)
    held = [
        numpy_helper.from_array(numbers.astype(ml_dtypes.int4), "w"),
        numpy_helper.from_array(scales, "s"),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=1, block_size=2),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    x = np.array([1, 10], np.float32)
    right = x @ (numbers * np.repeat(scales, 2, 1))
    np.testing.assert_array_equal(run(nodes, {"x": x}, ("float", 4), *held), right)
