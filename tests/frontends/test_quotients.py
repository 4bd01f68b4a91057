"""Quotients are rounded once, whatever is divided by: n / n is 1 for each n."""

from typing import Any

import numpy as np
import pytest

import morello

N = np.arange(1, 129, dtype=np.float32)
"""41 times the rounded inverse of 41 is less than 1, and 41 is not the only one."""

ROWS = np.broadcast_to(N, (8, 128)).copy()


def floors_of_mlir() -> Any:
    """floor(x / o) with a divisor for each column."""
    read = morello.from_mlir("""module {
func.func @f(%x: tensor<8x128xf32>, %o: tensor<128xf32>) -> tensor<8x128xf32> {
  %b = stablehlo.broadcast_in_dim %o, dims = [1]
    : (tensor<128xf32>) -> tensor<8x128xf32>
  %d = stablehlo.divide %x, %b : tensor<8x128xf32>
  %r = stablehlo.floor %d : tensor<8x128xf32>
  return %r : tensor<8x128xf32>
}
}""")
    return read.compile(threads=1, time_limit=1)


def test_by_a_number_for_each_column() -> None:
    kernel = floors_of_mlir()
    np.testing.assert_array_equal(kernel(ROWS, N), np.ones_like(ROWS))
    tiny = np.full(128, 2.0**-130, np.float32)  # its inverse is infinite
    np.testing.assert_array_equal(kernel(np.full_like(ROWS, 2.0**-128), tiny), 4.0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [41.0, 47.0, 7.0, 2.0**-130, 3e38, 8.0])
def test_by_a_constant(number: float) -> None:
    x = np.float32(number) * (np.arange(1, 9, dtype=np.float32) / 8)
    read = morello.from_mlir(f"""module {{
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {{
  %c = stablehlo.constant dense<{number:e}> : tensor<8xf32>
  %d = stablehlo.divide %x, %c : tensor<8xf32>
  return %d : tensor<8xf32>
}}
}}""")
    expected = x / np.float32(number)
    np.testing.assert_array_equal(read.evaluate(x), expected)
    np.testing.assert_array_equal(read.compile(threads=1, time_limit=1)(x), expected)


def test_by_roots() -> None:
    squares = np.square(N)
    divided = morello.jit(lambda x, o: np.floor(x / np.sqrt(o)))
    np.testing.assert_array_equal(divided(ROWS, squares), np.ones_like(ROWS))


def test_by_columns_through_jit() -> None:
    kernel = morello.jit(lambda x, o: np.trunc(x / o))
    np.testing.assert_array_equal(kernel(ROWS, N), np.ones_like(ROWS))
    by_number = morello.jit(lambda x: np.floor(x / np.float32(41)))
    np.testing.assert_array_equal(by_number(N), np.floor(N / np.float32(41)))


@pytest.mark.sampled(3)
def test_through_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def quotients(x, o):  # type: ignore[no-untyped-def]
        return torch.div(x, o, rounding_mode="trunc"), torch.floor(x / o)

    torch._dynamo.reset()
    options = {"wait": True, "time_limit": 0.2}
    compiled = torch.compile(quotients, backend="morello", options=options)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, o = torch.from_numpy(ROWS).to(dtype), torch.from_numpy(N).to(dtype)
        for quotient in compiled(x, o):
            assert (quotient == 1).all()


def test_through_onnx() -> None:
    pytest.importorskip("onnx", reason="ONNX is not installed")
    from tests.onnx.models import model, node

    nodes = [node("Div", ["x", "o"], ["q"]), node("Floor", ["q"], ["y"])]
    proto = model(nodes, {"x": (8, 128), "o": (128,)}, {"y": (8, 128)})
    read = morello.from_onnx(proto.SerializeToString())
    kernel = read.compile(threads=1, time_limit=1)
    np.testing.assert_array_equal(kernel(ROWS, N), np.ones_like(ROWS))


def test_a_softmax_is_one_reciprocal_a_row() -> None:
    read = morello.from_mlir("""module {
func.func @f(%x: tensor<8x48xf32>) -> tensor<8x48xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<8x48xf32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<8x48xf32>, tensor<f32>) -> tensor<8xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x48xf32>
  %d = stablehlo.divide %e, %b : tensor<8x48xf32>
  return %d : tensor<8x48xf32>
}
}""")
    assert "v2[d0]=1.0/v1;out v3[d0,d1]=v0*v2" in str(read)
