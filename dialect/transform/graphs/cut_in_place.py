"""``morello_transform.cut_in_place``: producers write a temporary into an output.

Before: a ``morello.compose`` op. After: the op of the producers (handle ``producers``),
an operand of which is the memref of the output; the op of the consumers (handle
``consumers``), which reads and writes that memref, element by element. Temporaries that
are rows beside it have a ``memref.alloc`` each.
"""

from morello.actions.graphs.cut import Cutting
from morello.actions.graphs.cut_in_place import CutInPlace
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.graphs.parts import apply_cutting


@op_of(CutInPlace, "producers", "consumers")
def apply_cut_in_place(site: Site, action: CutInPlace) -> Left:
    """Build the buffers of rows and both ops; the temporary has the output's memref."""
    kind = site.spec.kind
    cutting = action.cutting(site.spec.key)
    graph = kind.as_graph
    assert isinstance(cutting, Cutting)
    assert graph is not None
    memrefs = dict(zip(kind.values, site.operands, strict=True))
    place = memrefs[action.output(site.spec.key)]
    memrefs |= {v: place for v in cutting.temporaries if v not in cutting.rows}
    return apply_cutting(site, graph, cutting, memrefs)
