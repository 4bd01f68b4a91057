"""Functions of CHLO that graphs have, which upstream expands into several ops.

`write_as_math` is the entry point: each becomes one op of `math`, by the table of
functions. ``erfc`` of GELU becomes 1 + erf, as JAX writes it: x/2 · erfc(-x/√2). There
the factor x makes the error of the sum as small as that of the product; elsewhere small
values of ``erfc`` would lose their digits.
"""

from typing import Any

from morello.frontends.stablehlo.elements import splat
from morello.mlir import all_ops, build_value, ir, maker, replace_op
from morello.spec.functions import ROWS

_MATH = {
    name: row.mlir[0]
    for row in ROWS.values()
    for name in row.stablehlo
    if row.mlir and name.startswith("chlo.")
}
"""The op of MLIR for each of CHLO."""


def write_as_math(module: ir.Operation) -> None:
    """Write the functions of f32 of CHLO as ops of `math`, in place."""
    ops = all_ops(module, *_MATH, outer_first=True)
    for op in [op for op in ops if _is_f32(op.results[0])]:
        scaled = _gelu_argument(op) if op.name == "chlo.erfc" else None
        if scaled is None:
            with op.location, ir.InsertionPoint(op):
                value = build_value(_MATH[op.name], op.results[0].type, *op.operands)
            replace_op(op, value)
            continue
        (x, scale), kind = scaled, op.results[0].type
        with op.location, ir.InsertionPoint(op):
            inner = build_value("stablehlo.multiply", kind, x, scale)
            error = build_value("math.erf", kind, inner)
            value = build_value("stablehlo.add", kind, error, splat(kind, 1.0))
        replace_op(op, value)


def _is_f32(value: ir.Value) -> bool:
    kind = value.type
    return isinstance(kind, ir.RankedTensorType) and isinstance(
        kind.element_type, ir.F32Type
    )


def _gelu_argument(op: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
    """x and the scale of ``erfc(-x · scale)``, if x scales every use of it."""
    product = maker(op.operands[0], "stablehlo.multiply")
    if product is None:
        return None
    negated = maker(product.operands[0], "stablehlo.negate")
    if negated is None:
        return None
    x = negated.operands[0]
    uses = [use.owner for use in op.results[0].uses]
    if not uses or not all(_is_scaled(use, op.results[0], x) for use in uses):
        return None
    return x, product.operands[1]


def _is_scaled(use: Any, error: ir.Value, x: ir.Value) -> bool:
    """Whether a use multiplies by x, or by x times something."""
    if use.name != "stablehlo.multiply":
        return False
    (other,) = [v for v in use.operands if v != error] or [error]
    half = maker(other, "stablehlo.multiply")
    return other == x or (half is not None and x in list(half.operands))
