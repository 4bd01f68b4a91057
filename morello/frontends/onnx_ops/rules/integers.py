"""Ops of integers that torch-mlir computes with floats, or of unsigned ones as of
signed ones, by rules of `expanded`."""

import math

import numpy as np

from morello.errors import CompileError
from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results, Rules
from morello.frontends.onnx_ops.rules import places, stable

_INT64 = 7
_UNSIGNED = {4: 16, 12: 32, 13: 64}
"""The bits of unsigned integers of more than 8, by their numbers in ONNX."""


def _is_unsigned(to: Expansion, x: str) -> bool:
    return to.dtype(x).kind == "u"


def absolute(to: Expansion, node: Arguments) -> Results:
    """An unsigned number."""
    x = node.input(0)
    return [to.op("Identity", x)] if _is_unsigned(to, x) else None


def clipped(to: Expansion, node: Arguments) -> Results:
    """The larger one of a number and a bound, and the smaller one of that and another
    bound."""
    y = node.input(0)
    if not _is_unsigned(to, y):
        return None
    for kind, bound in (("Max", node.input(1)), ("Min", node.input(2))):
        y = to.op(kind, y, bound) if bound else y
    return [to.op("Identity", y)]


def absolute_sum(to: Expansion, node: Arguments) -> Results:
    """The sum of unsigned numbers."""
    x = node.input(0)
    if not _is_unsigned(to, x):
        return None
    axes = stable.axes_of(to, node)
    total = to.reduced("ReduceSum", x, axes) if axes else to.op("Identity", x)
    return [stable.without(to, node, total, axes)]


def mean(to: Expansion, node: Arguments) -> Results:
    """The sum of integers over their count, without what is behind the point."""
    x, dtype = node.input(0), to.dtype(node.input(0))
    if dtype.kind not in "iu":
        return None
    axes, shape = stable.axes_of(to, node), to.shape(x)
    if not axes:
        return [to.op("Identity", x)]
    count = to.constant(np.array(math.prod(shape[axis] for axis in axes), dtype))
    total = to.op("Div", to.reduced("ReduceSum", x, axes), count)
    return [stable.without(to, node, total, axes)]


def power(to: Expansion, node: Arguments) -> Results:
    """A product of equal integers, of squares of squares, for a constant exponent that
    is whole and not negative."""
    x, dtype = node.input(0), to.dtype(node.input(0))
    if dtype.kind not in "iu":
        return None
    shape, numbers = to.shape(x), np.unique(to.known(node.input(1)))
    if len(numbers) != 1 or numbers[0] not in range(_MOST_FACTORS):
        return None
    if to.shape(node.output(0)) != shape:
        return None
    count, result = int(numbers[0]), ""
    while count:
        if count % 2:
            result = to.op("Mul", result, x) if result else x
        count //= 2
        x = to.op("Mul", x, x) if count else x
    return [result or to.constant(np.ones(shape, dtype))]


_MOST_FACTORS = 64


def cast(to: Expansion, node: Arguments) -> Results:
    """An integer of 64 bits with a sign, of which unsigned ones have the low bits.

    Floats from 2^63 on are cast less 2^63, which is added afterwards.
    """
    x, attributes = node.input(0), node.attributes()
    dtype, code = to.dtype(x), attributes["to"]
    if dtype.kind in "iub" or code not in _UNSIGNED:
        return None
    if _UNSIGNED[code] < 64 or dtype == np.float16:
        return [to.op("Cast", to.op("Cast", x, to=_INT64), to=code)]
    half = to.constant(np.array(2.0**63, dtype))
    is_high = to.op("GreaterOrEqual", x, half)
    low = to.op("Cast", to.op("Where", is_high, to.op("Sub", x, half), x), to=_INT64)
    high = to.op("Add", low, to.constant(np.array(-(2**63), np.int64)))
    return [to.op("Cast", to.op("Where", is_high, high, low), to=code)]


def product(to: Expansion, node: Arguments) -> Results:
    """A product of matrices with whole factors, which torch-mlir takes; of floats by
    their own rule.

    Raises:
        CompileError: a factor of integers is no whole number, which it cuts off.
    """
    if to.has(node.input(0), "FLOAT"):
        return stable.gemm(to, node)
    dtype = to.dtype_if_known(node.input(0))
    for name in ("alpha", "beta"):
        factor = node.get(name, 1.0)
        if dtype is not None and dtype.kind in "iu" and not float(factor).is_integer():
            raise CompileError(
                f"{node.name} (onnx.Gemm) multiplies integers by {name}={factor:g}, of "
                "which they have the whole part only",
                "cast its inputs to FLOAT, or give it a whole number",
            )
    return None


def negative(to: Expansion, node: Arguments) -> Results:
    """0 less an integer, which wraps around."""
    x, dtype = node.input(0), to.dtype(node.input(0))
    if dtype.kind != "i":
        return None
    return [to.op("Sub", to.constant(np.array(0, dtype)), x)]


def quotient(to: Expansion, node: Arguments) -> Results:
    """A quotient by division of half the number, which is never negative, and one more
    where the rest is large enough; 0 or 1 where the divisor would be negative."""
    x, divisor = node.input(0), node.input(1)
    dtype = to.dtype(x)
    if dtype.kind != "u":
        return None
    one = to.constant(np.array(1, dtype))
    zero = to.constant(np.array(0, dtype))
    most = to.constant(np.array(np.iinfo(dtype).max // 2, dtype))
    half = to.op("BitShift", x, one, direction="RIGHT")
    twice = to.op("BitShift", to.op("Div", half, divisor), one, direction="LEFT")
    rest = to.op("Sub", x, to.op("Mul", twice, divisor))
    more = to.op("Where", to.op("GreaterOrEqual", rest, divisor), one, zero)
    of_large = to.op("Where", to.op("GreaterOrEqual", x, divisor), one, zero)
    is_large = to.op("Greater", divisor, most)
    return [to.op("Where", is_large, of_large, to.op("Add", twice, more))]


def remainder(to: Expansion, node: Arguments) -> Results:
    """The remainder of a division of unsigned numbers; of floats by their own rule."""
    x, divisor = node.input(0), node.input(1)
    if to.has(x, "FLOAT"):
        return stable.remainder(to, node)
    if not _is_unsigned(to, x):
        return None
    node.get("fmod", 0)  # which is the sign's
    product = to.op("Mul", to.op("Div", x, divisor), divisor)
    return [to.op("Sub", x, product)]


def greatest(to: Expansion, node: Arguments) -> Results:
    """The greatest or the least of unsigned numbers, as integers of 64 bits that are in
    one order with them; of floats by their own rule."""
    x = node.input(0)
    if to.has(x, "FLOAT"):
        return places.greatest(to, node)
    dtype = to.dtype(x)
    if dtype.kind != "u":
        return None
    zero = to.constant(np.array(-(2**63) if dtype.itemsize == 8 else 0, np.int64))
    ordered = to.op("Add", to.op("Cast", x, to=_INT64), zero)
    attributes = node.attributes(without=("sorted",))
    inputs = [ordered, node.input(1)]
    values, *at = to.several("TopK", inputs, node.outputs, **attributes)
    if values:
        values = to.op("Cast", to.op("Add", values, zero), to=to.code(dtype))
    return [values, *at]


RULES: Rules = {
    "Abs": absolute,
    "Cast": cast,
    "Clip": clipped,
    "Div": quotient,
    "Gemm": product,
    "Mod": remainder,
    "Neg": negative,
    "Pow": power,
    "ReduceL1": absolute_sum,
    "ReduceMean": mean,
    "TopK": greatest,
}
