"""Why an op of linalg on tensors has no place in a graph, and what to do."""

from morello.frontends.linalg.unrolling import LOOPS, why_not
from morello.mlir import ir

ELSEWHERE = "compute it outside of the program"
DATA_PLACES = "elements are read at places that are data", ELSEWHERE


def why_no_graph(op: ir.Operation) -> tuple[str, str]:
    """Why an op has no place in a graph."""
    if op.name in LOOPS:
        return why_not(op)
    if op.name.startswith(("scf.", "cf.")):
        return "control flow depends on data", "export the branch or the unrolled loop"
    if op.name in ("tensor.gather", "tensor.scatter"):
        return DATA_PLACES
    if op.name == "func.call":
        return "the function that it calls is not in the module", "inline it"
    return "no graph of reductions and maps computes it", ELSEWHERE
