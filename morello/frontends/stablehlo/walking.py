"""Ops of a module by their names: `all_ops`."""

from morello.mlir import ir, walk


def all_ops(module: ir.Operation, *names: str) -> list[ir.Operation]:
    """The ops that have one of these names, those inside of others first."""
    ops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in names:
            ops.append(op.operation)
        return ir.WalkResult.ADVANCE

    walk(module, visit)
    return ops


def is_signless(*values: ir.Value) -> bool:
    """Whether no element has a signed or unsigned type, which arith does not take."""
    kinds = (value.type.maybe_downcast() for value in values)
    elements = (kind.element_type.maybe_downcast() for kind in kinds)
    return all(not isinstance(e, ir.IntegerType) or e.is_signless for e in elements)
