"""Integers in memory are read by graphs: as numbers of f32, or computed in s32.

What a program adds up is exact: f32 has no room for sums of many integers.
"""

from typing import Any

import numpy as np
import pytest

import morello

pytestmark = [pytest.mark.quick, pytest.mark.usefixtures("one_database")]


RNG = np.random.default_rng(0)


def every(dtype: Any, *shape: int) -> np.ndarray:
    """Integers of all sizes, the least and the greatest among them."""
    limits = np.iinfo(dtype)
    drawn = RNG.integers(limits.min, limits.max + 1, shape, dtype=dtype)
    drawn.reshape(-1)[:2] = limits.min, limits.max
    return drawn


X = RNG.integers(-4, 5, (3, 8)).astype(np.float32)
S8, U8 = every(np.int8, 8, 4), every(np.uint8, 8, 4)
S16, U16 = every(np.int16, 3, 8), every(np.uint16, 3, 8)
S32 = every(np.int32, 3, 8)

DOT = "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]"


def product(left: str, right: str, out: str) -> str:
    return f"""%r = {DOT} : (tensor<3x8x{left}>, tensor<8x4x{right}>)
        -> tensor<3x4x{out}>"""


def cast_product(right: str) -> str:
    return f"""%c = stablehlo.convert %b : (tensor<8x4x{right}>) -> tensor<8x4xf32>
    %r = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0]
        : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>"""


def sum_of(a: str) -> str:
    return f"""%c = stablehlo.convert %a : (tensor<3x8x{a}>) -> tensor<3x8xf32>
    %r = stablehlo.add %c, %b : tensor<3x8xf32>"""


READS = {
    "weights of s8": (cast_product("i8"), "f32", (X, S8), X @ S8.astype(np.float32)),
    "weights of u8": (cast_product("ui8"), "f32", (X, U8), X @ U8.astype(np.float32)),
    "s16": (sum_of("i16"), "f32", (S16, X), S16 + X),
    "u16": (sum_of("ui16"), "f32", (U16, X), U16 + X),
    "s32": (sum_of("i32"), "f32", (S32, X), S32.astype(np.float32) + X),
    "widened factors": (
        f"""%v = stablehlo.convert %a : (tensor<3x8xi16>) -> tensor<3x8xi32>
    %w = stablehlo.convert %b : (tensor<8x4xi8>) -> tensor<8x4xi32>
    {product("i32", "i32", "i32").replace("%a, %b", "%v, %w")}""",
        "i32", (S16, S8), S16.astype(np.int32) @ S8.astype(np.int32),
    ),
    "bytes": (product("i8", "i8", "i32"), "i32", (every(np.int8, 3, 8), S8), None),
    "unsigned bytes": (
        product("ui8", "ui8", "i32"), "i32", (every(np.uint8, 3, 8), U8), None,
    ),
    "a transposed byte": (
        """%t = stablehlo.transpose %b, dims = [1, 0]
        : (tensor<8x4xi8>) -> tensor<4x8xi8>
    %c = stablehlo.convert %t : (tensor<4x8xi8>) -> tensor<4x8xf32>
    %r = stablehlo.dot_general %a, %c, contracting_dims = [1] x [1]
        : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>""",
        "f32", (X, S8), X @ S8.astype(np.float32),
    ),
    "wrapping": (
        """%p = stablehlo.multiply %a, %b : tensor<3x8xi32>
    %c = stablehlo.constant dense<7> : tensor<3x8xi32>
    %q = stablehlo.subtract %p, %c : tensor<3x8xi32>
    %r = stablehlo.maximum %q, %b : tensor<3x8xi32>""",
        "i32", (S32, S32[::-1].copy()), np.maximum(S32 * S32[::-1] - 7, S32[::-1]),
    ),
}  # fmt: skip
"""The ops of a program, the dtype of its result, its arguments, and what it gives."""

_ELEMENTS = {
    "int8": "i8", "uint8": "ui8", "int16": "i16", "uint16": "ui16", "int32": "i32",
    "float32": "f32",
}  # fmt: skip


