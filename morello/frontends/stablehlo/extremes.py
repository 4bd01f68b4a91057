"""Places of the greatest and least elements along an axis: `placed`.

JAX reduces pairs of an element and its place, for which graphs have no reduction. They
have two: the extreme, and the least of the places where an element is it, or is NaN.
"""

import math

from morello.frontends.stablehlo.elements import compared, splat
from morello.mlir import all_ops, build_value, ir, maker, replace_op

_BODY = (
    *("stablehlo.compare NE 0 0", "stablehlo.or 4 5", "stablehlo.compare EQ 0 2"),
    *("stablehlo.compare LT 1 3", "stablehlo.and 7 8", "stablehlo.or 6 9"),
    *("stablehlo.select 6 0 2", "stablehlo.select 10 1 3", "stablehlo.return 11 12"),
)
"""The ops of JAX's body after the first one, which compares two elements: values are
numbered from its four arguments on."""

_EXTREMES = {
    "stablehlo.compare GT 0 2": ("maximum", -math.inf),
    "stablehlo.compare LT 0 2": ("minimum", math.inf),
}
"""By the first op of the body: the op of the extreme, and what it begins with."""

_MOST_PLACES = 1 << 24
"""Places that f32 has each of."""


def placed(module: ir.Operation) -> None:
    """Write such reductions of f32 as two, in place."""
    for op in list(all_ops(module, "stablehlo.reduce")):
        body = _text(op.regions[0].blocks[0])
        extreme = _EXTREMES.get(body[0]) if body[1:] == _BODY else None
        dims = list(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
        kind = op.operands[0].type.maybe_downcast()
        if (
            extreme is None
            or len(dims) != 1
            or not isinstance(kind.element_type, ir.F32Type)
            or kind.get_dim_size(dims[0]) >= _MOST_PLACES
            or not _counts(op.operands[1], dims[0])
            or not _is_all(op.operands[2], extreme[1])
        ):
            continue
        with op.location, ir.InsertionPoint(op):
            results = _written(op, dims[0], *extreme)
        replace_op(op, *results)


def _text(block: ir.Block) -> tuple[str, ...]:
    """The ops of a body as text, with numbers for values."""
    numbers = {value: str(i) for i, value in enumerate(block.arguments)}
    lines = []
    for op in block.operations:
        words = [op.operation.name]
        if "comparison_direction" in op.attributes:
            words += [
                str(op.attributes["comparison_direction"]).split()[-1].rstrip(">")
            ]
        words += [numbers.get(value, "?") for value in op.operation.operands]
        lines.append(" ".join(words))
        numbers |= {value: str(len(numbers)) for value in op.operation.results}
    return tuple(lines)


def _counts(value: ir.Value, dim: int) -> bool:
    """Whether a value is the places along an axis."""
    iota = maker(value, "stablehlo.iota")
    return (
        iota is not None
        and ir.IntegerAttr(iota.attributes["iota_dimension"]).value == dim
    )


def _is_all(value: ir.Value, number: float) -> bool:
    """Whether a value is this constant."""
    constant = maker(value, "stablehlo.constant")
    if constant is None:
        return False
    elements = constant.attributes["value"].maybe_downcast()
    return bool(elements.is_splat and elements.get_splat_value().value == number)


def _written(op: ir.Operation, dim: int, extreme: str, start: float) -> list[ir.Value]:
    x, kind = op.operands[0], op.operands[0].type.maybe_downcast()
    count = float(kind.get_dim_size(dim))
    scalar = ir.RankedTensorType.get([], ir.F32Type.get())
    least = _reduced(op, x, extreme, splat(scalar, start))
    others = ir.DenseI64ArrayAttr.get([i for i in range(kind.rank) if i != dim])
    spread = "stablehlo.broadcast_in_dim"
    wide = build_value(spread, kind, least, broadcast_dimensions=others)
    is_it, is_nan = compared("EQ", x, wide), compared("NE", x, x)
    wide_count = splat(kind, count)
    axis = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
    places = build_value("stablehlo.iota", kind, iota_dimension=axis)
    either = build_value("stablehlo.or", is_it.type, is_it, is_nan)
    there = build_value("stablehlo.select", kind, either, places, wide_count)
    place = _reduced(op, there, "minimum", splat(scalar, math.inf))
    return [least, build_value("stablehlo.convert", op.results[1].type, place)]


def _reduced(op: ir.Operation, x: ir.Value, name: str, start: ir.Value) -> ir.Value:
    """A tensor, reduced along the axes of an op."""
    new = ir.Operation.create(
        "stablehlo.reduce",
        results=[op.results[0].type],
        operands=[x, start],
        attributes={"dimensions": op.attributes["dimensions"]},
        regions=1,
    )
    scalar = start.type
    block = new.regions[0].blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        result = build_value(f"stablehlo.{name}", scalar, *block.arguments)
        ir.Operation.create("stablehlo.return", operands=[result])
    return new.results[0]
