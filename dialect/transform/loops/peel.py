"""``morello_transform.peel``: a loop over parts of a reduction; the first overwrites.

Before: a Spec op that overwrites its output. After: the Spec op of the first part on
subviews of the inputs and the whole output (handle ``first``); an ``scf.for`` with the
Spec op that adds another part (handle ``main``); and the one that adds what remains
(handle ``remainder``).
"""

from morello.actions import Peel
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.loops.nest import build_loop, build_tile
from morello.dialect.transform.subview import Start


@op_of(Peel, "first", "main", "remainder")
def apply_peel(site: Site, action: Peel) -> Left:
    """Build the first part and the loop over others."""
    dim = site.spec.kind.dims.index(action.dim)
    first = site.rewrite.holes[0].spec
    tile = build_tile(site, dim, first, Start(0))
    return {"first": tile, **build_loop(site, dim, action.size, begin=action.size)}
