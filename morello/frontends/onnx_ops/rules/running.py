"""Sums and products of what comes before along an axis, by rules of `expanded`.

Each of log2(n) steps adds the row that is 1, 2, 4, … places before: so every element is
of those before it alone, and of any dtype.
"""

import functools

import numpy as np

from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results


def running(to: Expansion, node: Arguments, op: str, neutral: int) -> Results:
    """The op of all elements up to each one along a constant axis.

    Args:
        op: of two elements.
        neutral: what it does not change an element by.
    """
    x, axes = node.input(0), to.known(node.input(1))
    shape, dtype = to.shape(x), to.dtype(x)
    axis = int(axes.reshape(-1)[0]) % len(shape)
    is_reverse = node.get("reverse", 0)

    def before(value: str, places: int) -> str:
        """A value moved away from where the op begins."""
        edge = list(shape)
        edge[axis] = places
        filler = to.constant(np.full(edge, neutral, dtype))
        if is_reverse:
            rest = to.cut(value, places, shape[axis], axis=axis)
            return to.op("Concat", rest, filler, axis=axis)
        rest = to.cut(value, 0, shape[axis] - places, axis=axis)
        return to.op("Concat", filler, rest, axis=axis)

    if node.get("exclusive", 0):
        if shape[axis] == 1:
            return [to.constant(np.full(shape, neutral, dtype))]
        x = before(x, 1)
    places = 1
    while places < shape[axis]:
        x = to.op(op, x, before(x, places))
        places *= 2
    return [x]


RULES = {
    "CumProd": functools.partial(running, op="Mul", neutral=1),
    "CumSum": functools.partial(running, op="Add", neutral=0),
}
