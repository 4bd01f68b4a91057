"""``morello_transform.to_accum``: the neutral element, then a reduction that adds.

Before: a Spec op that overwrites its output. After: a ``morello.fill`` of the output
(handle ``init``) and the Spec op that accumulates (handle ``body``).
"""

from morello.actions import ToAccum
from morello.dialect.build import build_spec_op
from morello.dialect.transform.action_op import ActionOp, Left, Site


def apply_to_accum(site: Site, action: ToAccum) -> Left:
    """Build the fill and the op that accumulates."""
    (out,) = site.spec.kind.written
    operands = {"init": [site.operands[out]], "body": site.operands}
    return {
        hole.role: build_spec_op(hole.spec, operands[hole.role])
        for hole in site.rewrite.holes
    }


TO_ACCUM = ActionOp.define(ToAccum, ("init", "body"), apply_to_accum)
