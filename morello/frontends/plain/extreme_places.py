"""Places of extremes in two steps, each of which LLVM makes vectors of: `find_places`.

torch-mlir compares each element with the extreme so far, one after the other, and as
ordered numbers, so that the value is NaN and the place is another element's. Here the
extreme comes first, then the least place (the greatest, where an equal element moves
it) of those that are equal to it, or NaN.
"""

import math

from morello.frontends.linalg.types import index_maps
from morello.mlir import dialect, generic, ir, replace_op, walk

_MOVING = {
    "arith.maximumf": (2, 3),
    "arith.minimumf": (4, 5),
    "arith.maxsi": (4, 5),
    "arith.minsi": (2, 3),
}
"""The comparisons, strict or not, whose truth moves the place of an extreme."""

_EQUAL, _EQUAL_FLOATS, _UNORDERED = 0, 1, 14
"""Comparisons of integers, of floats, and that which holds where one is NaN."""


def find_places(operation: ir.Operation) -> None:
    """Replace the reductions to an extreme and its place that begin with the extreme
    of nothing, in place.

    Args:
        operation: has ops of linalg.
    """
    reductions: list[tuple[ir.Operation, bool]] = []

    def see(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.generic" and len(op.results) == 2:
            is_strict = _is_strict(op)
            if is_strict is not None:
                reductions.append((op, is_strict))
        return ir.WalkResult.ADVANCE

    walk(operation, see)
    for reduction, is_strict in reductions:
        with reduction.location, ir.InsertionPoint(reduction):
            value = _value(reduction)
            place = _place(reduction, value, takes_first=is_strict)
        replace_op(reduction, value, place)


def _ops(generic_op: ir.Operation) -> list[ir.Operation]:
    return [op.operation for op in generic_op.regions[0].blocks[0].operations]


def _is_strict(op: ir.Operation) -> bool | None:
    """Whether a reduction has the place of the first of equal extremes, or the last;
    None where it is another one."""
    ops = _ops(op)
    names = [inner.name for inner in ops]
    if len(op.operands) != 3 or names[:2] != ["linalg.index", "arith.index_cast"]:
        return None
    if names[2] not in _MOVING or names[4:] != ["arith.select", "linalg.yield"]:
        return None
    _, place, extreme, comparison, chosen, returned = ops
    element, value, known = op.regions[0].blocks[0].arguments
    is_place = list(chosen.operands) == [comparison.result, place.result, known]
    reads = [list(inner.operands) for inner in (extreme, comparison)]
    is_extreme = reads == [[element, value]] * 2 and _begins(op, extreme)
    if not is_place or not is_extreme:
        return None
    if list(returned.operands) != [extreme.result, chosen.result]:
        return None
    predicate = int(ir.IntegerAttr(comparison.attributes["predicate"]).value)
    strict, other = _MOVING[extreme.name]
    return predicate == strict if predicate in (strict, other) else None


def _begins(op: ir.Operation, extreme: ir.Operation) -> bool:
    """Whether a reduction begins with the extreme of nothing: else the place of none
    of its elements may be what it has."""
    fill = op.operands[1].owner
    if isinstance(fill, ir.Block) or fill.name != "linalg.generic":
        return False
    first, *_ = fill.regions[0].blocks[0].arguments
    if _ops(fill)[0].name != "linalg.yield" or _ops(fill)[0].operands[0] != first:
        return False
    number = fill.operands[0].owner
    if isinstance(number, ir.Block) or number.name != "arith.constant":
        return False
    attribute = number.attributes["value"]
    is_greatest = "max" in extreme.name
    if isinstance(attribute, ir.FloatAttr):
        return bool(attribute.value == (-math.inf if is_greatest else math.inf))
    end = 1 << (attribute.type.width - 1)
    return bool(ir.IntegerAttr(attribute).value == (-end if is_greatest else end - 1))


def _reduced(
    op: ir.Operation, operands: list[ir.Value], maps: list[ir.AffineMap]
) -> ir.Operation:
    """A `linalg.generic` with the loops of another one, and an empty body."""
    loops = [
        str(each).partition("<")[2].rstrip(">")
        for each in ir.ArrayAttr(op.attributes["iterator_types"])
    ]
    return generic(operands[-1].type, operands, maps, loops)


def _value(op: ir.Operation) -> ir.Value:
    """The extremes alone."""
    values = _reduced(op, list(op.operands)[:2], index_maps(op)[:2])
    block = values.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        kind = _ops(op)[2]
        extreme = ir.Operation.create(
            kind.name, [block.arguments[1].type], list(block.arguments)
        )
        dialect("linalg").YieldOp(extreme.results)
    return values.result


def _place(op: ir.Operation, value: ir.Value, takes_first: bool) -> ir.Value:
    """The places of extremes that are known."""
    arith, linalg = dialect("arith"), dialect("linalg")
    source, _, before = op.operands
    kind = ir.RankedTensorType(before.type)
    # With the greatest number LLVM sees a choice in place of a minimum, and no vectors.
    end = (1 << (kind.element_type.width - 1)) - 2
    outside = arith.ConstantOp(kind.element_type, end if takes_first else -end).result
    empty = dialect("tensor").EmptyOp(list(kind.shape), kind.element_type).result
    first = linalg.fill(outside, outs=[empty])
    read, *written = index_maps(op)
    places = _reduced(op, [source, value, first], [read, *written])
    element, extreme, known = places.regions[0].blocks[0].arguments
    with ir.InsertionPoint(places.regions[0].blocks[0]):
        index, cast = (inner.clone().operation for inner in _ops(op)[:2])
        cast.operands[0] = index.result
        if isinstance(element.type.maybe_downcast(), ir.IntegerType):
            is_here = arith.CmpIOp(_EQUAL, element, extreme).result
        else:
            is_nan = arith.CmpFOp(_UNORDERED, element, element).result
            is_equal = arith.CmpFOp(_EQUAL_FLOATS, element, extreme).result
            is_here = arith.OrIOp(is_equal, is_nan).result
        place = arith.SelectOp(is_here, cast.result, outside).result
        nearest = arith.MinSIOp if takes_first else arith.MaxSIOp
        linalg.YieldOp([nearest(place, known).result])
    return places.result
