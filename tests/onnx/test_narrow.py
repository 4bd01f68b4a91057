"""Integers of four and of two bits are what ONNX's files and NumPy's arrays hold."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morello.errors import CompileError
from tests.onnx.models import model, node, read

pytestmark = pytest.mark.quick

BOUNDS = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}
TYPES = {"int4": 22, "uint4": 21, "int2": 26, "uint2": 25, "float": 1}


def run(nodes: list[Any], x: Any, result: str = "float", **held: Any) -> Any:
    """The result 'y' of a graph of 'x', given its type."""
    proto = model(nodes, {"x": x}, {"y": TYPES[result]}, held, opset=25)
    return read(proto, fallback=True).compile(threads=1, time_limit=2)(x)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BOUNDS)
def test_all_numbers_go_through_a_graph(name: str) -> None:
    low, high = BOUNDS[name]
    numbers = np.arange(low, high + 1)
    x = numbers.astype(getattr(ml_dtypes, name))
    as_float = [node("Cast", ["x"], ["y"], to=1)]
    np.testing.assert_array_equal(run(as_float, x), numbers)
    back = [node("Cast", ["x"], ["y"], to=TYPES[name])]
    y = run(back, numbers.astype(np.float32), name)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(int), numbers)
    same = [node("Identity", ["x"], ["y"])]
    np.testing.assert_array_equal(run(same, x, name), x)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BOUNDS)
def test_casts_keep_the_low_bits(name: str) -> None:
    x = np.array([-20, -9, 8, 17], np.int32)
    low, high = BOUNDS[name]
    nodes = [node("Cast", ["x"], ["y"], to=TYPES[name])]
    y = run(nodes, x, name).astype(int)
    np.testing.assert_array_equal((y - x) % (high - low + 1), 0)
    assert y.min() >= low
    assert y.max() <= high


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", BOUNDS)
def test_quantized_numbers_saturate(name: str) -> None:
    low, high = BOUNDS[name]
    nodes = [node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=TYPES[name])]
    x = np.array([-300, 0.5, 0.75, 300], np.float32)
    y = run(nodes, x, name, s=np.float32(1))
    np.testing.assert_array_equal(y.astype(int), [low, 0, 1, high])


def test_weights_of_four_bits_have_scales_of_blocks() -> None:
    numbers = np.array([[-8, 7, 1, -1], [2, 3, -4, 5]])
    scales = np.array([[1, 2], [0.5, 4]], np.float32)
    held = {"w": numbers.astype(ml_dtypes.int4), "s": scales}
    nodes = [
        node("DequantizeLinear", ["w", "s"], ["d"], axis=1, block_size=2),
        node("MatMul", ["x", "d"], ["y"]),
    ]
    x = np.array([1, 10], np.float32)
    right = x @ (numbers * np.repeat(scales, 2, 1))
    np.testing.assert_array_equal(run(nodes, x, **held), right)


@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("dtype", ["int4", "uint4", "uint8"])
def test_rows_of_scaled_integers_are_looked_up(dtype: str, has_zeros: bool) -> None:
    """Two numbers share a byte without a sign, and 8 is zero."""
    low = -8 if dtype == "int4" else 0
    numbers = np.arange(24).reshape(3, 8) % 16 + low
    zeros = np.array([[1, 2], [3, 4], [5, 6]])
    scales = np.array([[1, 2], [0.5, 4], [8, 0.25]], np.float32)

    def stored(integers: Any) -> Any:
        if dtype != "uint8":
            return integers.astype(getattr(ml_dtypes, dtype))
        return (integers[:, ::2] | integers[:, 1::2] << 4).astype(np.uint8)

    held = {"t": stored(numbers), "s": scales}
    if has_zeros:
        held["z"] = stored(zeros)
    options = {"gather_axis": 0, "quantize_axis": 1, "block_size": 4}
    kind, domain = "GatherBlockQuantized", "com.microsoft"
    names = ["t", "x", "s", "z"][: 3 + has_zeros]
    layer = node(kind, names, ["y"], domain=domain, **options)
    none = 8 if dtype == "uint8" else 0
    moved = numbers - (zeros.repeat(4, 1) if has_zeros else none)
    places = np.array([[2, 0], [1, 2]])
    right = (moved * scales.repeat(4, 1))[places]
    np.testing.assert_array_equal(run([layer], places, **held), right)
    options["quantize_axis"] = 0
    with pytest.raises(CompileError, match="has blocks along its axis; give it blocks"):
        run([node(kind, names, ["y"], domain=domain, **options)], places, **held)
