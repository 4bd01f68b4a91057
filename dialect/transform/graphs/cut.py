"""``morello_transform.cut``: producers into buffers, then consumers of what is there.

Before: a ``morello.compose`` op. After: a ``memref.alloc`` for each temporary, or for
registers a ``memref.alloca`` of vectors; the op of the producers (handle
``producers``); the op of the consumers (handle ``consumers``). A part that is a product
of matrices becomes a ``morello.matmul``.
"""

from morello.actions.graphs.cut import Cut, Cutting
from morello.dialect.target import target_of
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.graphs.parts import apply_cutting


@op_of(Cut, "producers", "consumers")
def apply_cut(site: Site, action: Cut) -> Left:
    """Build the buffers and both ops."""
    kind = site.spec.kind
    cutting = action.cutting(site.spec.key, target_of(site.op))
    graph = kind.as_graph
    assert isinstance(cutting, Cutting)
    assert graph is not None
    memrefs = dict(zip(kind.values, site.operands, strict=True))
    return apply_cutting(site, graph, cutting, memrefs)
