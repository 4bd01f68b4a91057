"""``morello_transform.to_accum``: the neutral element, then a reduction that adds.

Before: a Spec op that overwrites its outputs. After: a ``morello.fill`` of each output
(handles ``init``, ``init1``, …) and the Spec op that accumulates (handle ``body``). A
maximum inside of a graph gets a ``memref.alloc`` of its own.
"""

from morello.actions import ToAccum
from morello.actions.to_accum import INITS, filled, reformed
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.graphs.parts import buffer_of, places_in


@op_of(ToAccum, *INITS, "body")
def apply_to_accum(site: Site, action: ToAccum) -> Left:
    """Build the fills and the op that accumulates."""
    form = site.spec.kind.reform
    assert form is not None
    body, tensors = site.holes["body"], reformed(site.spec.key, form)
    memrefs = [
        buffer_of(site, tensors[i], body.spec.shape(i), places_in(body, i))
        if at < 0
        else site.operands[at]
        for i, at in enumerate(form.operands)
    ]
    operands = {"body": memrefs}
    operands |= {
        role: [memrefs[out]] for role, out in zip(INITS, filled(form), strict=False)
    }
    return site.fill(operands)
