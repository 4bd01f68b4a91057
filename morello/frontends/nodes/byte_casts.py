"""Casts of floats to bytes: `byte_of`.

Where numbers are within the limits of a byte is a cast the nearest whole number towards
0, which a map may round to. Elsewhere its result is not defined.
"""

import math
from collections.abc import Callable, Sequence

from morello.frontends.nodes.simplify import is_whole
from morello.frontends.nodes.tensors import Access, Node, Tensors
from morello.spec.elements.dtypes import BYTES, Dtype
from morello.spec.graphs.expression import Call, Constant, Expression, Reference
from morello.spec.graphs.graph import MAP

_Bounds = tuple[float, float]

_EVERYTHING = -math.inf, math.inf

_MONOTONE: dict[str, Callable[[float], float]] = {
    "copy": lambda x: x,
    "relu": lambda x: max(x, 0.0),
    **dict.fromkeys(("ceil", "floor", "round", "round_away", "trunc"), lambda x: x),
}
"""Functions that keep the order of numbers; whole limits stay as they are."""

_OF_TWO: dict[str, Callable[[float, float], float]] = {"maximum": max, "minimum": min}


def byte_of(
    expression: Expression, reads: Sequence[Access], tensors: Tensors
) -> tuple[Dtype, Expression] | None:
    """The dtype of bytes that has all values of an expression, and the expression
    rounded to it, towards 0; None where there is none.

    Args:
        reads: which its references are to.
    """
    least, most = limits(expression, reads, tensors)
    for dtype in BYTES:
        if dtype.lowest <= least and most <= dtype.highest:
            if not is_whole(expression):
                expression = Call("trunc", (expression,))
            return dtype, Call(dtype.rounding, (expression,))
    return None


def limits(
    expression: Expression, reads: Sequence[Access], tensors: Tensors
) -> _Bounds:
    """The least and the greatest value of an expression, NaN aside."""
    match expression:
        case Constant(number):
            return number, number
        case Reference(place) if place >= 0:
            root = tensors.root(reads[place].tensor)
            node, dtype = tensors.all[root], tensors.element(root)
            if isinstance(node, Node) and node.reduction == MAP:
                return limits(node.expression, node.reads, tensors)
            if dtype in BYTES:
                return float(dtype.lowest), float(dtype.highest)
        case Call(name, (one,)) if name in _MONOTONE:
            least, most = limits(one, reads, tensors)
            return _MONOTONE[name](least), _MONOTONE[name](most)
        case Call(name, (one, other)) if name in _OF_TWO:
            pairs = zip(
                limits(one, reads, tensors), limits(other, reads, tensors), strict=True
            )
            least, most = (_OF_TWO[name](a, b) for a, b in pairs)
            return least, most
    return _EVERYTHING
