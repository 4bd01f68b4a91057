"""Products and convolutions of integers are those of the differences to zero points."""

from typing import Any

import numpy as np
import pytest

from tests.onnx.models import model, node, parsed, read, run

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)


def integers(dtype: str, *shape: int) -> Any:
    bounds = np.iinfo(dtype)
    return RNG.integers(bounds.min, bounds.max + 1, shape).astype(dtype)


def saturated(values: Any, zero: int, dtype: str) -> Any:
    bounds = np.iinfo(dtype)
    return np.clip(np.rint(values) + zero, bounds.min, bounds.max).astype(dtype)


def convolved(x: Any, filters: Any, groups: int) -> Any:
    """A convolution with a border of one zero, by its definition."""
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    per, count = x.shape[1] // groups, len(filters) // groups
    sizes = [x.shape[i] - filters.shape[i] + 1 for i in (2, 3)]
    y = np.zeros((1, len(filters), *sizes), x.dtype)
    for channel, kernel in enumerate(filters):
        first = channel // count * per
        for i, j in np.ndindex(*sizes):
            window = x[0, first : first + per, i : i + 3, j : j + 3]
            y[0, channel, i, j] = (window * kernel).sum()
    return y


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("stack", [(), (2,)], ids=["matrices", "stacks"])
def test_a_product_of_integers_has_zero_points_of_rows_and_columns(
    stack: tuple[int, ...], dtype: str
) -> None:
    outer = "".join(f"{n}," for n in stack)
    text = (
        f"({dtype}[{outer}2,3] a, {dtype}[{outer}3,4] b, {dtype}[2] r, {dtype}[4] c) "
        f"=> (int32[{outer}2,4] y) {{ y = MatMulInteger(a, b, r, c) }}"
    )
    a, b = integers(dtype, *stack, 2, 3), integers(dtype, *stack, 3, 4)
    rows, columns = integers(dtype, 2), integers(dtype, 4)
    right = (a.astype(int) - rows[:, None]) @ (b.astype(int) - columns)
    np.testing.assert_array_equal(run(text, a, b, rows, columns), right)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("zero", [0, 3, 125, 128, 200, 255])
def test_weights_without_a_sign_are_multiplied_as_bytes(zero: int) -> None:
    """Less their zero point they need not be bytes: another number is taken off."""
    weights, offset = integers("uint8", 8, 5), np.uint8(zero)
    weights[:2, 0] = 0, 255
    nodes = [
        node("QuantizeLinear", ["x", "one", "five"], ["bytes"]),
        node("DequantizeLinear", ["bytes", "one", "five"], ["a"]),
        node("DequantizeLinear", ["w", "two", "zero"], ["b"]),
        node("MatMul", ["a", "b"], ["y"]),
    ]
    constants = {"one": np.float32(1), "two": np.float32(2), "five": np.uint8(5)}
    held = {**constants, "w": weights, "zero": offset}
    quantized = read(model(nodes, {"x": (4, 8)}, {"y": (4, 5)}, held))
    assert any("s32" in str(spec) for spec in quantized.specs())
    x = RNG.integers(-5, 251, (4, 8)).astype(np.float32)
    exact = x.astype(int) @ (weights.astype(int) - zero) * 2
    np.testing.assert_array_equal(quantized.compile(threads=1)(x), exact)


def test_a_long_product_of_integers_is_exact() -> None:
    text = "(uint8[1,300] a, uint8[300,1] b) => (int32[1,1] y) "
    a, b = np.full((1, 300), 255, np.uint8), np.full((300, 1), 255, np.uint8)
    b[0] = 254
    y = run(text + "{ y = MatMulInteger(a, b) }", a, b, fallback=True)
    assert y == 300 * 255**2 - 255


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("stack", [(), (2,)], ids=["matrices", "stacks"])
def test_a_product_of_scaled_integers_has_scales_of_rows_and_columns(
    stack: tuple[int, ...], dtype: str
) -> None:
    outer = "".join(f"{n}," for n in stack)
    text = (
        f"({dtype}[{outer}2,3] a, float[2] s, {dtype}[{outer}3,4] b, float[4] t) "
        f"=> ({dtype}[{outer}2,4] y) "
        f"<{dtype} p = {{3}}, {dtype} q = {{7}}, {dtype} z = {{9}}, float u = {{50}}> "
        "{ y = QLinearMatMul(a, s, p, b, t, q, u, z) }"
    )
    a, b = integers(dtype, *stack, 2, 3), integers(dtype, *stack, 3, 4)
    rows = np.array([0.5, 0.25], np.float32)
    columns = np.array([1, 0.5, 2, 0.25], np.float32)
    exact = (a.astype(int) - 3) @ (b.astype(int) - 7)
    factors = rows[:, None] * columns / np.float32(50)
    right = saturated(exact.astype(np.float32) * factors, 9, dtype)
    np.testing.assert_array_equal(run(text, a, rows, b, columns), right)