def read(body: str, out: str, *arguments: np.ndarray, shape: tuple[int, ...]) -> Any:
    """The model of a program with two arguments."""
    kinds = [
        f"tensor<{'x'.join(map(str, a.shape))}x{_ELEMENTS[a.dtype.name]}>"
        for a in arguments
    ]
    result = f"tensor<{'x'.join(map(str, shape))}x{out}>"
    return morello.from_mlir(
        f"func.func @f(%a: {kinds[0]}, %b: {kinds[1]}) -> {result} {{\n"
        f"    {body}\n    return %r : {result}\n}}"
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", READS)
def test_integers_in_memory_are_read_by_graphs(name: str) -> None:
    body, out, arguments, wanted = READS[name]
    if wanted is None:
        wanted = arguments[0].astype(np.int32) @ arguments[1].astype(np.int32)
    model = read(body, out, *arguments, shape=wanted.shape)
    assert not model.fallback
    compiled = model.compile()
    for result in (compiled(*arguments), model.evaluate(*arguments)):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("zeros", [(0, 0), (128, 0), (128, -3), (0, 5)])
def test_products_of_dequantised_bytes_are_products_of_bytes(
    zeros: tuple[int, int],
) -> None:
    """Scales stay with the result; what zero points take off is taken off in s32."""
    first, second = zeros
    body = f"""%x = stablehlo.convert %a : (tensor<3x8xui8>) -> tensor<3x8xf32>
    %p = stablehlo.constant dense<{float(first)}> : tensor<3x8xf32>
    %y = stablehlo.subtract %x, %p : tensor<3x8xf32>
    %w = stablehlo.convert %b : (tensor<8x4xi8>) -> tensor<8x4xf32>
    %q = stablehlo.constant dense<{float(second)}> : tensor<8x4xf32>
    %v = stablehlo.subtract %w, %q : tensor<8x4xf32>
    %s = stablehlo.constant dense<0.5> : tensor<3x8xf32>
    %z = stablehlo.multiply %y, %s : tensor<3x8xf32>
    %r = stablehlo.dot_general %z, %v, contracting_dims = [1] x [0]
        : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>"""
    a = every(np.uint8, 3, 8)
    model = read(body, "f32", a, S8, shape=(3, 4))
    assert any(":u8,s8," in str(spec) for spec in model.specs())
    wanted = (a.astype(np.int64) - first) @ (S8.astype(np.int64) - second) * 0.5
    compiled = model.compile()
    for result in (compiled(a, S8), model.evaluate(a, S8)):
        np.testing.assert_array_equal(result, wanted.astype(np.float32))


def test_sums_of_integers_are_exact_beyond_f32() -> None:
    """127 is added more often than f32 counts; the result is a number only then."""
    body = """%w = stablehlo.convert %a : (tensor<1x200001xi8>) -> tensor<1x200001xi32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %s = stablehlo.reduce(%w init: %z) applies stablehlo.add across dimensions = [1]
        : (tensor<1x200001xi32>, tensor<i32>) -> tensor<1xi32>
    %c = stablehlo.constant dense<25400000> : tensor<1xi32>
    %d = stablehlo.subtract %s, %c : tensor<1xi32>
    %f = stablehlo.convert %d : (tensor<1xi32>) -> tensor<1xf32>
    %r = stablehlo.add %f, %b : tensor<1xf32>"""
    many = np.full((1, 200001), 127, np.int8)
    model = read(body, "f32", many, np.float32([0.5]), shape=(1,))
    assert model.compile()(many, np.float32([0.5])) == 127.5


def test_a_sign_that_is_not_declared_is_read_right() -> None:
    """A signless byte that is widened without a sign is no s8."""
    text = """func.func @f(%a: tensor<4xi8>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
      iterator_types = ["parallel"]} ins(%a : tensor<4xi8>) outs(%o : tensor<4xf32>) {
  ^bb0(%x: i8, %y: f32):
    %u = arith.uitofp %x : i8 to f32
    linalg.yield %u : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}"""
    compiled = morello.from_mlir(text).compile()
    x, o = np.int8([-1, -128, 127, 0]), np.zeros(4, np.float32)
    np.testing.assert_array_equal(compiled(x, o), np.float32([255, 128, 127, 0]))


def test_a_place_added_to_a_large_number_is_exact() -> None:
    body = """%w = stablehlo.convert %a : (tensor<4xi8>) -> tensor<4xi32>
    %c = stablehlo.constant dense<100000001> : tensor<4xi32>
    %s = stablehlo.add %w, %c : tensor<4xi32>
    %d = stablehlo.constant dense<100000000> : tensor<4xi32>
    %e = stablehlo.subtract %s, %d : tensor<4xi32>
    %f = stablehlo.convert %e : (tensor<4xi32>) -> tensor<4xf32>
    %r = stablehlo.multiply %f, %b : tensor<4xf32>"""
    x, ones = np.int8([-128, -1, 0, 127]), np.ones(4, np.float32)
    compiled = read(body, "f32", x, ones, shape=(4,)).compile()
    np.testing.assert_array_equal(compiled(x, ones), x.astype(np.float32) + 1)


def test_maps_of_integers_are_not_those_of_floats() -> None:
    """Neither is a maximum with 0 a relu, nor are factors multiplied beyond 32 bits."""
    text = """func.func @f(%x: tensor<5xi32>) -> (tensor<5xi32>, tensor<5xi32>) {
  %zero = stablehlo.constant dense<0> : tensor<5xi32>
  %half = stablehlo.constant dense<65536> : tensor<5xi32>
  %y = stablehlo.maximum %zero, %x : tensor<5xi32>
  %m = stablehlo.multiply %x, %half : tensor<5xi32>
  %z = stablehlo.multiply %m, %half : tensor<5xi32>
  return %y, %z : tensor<5xi32>, tensor<5xi32>
}"""
    x = np.array([-(2**31), -1, 0, 1, 2**31 - 1], np.int32)
    largest, wrapped = morello.from_mlir(text).compile(threads=1)(x)
    np.testing.assert_array_equal(largest, np.maximum(x, 0))
    np.testing.assert_array_equal(wrapped, np.zeros_like(x))


def test_sums_of_bytes_as_floats_may_be_more_than_s32_has() -> None:
    """The program adds up in f32, so what exceeds s32 does not wrap around."""
    terms = 33100
    left, right = f"tensor<2x{terms}x", f"tensor<{terms}x3x"
    body = f"""%x = stablehlo.convert %a : ({left}ui8>) -> {left}f32>
    %w = stablehlo.convert %b : ({right}ui8>) -> {right}f32>
    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : ({left}f32>, {right}f32>) -> tensor<2x3xf32>
    %h = stablehlo.constant dense<0.5> : tensor<2x3xf32>
    %r = stablehlo.multiply %p, %h : tensor<2x3xf32>"""
    a, b = np.full((2, terms), 255, np.uint8), np.full((terms, 3), 255, np.uint8)
    half = read(body, "f32", a, b, shape=(2, 3)).evaluate(a, b)
    np.testing.assert_allclose(half, np.full((2, 3), terms * 255**2 / 2), rtol=1e-6)
