"""Ops of StableHLO on tensors: constants of equal elements, and comparisons."""

from morello.mlir import build_value, ir


def element_type(value: ir.Value) -> ir.Type:
    """The type of the elements of a tensor."""
    return value.type.maybe_downcast().element_type.maybe_downcast()


def splat(kind: ir.Type, number: float) -> ir.Value:
    """A tensor of a type whose elements all are one number."""
    element = kind.maybe_downcast().element_type.maybe_downcast()
    if isinstance(element, ir.FloatType):
        of_all = ir.FloatAttr.get(element, number)
        value = ir.DenseElementsAttr.get_splat(kind, of_all)
    else:  # as text, since integers may be unsigned ones of 64 bits
        value = ir.Attribute.parse(f"dense<{number}> : {kind}")
    return build_value("stablehlo.constant", kind, value=value)


def compared(direction: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """Whether elements compare so: EQ, NE, GE, GT, LE or LT."""
    shape = a.type.maybe_downcast().shape
    truth = ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(1))
    sign = ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>")
    return build_value("stablehlo.compare", truth, a, b, comparison_direction=sign)
