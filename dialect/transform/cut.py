"""``morello_transform.cut``: producers into buffers, then consumers of what is there.

Before: a ``morello.compose`` op. After: a ``memref.alloc`` for each temporary, or for
registers a ``memref.alloca`` of vectors; the op of the producers (handle
``producers``); the op of the consumers (handle ``consumers``). A part that is a product
of matrices becomes a ``morello.matmul``.
"""

from morello.actions.cut import Cut, Cutting
from morello.dialect.build import build_spec_op
from morello.dialect.target import target_of
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.graph_parts import buffer_of, part_operands
from morello.spec.operand import Operand


def apply_cut(site: Site, action: Cut) -> Left:
    """Build the buffers and both ops."""
    kind = site.spec.kind
    found = action.cutting(site.spec.key, target_of(site.op))
    graph = kind.as_graph
    assert isinstance(found, Cutting)
    assert graph is not None
    memrefs = dict(zip(kind.values, site.operands, strict=True))
    for value, form in zip(found.temporaries, found.forms, strict=True):
        axes = graph.axes(value)
        sizes = Operand("", axes, is_read=True, is_written=True).sizes(site.spec.sizes)
        memrefs[value] = buffer_of(form, sizes)
    parts = {"producers": found.producers, "consumers": found.consumers}
    return {
        hole.role: build_spec_op(hole.spec, part_operands(parts[hole.role], memrefs))
        for hole in site.rewrite.holes
    }


CUT = ActionOp.define(Cut, ("producers", "consumers"), apply_cut)
"""The op."""
