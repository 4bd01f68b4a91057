"""Functions that are several rows of the table, or numbers."""

import numpy as np
import pytest

import morello

X = np.array([0.25, 3.0, 0.5, 7.0], np.float32)


ENDS = [np.nan, np.inf, -np.inf]
POWERS = [
    *ENDS,
    0.5,
    -0.5,
    1.5,
    2.5,
    0.0,
    1.0,
    2.0,
    3.0,
    -1.0,
    -2.0,
    -3.0,
    17.0,
    0.3,
    1 / 3,
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("power", POWERS)
def test_powers_of_a_number_are_those_of_ieee_754(power: float) -> None:
    values = [-np.inf, np.inf, -0.0, 0, np.nan, -2, 3, 1e-30, 1e30, 0.7, 1, -1]
    x = np.array(values, np.float32)
    bits = np.float32(power).view(np.uint32)
    text = f"""func.func @f(%x: tensor<12xf32>) -> tensor<12xf32> {{
  %p = stablehlo.constant dense<0x{bits:08X}> : tensor<12xf32>
  %y = stablehlo.power %x, %p : tensor<12xf32>
  return %y : tensor<12xf32>
}}"""
    exponents = np.full(12, np.float32(power), np.float64)  # of one NumPy takes a root
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), exponents).astype(np.float32)
    result = morello.from_mlir(text).evaluate(x)
    np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-45)
    zero = wanted == 0
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(wanted[zero]))


@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        ("math.copysign %k, %k", -2.5),
        ("math.fma %k, %k, %k", 3.75),
        ("math.log10 %h", 2.0),
        ("math.trunc %k", -2.0),
        ("math.round %k", -3.0),
        ("math.powf %h, %k", 1e-5),
    ],
)
def test_functions_of_numbers_alone_are_numbers(op: str, wanted: float) -> None:
    kind = "tensor<4xf32>"
    text = f"""func.func @f(%x: {kind}) -> ({kind}, {kind}) {{
  %k = arith.constant -2.5 : f32
  %h = arith.constant 100.0 : f32
  %e = tensor.empty() : {kind}
  %r:2 = linalg.generic {{indexing_maps = [affine_map<(a) -> (a)>,
      affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]}}
      ins(%x : {kind}) outs(%e, %e : {kind}, {kind}) {{
    ^bb0(%a: f32, %o: f32, %p: f32):
      %v = {op} : f32
      %w = arith.addf %a, %v : f32
      linalg.yield %v, %w : f32, f32
  }} -> ({kind}, {kind})
  return %r#0, %r#1 : {kind}, {kind}
}}"""
    alone, added = morello.from_mlir(text).evaluate(X)
    np.testing.assert_allclose(alone, np.full(4, wanted), rtol=1e-6)
    np.testing.assert_allclose(added, X + np.float32(wanted), rtol=1e-6)


def test_fma_rounds_once() -> None:
    kind = "tensor<4xf32>"
    text = f"""func.func @f(%x: {kind}, %y: {kind}, %z: {kind}) -> {kind} {{
  %e = tensor.empty() : {kind}
  %r = linalg.map {{ math.fma }} ins(%x, %y, %z : {kind}, {kind}, {kind})
      outs(%e : {kind})
  return %r : {kind}
}}"""
    y = np.array([1 / 3, -1.1, 1e9 + 64, 1 / 7], np.float32)
    rounded, program = X * y, morello.from_mlir(text)
    error = X.astype(float) * y - rounded
    assert error.any()
    for result in (
        program.evaluate(X, y, -rounded),
        morello.compile(program)(X, y, -rounded),
    ):
        np.testing.assert_array_equal(result, error)
