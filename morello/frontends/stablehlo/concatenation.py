"""Concatenations of StableHLO, as the op of the tensor dialect.

StableHLO's own conversion makes one generic of them, with a condition for each element.
"""

from morello.mlir import all_ops, ir


def keep_concatenation(module: ir.Operation) -> None:
    """Replace the concatenations of a module by ``tensor.concat`` of the parts that
    have elements, in place."""
    for op in all_ops(module, "stablehlo.concatenate"):
        dim = int(ir.IntegerAttr(op.attributes["dimension"]).value)
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
        parts = [part for part in op.operands if _has_elements(part)]
        with op.location, ir.InsertionPoint(op):
            concatenation = ir.Operation.create(
                "tensor.concat",
                results=[op.results[0].type],
                operands=parts or list(op.operands),
                attributes={"dim": number},
            )
        op.results[0].replace_all_uses_with(concatenation.results[0])
        op.erase()


def _has_elements(value: ir.Value) -> bool:
    return 0 not in ir.RankedTensorType(value.type.maybe_downcast()).shape
