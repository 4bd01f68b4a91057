"""Integers with scales and zero points, by rules of `expanded`.

Products and convolutions are those of the differences to the zero points. torch-mlir
drops these points in stacks of matrices, takes unsigned ones of channels for signed,
and lacks blocks, and the groups and pads of convolutions.
"""

import math
from typing import Any

import ml_dtypes
import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import (
    Arguments,
    Expansion,
    Results,
    Rules,
    UnknownError,
)
from morello.weights.scaled import unpacked

Array = np.ndarray[Any, np.dtype[Any]]

_MOST_EXACT = 2**24 // 255**2
"""How many products of two differences of bytes add up exactly in f32."""

_FLOATS = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
"""The types of scales."""

_TYPES = {"FLOAT": 1, "INT32": 6}
"""The numbers of types in ONNX."""


def _cast(to: Expansion, x: str, kind: str) -> str:
    return to.op("Cast", x, to=_TYPES[kind])


def _widened(to: Expansion, x: str, dtype: np.dtype[Any] | None) -> str:
    """Floats of a type in f32."""
    return x if dtype == np.float32 else _cast(to, x, "FLOAT")


def _narrowed(to: Expansion, x: str, dtype: np.dtype[Any]) -> str:
    """Floats in f32 as those of a type."""
    return x if dtype == np.float32 else to.op("Cast", x, to=to.code(dtype))


def _along(to: Expansion, x: str, after: int) -> str:
    """A scale or zero point of one number, or of one for each place of an axis that
    has some axes after it."""
    shape = to.shape_if_known(x)
    if shape is None or len(shape) > 1:
        return x
    return to.reshape(x, *((-1, *[1] * after) if math.prod(shape) > 1 else ()))


def _difference(to: Expansion, x: str, zero: str, kind: str, after: int = 0) -> str:
    """Elements less their zero point, if there is one, as another type."""
    wide = _cast(to, x, kind)
    if not zero:
        return wide
    return to.op("Sub", wide, _cast(to, _along(to, zero, after), kind))


def _matrices(to: Expansion, node: Arguments, places: tuple[int, int, int, int]) -> str:
    """A product of matrices of bytes in i32, from which what zero points add is taken
    off.

    Args:
        places: of the inputs that are the matrices, and of their zero points.
    """
    left, right, *zeros = (node.input(place) for place in places)
    shapes = to.shape(left), to.shape(right)
    x, w = (_cast(to, name, "INT32") for name in (left, right))
    y = to.op("MatMul", x, w)
    points = [
        "" if _is_zero(to, zero) else _cast(to, _along(to, zero, after), "INT32")
        for zero, after in zip(zeros, (int(len(shapes[0]) > 1), 0), strict=True)
    ]
    inner = -2 if len(shapes[1]) > 1 else -1
    if points[0]:
        y = to.op("Sub", y, to.op("Mul", points[0], _sums(to, w, inner, shapes[0])))
    if points[1]:
        y = to.op("Sub", y, to.op("Mul", points[1], _sums(to, x, -1, shapes[1])))
    if all(points):
        count = to.constant(np.int32(shapes[0][-1]))
        y = to.op("Add", y, to.op("Mul", to.op("Mul", *points), count))
    return y


def _is_zero(to: Expansion, zero: str) -> bool:
    """Whether a zero point is left out, or known to be 0."""
    return not zero or (zero in to.held and not to.array(zero).any())


def _sums(to: Expansion, x: str, axis: int, other: tuple[int, ...]) -> str:
    """Sums along an axis, which stays unless the other matrix is a vector."""
    axes = to.constant(np.array([axis], np.int64))
    return to.op("ReduceSum", x, axes, keepdims=int(len(other) > 1))


def _convolved(
    to: Expansion, node: Arguments, places: tuple[int, ...], after: int
) -> tuple[str, str]:
    """Images and filters in f32, less their zero points.

    Args:
        places: of the inputs that these are, and of their zero points.
        after: axes of filters after the first.
    """
    x, filters, *zeros = (node.input(place) for place in places)
    image = _difference(to, x, zeros[0], "FLOAT")
    return image, _difference(to, filters, zeros[1], "FLOAT", after)


