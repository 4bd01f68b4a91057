"""``morello_transform.unfold``: an image copied window by window, then the rest.

Before: a ``morello.compose`` op, a convolution. After: a ``memref.alloc``; a
``memref.reinterpret_cast`` of the image, whose windows overlap; a ``morello.move`` of
that into the buffer (handle ``copy``); and the op on the buffer (``body``).
"""

from morello.actions.copies.unfold import Unfold, Unfolded, unfolded_key
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.graphs.parts import buffer_of, overlapping, places_in
from morello.mlir import ir


@op_of(Unfold, "copy", "body")
def apply_unfold(site: Site, action: Unfold) -> Left:
    """Build the buffer and the ops."""
    unfolded = unfolded_key(site.spec.key)
    assert isinstance(unfolded, Unfolded)
    kind, image = site.spec.kind, unfolded.windows.image
    memrefs = dict(zip(kind.values, site.operands, strict=True))
    copy, body = site.holes["copy"], site.holes["body"]
    sizes = copy.spec.sizes
    room = buffer_of(site, unfolded.room, sizes, places_in(copy, 1))
    strides, _ = ir.MemRefType(memrefs[image].type).get_strides_and_offset()
    order = [d.dim for d in unfolded.windows.layout.dims]
    along = [unfolded.windows.places[axis] for axis in order]
    steps = [step * strides[place] for _, place, step in along]
    pieces = overlapping(memrefs[image], [sizes[axis] for axis in order], steps)
    memrefs[image] = room
    values = (unfolded.part.values[v] for v in body.spec.kind.values)
    return site.fill({"copy": [pieces, room], "body": [memrefs[v] for v in values]})
