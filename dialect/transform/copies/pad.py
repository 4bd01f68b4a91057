"""``morello_transform.pad``: an input in a buffer, with zeros around it, then the rest.

Before: a ``morello.compose`` op. After: a ``memref.alloc``; where windows reach beyond
the input a ``morello.fill`` of it (handle ``fill``); a ``morello.move`` of the input to
where it is among the zeros (``copy``); and the op on the buffer (``body``).
"""

from morello.actions.copies.pad import Pad, Padded
from morello.dialect.build import build_spec_op
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.graphs.parts import buffer_of, part_at


def apply_pad(site: Site, action: Pad) -> Left:
    """Build the buffer and the ops."""
    found = action.padded(site.spec.key)
    holes = {hole.role: hole.spec for hole in site.rewrite.holes}
    assert isinstance(found, Padded)
    room = buffer_of(found.room, holes["body"].shape(found.operand))
    source = site.operands[found.operand]
    axes = site.spec.kind.operands[found.operand].axes
    layout = site.spec.tensors[found.operand].layout
    sizes = holes["copy"].sizes
    start = tuple(max(axis.before, 0) for axis in axes)
    inside = part_at(room, found.room.layout, start, sizes)
    start = tuple(max(-axis.before, 0) for axis in axes)
    reached = part_at(source, layout, start, sizes)
    memrefs = list(site.operands)
    memrefs[found.operand] = room
    operands = {"fill": [room], "copy": [reached, inside], "body": memrefs}
    return {role: build_spec_op(spec, operands[role]) for role, spec in holes.items()}


PAD = ActionOp.define(Pad, ("fill", "copy", "body"), apply_pad)
"""The op."""
