"""Concatenations of StableHLO, as the op of the tensor dialect.

StableHLO's own conversion makes one generic of them, with a condition for each element.
"""

from morello.mlir import all_ops, build_value, ir, replace_op


def keep_concatenation(module: ir.Operation) -> None:
    """Replace the concatenations of a module by ``tensor.concat`` of the parts that
    have elements, in place."""
    for op in all_ops(module, "stablehlo.concatenate"):
        dim = int(ir.IntegerAttr(op.attributes["dimension"]).value)
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
        parts = [part for part in op.operands if _has_elements(part)]
        with op.location, ir.InsertionPoint(op):
            parts = parts or list(op.operands)
            whole = build_value("tensor.concat", op.results[0].type, *parts, dim=number)
        replace_op(op, whole)


def _has_elements(value: ir.Value) -> bool:
    return 0 not in ir.RankedTensorType(value.type.maybe_downcast()).shape
