"""Places of the greatest and least elements along an axis: `placed`.

JAX reduces pairs of an element and its place, for which graphs have no reduction. They
have two: the extreme, and the least of the places where an element is it, or is NaN.
"""

import math

from morello.frontends.stablehlo.chlo_functions import maker
from morello.mlir import all_ops, ir

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
            for old, new in zip(
                op.results, _written(op, dims[0], *extreme), strict=True
            ):
                old.replace_all_uses_with(new)
        op.erase()


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
    truths = ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(1))
    least = _reduced(op, x, extreme, _number(start))
    others = ir.DenseI64ArrayAttr.get([i for i in range(kind.rank) if i != dim])
    wide = _op("broadcast_in_dim", kind, least, broadcast_dimensions=others)
    signs = [
        ir.Attribute.parse(f"#stablehlo<comparison_direction {sign}>")
        for sign in ("EQ", "NE")
    ]
    is_it = _op("compare", truths, x, wide, comparison_direction=signs[0])
    is_nan = _op("compare", truths, x, x, comparison_direction=signs[1])
    wide_count = _number(count, kind)
    axis = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
    places = _op("iota", kind, iota_dimension=axis)
    either = _op("or", truths, is_it, is_nan)
    there = _op("select", kind, either, places, wide_count)
    place = _reduced(op, there, "minimum", _number(math.inf))
    return [least, _op("convert", op.results[1].type, place)]


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
        result = _op(name, scalar, *block.arguments)
        ir.Operation.create("stablehlo.return", operands=[result])
    return new.results[0]


def _number(value: float, kind: ir.Type | None = None) -> ir.Value:
    """A constant of f32: a number, or a tensor of equal ones."""
    kind = kind or ir.RankedTensorType.get([], ir.F32Type.get())
    element = ir.FloatAttr.get(ir.F32Type.get(), value)
    return _op("constant", kind, value=ir.DenseElementsAttr.get_splat(kind, element))


def _op(
    name: str, kind: ir.Type, *operands: ir.Value, **attributes: ir.Attribute
) -> ir.Value:
    op = ir.Operation.create(
        f"stablehlo.{name}",
        results=[kind],
        operands=list(operands),
        attributes=attributes,
    )
    return op.results[0]
