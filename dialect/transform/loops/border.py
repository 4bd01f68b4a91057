"""``morello_transform.border``: what is inside an image, and each strip of its border.

Before: a ``morello.compose`` op that reads through windows which reach beyond an input.
After: a ``morello.compose`` op without padding for each strip, on views of the operands
(handles ``before``, ``before1``, ``before2``, ``main``, ``after``, ``after1``,
``after2``).
"""

from morello.actions.loops.border import ROLES, Border, Bordered, Strips
from morello.dialect.build import build_spec_op
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.subview import Start, tile_of


@op_of(Border, *ROLES)
def apply_strips(site: Site, action: Strips) -> Left:
    """Build the ops of the strips."""
    bordered = action.bordered(site.spec.key)
    assert isinstance(bordered, Bordered)
    border, kind = bordered.border, site.spec.kind
    parts = action.parts(border, site.spec.sizes)
    left = {}
    for hole in site.rewrite.holes:
        strip = parts[hole.role]
        starts = {border.rows: strip.row, border.taps: strip.tap}
        memrefs = list(site.operands)
        for i, operand in enumerate(kind.operands):
            shape = hole.spec.shape(i)
            if i == border.image:
                axis, start = border.axis, strip.place
            else:
                dim = next((d for d in starts if d in operand.dims), None)
                if dim is None:
                    continue
                axis, start = operand.axis(dim), starts[dim]
            memrefs[i] = tile_of(
                memrefs[i], site.spec.tensors[i], axis, shape, Start(start)
            )
        left[hole.role] = build_spec_op(hole.spec, memrefs)
    return left
