"""``morello_transform.online``: a maximum is settled, sums are rescaled, then the rest.

Before: a ``morello.compose`` op that accumulates. After: a ``memref.alloc`` for what
the maximum was, a ``morello.move`` of it there (handle ``save``), the op of the maximum
(``settle``), the op that rescales, in place (``rescale``), and the op of all else
(``rest``).
"""

from morello.actions.graphs.online import OLD, Online, Settling
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.graphs.parts import buffer_of, part_operands
from morello.spec.varying import varying_places


@op_of(Online, "save", "settle", "rescale", "rest")
def apply_online(site: Site, action: Online) -> Left:
    """Build the buffer and the ops."""
    kind, settling = site.spec.kind, action.settling(site.spec.key)
    assert isinstance(settling, Settling)
    memrefs = dict(zip(kind.values, site.operands, strict=True))
    place = kind.values.index(settling.maximum)
    sizes, places = site.spec.shape(place), varying_places(site.spec, place)
    memrefs[OLD] = buffer_of(site, settling.old, sizes, places)
    operands = {"save": [memrefs[settling.maximum], memrefs[OLD]]}
    parts = {
        "settle": settling.settle,
        "rescale": settling.rescale,
        "rest": settling.rest,
    }
    operands |= {role: part_operands(part, memrefs) for role, part in parts.items()}
    return site.fill(operands)