def _quantized(
    to: Expansion, y: str, scales: tuple[str, str], node: Arguments, place: int
) -> str:
    """Sums of products times one factor: their scales over the scale of the result."""
    factor = to.op("Mul", *scales)
    scale, zero = node.input(place), node.input(place + 1)
    factor = to.op("Div", factor, to.reshape(_cast(to, scale, "FLOAT")))
    return to.op(
        "QuantizeLinear",
        to.op("Mul", _cast(to, y, "FLOAT"), factor),
        to.number(1.0),
        to.reshape(zero),
    )


def _has_one(to: Expansion, node: Arguments, place: int) -> bool:
    """Whether the result has one scale and one zero point."""
    shapes = (to.shape_if_known(node.input(n)) for n in (place, place + 1))
    return all(shape is not None and math.prod(shape) == 1 for shape in shapes)


def quantized_product(to: Expansion, node: Arguments) -> Results:
    """Matrix product of quantised integers, with the scales applied to the result.

    Raises:
        CompileError: the rows of the result have scales of their own.
    """
    if not _has_one(to, node, 6):
        raise CompileError(
            f"{node.name} (onnx.QLinearMatMul) has a result of several scales, and one "
            "is read here",
            "give its result one scale and one zero point",
        )
    y = _matrices(to, node, (0, 3, 2, 5))
    has_rows = len(to.shape(node.input(0))) > 1
    scales = (
        _cast(to, _along(to, node.input(1), int(has_rows)), "FLOAT"),
        _cast(to, _along(to, node.input(4), 0), "FLOAT"),
    )
    return [_quantized(to, y, scales, node, 6)]


def with_channels(
    to: Expansion, x: str, rank: int, node: Arguments, first: bool
) -> str:
    """A value of so many axes with its channels first, or last, where those of a node
    of onnxruntime are last; else as it is."""
    if not node.get("channels_last", 0):
        return x
    inner = [*range(2, rank)]
    perm = [0, rank - 1, *range(1, rank - 1)] if first else [0, *inner, 1]
    return to.op("Transpose", x, perm=perm)


def quantized_convolution(to: Expansion, node: Arguments) -> Results:
    """A convolution of scaled integers, which is scaled, too; channels of onnxruntime's
    may be last, except those of filters."""
    filters = to.shape(node.input(3))
    if not _has_one(to, node, 6):
        return None
    rank = len(filters)
    image, weights = _convolved(to, node, (0, 3, 2, 5), rank - 1)
    image = with_channels(to, image, rank, node, True)
    attributes = node.attributes(without=("channels_last",))
    y = to.op("Conv", image, weights, **attributes)
    y = with_channels(to, y, rank, node, False)  # no graph transposes bytes
    after = 0 if node.get("channels_last", 0) else rank - 2
    if node.input(8):
        y = to.op("Add", y, _cast(to, _along(to, node.input(8), after), "FLOAT"))
    scales = (_along(to, node.input(1), 0), _along(to, node.input(4), after))
    return [_quantized(to, y, scales, node, 6)]


def product(to: Expansion, node: Arguments) -> Results:
    """A product of matrices of integers."""
    return [_cast(to, _matrices(to, node, (0, 1, 2, 3)), "INT32")]


def convolution(to: Expansion, node: Arguments) -> Results:
    """A convolution of integers: the sum of those of as many channels as f32 adds up
    exactly."""
    shape = to.shape(node.input(1))
    channels, most = shape[1], _MOST_EXACT // math.prod(shape[2:])
    if channels > most and (most == 0 or node.get("group", 1) > 1):
        return None
    factors, y = _convolved(to, node, (0, 1, 2, 3), len(shape) - 1), ""
    for start in range(0, channels, most):
        pieces: tuple[str, ...] = factors
        if channels > most:
            end = min(start + most, channels)
            pieces = tuple(to.cut(name, start, end, axis=1) for name in factors)
        sums = _cast(to, to.op("Conv", *pieces, **node.attributes()), "INT32")
        y = to.op("Add", y, sums) if y else sums
    return [y]


