"""``morello_transform.split_parallel``: shares of a reduction, one for each thread.

Before: a Spec op that reduces. After: for each output that is reduced a
``memref.alloc`` of one partial result a share and a ``morello.fill`` of them (handles
``init``, ``init1``, …); an ``scf.parallel`` with one iteration a share, in it the Spec
op that adds a share to its partial result (handle ``main``; of the last, if it is
smaller, ``remainder``); and the Spec op that makes results of them (handle ``merge``).
"""

import math

from morello.actions import Hole
from morello.actions.loops.split_parallel import Sharing, SplitParallel
from morello.actions.to_accum import INITS
from morello.dialect.build import build_spec_op
from morello.dialect.memrefs import DYNAMIC, element_type, index, strided, subview
from morello.dialect.target import target_of
from morello.dialect.transform.action_op import Left, Site, op_of
from morello.dialect.transform.graphs.parts import part_operands
from morello.dialect.transform.loops.team import build_team, build_where
from morello.dialect.transform.subview import Start, elements, tile_of
from morello.mlir import dialect, ir
from morello.spec import TensorSpec

LINE = 16
"""The elements of a line: two threads write to none in common."""


@op_of(SplitParallel, *INITS, "main", "remainder", "merge")
def apply_split_parallel(site: Site, action: SplitParallel) -> Left:
    """Build the partial results, the loop over threads and the merge."""
    sharing = action.sharing(site.spec.key, target_of(site.op))
    assert isinstance(sharing, Sharing)
    kind = sharing.form.kind
    sizes = tuple(site.spec.sizes[d] for d in sharing.form.dims)
    buffers = {
        out: _buffer(action.parts, kind.operands[out].sizes(sizes), tensor)
        for out, tensor in zip(sharing.partial, sharing.buffers, strict=True)
    }
    left = {}
    for role, out in zip(INITS, sharing.partial, strict=False):
        left[role] = build_spec_op(site.holes[role].spec, [buffers[out]])
    with ir.InsertionPoint(build_team(action.parts)) as inside:
        thread = inside.block.arguments[0]
        operands = [
            _slice(buffers[i], thread) if i in buffers else site.operands[at]
            for i, at in enumerate(sharing.form.operands)
        ]
        arith = dialect("arith")
        last = action.parts - 1
        if "remainder" not in site.holes:
            start = Start(0, arith.MulIOp(thread, index(action.size)).result)
            left["main"] = _tile(sharing, site.holes["main"], operands, start)
        else:
            for role, predicate in (
                ("main", arith.CmpIPredicate.ult),
                ("remainder", arith.CmpIPredicate.eq),
            ):
                hole = site.holes[role]
                here = arith.CmpIOp(predicate, thread, index(last)).result
                with ir.InsertionPoint(build_where(here, hole.times)):
                    start = Start(last * action.size)
                    if role == "main":
                        offset = arith.MulIOp(thread, index(action.size)).result
                        start = Start(0, offset)
                    left[role] = _tile(sharing, hole, operands, start)
    outputs = {out: site.operands[at] for out, at in enumerate(sharing.form.operands)}
    outputs |= {-1 - out: buffer for out, buffer in buffers.items()}
    merged = part_operands(sharing.merge, outputs)
    left["merge"] = build_spec_op(site.holes["merge"].spec, merged)
    return left


def _buffer(parts: int, sizes: tuple[int, ...], tensor: TensorSpec) -> ir.Value:
    """Allocate a buffer for partial results, each padded to whole cache lines."""
    memref = dialect("memref")
    inner = math.prod(sizes[1:])
    grain = LINE // math.gcd(LINE, inner)
    rows = -(-sizes[0] // grain) * grain
    element = element_type(tensor)
    kind = ir.MemRefType.get([parts, rows, *sizes[1:]], element)
    whole: ir.Value = memref.AllocOp(kind, [], []).result
    if rows == sizes[0]:
        return whole
    shape = [parts, *sizes]
    strides, _ = kind.get_strides_and_offset()
    part = strided(shape, element, 0, strides)
    return subview(whole, part, [0] * len(shape), shape)


def _slice(buffer: ir.Value, thread: ir.Value) -> ir.Value:
    """The partial result of one thread."""
    source = ir.MemRefType(buffer.type)
    strides, _ = source.get_strides_and_offset()
    _, *shape = source.shape
    kind = strided(shape, source.element_type, DYNAMIC, strides[1:])
    return subview(buffer, kind, [thread, *[0] * len(shape)], [1, *shape])


def _tile(
    sharing: Sharing, hole: Hole, operands: list[ir.Value], start: Start
) -> ir.Operation:
    """The Spec of a share that begins somewhere."""
    memrefs = []
    for i, operand in enumerate(hole.spec.kind.operands):
        memref = operands[i]
        if sharing.dim in operand.dims:
            shape = hole.spec.shape(i)
            axis, offset = (
                operand.axis(sharing.dim),
                elements(operand, sharing.dim, start),
            )
            memref = tile_of(memref, sharing.tensors[i], axis, shape, offset)
        memrefs.append(memref)
    return build_spec_op(hole.spec, memrefs)
