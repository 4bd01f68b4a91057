"""Ops whose loops do as much as they read and write are compiled unasked."""

from typing import Any

import numpy as np
import pytest

import morello
from morello.frontends.refusals import ModelError
from tests.tables import rows

pytestmark = pytest.mark.usefixtures("one_database")

X = np.array([[3.0, -1.0, np.nan, 2.0], [0.0, -0.0, 5.0, -7.0]], np.float32)
PLACES = np.array([1, 0, 1], np.int32)

KEPT = "tensor<2x4xf32>"


LINEAR = {name: line for name, *line in rows(__file__, "linear_work")}
"""The result's type, the lines of the program, and what NumPy computes."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", LINEAR)
def test_linear_work_is_compiled_unasked(case: str) -> None:
    kind, body, right = LINEAR[case]
    wanted, lines = eval(right), body.replace("; ", "\n")
    text = (
        f"func.func @f(%x: {KEPT}, %i: tensor<3xi32>) -> {kind} "
        f"{{\n{lines}\nreturn %y : {kind}\n}}"
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
