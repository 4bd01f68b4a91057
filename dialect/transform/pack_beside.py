"""``morello_transform.pack_beside``: the first rows while an operand is packed.

Before: a Spec op. After: a ``memref.alloc`` of the packed operand; the
``morello.kernel`` of the first rows, which fills it, on subviews; an ``scf.for`` with
the Spec op of as many rows on the buffer (handle ``main``); and the one of the rows
that are left (handle ``remainder``).
"""

from morello.actions import PackBeside
from morello.dialect.build import build_kernel_op
from morello.dialect.memrefs import whole_type
from morello.dialect.transform.action_op import ActionOp, Left, Site
from morello.dialect.transform.loops import build_loop, tiles_at
from morello.dialect.transform.subview import Start
from morello.mlir import dialect


def apply_pack_beside(site: Site, action: PackBeside) -> Left:
    """Build the buffer, the kernel that fills it, and the loop over other rows."""
    first, index, dest = action.first(site.spec)
    memref = dialect("memref")
    buffer = memref.AllocOp(whole_type(dest, site.spec.shape(index)), [], []).result
    dim = site.spec.kind.dims.index("m")
    tiles = tiles_at(site, dim, first, Start(0))
    build_kernel_op(action.kernel, first, [*tiles, buffer])
    return build_loop(site.using(index, buffer), dim, action.size, begin=action.size)


PACK_BESIDE = ActionOp.define(PackBeside, ("main", "remainder"), apply_pack_beside)
