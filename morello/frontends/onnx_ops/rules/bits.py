"""The bits of integers, by rules of `expanded`: `BitShift` and `BitCast`.

The standard shifts by any number: it fills with the sign where the number is negative
or above the width, and a processor does not.
"""

import numpy as np

from morello.frontends.onnx_ops.expansion import Arguments, Expansion, Results, Rules


def shifted(to: Expansion, node: Arguments) -> Results:
    """A shift within the width of its elements."""
    x, amount, direction = node.input(0), node.input(1), node.get("direction", b"")
    dtype = to.dtype(x)
    if dtype.kind != "i" or amount.startswith(f"{node.name}."):
        return None
    width = 8 * dtype.itemsize

    def number(value: int) -> str:
        return to.constant(np.array(value, dtype))

    is_within = to.op(
        "And",
        to.op("GreaterOrEqual", amount, number(0)),
        to.op("Less", amount, number(width)),
    )
    is_left = direction == b"LEFT"
    most = number(0 if is_left else width - 1)
    inside = to.op("Where", is_within, amount, most)
    y = to.op("BitShift", x, inside, direction=direction)
    return [to.op("Where", is_within, y, number(0)) if is_left else y]


def reinterpreted(to: Expansion, node: Arguments) -> Results:
    """Integers and truth values of another sign: a cast that wraps keeps their bits."""
    x, dest = node.input(0), node.get("to", 0)
    source, other = to.dtype(x), to.dtype_of(dest)
    if other is None or source.itemsize != other.itemsize:
        return None
    if source.kind not in "iub" or other.kind not in "iu":
        return None
    return [to.op("Cast", x, to=dest)]


RULES: Rules = {"BitShift": shifted, "BitCast": reinterpreted}