def _spread(to: Expansion, node: Arguments, place: int) -> str:
    """A scale or zero point in a shape that goes with the first input.

    Args:
        place: of the input that is the scale or zero point.
    """
    x, shape = to.shape(node.input(0)), to.shape(node.input(place))
    axis, block = node.get("axis", 1), node.get("block_size", 0)
    if math.prod(shape) == 1:
        return to.reshape(node.input(place))
    axis %= len(x)
    if not block:
        return _along(to, node.input(place), len(x) - 1 - axis)
    return _of_blocks(to, node.input(place), x[axis], block, axis)


def _zero_point(to: Expansion, node: Arguments) -> str:
    """The zero point of a node that has one: in a shape that goes with the first input,
    or of one number where its shape is not known."""
    zero = node.input(2)
    return zero if to.shape_if_known(zero) is None else _spread(to, node, 2)


def _of_blocks(to: Expansion, x: str, count: int, block: int, axis: int) -> str:
    """A value per block along an axis, repeated to one per element."""
    places = np.arange(count) // block
    if x in to.held:
        return to.constant(to.array(x).take(places, axis))
    return to.op("Gather", x, to.constant(places), axis=axis)


def dequantized(to: Expansion, node: Arguments) -> Results:
    """Integers minus their zero points, times their scales, in the scales' type."""
    dtype, result = to.dtype(node.input(0)), to.dtype(node.input(1))
    if dtype.kind not in "iu" or result not in _FLOATS:
        return None
    scale = _spread(to, node, 1)
    maker = to.maker(node.input(0))
    if maker is not None and maker.kind == "QuantizeLinear" and dtype.itemsize == 2:
        y = _rounded(to, maker, dtype)  # which no graph writes
    else:
        y = _cast(to, node.input(0), "FLOAT")
    if node.input(2):
        y = to.op("Sub", y, _cast(to, _zero_point(to, node), "FLOAT"))
    y = to.op("Mul", y, _widened(to, scale, result))
    return [_narrowed(to, y, to.dtype_of(node.get("output_dtype", 0)) or result)]


def quantized(to: Expansion, node: Arguments) -> Results:
    """Numbers over their scales, to the nearest integers of a type.

    Raises:
        CompileError: unsigned ones of 16 bits are read by other ops than
            `DequantizeLinear`.
    """
    zero = node.input(2)
    dtype = to.dtype_of(node.get("output_dtype", 0)) or np.dtype(np.uint8)
    if zero:
        dtype = to.dtype_if_known(zero) or dtype
    if dtype == np.uint16 and to.readers(node.output(0)) - {"DequantizeLinear"}:
        raise CompileError(
            f"{node.name} (onnx.QuantizeLinear) gives integers of the type uint16, "
            "which no Spec writes, to others than DequantizeLinear",
            "quantise to int16 or to 8 bits, or outside of the model",
        )
    # torch-mlir quantises to int16, and has no cast to it.
    if dtype.kind not in "iu" or dtype.itemsize == 2:
        return None
    return [to.op("Cast", _rounded(to, node, dtype), to=to.code(dtype))]


def _rounded(to: Expansion, node: Arguments, dtype: np.dtype[Any]) -> str:
    """The results of a `QuantizeLinear`, as floats."""
    x, zero = node.input(0), node.input(2)
    scale = _spread(to, node, 1)
    kinds = to.dtype(x), to.dtype(node.input(1))
    if not all(kind in _FLOATS for kind in kinds):
        raise UnknownError
    x, scale = (_widened(to, *part) for part in zip((x, scale), kinds, strict=True))
    y = to.op("Round", to.op("Div", x, scale))
    if zero:
        y = to.op("Add", y, _cast(to, _zero_point(to, node), "FLOAT"))
    bounds = np.iinfo(dtype)
    return to.op("Clip", y, to.number(bounds.min), to.number(bounds.max))


