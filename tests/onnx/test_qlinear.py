"""Ops of onnxruntime on scaled integers are those of what the integers stand for."""

import itertools
from typing import Any

import numpy as np
import onnx
import pytest

from tests.onnx.models import evaluated, model, node, read
from tests.tables import rows

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, np.dtype[Any]]

HEAD = '<ir_version: 8, opset_import: ["" : 21, "com.microsoft" : 1]> g '
HELD = (
    "<float s = {0.5}, uint8 z = {7}, float t = {0.25}, uint8 q = {130}, "
    "float u = {2}, uint8 v = {100}, "
    "float[4] T = {1, 2, 0.5, 4}, uint8[4] Q = {130, 0, 7, 255}, "
    "float[4] F = {1, -2, 3, 0.5}>"
)

RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (1, 4, 4, 6)).astype(np.uint8)
W = RNG.integers(0, 256, (1, 4, 4, 6)).astype(np.uint8)
A, B = X[0, 0], W[0, 1]
C = RNG.integers(-99, 99, 4).astype(np.int32)
SCALES, ZEROS = np.array([1, 2, 0.5, 4], np.float32), np.array([130, 0, 7, 255])
BIAS = np.array([1, -2, 3, 0.5], np.float32)
# A byte has a step of 1, and 0 stands for 0.
WHOLE = np.minimum(A, 254).astype(np.float32) + np.eye(4, 6, dtype=np.float32)
WHOLE[0, 0], WHOLE[1, 1] = 0, 255
REAL = RNG.standard_normal((4, 6)).astype(np.float32) * 200


def x_of(x: Array) -> Array:
    return (x.astype(np.float32) - 7) * np.float32(0.5)


def w_of(x: Array) -> Array:
    return (x.astype(np.float32) - 130) * np.float32(0.25)


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


CASES = {text: line for text, *line in rows(__file__, "qlinear")}
"""Nodes, their exact results, and their arguments."""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", CASES)
def test_integers_are_what_they_stand_for(text: str) -> None:
    wanted, arrays = map(eval, CASES[text])
    signature = ", ".join(
        f"{array.dtype.name}[{','.join(map(str, array.shape))}] {name}"
        for array, name in zip(arrays, "xwc", strict=False)
    ).replace("float32", "float")
    is_real = not text.endswith(("u, v)", "s, z)")) and "Concat" not in text
    kind = "float" if is_real else "uint8"
    shape = ",".join(map(str, wanted.shape))
    program = f"{HEAD}({signature}) => ({kind}[{shape}] y) {HELD} "
    model = onnx.parser.parse_model(f"{program}{{ y = com.microsoft.{text} }}")
    y = read(model, fallback=True).evaluate(*arrays)
    if not is_real:
        scale, zero = (0.5, 7) if text.endswith("s, z)") else (2, 100)
        nearest = np.rint(wanted / np.float32(scale)) + zero
        wanted = np.clip(nearest, 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(y, wanted)


def test_channels_are_last_after_an_op_whose_shape_onnx_does_not_know() -> None:
    text = (
        "{ a = com.microsoft.QLinearAdd(x, s, z, x, s, z, u, v) "
        "y = com.microsoft.QLinearGlobalAveragePool<channels_last=1>(a, u, v, u, v) }"
    )
    program = f"{HEAD}(uint8[1,4,4,6] x) => (uint8[1,1,1,6] y) {HELD} "
    y = read(onnx.parser.parse_model(program + text), fallback=True).evaluate(X)
    added = np.clip(np.rint(x_of(X)) + 100, 0, 255)
    wanted = np.rint((added - 100).mean((1, 2), keepdims=True) + 100)
    np.testing.assert_array_equal(y, wanted.astype(np.uint8))


def test_a_long_chain_has_types() -> None:
    """Nothing but zero points says the types of what is between."""
    names = ["x", *(f"t{i}" for i in range(12)), "y"]
    nodes = [
        node(
            "QLinearAdd", [x, "s", "z", x, "s", "z", "u", "z"], [y],
            domain="com.microsoft",
        )
        for x, y in itertools.pairwise(names)
    ]  # fmt: skip
    held = {"s": np.float32(1), "z": np.int8(3), "u": np.float32(2)}
    x = np.arange(-8, 8, dtype=np.int8)
    proto = model(nodes, {"x": x}, {"y": np.zeros(16, np.int8)}, held)
    assert np.array_equal(evaluated(proto, x), x)
