"""Products of bf16 that may take denormals for zero, in programs of frameworks."""

import numpy as np
import pytest

import morello

pytestmark = pytest.mark.quick


def layer(dtype: str) -> str:
    """A product of matrices, to which another matrix is added."""
    return f"""
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<4x8x{dtype}>, %w: tensor<8x6x{dtype}>, %c: tensor<4x6xf32>)
    -> tensor<4x6xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x6xf32>)
      -> tensor<4x6xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8x{dtype}>, tensor<8x6x{dtype}>)
      outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.generic {{indexing_maps = [#id, #id, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins(%p, %c : tensor<4x6xf32>, tensor<4x6xf32>) outs(%empty : tensor<4x6xf32>) {{
  ^bb0(%a: f32, %b: f32, %out: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  }} -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}}"""


def test_a_product_of_bf16_and_its_epilogue_flush_where_they_may() -> None:
    model = morello.from_mlir(layer("bf16"), flushing=True)
    assert len(model.parts) == 1
    text = "residual_matmul:4x8x6:bf16,bf16,f32,f32:flushing=true of x, w, c"
    assert text in str(model)
    exact = morello.from_mlir(layer("bf16"))
    assert "flushing" not in str(exact)
    rng = np.random.default_rng(0)
    x, w = (
        rng.integers(-4, 5, s).astype(p.dtype)
        for s, p in zip([(4, 8), (8, 6)], model.parameters, strict=False)
    )
    c = np.ones((4, 6), np.float32)
    wanted = x.astype(np.float32) @ w.astype(np.float32) + 1
    for one in (model, exact):
        np.testing.assert_array_equal(one.evaluate(x, w, c), wanted)


def test_products_of_f32_stay_as_they_are() -> None:
    models = [morello.from_mlir(layer("f32"), flushing=f) for f in (False, True)]
    assert str(models[0]) == str(models[1])


def rows(narrow: str) -> str:
    """A product of the square roots of a matrix, which are stored in bf16.

    Args:
        narrow: the dtype of the second factor.
    """
    return f"""
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<4x8xbf16>, %v: tensor<8x8xbf16>, %w: tensor<8x6x{narrow}>)
    -> tensor<4x6xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  %s = linalg.matmul ins(%x, %v : tensor<4x8xbf16>, tensor<8x8xbf16>)
      outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = arith.constant dense<0xFF800000> : tensor<4xf32>
  %top = linalg.reduce ins(%s : tensor<4x8xf32>) outs(%m : tensor<4xf32>)
      dimensions = [1] (%a: f32, %b: f32) {{
    %max = arith.maximumf %a, %b : f32
    linalg.yield %max : f32
  }}
  %thin = tensor.empty() : tensor<4x8xbf16>
  %p = linalg.generic {{indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>, #id],
      iterator_types = ["parallel", "parallel"]}}
      ins(%s, %top : tensor<4x8xf32>, tensor<4xf32>)
      outs(%thin : tensor<4x8xbf16>) {{
  ^bb0(%a: f32, %b: f32, %out: bf16):
    %less = arith.subf %a, %b : f32
    %power = math.exp %less : f32
    %short = arith.truncf %power : f32 to bf16
    linalg.yield %short : bf16
  }} -> tensor<4x8xbf16>
  %last = tensor.empty() : tensor<4x6xf32>
  %begin = linalg.fill ins(%zero : f32) outs(%last : tensor<4x6xf32>)
      -> tensor<4x6xf32>
  %y = linalg.matmul ins(%p, %w : tensor<4x8xbf16>, tensor<8x6x{narrow}>)
      outs(%begin : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}}"""


def test_factors_that_a_graph_computes_are_rounded_as_the_program_does() -> None:
    model = morello.from_mlir(rows("bf16"), flushing=True)
    (text,) = map(str, (part.kind.text for part in model.parts))
    assert "=round_bf16(exp(v0-" in text
    assert model.parts[0].kind.flushing
    exact = morello.from_mlir(rows("bf16"))
    assert [part.kind.text for part in exact.parts] == [text]
    assert not exact.parts[0].kind.flushing
