"""Ops of onnxruntime on scaled integers, by rules of `expanded`: an op of what the
integers stand for, between a `DequantizeLinear` and a `QuantizeLinear`."""

from collections.abc import Callable

import numpy as np

from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results, Rules
from morello.frontends.onnx_ops.rules.quantized import with_channels

_CURRENT = 13
"""The version of ONNX from which softmax is along one axis."""


def _real(to: Expansion, node: Arguments, place: int, axis: int = 1) -> str:
    """The real numbers of a quantised input, whose scale and zero point are the next
    two."""
    inputs = (node.input(place + i) for i in range(3))
    return to.op("DequantizeLinear", *inputs, axis=axis)


def _dtype(to: Expansion, node: Arguments, place: int) -> np.dtype[np.generic]:
    """The dtype of an input, or that of its zero point, the next but one: nothing says
    the type of what another op of onnxruntime has computed."""
    dtype = to.dtype_if_known(node.input(place))
    return dtype or to.dtype(node.input(place + 2))


def _scaled(
    to: Expansion, y: str, node: Arguments, place: int, dtype: np.dtype[np.generic]
) -> Results:
    """Numbers as integers of a dtype, by the scale and the zero point of the result."""
    zero = node.input(place + 1) or to.constant(np.array(0, dtype))
    return [to.op("QuantizeLinear", y, node.input(place), zero)]


def _of_one(kind: str) -> Callable[[Expansion, Arguments], Results]:
    """The rule for a function, with its attributes."""

    def rule(to: Expansion, node: Arguments) -> Results:
        dtype = _dtype(to, node, 0)
        rank = len(to.shape(node.input(0))) if node.get("channels_last", 0) else 0
        attributes = node.attributes(without=("channels_last",))
        x = with_channels(to, _real(to, node, 0), rank, node, True)
        y = with_channels(to, to.op(kind, x, **attributes), rank, node, False)
        return _scaled(to, y, node, 3, dtype)

    return rule


def _of_two(kind: str) -> Callable[[Expansion, Arguments], Results]:
    """The rule for a function of two."""

    def rule(to: Expansion, node: Arguments) -> Results:
        dtype = _dtype(to, node, 0)
        y = to.op(kind, _real(to, node, 0), _real(to, node, 3))
        return _scaled(to, y, node, 6, dtype)

    return rule


def softmax(to: Expansion, node: Arguments) -> Results:
    """Along one axis, as in newer versions of ONNX."""
    dtype = _dtype(to, node, 0)
    if node.get("opset", _CURRENT) < _CURRENT:
        return None
    y = to.op("Softmax", _real(to, node, 0), axis=node.get("axis", -1))
    return _scaled(to, y, node, 3, dtype)


def joined(to: Expansion, node: Arguments) -> Results:
    """Along an axis; the scale of the result comes first."""
    dtype = _dtype(to, node, 2)
    places = range(2, node.count, 3)
    parts = [_real(to, node, place) for place in places]
    y = to.op("Concat", *parts, axis=node.get("axis", 0))
    return _scaled(to, y, node, 0, dtype)


def product(to: Expansion, node: Arguments) -> Results:
    """A product of matrices with a bias of products; its result may be of numbers, and
    columns of the second may have scales of their own."""
    dtype = _dtype(to, node, 0)
    columns = 0 if node.get("transB", 0) else 1
    factors = [_real(to, node, 0), _real(to, node, 3, columns)]
    for place, name in enumerate(("transA", "transB")):
        if node.get(name, 0):
            factors[place] = to.op("Transpose", factors[place], perm=[1, 0])
    y = to.op("MatMul", *factors)
    if node.input(6):
        scale = to.op("Mul", node.input(1), node.input(4))
        y = to.op("Add", y, to.op("Mul", to.op("Cast", node.input(6), to=1), scale))
    y = to.op("Mul", y, to.number(node.get("alpha", 1.0)))
    return _scaled(to, y, node, 7, dtype) if node.input(7) else [y]


def _product_in_floats(
    to: Expansion,
    factors: tuple[str, str],
    scales: tuple[str, str],
    zeros: tuple[str, str],
    bias: str,
) -> Results:
    """A product of integers times the scales of both, with a bias of floats."""
    y = to.op("Cast", to.op("MatMulInteger", *factors, *zeros), to=1)
    y = to.op("Mul", y, to.op("Mul", *scales))
    return [to.op("Add", y, bias) if bias else y]


def product_in_floats(to: Expansion, node: Arguments) -> Results:
    """A product of scaled integers whose result is numbers."""
    x, w, x_scale, w_scale, x_zero, w_zero, bias = (node.input(i) for i in range(7))
    scales = x_scale, w_scale
    return _product_in_floats(to, (x, w), scales, (x_zero, w_zero), bias)


def product_of_rounded(to: Expansion, node: Arguments) -> Results:
    """A product of numbers, as bytes by the range that they have, and scaled
    integers."""
    x, w, w_scale, w_zero, bias = (node.input(i) for i in range(5))
    x, scale, zero = to.several("DynamicQuantizeLinear", [x], [True] * 3)
    return _product_in_floats(to, (x, w), (scale, w_scale), (zero, w_zero), bias)


RULES: Rules = {
    "com.microsoft.DynamicQuantizeMatMul": product_of_rounded,
    "com.microsoft.MatMulIntegerToFloat": product_in_floats,
    "com.microsoft.QGemm": product,
    "com.microsoft.QLinearAdd": _of_two("Add"),
    "com.microsoft.QLinearAveragePool": _of_one("AveragePool"),
    "com.microsoft.QLinearConcat": joined,
    "com.microsoft.QLinearGlobalAveragePool": _of_one("GlobalAveragePool"),
    "com.microsoft.QLinearLeakyRelu": _of_one("LeakyRelu"),
    "com.microsoft.QLinearMul": _of_two("Mul"),
    "com.microsoft.QLinearSigmoid": _of_one("Sigmoid"),
    "com.microsoft.QLinearSoftmax": softmax,
}
