"""Products of bf16 that may take denormals for zero are Specs by themselves."""

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


def test_a_product_of_bf16_flushes_by_itself_where_it_may() -> None:
    model = morello.from_mlir(layer("bf16"), flushing=True)
    assert "matmul:4x8x6:bf16,bf16,f32:flushing=true of x, w" in str(model)
    exact = morello.from_mlir(layer("bf16"))
    assert "flushing" not in str(exact)
    rng = np.random.default_rng(0)
    x, w = (
        rng.integers(-4, 5, s).astype(p.dtype)
        for s, p in zip([(4, 8), (8, 6)], model.parameters, strict=False)
    )
    c = np.ones((4, 6), np.float32)
    wanted = x.astype(np.float32) @ w.astype(np.float32) + 1
    for own in (model, exact):
        np.testing.assert_array_equal(own.evaluate(x, w, c), wanted)


def test_products_of_f32_stay_as_they_are() -> None:
    models = [morello.from_mlir(layer("f32"), flushing=f) for f in (False, True)]
    assert str(models[0]) == str(models[1])
