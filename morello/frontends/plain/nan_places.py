"""The place of an extreme is that of NaN where there is one: `find_nan`.

torch-mlir compares each element with the extreme so far, as ordered numbers, so that
the value is NaN and the place is another element's.
"""

from morello.mlir import dialect, ir, walk

_ORDERED = {"arith.maximumf": (2, 3), "arith.minimumf": (4, 5)}
"""The comparisons, strict or not, whose truth moves the place of an extreme."""

_BOTH_ORDERED, _UNORDERED = 7, 14
"""The comparisons that hold where none, or one, is NaN."""


def find_nan(operation: ir.Operation) -> None:
    """Let comparisons with an extreme hold where an element is NaN, in place.

    Args:
        operation: has ops of linalg.
    """
    comparisons: list[tuple[ir.Operation, bool]] = []

    def see(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.generic" and len(op.results) > 1:
            block = op.regions[0].blocks[0]
            for inner in block.operations:
                is_strict = _is_strict(inner.operation, block)
                if is_strict is not None:
                    comparisons.append((inner.operation, is_strict))
        return ir.WalkResult.ADVANCE

    walk(operation, see)
    for comparison, is_strict in comparisons:
        _hold_for_nan(comparison, is_strict)


def _is_strict(op: ir.Operation, block: ir.Block) -> bool | None:
    """Whether a comparison with an extreme so far is strict; None where it is none."""
    if op.name != "arith.cmpf":
        return None
    predicate = int(ir.IntegerAttr(op.attributes["predicate"]).value)
    for other in block.operations:
        strict, other_one = _ORDERED.get(other.operation.name, (-1, -1))
        is_same = list(other.operands) == list(op.operands)
        if predicate in (strict, other_one) and is_same:
            return predicate == strict
    return None


def _hold_for_nan(op: ir.Operation, is_strict: bool) -> None:
    arith = dialect("arith")
    element, extreme = op.operands
    with op.location, ir.InsertionPoint(op):
        is_new = arith.CmpFOp(_UNORDERED, element, element).result
        if is_strict:  # the first NaN stays
            is_number = arith.CmpFOp(_BOTH_ORDERED, extreme, extreme).result
            is_new = arith.AndIOp(is_new, is_number).result
        before = op.clone().operation.results[0]
        held = arith.OrIOp(before, is_new).result
    op.results[0].replace_all_uses_with(held)
    op.erase()
