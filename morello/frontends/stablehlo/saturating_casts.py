"""Casts of floats to integers, which XLA saturates: `saturate_casts`.

The standard leaves open what a number becomes that the integers lack, and so does MLIR:
LLVM's result is another on each target. XLA gives the nearest integer, and 0 for NaN.
"""

import math

from morello.frontends.stablehlo.elements import compared, element_type, splat
from morello.mlir import all_ops, build_value, ir

_Limits = tuple[float, float]

_ANY = -math.inf, math.inf

_WHOLE = frozenset(
    f"stablehlo.{name}"
    for name in ("ceil", "floor", "round_nearest_afz", "round_nearest_even")
)
"""Functions that keep whole limits."""

_SAME = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.reshape", *_WHOLE})
"""Ops whose results have the limits of what they read."""

_FUNCTIONS = "func.func", "stablehlo.while", "stablehlo.case", "stablehlo.if"
"""Ops whose regions are programs; those of others are scalar functions."""

_BYTE = 8


def saturate_casts(module: ir.Operation) -> None:
    """Give casts of floats to integers XLA's results, in place.

    Casts to bytes are of numbers between two limits, which makes NaN 0 there.
    """
    for op in all_ops(module, "stablehlo.convert"):
        limits = _limits_of_type(op.results[0])
        if limits is None or op.parent.name not in _FUNCTIONS:
            continue
        if not isinstance(element_type(op.operands[0]), ir.FloatType):
            continue
        least, most = _limits(op.operands[0])
        is_byte = limits[1] - limits[0] < 1 << _BYTE
        if is_byte and limits[0] <= least and most <= limits[1]:
            continue
        with op.location, ir.InsertionPoint(op):
            op.operands[0] = _wide(op.operands[0])
            if is_byte:
                op.operands[0] = _clamped(op.operands[0], limits)
        if not is_byte:
            with op.location, ir.InsertionPoint.after(op):
                _select(op, limits)


def _limits_of_type(value: ir.Value) -> tuple[int, int] | None:
    """The least and the greatest integer of a tensor's type; None for truth values and
    for other types."""
    kind = element_type(value)
    if not isinstance(kind, ir.IntegerType) or kind.width == 1:
        return None
    if kind.is_unsigned:
        return 0, (1 << kind.width) - 1
    return -(1 << kind.width - 1), (1 << kind.width - 1) - 1


def _limits(value: ir.Value) -> _Limits:
    """The limits of a tensor's numbers, unless they are NaN."""
    op = value.owner
    if isinstance(op, ir.Block):
        return _ANY
    if op.name in _SAME:
        return _limits(op.operands[0])
    match op.name:
        case "stablehlo.constant":
            elements = ir.DenseElementsAttr(op.attributes["value"])
            if not elements.is_splat:
                return _ANY
            number = float(elements.get_splat_value().value)
            return number, number
        case "stablehlo.clamp":
            least, _, most = map(_limits, op.operands)
            return least[0], most[1]
        case "stablehlo.maximum" | "stablehlo.minimum":
            of_two = max if op.name.endswith("maximum") else min
            pairs = zip(*map(_limits, op.operands), strict=True)
            least_of, most_of = (of_two(pair) for pair in pairs)
            return least_of, most_of
    return _ANY


def _wide(x: ir.Value) -> ir.Value:
    """A tensor of floats that have the limits of bytes, and those of other integers or
    the next number."""
    element = element_type(x)
    if isinstance(element, ir.F32Type | ir.F64Type):
        return x
    kind = ir.RankedTensorType.get(x.type.maybe_downcast().shape, ir.F32Type.get())
    return build_value("stablehlo.convert", kind, x)


def _clamped(x: ir.Value, limits: tuple[int, int]) -> ir.Value:
    least, most = (splat(x.type, float(limit)) for limit in limits)
    return build_value("stablehlo.clamp", x.type, least, x, most)


def _select(cast: ir.Operation, limits: tuple[int, int]) -> None:
    """Have readers of a cast read the integers that XLA has."""
    (x,), result = cast.operands, cast.results[0]
    users = list(result.uses)
    integer = result
    least, most = limits
    for direction, other, number in (
        ("GE", splat(x.type, float(most + 1)), most),
        ("LT", splat(x.type, float(least)), least),
        ("NE", x, 0),
    ):
        truth = compared(direction, x, other)
        chosen = splat(result.type, number)
        integer = build_value("stablehlo.select", result.type, truth, chosen, integer)
    for use in users:
        use.owner.operands[use.operand_number] = integer
