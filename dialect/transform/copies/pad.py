"""``morello_transform.pad``: an input in a buffer, with zeros around it, then the rest.

Before: a ``morello.compose`` op. After: a ``memref.alloc``; where windows reach beyond
the input a ``morello.fill`` of it (handle ``fill``); a ``morello.move`` of the input to
where it is among the zeros (``copy``); and the op on the buffer (``body``).
"""

from morello.actions.copies.pad import Pad, Padded
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.graphs.parts import buffer_of, joined, part_at, places_in
from morello.spec.graphs.borders import copied


@op_of(Pad, "fill", "copy", "body")
def apply_pad(site: Site, action: Pad) -> Left:
    """Build the buffer and the ops."""
    padded = action.padded(site.spec.key)
    body = site.holes["body"]
    assert isinstance(padded, Padded)
    shape, places = body.spec.shape(padded.operand), places_in(body, padded.operand)
    room = buffer_of(site, padded.room, shape, places)
    source = site.operands[padded.operand]
    axes = site.spec.kind.operands[padded.operand].axes
    layout = site.spec.tensors[padded.operand].layout
    sizes = tuple(int(copied(axis, site.spec.sizes)) for axis in axes)
    start = tuple(max(axis.before, 0) for axis in axes)
    inside = part_at(room, padded.room.layout, start, sizes)
    start = tuple(max(-axis.before, 0) for axis in axes)
    reached = part_at(source, layout, start, sizes)
    for _ in padded.run[1:]:
        inside = joined(inside, padded.room.layout, padded.run[0])
        reached = joined(reached, layout, padded.run[0])
    memrefs = list(site.operands)
    memrefs[padded.operand] = room
    return site.fill({"fill": [room], "copy": [reached, inside], "body": memrefs})
