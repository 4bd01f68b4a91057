"""Casts to fewer bits round, bit for bit; so do the functions that give integers."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morello
from morello.spec import Dtype
from tests.frontends.maps import elementwise

Floats = np.ndarray[Any, np.dtype[np.float32]]

COUNT = 96


def numbers() -> Floats:
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 1 << 32, COUNT - 32, np.uint32).view(np.float32)
    ties = np.arange(-8, 8, dtype=np.float32) / 2
    near = [0.0, -0.0, -0.3, 65519.9, 65520, 1e-6, -1e-8, 3.39e38, 2.0**23 - 0.5]
    near += [1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, np.inf, -np.inf, np.nan, 0.5]
    values = np.concatenate([wide, ties, np.asarray(near, np.float32)])
    return values.astype(np.float32)


def same(result: Floats, wanted: Floats) -> bool:
    bits = result.view(np.int32) == wanted.astype(np.float32).view(np.int32)
    return bool(np.all(bits | (np.isnan(result) & np.isnan(wanted))))


def _away_from_zero(x: Floats) -> Floats:
    size = np.abs(x)
    return np.copysign(np.floor(size) + (size - np.floor(size) >= 0.5), x)


def _there_and_back(name: str) -> str:
    return (
        f"%n = arith.truncf %a : f32 to {name}\n    %r = arith.extf %n : {name} to f32"
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("line", "function"),
    [
        (_there_and_back("bf16"), lambda x: x.astype(ml_dtypes.bfloat16)),
        (_there_and_back("f16"), lambda x: x.astype(np.float16)),
        ("%r = math.floor %a : f32", np.floor),
        ("%r = math.ceil %a : f32", np.ceil),
        ("%r = math.roundeven %a : f32", np.rint),
        ("%r = math.trunc %a : f32", np.trunc),
        ("%r = math.round %a : f32", _away_from_zero),
    ],
    ids=["bf16", "f16", "floor", "ceil", "roundeven", "trunc", "round"],
)
def test_a_body_rounds(line: str, function: Callable[[Floats], Floats]) -> None:
    model = morello.from_mlir(elementwise(line, "96xf32"))
    values = numbers()
    with np.errstate(all="ignore"):
        wanted = function(values).astype(np.float32)
        assert same(model.evaluate(values), wanted)
    assert same(model.compile(threads=1)(values), wanted)


CAST = """
func.func @f(%x: tensor<96xf32>) -> (tensor<96xf32>, tensor<96xbf16>) {
  %n = stablehlo.convert %x : (tensor<96xf32>) -> tensor<96xbf16>
  %w = stablehlo.convert %n : (tensor<96xbf16>) -> tensor<96xf32>
  %y = stablehlo.subtract %x, %w : tensor<96xf32>
  return %y, %n : tensor<96xf32>, tensor<96xbf16>
}
"""


NARROW = pytest.mark.parametrize("dtype", [d for d in Dtype if d.computes_in], ids=str)


@NARROW
def test_a_tensor_that_is_cast_and_cast_back_is_rounded(dtype: Dtype) -> None:
    model = morello.from_mlir(CAST.replace("bf16", str(dtype)))
    x = np.linspace(1, 2, COUNT, dtype=np.float32)
    narrow = x.astype(dtype.numpy)
    lost, rounded = model.compile(threads=1)(x)
    assert lost.any()
    assert np.array_equal(lost, x - narrow.astype(np.float32))
    assert np.array_equal(rounded, narrow)


PRODUCT = """
func.func @f(%x: tensor<8x16xf32>, %w: tensor<16x8xf32>) -> tensor<8x8xf32> {
  %a = stablehlo.convert %x : (tensor<8x16xf32>) -> tensor<8x16xbf16>
  %b = stablehlo.convert %w : (tensor<16x8xf32>) -> tensor<16x8xbf16>
  %t = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x16xbf16>, tensor<16x8xbf16>) -> tensor<8x8xbf16>
  %y = stablehlo.convert %t : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %z = stablehlo.add %y, %y : tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}
"""


@NARROW
def test_a_product_of_casts_is_one_of_rounded_operands_and_is_rounded(
    dtype: Dtype,
) -> None:
    rng = np.random.default_rng(0)
    # Whole numbers of few bits: sums are exact.
    x = (rng.integers(-4000, 4000, (8, 16)) / 128).astype(np.float32)
    w = rng.integers(-4, 5, (16, 8)).astype(np.float32)
    a, b = (v.astype(dtype.numpy).astype(np.float64) for v in (x, w))
    wanted = (a @ b).astype(np.float32).astype(dtype.numpy).astype(np.float32)
    assert np.any(x != a)
    text = PRODUCT.replace("bf16", str(dtype))
    result = morello.from_mlir(text).compile(threads=1, time_limit=1)(x, w)
    assert np.array_equal(result, 2 * wanted)


def test_numbers_of_a_program_are_rounded() -> None:
    line = (
        "%c = arith.constant 1.001 : f32\n    %n = arith.truncf %c : f32 to bf16\n    "
        "%w = arith.extf %n : bf16 to f32\n    %r = arith.mulf %a, %w : f32"
    )
    x = np.linspace(1, 2, COUNT, dtype=np.float32)
    model = morello.from_mlir(elementwise(line, "96xf32"))
    assert np.array_equal(model.evaluate(x), x)


@pytest.mark.parametrize(
    ("form", "dtype"), [("e8m7", Dtype.BF16), ("e5m10", Dtype.F16)]
)
def test_a_reduced_precision_is_that_of_a_narrow_float(form: str, dtype: Dtype) -> None:
    text = CAST.replace("(tensor<96xf32>, tensor<96xbf16>) {", "tensor<96xf32> {")
    lines = text.strip().splitlines()
    op = f"%y = stablehlo.reduce_precision %x, format = {form} : tensor<96xf32>"
    text = "\n".join([lines[0], op, "return %y : tensor<96xf32>", "}"])
    x = numbers()
    with np.errstate(over="ignore"):
        wanted = x.astype(dtype.numpy).astype(np.float32)
    assert same(morello.from_mlir(text).evaluate(x), wanted)


def test_signs_of_zeros_and_infinities() -> None:
    text = "func.func @f(%x: tensor<6xf32>) -> tensor<6xf32> {\n"
    text += "  %y = stablehlo.sign %x : tensor<6xf32>\n  return %y : tensor<6xf32>\n}"
    x = np.array([np.inf, -np.inf, 0.0, -0.0, np.nan, -3], np.float32)
    wanted = np.array([1, -1, 0.0, -0.0, np.nan, -1], np.float32)
    model = morello.from_mlir(text)
    assert same(model.evaluate(x), wanted)
    assert same(model.compile(threads=1)(x), wanted)


def test_softmax_of_linalg_is_one_part() -> None:
    model = morello.from_mlir(
        "func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {\n"
        "  %e = tensor.empty() : tensor<4x8xf32>\n"
        "  %y = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>)\n"
        "      outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>\n"
        "  return %y : tensor<4x8xf32>\n}"
    )
    x = np.random.default_rng(0).standard_normal((4, 8), np.float32)
    wanted = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    assert len(model.parts) == 1
    np.testing.assert_allclose(model.evaluate(x), wanted, rtol=1e-5)


def test_products_with_two_numbers_round_twice() -> None:
    x = np.arange(1000, dtype=np.float32)
    kernel = morello.jit(lambda x: x * np.float32(0.1) * np.float32(10))
    expected = x * np.float32(0.1) * np.float32(10)
    assert (expected != x).any()
    np.testing.assert_array_equal(kernel(x), expected)
