"""Index expressions of an operand as index maps."""

from morello.frontends.linalg.known_places import MOST_RUNS
from morello.frontends.nodes.tensors import window_of
from morello.frontends.refusals import OpError
from morello.mlir import ir
from morello.spec.index_map import ONE, IndexMap

SUMS_OF_DIMENSIONS = (
    "write sums of dimensions for operands, and dimensions for the result"
)


_PART = "read a slice of it"


def index_map(expr: ir.AffineExpr, extents: tuple[int, ...], extent: int) -> IndexMap:
    """The axis of ``extent`` elements that an expression reads.

    Args:
        expr: a sum of dimensions, or a dimension divided.
        extents: those of the dimensions of the op.
        extent: elements of the operand along the axis.

    Raises:
        OpError: some of them are not read, or the expression is neither.
    """
    divided = _divided_index(expr)
    if divided is None:
        terms, start = linear_index(expr)
        return window_of(terms, -start, extents, extent)
    if divided.extent(extents) != extent:
        raise OpError(f"of {extent} elements some are not read at {expr}", _PART)
    return divided if extent > 1 else ONE


def is_backwards(read: ir.AffineMap) -> bool:
    """Whether an operand is read backwards along a dimension."""
    sums = (expr for expr in read.results if _divided_index(expr) is None)
    axes = map(linear_index, sums)
    return any(step < 0 for terms, _ in axes for step in terms.values())


def backwards_error(read: ir.AffineMap) -> OpError:
    """The refusal of an operand that is read backwards where it cannot be."""
    return OpError(
        f"an operand is read backwards, by {read}, along more than {MOST_RUNS} "
        "elements, or of a dtype that no graph has, or where a sum or a product is "
        "formed",
        "reverse it outside of the program",
    )


def _divided_index(expr: ir.AffineExpr) -> IndexMap | None:
    """The index where it is a dimension divided by a number; None for others."""
    expr = expr.maybe_downcast()
    if not isinstance(expr, ir.AffineFloorDivExpr):
        return None
    left, right = expr.lhs.maybe_downcast(), expr.rhs.maybe_downcast()
    is_dimension = isinstance(left, ir.AffineDimExpr)
    if not is_dimension or not isinstance(right, ir.AffineConstantExpr):
        return None
    return IndexMap(((left.position, 1),), divisor=right.value)


def linear_index(expr: ir.AffineExpr) -> tuple[dict[int, int], int]:
    """The coefficients of the dimensions of an index, and what is added.

    Raises:
        OpError: it is no such sum.
    """
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineDimExpr):
        return {expr.position: 1}, 0
    if isinstance(expr, ir.AffineConstantExpr):
        return {}, expr.value
    if isinstance(expr, ir.AffineAddExpr):
        (left, a), (right, b) = linear_index(expr.lhs), linear_index(expr.rhs)
        dims = {*left, *right}
        return {d: left.get(d, 0) + right.get(d, 0) for d in dims}, a + b
    if isinstance(expr, ir.AffineMulExpr):
        (left, a), (right, b) = linear_index(expr.lhs), linear_index(expr.rhs)
        if not right:
            return {d: s * b for d, s in left.items()}, a * b
        if not left:
            return {d: s * a for d, s in right.items()}, a * b
    raise OpError(f"an operand is read at {expr}", SUMS_OF_DIMENSIONS)
