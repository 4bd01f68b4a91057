"""Check of the modules that importers of other formats return: `check_linalg`."""

from collections.abc import Mapping

from morello.frontends.linalg.unrolling import LOOPS, why_not
from morello.frontends.refusals import ModelError, Refusal, key_of, place_of
from morello.mlir import ir, walk

_LINALG = ("arith", "builtin", "cf", "complex", "func", "linalg", "math", "tensor")
"""The dialects of the importer's output; other ops have no counterpart in them."""

_SCANS = "tm_tensor"
"""torch-mlir's own, of which scans and scatters become loops."""

_NO_LINALG = "it is no op of linalg on tensors", "compute it outside of the model"


def check_linalg(
    module: ir.Operation, source: str, names: Mapping[str, str] | None = None
) -> None:
    """Refuse ops that are not linalg's.

    Args:
        module: what the importer gives.
        source: the name of the file, for messages.
        names: what ops are called, by their places.

    Raises:
        ModelError: all of them.
    """
    refusals: list[Refusal] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.partition(".")[0] not in (*_LINALG, _SCANS):
            place = place_of(op.location, source)
            why = why_not(op) if op.name in LOOPS else _NO_LINALG
            refusals.append(
                Refusal((names or {}).get(key_of(op.location), op.name), place, *why)
            )
            return ir.WalkResult.SKIP
        return ir.WalkResult.ADVANCE

    walk(module, visit, ir.WalkOrder.PRE_ORDER)
    if refusals:
        raise ModelError(tuple(refusals))
