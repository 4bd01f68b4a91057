"""Quotients of integers that are rounded down, exactly: `divide_integers`.

torch-mlir divides them in f64, which has no integers of more than 53 bits.
"""

from morello.mlir import all_ops, dialect, ir, result_of

_WIDE = 64


def divide_integers(operation: ir.Operation) -> None:
    """Replace quotients of integers of 64 bits that are floats in between, in place."""
    for op in all_ops(operation, "arith.fptosi"):
        rounded = _maker(op.operands[0], "math.floor")
        quotient = (
            None if rounded is None else _maker(rounded.operands[0], "arith.divf")
        )
        kind = op.results[0].type.maybe_downcast()
        if quotient is None or kind.width != _WIDE:
            continue
        with op.location, ir.InsertionPoint(op):
            operands = [_integer(value, kind) for value in quotient.operands]
            if any(operand is None for operand in operands):
                continue
            result = dialect("arith").FloorDivSIOp(*operands).result
        op.results[0].replace_all_uses_with(result)
        op.erase()


def _maker(value: ir.Value, name: str) -> ir.Operation | None:
    """The op that computes a value, if it has a name."""
    op = value.owner
    return None if isinstance(op, ir.Block) or op.name != name else op


def _integer(value: ir.Value, kind: ir.Type) -> ir.Value | None:
    """The integer that a float was before, or is."""
    cast = _maker(value, "arith.sitofp")
    if cast is not None:
        (source,) = cast.operands
        return source if source.type == kind else None
    constant = _maker(value, "arith.constant")
    number = None if constant is None else ir.FloatAttr(constant.attributes["value"])
    if number is None or not float(number).is_integer():
        return None
    return result_of(dialect("arith").ConstantOp(kind, int(float(number))))
