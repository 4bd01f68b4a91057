"""``morello_transform.tile``: a loop over tiles of a dimension that the output has.

Before: a Spec op. After: an ``scf.for`` with the Spec op of a tile on subviews of the
operands (handle ``main``), and the Spec op of what remains (handle ``remainder``).
"""

from morello.actions import Split, Tile
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.loops.nest import build_loop


@op_of(Tile, "main", "remainder")
def apply_tile(site: Site, action: Tile | Split) -> Left:
    """Build the loop over tiles of a dimension."""
    return build_loop(site, site.spec.kind.dims.index(action.dim), action.size)