@pytest.mark.parametrize("least", [-3.0, 0.0, 2.0])
def test_a_range_has_no_scale_of_zero(least: float) -> None:
    text = (
        "(float[2,3] x) => (uint8[2,3] y, float s, uint8 z) "
        "{ y, s, z = DynamicQuantizeLinear(x) }"
    )
    x = np.full((2, 3), least, np.float32)
    y, scale, zero = run(text, x)
    expected = abs(least) / np.float32(255) or 1
    assert (scale, zero) == (np.float32(expected), 255 * (least < 0))
    assert (y == 255 * (least > 0)).all()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution_of_integers_has_zero_points_of_channels(
    groups: int, dtype: str
) -> None:
    text = (
        f"({dtype}[1,2,3,4] x, {dtype}[2,{2 // groups},3,3] w, {dtype}[2] c) "
        f"=> (int32[1,2,3,4] y) <{dtype} z = {{5}}> "
        f"{{ y = ConvInteger<pads=[1,1,1,1], group={groups}>(x, w, z, c) }}"
    )
    x, w = integers(dtype, 1, 2, 3, 4), integers(dtype, 2, 2 // groups, 3, 3)
    zeros = integers(dtype, 2)
    inner = w.astype(int) - zeros[:, None, None, None]
    right = convolved(x.astype(int) - 5, inner, groups)
    np.testing.assert_array_equal(run(text, x, w, zeros), right)


def test_products_are_rounded_to_bytes_while_they_are_near() -> None:
    """A product of bytes, its scale, a bias and the bytes of the next are one part."""
    weights = integers("int8", 12, 20)
    text = (
        "(uint8[5,12] x, int8[12,20] w, float[20] b) => (uint8[5,20] y) "
        "<float s = {0.5}, uint8 z = {3}, float t = {0.25}, int8 q = {0}, "
        "float u = {8}> { X = DequantizeLinear(x, s, z) W = DequantizeLinear(w, t, q) "
        "M = MatMul(X, W) A = Add(M, b) R = Relu(A) y = QuantizeLinear(R, u, z) }"
    )
    program = read(parsed(text))
    assert len(program.parts) == 2  # sums of weights, which the zero point takes off
    x, bias = integers("uint8", 5, 12), np.arange(20, dtype=np.float32)
    sums = (x.astype(int) - 3) @ weights.astype(int)
    right = saturated(np.maximum(sums * 0.125 + bias, 0) / 8, 3, "uint8")
    kernel = program.compile(threads=1, time_limit=2)
    np.testing.assert_array_equal(kernel(x, weights, bias), right)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("zero", [0, 5])
def test_depthwise_filters_of_bytes_read_bytes(zero: int) -> None:
    """The bytes of an image are multiplied as they are; what their zero point adds is
    taken off the sums, and scales of channels follow."""
    w = integers("int8", 3, 1, 3, 3)
    numbers = ", ".join(map(str, w.reshape(-1)))
    text = (
        "(uint8[1,3,4,5] x, float[3] b) => (uint8[1,3,4,5] y) <float s = {0.5}, "
        f"uint8 z = {{{zero}}}, int8[3,1,3,3] w = {{{numbers}}}, "
        "float[3] t = {1, 0.25, 2}, int8[3] q = {0, 0, 0}, float u = {32}> "
        "{ X = DequantizeLinear(x, s, z) W = DequantizeLinear<axis=0>(w, t, q) "
        "A = Conv<pads=[1,1,1,1], group=3>(X, W, b) R = Relu(A) "
        "y = QuantizeLinear(R, u, z) }"
    )
    program = read(parsed(text))
    assert ":u8,s8,f32" in str(program)
    x, bias = integers("uint8", 1, 3, 4, 5), np.array([3, -20, 8], np.float32)
    sums = convolved(x.astype(int) - zero, w.astype(int), 3)
    scaled = sums * (0.5 * np.array([1, 0.25, 2]))[:, None, None] + bias[:, None, None]
    right = saturated(np.maximum(scaled, 0) / 32, zero, "uint8")
    kernel = program.compile(threads=1, time_limit=5)
    np.testing.assert_array_equal(kernel(x, bias), right)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("zero", [-128, -3, 127])
@pytest.mark.parametrize("groups", [1, 4])
def test_zeros_around_an_image_are_bytes_of_a_larger_one(
    groups: int, zero: int
) -> None:
    """Their zero point adds one number a channel, and fewer taps are nowhere."""
    w, bias = integers("int8", 4, 4 // groups, 3, 3), integers("int8", 4)
    held = ", ".join(map(str, w.reshape(-1)))
    text = (
        f"(int8[1,4,5,6] x, int32[4] b) => (int8[1,4,5,6] y) <float s = {{0.5}}, "
        f"int8 z = {{{zero}}}, int8[4,{4 // groups},3,3] w = {{{held}}}, "
        "int8 q = {0}, float u = {256}> "
        f"{{ y = QLinearConv<pads=[1,1,1,1], group={groups}>"
        "(x, s, z, w, s, q, u, z, b) }"
    )
    program = read(parsed(text))
    assert "fill:" in str(program)
    assert "pad(" not in str(program)
    x = integers("int8", 1, 4, 5, 6)
    sums = convolved(x.astype(int) - zero, w.astype(int), groups)
    right = saturated((sums + bias[:, None, None]) * (0.25 / 256), zero, "int8")
    kernel = program.compile(threads=1, time_limit=5)
    np.testing.assert_array_equal(kernel(x, bias.astype(np.int32)), right)


def test_the_scale_of_a_result_is_a_factor_of_its_weights() -> None:
    """A result is rounded as a product with one factor, as the standard has it."""
    rng = np.random.default_rng(4)
    scales = rng.random(3, np.float32) + np.float32(0.01)
    text = (
        "(uint8[1,3,4,5] x, int8[3,3,1,1] w, float[3] t) => (uint8[1,3,4,5] y) "
        "<float s = {0.3}, uint8 z = {7}, int8 q = {0}, float u = {9.7}> "
        "{ y = QLinearConv(x, s, z, w, t, q, u, z) }"
    )
    x, w = integers("uint8", 1, 3, 4, 5), integers("int8", 3, 3, 1, 1)
    sums = np.einsum("nchw,fc->nfhw", x.astype(int) - 7, w[:, :, 0, 0].astype(int))
    factor = np.float32(0.3) * scales / np.float32(9.7)
    exact = sums.astype(np.float32) * factor[:, None, None]
    right = saturated(exact, 7, "uint8")
    np.testing.assert_array_equal(run(text, x, w, scales), right)


def test_one_pixel_of_integers_has_zeros_around_it() -> None:
    text = (
        "(uint8[1,2,1,1] x, int8[2,2,3,3] w) => (int32[1,2,1,1] y) <uint8 z = {5}> "
        "{ y = ConvInteger<pads=[1,1,1,1]>(x, w, z) }"
    )
    x, w = integers("uint8", 1, 2, 1, 1), integers("int8", 2, 2, 3, 3)
    right = convolved(x.astype(int) - 5, w.astype(int), 1)
    np.testing.assert_array_equal(run(text, x, w), right)


def test_a_convolution_of_many_channels_of_integers_is_exact() -> None:
    """There are more products, all of one sign, than f32 adds up exactly."""
    text = (
        "(uint8[1,70,4,3] x, uint8[2,70,3,3] w, uint8 c) => (int32[1,2,4,3] y) "
        "<uint8 z = {1}> { y = ConvInteger<pads=[1,1,1,1]>(x, w, z, c) }"
    )
    x, w = integers("uint8", 1, 70, 4, 3) | 193, integers("uint8", 2, 70, 3, 3) | 193
    right = convolved(x.astype(int) - 1, w.astype(int) - 3, 1)
    assert right.max() > 2**24
    np.testing.assert_array_equal(run(text, x, w, np.array(3, np.uint8)), right)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_convolution_of_scaled_integers_has_groups_pads_and_a_bias(
    dtype: str,
) -> None:
    text = (
        f"({dtype}[1,2,3,4] x, {dtype}[2,1,3,3] w, float[2] t, int32[2] b) "
        f"=> ({dtype}[1,2,3,4] y) "
        f"<float s = {{0.5}}, {dtype} z = {{5}}, {dtype} q = {{7}}, float u = {{100}}> "
        "{ y = QLinearConv<pads=[1,1,1,1], group=2>(x, s, z, w, t, q, u, z, b) }"
    )
    x, w = integers(dtype, 1, 2, 3, 4), integers(dtype, 2, 1, 3, 3)
    scales, bias = np.array([1, 0.25], np.float32), np.array([400, -800], np.int32)
    exact = convolved(x.astype(int) - 5, w.astype(int) - 7, 2)
    factors = (0.5 * scales / 100)[:, None, None]
    sums = (exact + bias[:, None, None]).astype(np.float32)
    right = saturated(sums * factors, 5, dtype)
    np.testing.assert_array_equal(run(text, x, w, scales, bias), right)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize(("dtype", "of_filters"), [("int8", 0), ("uint8", 200)])
@pytest.mark.parametrize(
    ("groups", "attributes"),
    [
        (1, "pads=[1,1,1,1]"),
        (2, "pads=[0,1,1,0], strides=[2,1]"),
        (4, "pads=[1,1,1,1], strides=[2,2]"),
    ],
)
def test_channels_of_scaled_integers_are_first_or_last(
    dtype: str, of_filters: int, groups: int, attributes: str, end: int
) -> None:
    """Zero points are the least number of the type, and the greatest."""
    bounds = np.iinfo(dtype)
    zero = (bounds.min, bounds.max)[end]
    w, b = integers(dtype, 8, 4 // groups, 3, 3), integers("int8", 8).astype(np.int32)
    x, scales = integers(dtype, 1, 4, 5, 7), 0.5 ** np.arange(8, dtype=np.float32)
    known = (
        f"<float s = {{0.5}}, {dtype} z = {{{zero}}}, {dtype} q = {{{of_filters}}}, "
    )
    known += f"float u = {{32}}, {dtype} v = {{{zero // 2}}}>"
    results = []
    for domain, last in (("", ""), ("com.microsoft.", ", channels_last=1")):
        image = x.transpose(0, 2, 3, 1) if last else x
        height = 5 if groups == 1 else 3 if groups == 4 else 2
        width = 4 if groups == 4 else 7 if groups == 1 else 6
        shape = f"1,{height},{width},8" if last else f"1,8,{height},{width}"
        text = (
            f"({dtype}[{','.join(map(str, image.shape))}] x, "
            f"{dtype}[{','.join(map(str, w.shape))}] w, float[8] t, int32[8] b) "
            f"=> ({dtype}[{shape}] y) {known} {{ y = {domain}QLinearConv<{attributes}, "
            f"group={groups}{last}>(x, s, z, w, t, q, u, v, b) }}"
        )
        results.append(run(text, np.ascontiguousarray(image), w, scales, b))
    np.testing.assert_array_equal(results[1].transpose(0, 3, 1, 2), results[0])
    if groups == 1:
        exact = convolved(x.astype(int) - zero, w.astype(int) - of_filters, 1)
        factors = (0.5 * scales / 32)[:, None, None]
        wanted = saturated((exact + b[:, None, None]) * factors, zero // 2, dtype)
        np.testing.assert_array_equal(results[0], wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16"])
def test_scales_and_zero_points_are_of_channels(dtype: str) -> None:
    text = (
        f"({dtype}[2,3,2] x, float[3] s, {dtype}[3] z) "
        "=> (float[2,3,2] y) { y = DequantizeLinear(x, s, z) }"
    )
    x, zeros = integers(dtype, 2, 3, 2), integers(dtype, 3)
    zeros[1] = np.iinfo(dtype).max
    scales = np.array([0.5, 2, 4], np.float32)
    y = run(text, x, scales, zeros, fallback=True)
    exact = (x.astype(int) - zeros[:, None].astype(int)) * scales[:, None]
    np.testing.assert_array_equal(y, exact)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_scales_are_of_blocks(dtype: str) -> None:
    kind = "float" if dtype == "float32" else dtype
    text = (
        f"(uint8[2,5] x, {kind}[2,3] s, uint8[2,3] z) => ({kind}[2,5] y) "
        "{ y = DequantizeLinear<axis=1, block_size=2>(x, s, z) }"
    )
    x, zeros = integers("uint8", 2, 5), integers("uint8", 2, 3)
    scales = np.array([[1, 2, 4], [0.5, np.nan, 6e-8]], dtype)
    wide = [
        np.repeat(of_block, 2, 1)[:, :5] for of_block in (zeros.astype(int), scales)
    ]
    y = run(text, x, scales, zeros, fallback=True)
    right = (x - wide[0]).astype(np.float32) * wide[1].astype(np.float32)
    assert y.dtype == scales.dtype
    right = right.astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(y.astype(np.float32), right)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_multiplied_by_blocks(dtype: str) -> None:
    """Sums are in f32, and rounded once."""
    n, k, block = 6, 40, 16
    q = RNG.integers(0, 16, (n, 3 * block)).astype(np.uint8)
    scales = (2.0 ** RNG.integers(-3, 1, (n, 3))).astype(dtype)
    bias, x = (RNG.integers(-7, 8, s).astype(dtype) for s in (n, (2, k)))
    layer = node(
        "MatMulNBits", ["x", "w", "s", "", "", "b"], ["y"], "product",
        domain="com.microsoft", K=k, N=n, bits=4, block_size=block,
    )  # fmt: skip
    packed = (q[:, ::2] | q[:, 1::2] << 4).reshape(n, 3, block // 2)
    arrays = {"w": packed, "s": scales.reshape(-1), "b": bias}
    y = np.empty((2, n), dtype)
    proto = model([layer], {"x": x}, {"y": y}, arrays, opset=21)
    weights = (q[:, :k] - 8.0) * np.repeat(scales.astype(np.float32), block, 1)[:, :k]
    wanted = x.astype(np.float32) @ weights.T + bias.astype(np.float32)
    result = read(proto).compile(threads=1, time_limit=2)(x)
    np.testing.assert_array_equal(result, wanted.astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantized_numbers_saturate(dtype: str) -> None:
    text = (
        f"(float[2,2] x, float[2] s, {dtype}[2] z) => ({dtype}[2,2] y) "
        "{ y = QuantizeLinear<axis=0>(x, s, z) }"
    )
    x = np.array([[-1e6, 2.5], [3.5, 1e6]], np.float32)
    zeros, scales = np.array([100, 7], dtype), np.array([1, 1], np.float32)
    bounds = np.iinfo(dtype)
    right = [[bounds.min, 102], [11, bounds.max]]
    np.testing.assert_array_equal(run(text, x, scales, zeros, fallback=True), right)


def test_numbers_become_integers_of_16_bits() -> None:
    x = np.array([0.0, 2.5, -2.4, 7e4, -7e4, 3.5], np.float32)
    text = (
        "(float[6] x, float s, int16 z) => (int16[6] y) { y = QuantizeLinear(x, s, z) }"
    )
    scale, zero = np.array(0.5, np.float32), np.array(-256, np.int16)
    np.testing.assert_array_equal(
        run(text, x, scale, zero), saturated(x / scale, -256, "int16"), strict=True
    )


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_numbers_are_rounded_to_what_16_bits_have(dtype: str) -> None:
    text = (
        f"(float[2,3] x, float[3] s, {dtype}[3] z) => (float[2,3] y) "
        "{ q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"
    )
    x = np.array([[0, 2.75, -2.4], [7e4, -7e5, 3.5]], np.float32)
    zeros, scales = np.array([3, 0, 9], dtype), np.array([0.5, 2, 1], np.float32)
    q = np.rint(x / scales) + zeros
    right = (np.clip(q, np.iinfo(dtype).min, np.iinfo(dtype).max) - zeros) * scales
    np.testing.assert_array_equal(run(text, x, scales, zeros), right)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("keeps", [0, 1])
@pytest.mark.parametrize(
    ("kind", "right"),
    [("L2", [1, 4]), ("LogSum", [np.nan, np.log(4)]), ("Prod", [-1, 4])],
)
def test_a_reduction_along_no_axes_keeps_the_function_of_each_element(
    kind: str, right: list[float], keeps: int
) -> None:
    text = (
        "(float[2] x) => (float[2] y) <int64[0] a = {}> { y = "
        f"Reduce{kind}<noop_with_empty_axes=1, keepdims={keeps}>(x, a) }}"
    )
    y = run(text, np.array([-1, 4], np.float32))
    np.testing.assert_allclose(y, np.array(right, np.float32), 1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("bits", "zero", "has_order"),
    [
        (4, "", False),
        (4, "uint8", False),
        (8, "", True),
        (8, "uint8", False),
        (4, "float32", True),
    ],
)
def test_a_product_of_blocks(bits: int, zero: str, has_order: bool) -> None:
    n, k, block = 6, 40, 16
    blocks, each = 3, 16 * bits // 8
    q = RNG.integers(0, 1 << bits, (n, blocks * block)).astype(np.uint8)
    zeros = RNG.integers(0, 1 << bits, (n, blocks)).astype(zero or np.uint8)
    places = np.arange(k) // block
    scales = (2.0 ** RNG.integers(-3, 1, (n, blocks))).astype(np.float32)
    packed, points = q, zeros
    if bits == 4:
        packed = q[:, ::2] | q[:, 1::2] << 4
    if bits == 4 and zero == "uint8":
        points = np.stack([zeros[:, 0] | zeros[:, 1] << 4, zeros[:, 2]], axis=1)
    names = ["x", "w", "s", "z" if zero else "", *(["g"] if has_order else [])]
    layer = node(
        "MatMulNBits", names, ["y"], "product", domain="com.microsoft",
        K=k, N=n, bits=bits, block_size=block,
    )  # fmt: skip
    arrays = {"w": packed.reshape(n, blocks, each), "s": scales.reshape(-1)}
    arrays |= {"z": points.reshape(-1)} if zero else {}
    if has_order:
        places = RNG.permutation(places)
        arrays["g"] = places.astype(np.int32)
    proto = model([layer], {"x": (2, k)}, {"y": (2, n)}, arrays, opset=21)
    x = RNG.integers(-7, 8, (2, k)).astype(np.float32)
    taken = zeros if zero else np.full_like(zeros, 1 << (bits - 1))
    weights = (q[:, :k] - taken.astype(np.float32)[:, places]) * scales[:, places]
    wanted = x @ weights.T
    result = read(proto).compile(threads=1, time_limit=2)(x)
    np.testing.assert_array_equal(result, wanted.astype(np.float32))


@pytest.mark.parametrize("block", [0, 2])
def test_halves_are_quantised_by_scales_of_channels(block: int) -> None:
    x = (RNG.standard_normal((4, 6)) * 40).astype(np.float16)
    scales = np.array([[0.5, 2, 0.25, 1, 4, 1], [1, 0.5, 2, 1, 8, 0.125]], np.float16)
    held = {"s": scales if block else scales[0], "z": np.zeros((2, 6), np.int8)}
    held["z"] = held["z"] if block else held["z"][0]
    options = {"axis": 0, "block_size": block} if block else {"axis": 1}
    layer = node("QuantizeLinear", ["x", "s", "z"], ["y"], **options)
    proto = model([layer], {"x": x}, {"y": x.astype(np.int8)}, held, opset=21)
    wide = x.astype(np.float64) / (scales.repeat(2, 0) if block else scales[0])
    np.testing.assert_array_equal(read(proto).evaluate(x), saturated(wide, 0, "int8"))
