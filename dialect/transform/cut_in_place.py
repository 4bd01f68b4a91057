"""``morello_transform.cut_in_place``: producers write a temporary into an output.

Before: a ``morello.compose`` op. After: the op of the producers (handle ``producers``),
an operand of which is the memref of the output; the op of the consumers (handle
``consumers``), which reads and writes that memref, element by element. Temporaries that
are rows beside it have a ``memref.alloc`` each.
"""

from morello.actions.cut import Cutting
from morello.actions.cut_in_place import CutInPlace
from morello.dialect.build import build_spec_op
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.graph_parts import buffer_of, part_operands
from morello.spec.operand import Operand


def apply_cut_in_place(site: Site, action: CutInPlace) -> Left:
    """Build the buffers of rows and both ops."""
    kind = site.spec.kind
    found = action.cutting(site.spec.key)
    graph = kind.as_graph
    assert isinstance(found, Cutting)
    assert graph is not None
    memrefs = dict(zip(kind.values, site.operands, strict=True))
    output = action.output(site.spec.key)
    for value, form in zip(found.temporaries, found.forms, strict=True):
        if value not in found.rows:
            memrefs[value] = memrefs[output]
            continue
        axes = graph.axes(value)
        sizes = Operand("", axes, is_read=True, is_written=True).sizes(site.spec.sizes)
        memrefs[value] = buffer_of(form, sizes)
    parts = {"producers": found.producers, "consumers": found.consumers}
    return {
        hole.role: build_spec_op(hole.spec, part_operands(parts[hole.role], memrefs))
        for hole in site.rewrite.holes
    }


CUT_IN_PLACE = ActionOp.define(
    CutInPlace, ("producers", "consumers"), apply_cut_in_place
)
"""The op."""
