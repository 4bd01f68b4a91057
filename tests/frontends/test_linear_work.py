"""Ops whose loops do as much as they read and write are compiled unasked."""

from typing import Any

import numpy as np
import pytest

import morello
from morello.frontends.refusals import ModelError

pytestmark = pytest.mark.usefixtures("one_database")

X = np.array([[3.0, -1.0, np.nan, 2.0], [0.0, -0.0, 5.0, -7.0]], np.float32)
PLACES = np.array([1, 0, 1], np.int32)

KEPT = "tensor<2x4xf32>"


LINEAR = {
    "a comparison": (
        f"%z = stablehlo.constant dense<0.0> : {KEPT}\n"
        f"%y = stablehlo.compare GT, %x, %z : ({KEPT}, {KEPT}) -> tensor<2x4xi1>",
        "tensor<2x4xi1>",
        X > 0,
    ),
    "a sum of integers": (
        "%w = stablehlo.convert %i : (tensor<3xi32>) -> tensor<3xi64>\n"
        "%y = stablehlo.add %w, %w : tensor<3xi64>",
        "tensor<3xi64>",
        2 * PLACES.astype(np.int64),
    ),
    "rows at places": (
        "%c = stablehlo.reshape %i : (tensor<3xi32>) -> tensor<3x1xi32>\n"
        '%y = "stablehlo.gather"(%x, %c) <{dimension_numbers = #stablehlo.gather<'
        "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
        "index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> "
        f": ({KEPT}, tensor<3x1xi32>) -> tensor<3x4xf32>",
        "tensor<3x4xf32>",
        X[PLACES],
    ),
    "one-hot rows": (
        "%n = stablehlo.iota dim = 1 : tensor<3x5xi32>\n"
        "%w = stablehlo.broadcast_in_dim %i, dims = [0] "
        ": (tensor<3xi32>) -> tensor<3x5xi32>\n"
        "%t = stablehlo.compare EQ, %w, %n "
        ": (tensor<3x5xi32>, tensor<3x5xi32>) -> tensor<3x5xi1>\n"
        "%y = stablehlo.convert %t : (tensor<3x5xi1>) -> tensor<3x5xf32>",
        "tensor<3x5xf32>",
        np.eye(5, dtype=np.float32)[PLACES],
    ),
    "a product of a matrix and a vector of integers": (
        "%m = stablehlo.broadcast_in_dim %i, dims = [1] "
        ": (tensor<3xi32>) -> tensor<5x3xi32>\n"
        "%y = stablehlo.dot_general %m, %i, contracting_dims = [1] x [0] "
        ": (tensor<5x3xi32>, tensor<3xi32>) -> tensor<5xi32>",
        "tensor<5xi32>",
        np.full(5, 2, np.int32),
    ),
    "an outer product of integers": (
        "%a = stablehlo.reshape %i : (tensor<3xi32>) -> tensor<3x1xi32>\n"
        "%b = stablehlo.reshape %i : (tensor<3xi32>) -> tensor<1x3xi32>\n"
        "%y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] "
        ": (tensor<3x1xi32>, tensor<1x3xi32>) -> tensor<3x3xi32>",
        "tensor<3x3xi32>",
        np.outer(PLACES, PLACES),
    ),
    "a product of each row": (
        "%one = stablehlo.constant dense<1.0> : tensor<f32>\n"
        "%y = stablehlo.reduce(%x init: %one) applies stablehlo.multiply "
        f"across dimensions = [1] : ({KEPT}, tensor<f32>) -> tensor<2xf32>",
        "tensor<2xf32>",
        X.prod(axis=1),
    ),
    "rows that are written at a place": (
        "%k = stablehlo.slice %i [0:1] : (tensor<3xi32>) -> tensor<1xi32>\n"
        "%s = stablehlo.reshape %k : (tensor<1xi32>) -> tensor<i32>\n"
        "%o = stablehlo.constant dense<0> : tensor<i32>\n"
        "%r = stablehlo.slice %x [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>\n"
        "%y = stablehlo.dynamic_update_slice %x, %r, %s, %o : "
        f"({KEPT}, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> {KEPT}",
        KEPT,
        X[[0, 0]],
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", LINEAR)
def test_linear_work_is_compiled_unasked(case: str) -> None:
    body, kind, wanted = LINEAR[case]
    text = (
        f"func.func @f(%x: {KEPT}, %i: tensor<3xi32>) -> {kind} "
        f"{{\n{body}\nreturn %y : {kind}\n}}"
    )
    model = morello.from_mlir(text)
    assert model.fallback
    assert "fallback: " in str(model)
    result = model.compile()(X, PLACES)
    assert result.dtype == wanted.dtype
    np.testing.assert_array_equal(result, wanted)


def scan(body: str, inclusive: bool) -> str:
    """A cumulative function of rows, as torch-mlir writes it."""
    row = "tensor<2xf32>"
    return f"""func.func @f(%x: {KEPT}) -> {KEPT} {{
  %e = tensor.empty() : {KEPT}
  %a = tensor.empty() : {row}
  %y:2 = tm_tensor.scan dimension(1) inclusive({str(inclusive).lower()})
      ins(%x : {KEPT}) outs(%e, %a : {KEPT}, {row}) {{
    ^bb0(%v: f32, %s: f32):
      %t = {body} %v, %s : f32
      tm_tensor.yield %t : f32
  }} -> {KEPT}, {row}
  return %y#0 : {KEPT}
}}"""


@pytest.mark.parametrize(
    ("body", "function"), [("arith.addf", np.cumsum), ("arith.mulf", np.cumprod)]
)
def test_cumulative_functions_are_loops(body: str, function: Any) -> None:
    model = morello.from_mlir(scan(body, inclusive=True))
    np.testing.assert_allclose(model.compile()(X), function(X, axis=1), rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((7,), 0), ((9, 3), 1), ((5, 6, 7), 1), ((2, 1), 1), ((1, 9), 0)],
)
def test_cumulative_sums_along_each_axis_of_few_and_many_rows(
    shape: tuple[int, ...], axis: int
) -> None:
    kind = "tensor<" + "".join(f"{n}x" for n in shape) + "f32>"
    row = "tensor<" + "".join(f"{n}x" for n in np.delete(shape, axis)) + "f32>"
    text = scan("arith.addf", inclusive=True).replace(
        "dimension(1)", f"dimension({axis})"
    )
    text = text.replace(KEPT, kind).replace("tensor<2xf32>", row)
    x = np.random.default_rng(5).standard_normal(shape, np.float32)
    sums = morello.from_mlir(text).evaluate(x)
    np.testing.assert_array_equal(sums, np.cumsum(x, axis=axis))


def test_cumulative_sums_without_the_last_element_are_refused() -> None:
    with pytest.raises(ModelError, match=r"tm_tensor\.scan: no graph"):
        morello.from_mlir(scan("arith.addf", inclusive=False), fallback=True)


@pytest.mark.parametrize(
    ("adds", "wanted"),
    [(False, [[4, 1], [2, 3], [6, 6]]), (True, [[4, 2], [2, 3], [13, 15]])],
)
def test_scatters_of_torch_are_loops(adds: bool, wanted: list[list[float]]) -> None:
    """Rows at place 0, twice at -1, which is the last, and at 9, which is outside."""
    combined = "%c = arith.addf %o, %n : f32\n      " if adds else ""
    text = f"""func.func @f(%x: tensor<3x2xf32>, %i: tensor<4x1xi64>,
    %u: tensor<4x1x2xf32>) -> tensor<3x2xf32> {{
  %y = tm_tensor.scatter {{dimension_map = array<i64: 0>}} unique_indices(false)
      ins(%u, %i : tensor<4x1x2xf32>, tensor<4x1xi64>)
      outs(%x : tensor<3x2xf32>) {{
    ^bb0(%n: f32, %o: f32):
      {combined}tm_tensor.yield {"%c" if combined else "%n"} : f32
  }} -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}}"""
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    updates = np.array([[4, 1], [3, 4], [7, 8], [6, 6]], np.float32)
    places = np.array([[0], [-1], [9], [-1]])
    result = morello.from_mlir(text).compile()(x, places, updates.reshape(4, 1, 2))
    np.testing.assert_array_equal(result, wanted)


HEAVY = {
    "a product of integers": (
        "%y = stablehlo.dot_general %i, %i, contracting_dims = [1] x [1] "
        ": (tensor<8x8xi64>, tensor<8x8xi64>) -> tensor<8x8xi64>"
    ),
    "windows of many elements": (
        "%l = stablehlo.constant dense<0> : tensor<i64>\n"
        '%y = "stablehlo.reduce_window"(%i, %l) <{padding = dense<2> : '
        "tensor<2x2xi64>, window_dimensions = array<i64: 5, 5>}> ({\n"
        "^bb0(%a: tensor<i64>, %b: tensor<i64>):\n"
        "%m = stablehlo.maximum %a, %b : tensor<i64>\n"
        "stablehlo.return %m : tensor<i64>\n"
        "}) : (tensor<8x8xi64>, tensor<i64>) -> tensor<8x8xi64>"
    ),
}


@pytest.mark.parametrize("case", HEAVY)
def test_more_work_than_elements_is_left_where_it_is_asked_alone(case: str) -> None:
    text = (
        "func.func @f(%i: tensor<8x8xi64>) -> tensor<8x8xi64> "
        f"{{\n{HEAVY[case]}\nreturn %y : tensor<8x8xi64>\n}}"
    )
    with pytest.raises(ModelError, match=r"1 op has no Spec:\n.*: stablehlo\."):
        morello.from_mlir(text)
    assert morello.from_mlir(text, fallback=True).fallback


def test_a_loop_over_data_is_no_linear_work() -> None:
    text = """func.func @f(%i: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %n = tensor.extract %i[] : tensor<i32>
  %end = arith.index_cast %n : i32 to index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %y = scf.for %k = %zero to %end step %one iter_args(%t = %x) -> tensor<4xf32> {
    %v = math.sin %t : tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}"""
    with pytest.raises(ModelError, match=r"scf\.for") as refused:
        morello.from_mlir(text)
    assert [refusal.op for refusal in refused.value.refusals] == ["scf.for"]
    morello.from_mlir(text.replace("to %end", "to %one"))
