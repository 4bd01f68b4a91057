"""Casts of floats to bytes: maps that round, where limits are those of bytes."""

import numpy as np
import pytest

import morello

pytestmark = pytest.mark.quick

X = np.array(
    [np.nan, np.inf, -np.inf, -0.0, 0.5, 2.5, 2.75, -1.5, 127.5, 254.5, 300, -200],
    np.float32,
)


def program(least: float, most: float, cast: str) -> str:
    """A program that clamps numbers, casts them to bytes, and these to floats."""
    again = {"fptosi": "sitofp", "fptoui": "uitofp"}[cast]
    return f"""
#id = affine_map<(d0) -> (d0)>
#one = {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
func.func @main(%x: tensor<12xf32>) -> tensor<12xf32> {{
  %least = arith.constant {least:e} : f32
  %most = arith.constant {most:e} : f32
  %bytes = tensor.empty() : tensor<12xi8>
  %floats = tensor.empty() : tensor<12xf32>
  %b = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
      ins(%x : tensor<12xf32>) outs(%bytes : tensor<12xi8>) {{
  ^bb0(%in: f32, %out: i8):
    %0 = arith.maximumf %in, %least : f32
    %1 = arith.minimumf %0, %most : f32
    %2 = math.roundeven %1 : f32
    %3 = arith.{cast} %2 : f32 to i8
    linalg.yield %3 : i8
  }} -> tensor<12xi8>
  %y = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
      ins(%b : tensor<12xi8>) outs(%floats : tensor<12xf32>) {{
  ^bb0(%in: i8, %out: f32):
    %0 = arith.{again} %in : i8 to f32
    linalg.yield %0 : f32
  }} -> tensor<12xf32>
  return %y : tensor<12xf32>
}}"""


@pytest.mark.parametrize(
    ("least", "most", "cast", "rounding"),
    [(0, 255, "fptoui", "round_u8"), (-128, 127, "fptosi", "round_s8")],
)
def test_a_map_rounds_to_bytes(
    least: float, most: float, cast: str, rounding: str
) -> None:
    model = morello.from_mlir(program(least, most, cast))
    assert rounding in str(model)
    assert "fallback" not in str(model)
    kernel = model.compile(threads=1, time_limit=1)
    wanted = np.rint(np.clip(np.nan_to_num(X, nan=0.0), least, most))
    np.testing.assert_array_equal(kernel(X), wanted)


def test_a_cast_of_any_numbers_is_no_map() -> None:
    assert "fallback" in str(morello.from_mlir(program(-1000, 1000, "fptosi")))
