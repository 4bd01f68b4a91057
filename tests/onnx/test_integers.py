"""Ops of integers compute with numbers that f32 lacks, of unsigned ones above signed
ones."""

import functools

import numpy as np
import pytest

from tests.onnx import models

pytestmark = pytest.mark.quick

run = functools.partial(models.run, fallback=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_quotients_and_remainders_are_of_large_numbers(dtype: str) -> None:
    most = np.iinfo(dtype).max
    x = np.array([most, most - 5, most // 2 + 1, 7, 5, most], dtype)
    divisors = np.array([3, most - 9, most // 2, 2, most, most], dtype)
    text = (
        f"({dtype}[6] a, {dtype}[6] b) => ({dtype}[6] q, {dtype}[6] r) "
        "{ q = Div(a, b) r = Mod(a, b) }"
    )
    quotients, rests = run(text, x, divisors)
    assert quotients.dtype == dtype
    np.testing.assert_array_equal(quotients, x // divisors)
    np.testing.assert_array_equal(rests, x % divisors)


def test_bounds_and_magnitudes_are_of_large_numbers() -> None:
    text = (
        "(uint8[4] x) => (uint8[4] y, uint8[4] z) <uint8 l = {5}, uint8 h = {150}> "
        "{ y = Clip(x, l, h) z = Abs(x) }"
    )
    x = np.array([200, 3, 128, 100], np.uint8)
    y, z = run(text, x)
    np.testing.assert_array_equal(y, [150, 5, 128, 100])
    np.testing.assert_array_equal(z, x)


@pytest.mark.parametrize("dtype", ["uint8", "uint64"])
def test_the_greatest_are_of_large_numbers(dtype: str) -> None:
    most = int(np.iinfo(dtype).max)
    x = np.array([3, most, most // 2, most // 2 + 1, most - 1], dtype)
    text = (
        f"({dtype}[5] x) => ({dtype}[2] y, int64[2] i, {dtype}[3] z) "
        "<int64[1] k = {2}, int64[1] m = {3}> "
        "{ y, i = TopK(x, k) z, j = TopK<largest=0>(x, m) }"
    )
    y, places, z = run(text, x)
    np.testing.assert_array_equal(y, [most, most - 1])
    np.testing.assert_array_equal(places, [1, 4])
    np.testing.assert_array_equal(z, [3, most // 2, most // 2 + 1])


def test_maxima_of_windows_are_of_large_numbers() -> None:
    text = (
        "(uint8[1,1,5] x) => (uint8[1,1,3] y, int64[1,1,3] i) "
        "{ y, i = MaxPool<kernel_shape=[2], strides=[2], pads=[1,0]>(x) }"
    )
    y, index = run(text, np.array([[[0, 127, 200, 255, 3]]], np.uint8))
    np.testing.assert_array_equal(y, [[[0, 200, 255]]])
    np.testing.assert_array_equal(index, [[[0, 2, 3]]])


def test_maxima_of_windows_are_of_numbers_below_zero() -> None:
    text = (
        "(int8[1,1,5] x) => (int8[1,1,3] y) "
        "{ y = MaxPool<kernel_shape=[2], strides=[2], pads=[1,0]>(x) }"
    )
    x = np.array([[[-43, -47, 81, -27, -20]]], np.int8)
    np.testing.assert_array_equal(run(text, x), [[[-43, 81, -20]]])


def test_a_product_of_unsigned_bytes_needs_no_fallback() -> None:
    text = (
        "(uint8[2,3] x) => (int32[2,2] y) "
        "<uint8[3,2] w = {200, 3, 255, 0, 7, 129}, uint8 z = {9}, uint8 o = {130}> "
        "{ y = MatMulInteger(x, w, z, o) }"
    )
    x = np.array([[255, 0, 130], [1, 2, 200]], np.uint8)
    w = np.array([[200, 3], [255, 0], [7, 129]])
    wanted = (x.astype(np.int32) - 9) @ (w - 130)
    np.testing.assert_array_equal(models.run(text, x), wanted)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_a_negative_of_a_large_number_is_exact(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, limits.max - 3, -7, 0], dtype)
    y = run(f"({dtype}[5] x) => ({dtype}[5] y) {{ y = Neg(x) }}", x)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, -x)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Max", "Min", "Equal"])
def test_a_constant_keeps_digits_that_f32_lacks(op: str, dtype: str) -> None:
    most = int(np.iinfo(dtype).max)
    held = np.array([most - 2, 2**24 + 1, 3, 443687007], dtype)
    x = np.array([[5, 2**24 + 1, 7, 1], [most - 3, 2**24, 2**30 + 1, 9]], dtype)
    out = "bool" if op == "Equal" else dtype
    text = (
        f"({dtype}[2,4] x) => ({out}[2,4] y) "
        f"<{dtype}[4] c = {{{', '.join(map(str, held))}}}> {{ y = {op}(x, c) }}"
    )
    functions = {
        "Add": np.add, "Sub": np.subtract, "Mul": np.multiply,
        "Max": np.maximum, "Min": np.minimum, "Equal": np.equal,
    }  # fmt: skip
    np.testing.assert_array_equal(run(text, x), functions[op](x, held))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_means_and_powers_of_integers_wrap_around(dtype: str) -> None:
    most = int(np.iinfo(dtype).max)
    x = np.array([[7, most, 5, 3], [-8, most, 6, -4]]).astype(dtype)
    text = f"({dtype}[2,4] x) => ({dtype}[4] m, {dtype}[2,4] p) <int64[1] a = {{0}}, "
    text += "float[1] e = {5}> { m = ReduceMean<keepdims=0>(x, a) p = Pow(x, e) }"
    mean, power = run(text, x)
    total = x.sum(0, dtype=dtype)
    np.testing.assert_array_equal(mean, np.sign(total) * (np.abs(total) // 2))
    np.testing.assert_array_equal(power, x * x * x * x * x)


@pytest.mark.parametrize("keepdims", [0, 1])
def test_a_sum_of_magnitudes_is_of_large_numbers(keepdims: int) -> None:
    x = np.array([[2**31 + 5, 7], [2**30, 2**31 + 1]], np.uint32)
    shape = "1,2" if keepdims else "2"
    text = (
        f"(uint32[2,2] x) => (uint32[{shape}] y) <int64[1] a = {{0}}> "
        f"{{ y = ReduceL1<keepdims={keepdims}>(x, a) }}"
    )
    total = x.sum(0, dtype=np.uint32, keepdims=bool(keepdims))
    np.testing.assert_array_equal(run(text, x), total)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "dtype", ["float", "float16", "double", "int8", "uint8", "int64", "uint32", "bool"]
)
def test_casts_to_every_integer(dtype: str) -> None:
    numpy_dtype = np.dtype({"float": "float32", "double": "float64"}.get(dtype, dtype))
    most = np.finfo(numpy_dtype).max if numpy_dtype.kind == "f" else 1
    most = np.iinfo(numpy_dtype).max if numpy_dtype.kind in "iu" else int(most)
    numbers = [0, 1, 3, 100, 200, 2**16 - 1, 2**31 + 2**9, 2**63]
    x = np.array([number if number <= most else 0 for number in numbers], numpy_dtype)
    codes = {"int16": 5, "uint16": 4, "uint32": 12, "uint64": 13}
    results = ", ".join(f"{to}[8] {to}_r" for to in codes)
    body = " ".join(f"{to}_r = Cast<to={code}>(x)" for to, code in codes.items())
    cast = run(f"({dtype}[8] x) => ({results}) {{ {body} }}", x)
    for y, to in zip(cast, codes, strict=True):
        fits = np.array([int(v) <= np.iinfo(to).max for v in x])
        assert y.dtype == to
        np.testing.assert_array_equal(y[fits], x[fits].astype(to))
