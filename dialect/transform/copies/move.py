"""``morello_transform.move``: an operand is used from nearer, or in another layout.

Before: a Spec op. After, where nothing is copied: the same op on the same memrefs, with
the new form and what remains of the limits (handle ``body``). Where the operand gets a
buffer: a ``memref.alloc``, or for registers a ``memref.alloca`` of vectors; a
``morello.move`` into it if the Spec reads the operand (``prologue``); the op on the
buffer (``body``); a ``morello.move`` back if the Spec writes it (``epilogue``).
"""

from morello.actions import Move
from morello.actions.copies.move import copies
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.graphs.parts import buffer_of, places_in
from morello.mlir import ir


@op_of(Move, "prologue", "body", "epilogue")
def apply_move(site: Site, action: Move) -> Left:
    """Build the moves, if any, and the op between them."""
    index = [o.name for o in site.spec.kind.operands].index(action.operand)
    source = site.operands[index]
    buffer = _buffer(site, index) or source
    memrefs = site.operands
    memrefs[index] = buffer
    operands = {
        "prologue": [source, buffer],
        "body": memrefs,
        "epilogue": [buffer, source],
    }
    return site.fill(operands)


def _buffer(site: Site, index: int) -> ir.Value | None:
    """A new memref for the operand; None where the move copies nothing."""
    body = site.holes.get("body")
    if body is None:
        return None
    dest = body.spec.tensors[index]
    if not copies(site.spec.tensors[index], dest):
        return None
    return buffer_of(site, dest, body.spec.shape(index), places_in(body, index))
