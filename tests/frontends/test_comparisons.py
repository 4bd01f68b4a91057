"""Predicates of floats and divisions of integers at the values where they differ."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from tests.frontends.maps import elementwise

Array = np.ndarray[Any, Any]

A = np.array([1, 2, 2, np.nan, 1, np.nan, -0.0, np.inf, -np.inf], np.float32)
B = np.array([2, 2, 1, 1, np.nan, np.nan, 0.0, np.inf, np.inf], np.float32)
KIND = "tensor<9xf32>"

PREDICATES: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
    "ne": np.not_equal,
}


def truth(predicate: str, a: Array, b: Array) -> Array:
    """What LLVM defines: an ordered one is false of NaN, an unordered one true."""
    is_nan = np.isnan(a) | np.isnan(b)
    if predicate in ("ord", "uno"):
        return is_nan == (predicate == "uno")
    holds = PREDICATES[predicate[1:]](a, b) & ~is_nan
    return holds | is_nan if predicate[0] == "u" else holds


EVERY = [*(f"{o}{p}" for o in "ou" for p in PREDICATES), "ord", "uno"]


def selected(one: str, other: str) -> str:
    """1 or 2 for each element, by each comparison of two values."""
    parts = [
        f"""  %r{place} = linalg.generic {{indexing_maps = [affine_map<(a) -> (a)>,
      affine_map<(a) -> (a)>, affine_map<(a) -> (a)>], iterator_types = ["parallel"]}}
      ins(%x, %y : {KIND}, {KIND}) outs(%e : {KIND}) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %c = arith.cmpf {predicate}, {one}, {other} : f32
      %v = arith.select %c, %one, %two : f32
      linalg.yield %v : f32
  }} -> {KIND}"""
        for place, predicate in enumerate(EVERY)
    ]
    kinds = ", ".join([KIND] * len(EVERY))
    results = ", ".join(f"%r{place}" for place in range(len(EVERY)))
    return "\n".join(
        (
            f"func.func @f(%x: {KIND}, %y: {KIND}) -> ({kinds}) {{",
            "  %one = arith.constant 1.0 : f32",
            "  %two = arith.constant 2.0 : f32",
            "  %nan = arith.constant 0x7FC00000 : f32",
            f"  %e = tensor.empty() : {KIND}",
            *parts,
            f"  return {results} : {kinds}",
            "}",
        )
    )


VALUES = {"%a": A, "%b": B, "%one": 1, "%two": 2, "%nan": np.nan}


@pytest.mark.parametrize("one", ["%a", "%one"])
@pytest.mark.parametrize("other", ["%b", "%two", "%nan"])
def test_predicates_are_those_of_llvm(one: str, other: str) -> None:
    model = morello.from_mlir(selected(one, other))
    assert not model.fallback
    left, right = (np.full_like(A, VALUES[name]) for name in (one, other))
    results = model.evaluate(A, B)
    for predicate, result in zip(EVERY, results, strict=True):
        wanted = np.where(truth(predicate, left, right), 1, 2)
        np.testing.assert_array_equal(result, wanted, err_msg=predicate)


DIVISIONS: dict[str, Callable[[Array, int], Array]] = {
    "divsi": lambda a, b: np.trunc(a / b),
    "floordivsi": lambda a, b: np.floor(a / b),
    "ceildivsi": lambda a, b: np.ceil(a / b),
    "remsi": lambda a, b: np.fmod(a, b),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("divisor", [2, -2, 3])
@pytest.mark.parametrize("op", DIVISIONS)
def test_places_below_0_are_divided_as_the_op_says(op: str, divisor: int) -> None:
    """Of known places: they become a table when the program is read."""
    body = f"""%four = arith.constant 4 : index
      %d = arith.constant {divisor} : index
      %i = linalg.index 0 : index
      %k = arith.subi %i, %four : index
      %q = arith.{op} %k, %d : index
      %n = arith.index_cast %q : index to i64
      %t = arith.sitofp %n : i64 to f32
      %r = arith.addf %a, %t : f32"""
    x = np.zeros(9, np.float32)
    model = morello.from_mlir(elementwise(body, "9xf32"))
    assert not model.fallback
    wanted = DIVISIONS[op](np.arange(9) - 4, divisor)
    np.testing.assert_array_equal(model.evaluate(x), wanted)


COLLAPSED = """func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<3x2x4xf32>)
    -> tensor<6x4xf32> {
  %a = tensor.collapse_shape %x [[0, 1], [2]]
      : tensor<2x3x4xf32> into tensor<6x4xf32>
  %b = tensor.collapse_shape %y [[0, 1], [2]]
      : tensor<3x2x4xf32> into tensor<6x4xf32>
  %z = stablehlo.add %a, %b : tensor<6x4xf32>
  return %z : tensor<6x4xf32>
}"""


def test_operands_that_are_collapsed_from_other_shapes_keep_their_order() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    y = 100 * np.arange(24, dtype=np.float32).reshape(3, 2, 4)
    result = morello.from_mlir(COLLAPSED).evaluate(x, y)
    np.testing.assert_array_equal(result, x.reshape(6, 4) + y.reshape(6, 4))


def test_an_axis_of_one_element_is_added_beside_axes_of_the_same_sizes() -> None:
    """A view that turns nothing, beside a transposition of the same sizes."""
    text = """func.func @f(%x: tensor<3x2xf32>, %y: tensor<2x3xf32>)
    -> tensor<1x2x3xf32> {
  %a = stablehlo.reshape %x : (tensor<3x2xf32>) -> tensor<1x2x3xf32>
  %b = stablehlo.reshape %y : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  %z = stablehlo.subtract %a, %b : tensor<1x2x3xf32>
  return %z : tensor<1x2x3xf32>
}"""
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    y = 10 * np.arange(6, dtype=np.float32).reshape(2, 3)
    result = morello.from_mlir(text).evaluate(x, y)
    np.testing.assert_array_equal(result, (x.reshape(2, 3) - y)[None])
