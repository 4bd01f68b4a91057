"""``morello_transform.select``: a kernel implements the Spec.

Before: a Spec op. After: a ``morello.kernel`` on the same memrefs (handle ``leaf``).
"""

from morello.actions import Select
from morello.dialect.build import build_kernel_op
from morello.dialect.transform.action_op import Left, Site, op_of


@op_of(Select, "leaf")
def apply_select(site: Site, action: Select) -> Left:
    """Build the ``morello.kernel``."""
    return {"leaf": build_kernel_op(action.kernel, site.spec, site.operands)}
