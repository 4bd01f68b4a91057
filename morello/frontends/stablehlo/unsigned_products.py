"""Products of unsigned integers with wider results: factors are widened first.

StableHLO's own conversion widens them as if they had signs.
"""

from morello.mlir import all_ops, ir

_PRODUCTS = "stablehlo.convolution", "stablehlo.dot", "stablehlo.dot_general"


def widen_unsigned(module: ir.Operation) -> None:
    """Convert the factors of products to the type of the result, in place, where these
    are unsigned and narrower."""
    for op in all_ops(module, *_PRODUCTS):
        result = _element(op.results[0])
        factors = list(op.operands)[:2]
        if not any(
            _is_unsigned(value) and _element(value) != result for value in factors
        ):
            continue
        for place, value in enumerate(factors):
            kind = value.type.maybe_downcast()
            wide = ir.RankedTensorType.get(kind.shape, result)
            with op.location, ir.InsertionPoint(op):
                cast = ir.Operation.create(
                    "stablehlo.convert", results=[wide], operands=[value]
                )
            op.operands[place] = cast.results[0]


def _element(value: ir.Value) -> ir.Type:
    return value.type.maybe_downcast().element_type


def _is_unsigned(value: ir.Value) -> bool:
    element = _element(value).maybe_downcast()
    return isinstance(element, ir.IntegerType) and element.is_unsigned
