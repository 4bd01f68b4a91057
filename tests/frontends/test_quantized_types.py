"""Quantised types of StableHLO by their definition: integers less a zero point, times a
scale."""

from typing import Any

import numpy as np
import pytest

import morello
from morello.frontends.refusals import ModelError
from tests.tables import rows

pytestmark = pytest.mark.quick

Array = np.ndarray[Any, Any]
X, W = "!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8:f32, 0.25:0>"
SUM = "!quant.uniform<i8:f32, 4.0:-2>"
OF_COLUMNS = "!quant.uniform<i8<-127:127>:f32:1, {0.25, 0.5, 2.0}>"
RNG = np.random.default_rng(5)


def numbers(*shape: int) -> Array:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def function(inputs: dict[str, str], result: str, op: str) -> str:
    arguments = ", ".join(f"%{name}: tensor<{kind}>" for name, kind in inputs.items())
    kinds = ", ".join(f"tensor<{kind}>" for kind in inputs.values())
    return (
        f"func.func @main({arguments}) -> tensor<{result}> {{ "
        f"%y = {op} : ({kinds}) -> tensor<{result}> return %y : tensor<{result}> }}"
    )


def rounded(y: Array, scale: float, zero: int) -> Array:
    return np.clip(np.rint(y / scale + zero), -128, 127).astype(np.int8)


def real(x: Array, scale: Any, zero: int) -> Array:
    return np.multiply(x.astype(np.float64) - zero, scale)


DOT = "stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]"
WINDOW = (
    "stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
    "window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
)


def convolved(x: Array, w: Array) -> Array:
    first, second = x[:, :-1], x[:, 1:]
    y: Array = first @ w[0] + second @ w[1]
    return y


CASES = {name: line for name, *line in rows(__file__, "quantized_types")}
"""Types of arguments, that of the result, an op, and what it means."""


@pytest.mark.parametrize("name", CASES)
def test_ops_are_those_of_the_numbers(name: str) -> None:
    inputs, result, op, definition = map(eval, CASES[name])
    read = morello.from_mlir(function(inputs, result, op))
    arrays = []
    for kind in inputs.values():
        *shape, element = kind.split("x")
        sizes = [int(size) for size in shape if size.isdigit()]
        whole = numbers(*sizes)
        arrays.append(whole if "quant" in element else whole.astype(np.float32) / 4)
    y = read.evaluate(*arrays)
    np.testing.assert_array_equal(y, definition(*arrays))
    if name in ("dot", "convolution"):
        assert any(":s8,s8,s32,s8:" in str(spec) for spec in read.specs())


def test_integers_without_a_sign_are_refused() -> None:
    inputs = {"x": "4x8xf32"}
    kind = "4x8x!quant.uniform<u8:f32, 0.5:130>"
    with pytest.raises(ModelError, match=r"uniform_quantize: its integers have no sig"):
        morello.from_mlir(function(inputs, kind, "stablehlo.uniform_quantize %x"))
