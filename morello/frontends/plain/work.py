"""How often the loops of an op run, beside the elements that it reads and writes.

Where that is a small multiple, loops over elements cost about what moving the elements
does, and plain lowering takes the op unasked (`is_linear`). What does more work for an
element, as contractions do, needs a Spec to be quick.
"""

import itertools
import math
from collections.abc import Iterable

from morello.frontends.linalg.types import extents_of, index_maps
from morello.frontends.plain.outlining import captured
from morello.mlir import ir, maker

SELDOM = "morello.seldom"
"""Attribute of an ``scf.if`` whose branches with much work are seldom taken."""

ORDERED = "morello.ordered"
"""Attribute of a loop of a sort, whose steps grow with the logarithm of its rows."""

_MOST = 4
"""Steps for an element: windows of a pooling that overlap have two or three."""


def is_linear(op: ir.Operation) -> bool:
    """Whether an op takes at most `_MOST` steps for an element, by its types alone.

    A contraction never does, however small it is: so its size does not decide.
    """
    steps = _steps(op)
    if steps is None or _is_contraction(op):
        return False
    count = sum(_elements(v) for v in (*captured(op), *op.results) if not _is_empty(v))
    return steps <= _MOST * count


def _is_empty(value: ir.Value) -> bool:
    """Whether nobody has written it: the shape of windows, for one."""
    return maker(value, "tensor.empty") is not None


def _elements(value: ir.Value) -> int:
    """Number of elements of a value: 1 for a number, 0 for a dynamic shape."""
    kind = value.type.maybe_downcast()
    if not isinstance(kind, ir.RankedTensorType):
        return 1
    return math.prod(kind.shape) if kind.has_static_shape else 0


def _steps(op: ir.Operation) -> int | None:
    """How often its innermost bodies run; None where that is data, or not known."""
    match op.name:
        case "linalg.generic":
            extents = extents_of(op)
            return None if extents is None else _times(math.prod(extents), op)
        case "scf.for" if ORDERED in op.attributes:
            return 1
        case "scf.for":
            return _times(_trips(op), op)
        case "scf.if":
            return 1 if SELDOM in op.attributes else _times(1, op)
        case "tensor.generate" | "tensor.pad":
            return _times(_elements(op.results[0]), op)
        case "tm_tensor.scan":
            return max(map(_elements, op.operands))
        case "tensor.extract" | "tensor.insert":
            return 1
        case "tensor.insert_slice":  # into a tensor that it changes
            return _elements(op.operands[0])
    if len(op.regions):
        return None
    return max(map(_elements, op.results), default=1)


def _times(trips: int | None, op: ir.Operation) -> int | None:
    """The steps of bodies that run so often."""
    inner = [_steps(child) for child in _children(op)]
    if trips is None or None in inner:
        return None
    return trips * max([1, *(steps for steps in inner if steps is not None)])


def _children(op: ir.Operation) -> Iterable[ir.Operation]:
    blocks = itertools.chain.from_iterable(region.blocks for region in op.regions)
    return (child.operation for block in blocks for child in block.operations)


def _trips(loop: ir.Operation) -> int | None:
    """The trip count of a loop whose bounds are constants; None for other loops."""
    bounds = [value.owner for value in list(loop.operands)[:3]]
    if any(isinstance(o, ir.Block) or o.name != "arith.constant" for o in bounds):
        return None
    first, end, step = (ir.IntegerAttr(o.attributes["value"]).value for o in bounds)
    return len(range(first, end, step)) if step > 0 else None


def _is_contraction(op: ir.Operation) -> bool:
    """Whether an op reduces, and no single operand has all its dimensions: products of
    matrices, of whatever elements, and convolutions."""
    if op.name != "linalg.generic":
        return False
    maps = [_dims(map_) for map_ in index_maps(op)]
    extents = extents_of(op) or ()
    wide = {dim for dim, extent in enumerate(extents) if extent > 1}
    inputs = maps[: len(maps) - len(op.results)]
    return not wide <= maps[-1] and not any(wide <= read for read in inputs)


def _dims(index_map: ir.AffineMap) -> set[int]:
    """The dimensions that an index map names, in sums too."""
    dims: set[int] = set()
    rest = list(index_map.results)
    while rest:
        expr = rest.pop().maybe_downcast()
        if isinstance(expr, ir.AffineDimExpr):
            dims.add(expr.position)
        elif isinstance(expr, ir.AffineBinaryExpr):
            rest += [expr.lhs, expr.rhs]
    return dims
