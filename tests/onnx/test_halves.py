"""Constant weights of 4 bits in models of ONNX are read as halves of bytes."""

import dataclasses
from typing import Any

import numpy as np
import onnx
import pytest

import morello
from tests.onnx.models import model, node, read

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
N = 168
"""Columns: with the rows of k, more weights than are folded before they are read."""


@dataclasses.dataclass
class Weights:
    """Scaled numbers of 4 bits, n x k, and the scales and zero points of blocks."""

    numbers: Any
    scales: Any
    zeros: Any
    block: int

    @classmethod
    def random(cls, k: int, block: int, low: int = 0) -> "Weights":
        blocks = -(-k // block)
        numbers = RNG.integers(low, low + 16, (N, blocks * block))
        scales = 2.0 ** RNG.integers(-3, 1, (N, blocks))
        zeros = RNG.integers(low, low + 16, (N, blocks))
        return cls(numbers, scales.astype(np.float32), zeros, block)

    def product(self, x: Any) -> Any:
        """The product by its definition: exact, of integers and powers of two."""
        taken, scales = (a.repeat(self.block, 1) for a in (self.zeros, self.scales))
        values = ((self.numbers - taken) * scales)[:, : x.shape[-1]]
        return (x.astype(np.float64) @ values.T).astype(np.float32)


def packed(numbers: Any) -> Any:
    """Numbers of 4 bits in bytes, the first in the low bits."""
    if numbers.shape[1] % 2:
        numbers = np.pad(numbers, ((0, 0), (0, 1)))
    return (numbers[:, ::2] | numbers[:, 1::2] << 4).astype(np.uint8)


def written(nodes: list[Any], x: Any, arrays: dict[str, Any]) -> bytes:
    """A model of one argument x and one result y, for onnxruntime too."""
    proto = model(nodes, {"x": x}, {"y": (*x.shape[:-1], N)}, arrays, opset=21)
    proto.ir_version = 10
    return bytes(proto.SerializeToString())


def run(data: bytes, x: Any) -> Any:
    """The result of a kernel that reads halves of bytes."""
    kernel = morello.from_onnx(data).compile(threads=1, time_limit=1)
    assert "scaled_" in kernel.schedule  # the weights stay integers
    return kernel(x)


@pytest.mark.parametrize(
    ("rows", "k", "block", "has_zeros", "has_bias"),
    [
        ((1,), 480, 32, False, False),
        ((2,), 504, 16, True, True),
        ((1, 3), 456, 512, True, False),
    ],
    ids=["middle", "odd-blocks", "one-block"],
)
def test_the_weights_of_a_product_of_blocks_are_halves(
    rows: tuple[int, ...], k: int, block: int, has_zeros: bool, has_bias: bool
) -> None:
    ort = pytest.importorskip(
        "onnxruntime", reason="the result of onnxruntime is compared"
    )
    weights = Weights.random(k, block)
    blocks = weights.scales.shape[1]
    arrays = {
        "w": packed(weights.numbers).reshape(N, blocks, block // 2),
        "s": weights.scales.reshape(-1),
    }
    if has_zeros:
        arrays["z"] = packed(weights.zeros).reshape(-1)
    else:
        weights.zeros[:] = 8
    bias = RNG.integers(-9, 9, N).astype(np.float32) if has_bias else np.float32(0)
    names = ["x", "w", "s", "z" if has_zeros else ""]
    if has_bias:
        arrays["b"] = bias
        names += ["", "b"]
    layer = node(
        "MatMulNBits", names, ["y"], "product", domain="com.microsoft",
        K=k, N=N, bits=4, block_size=block,
    )  # fmt: skip
    x = RNG.integers(-7, 8, (*rows, k)).astype(np.float32)
    data = written([layer], x, arrays)
    y = run(data, x)
    np.testing.assert_array_equal(y, weights.product(x) + bias)
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(y, session.run(None, {"x": x})[0])


@pytest.mark.parametrize("dtype", ["INT4", "UINT4"])
def test_scaled_integers_of_4_bits_before_a_product_are_halves(dtype: str) -> None:
    low = -8 if dtype == "INT4" else 0
    k, block = 480, 32
    weights = Weights.random(k, block, low)
    kind = getattr(onnx.TensorProto, dtype)

    def held(name: str, numbers: Any) -> Any:
        raw = packed(numbers.T & 15).tobytes()
        return onnx.helper.make_tensor(name, kind, numbers.T.shape, raw, raw=True)

    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["v"], "d", axis=0, block_size=block),
        node("MatMul", ["x", "v"], ["y"], "product"),
    ]
    arrays = {
        "w": held("w", weights.numbers),
        "s": weights.scales.T.copy(),
        "z": held("z", weights.zeros),
    }
    x = RNG.integers(-7, 8, (2, k)).astype(np.float32)
    y = run(written(nodes, x, arrays), x)
    np.testing.assert_array_equal(y, weights.product(x))


def test_a_product_without_columns_has_no_halves() -> None:
    nodes = [node("Relu", ["v"], ["w"]), node("MatMul", ["x", "w"], ["y"])]
    proto = model(nodes, {"x": (1, 8), "v": (8, 1)}, {"y": (1, 1)})
    kernel = read(proto).compile(threads=1)
    row = np.arange(-4, 4, dtype=np.float32)[None]
    np.testing.assert_array_equal(kernel(row, row.T), np.maximum(row, 0) @ row.T)