def quantized_by_range(to: Expansion, node: Arguments) -> Results:
    """Numbers as bytes by the range that they and 0 are in; a scale that would be 0, of
    which the standard divides, is 1 as in onnxruntime."""
    x, shape = node.input(0), to.shape(node.input(0))
    zero, most = to.number(0.0), to.number(255.0)
    low, high = (
        to.op(kind, to.reshape(to.reduced(f"Reduce{kind}", x, range(len(shape)))), zero)
        for kind in ("Min", "Max")
    )
    scale = to.op("Div", to.op("Sub", high, low), most)
    scale = to.op("Where", to.op("Equal", scale, zero), to.number(1.0), scale)
    point = to.op("Clip", to.op("Sub", zero, to.op("Div", low, scale)), zero, most)
    point = to.op("Cast", to.op("Round", point), to=to.code(np.dtype(np.uint8)))
    return [to.op("QuantizeLinear", x, scale, point), scale, point]


def product_of_blocks(to: Expansion, node: Arguments) -> Results:
    """A product with weights of few bits, whose blocks along k have scales, and zero
    points, which are the middle where there are none. Rows may have blocks of their
    own choice.

    Raises:
        CompileError: the weights are computed.
    """
    k, n, bits = (node.get(name, 4) for name in ("K", "N", "bits"))
    block, weights, points = node.get("block_size", 32), node.input(1), node.input(3)
    node.get("accuracy_level", 0)  # sums are in f32
    known = [name for name in (weights, points, node.input(4)) if name]
    if not all(name in to.held for name in known):
        raise CompileError(
            f"{node.name} (com.microsoft.MatMulNBits) has weights that are no "
            "constants",
            "make its weights, zero points and order of rows initializers",
        )
    blocks = -(-k // block)
    numbers = unpacked(to.array(weights).reshape(n, -1), bits)[:, :k]
    moved = _cast(to, to.constant(numbers.T), "FLOAT")
    places = np.arange(k) // block
    if node.input(4):
        places = to.array(node.input(4)).reshape(-1)[:k]
    if points:
        zeros = to.array(points).reshape(n, -1)
        if to.has(points, "UINT8"):
            zeros = unpacked(zeros, bits)[:, :blocks]
        of_rows = to.constant(zeros.T[places].astype(np.float32))
        moved = to.op("Sub", moved, of_rows)
    else:
        moved = to.op("Sub", moved, to.number(1 << (bits - 1)))
    scales = node.input(2)
    if scales in to.held:
        of_blocks = to.array(scales).astype(np.float32).reshape(n, blocks)
        spread = to.constant(of_blocks.T[places])
    else:
        wide = _widened(to, scales, to.dtype_if_known(scales))
        table = to.op("Transpose", to.reshape(wide, n, blocks), perm=[1, 0])
        spread = to.op("Gather", table, to.constant(places.astype(np.int64)), axis=0)
    columns = to.op("Mul", moved, spread)
    # Nothing says the type of what another op of onnxruntime has computed.
    kinds = map(to.dtype_if_known, (node.input(0), scales))
    dtype = next(filter(None, kinds), np.dtype(np.float32))
    y = to.op("MatMul", _widened(to, node.input(0), dtype), columns)
    if node.input(5):
        y = to.op("Add", y, _widened(to, node.input(5), dtype))
    return [_narrowed(to, y, dtype)]


RULES: Rules = {
    "com.microsoft.MatMulNBits": product_of_blocks,
    "com.microsoft.QLinearConv": quantized_convolution,
    "ConvInteger": convolution,
    "DequantizeLinear": dequantized,
    "DynamicQuantizeLinear": quantized_by_range,
    "MatMulInteger": product,
    "QLinearConv": quantized_convolution,
    "QLinearMatMul": quantized_product,
    "QuantizeLinear": quantized,
}
