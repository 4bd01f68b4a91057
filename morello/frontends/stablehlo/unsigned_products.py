"""Products of unsigned integers with wider results: factors are widened first.

StableHLO's own conversion widens them as if they had signs.
"""

from morello.frontends.stablehlo.elements import element_type
from morello.frontends.stablehlo.scalar_body import is_unsigned
from morello.mlir import all_ops, build_value, ir

_PRODUCTS = "stablehlo.convolution", "stablehlo.dot", "stablehlo.dot_general"


def widen_unsigned(module: ir.Operation) -> None:
    """Convert the factors of products to the type of the result, in place, where these
    are unsigned and narrower."""
    for op in all_ops(module, *_PRODUCTS):
        result = element_type(op.results[0])
        factors = list(op.operands)[:2]
        if not any(
            is_unsigned(value) and element_type(value) != result for value in factors
        ):
            continue
        for place, value in enumerate(factors):
            kind = value.type.maybe_downcast()
            wide = ir.RankedTensorType.get(kind.shape, result)
            with op.location, ir.InsertionPoint(op):
                op.operands[place] = build_value("stablehlo.convert", wide, value)
