"""``morello_transform.split``: a loop over parts of a reduction, added one by one.

Before: a Spec op that accumulates. After: an ``scf.for`` with the Spec op of a part on
subviews of the inputs and the whole output (handle ``main``), and the Spec op of what
remains (handle ``remainder``).
"""

from morello.actions import Split
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.loops.nest import build_loop


def apply_split(site: Site, action: Split) -> Left:
    """Build the loop over parts of the reduction."""
    return build_loop(site, site.spec.kind.dims.index(action.dim), action.size)


SPLIT = ActionOp.define(Split, ("main", "remainder"), apply_split)
