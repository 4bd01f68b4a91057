"""Products of numbers with narrow integers that have scales, as one pattern.

``y[m,n] = sum(d[m,b] * a[m,k] * (s[b,n] * (q[k,n] - z[b,n]) + o[b,n]))``, where b is
k//32, in any order of factors, whether or not the scaled integers have a name of their
own; scales, zeros and offsets may be missing, and be products of several.
"""

import dataclasses
from functools import lru_cache

from morello.spec.graphs.expression import Call, Constant, Expression, Reference
from morello.spec.graphs.graph import Graph, Output, Part, part_of
from morello.spec.index_map import IndexMap


@dataclasses.dataclass(frozen=True)
class ScaledProduct:
    """The values of a graph that are parts of such a product, and the operands of its
    Spec, too: inputs are the first ones, and the output is the last."""

    factors: int
    """The value whose rows are multiplied."""
    integers: int
    """The value that is scaled."""
    scales: tuple[int, ...]
    """The values that scale the product, without rows."""
    row_scales: tuple[int, ...]
    """The values that scale it, with rows, or beside offsets, and without columns."""
    zeros: tuple[int, ...]
    """The value that is subtracted before, without rows: one or none."""
    zero: float
    """The number that is subtracted before, instead."""
    offsets: tuple[int, ...]
    """The values whose product is added to the scaled integers, without rows."""
    is_less: bool
    """Whether that is subtracted instead."""
    rows: int | None
    """The dimension of rows; None for a single one."""
    inner: int
    """The dimension that is summed."""
    columns: int
    """The dimension of columns."""
    block: int | None
    """How many of the inner dimension share scales; None for all."""
    halves: bool
    """Whether two integers along the inner dimension share a byte."""
    out: int
    """The operand that is the output."""

    @property
    def of_columns(self) -> tuple[int, ...]:
        """Operands with a number for each column of a block."""
        return (*self.scales, *self.zeros, *self.offsets)


@lru_cache(maxsize=65536)
def scaled_product(graph: Graph) -> ScaledProduct | None:
    """The parts of the product that a graph is; None where it is none."""
    value = graph.count - 1
    if list(graph.modes) != [value] or len(graph.node(value).reduced) != 1:
        return None
    node = graph.node(value)
    if node.reduction != "sum" or not 1 <= len(node.axes) <= _OUT_AXES:
        return None
    if any(not graph.is_map(v) for v in graph.node_values if v != value):
        return None
    (inner,) = node.reduced
    parts = [_as_integers(graph, part) for part in _terms(graph, node.expression)]
    whole = [i for i, part in enumerate(parts) if part and _is_whole(graph, part.value)]
    matches = [_matched(graph, node.axes, inner, i, parts) for i in whole]
    # Of two plain factors that with the last dimension of the output has columns.
    last = node.axes[-1]
    products = [product for product in matches if product is not None]
    order = [(bool(p.row_scales), p.columns != last) for p in products]
    return products[order.index(min(order))] if products else None


@lru_cache(maxsize=65536)
def scaled_part(graph: Graph) -> Part | None:
    """The part of a graph that is such a product; None where none is, or several."""
    sums = [v for v in graph.node_values if graph.node(v).reduction == "sum"]
    parts = [part_of(graph, {*graph.below[v], v}, [Output(v)]) for v in sums]
    scaled = [part for part in parts if scaled_product(part.graph) is not None]
    return scaled[0] if len(scaled) == 1 else None


_OUT_AXES = 2
"""The most axes of an output, and those of the integers."""


@dataclasses.dataclass(frozen=True)
class _Part:
    """A factor of a product: a value, or one that is scaled."""

    value: int
    zeros: tuple[int, ...] = ()
    zero: float = 0.0
    scales: tuple[int, ...] = ()
    """Factors of the integers before offsets are added."""
    offsets: tuple[int, ...] = ()
    is_less: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is a value and nothing else."""
        return self == _Part(self.value)


def _terms(graph: Graph, expression: Expression) -> list[Expression]:
    """The factors of a product, those of its maps among them."""
    match expression:
        case Reference(value) if graph.is_node(value):
            return _terms(graph, graph.node(value).expression)
        case Call("mul", (a, b)):
            return [*_terms(graph, a), *_terms(graph, b)]
    return [expression]


def _as_integers(graph: Graph, expression: Expression) -> _Part | None:
    """The part that a factor is; None where it is none."""
    match expression:
        case Reference(value):
            return _Part(value)
        case Call("sub", (Reference(value), Constant(number))):
            return None if graph.is_node(value) else _Part(value, zero=number)
        case Call("add", (Reference(value), Constant(number))):
            return None if graph.is_node(value) else _Part(value, zero=-number)
        case Call("sub", (Reference(value), Reference(zero))):
            fits = not graph.is_node(value) and not graph.is_node(zero)
            return _Part(value, (zero,)) if fits else None
        case Call("add", (a, b)):
            return _with_offsets(graph, a, b) or _with_offsets(graph, b, a)
        case Call("sub", (a, b)):
            part = _with_offsets(graph, a, b)
            return part and dataclasses.replace(part, is_less=True)
    return None


def _with_offsets(graph: Graph, scaled: Expression, added: Expression) -> _Part | None:
    """A product of integers and scales to which a product of values is added."""
    factors, offsets = (
        [_as_integers(graph, part) for part in _terms(graph, expression)]
        for expression in (scaled, added)
    )
    whole = [p for p in factors if p and _is_whole(graph, p.value) and not p.offsets]
    if len(whole) != 1:
        return None
    (integers,) = whole
    scales = [part for part in factors if part is not integers]
    beside = [part for part in (*scales, *offsets) if part and part.is_plain]
    values = [part.value for part in beside]
    if len(beside) < len(scales) + len(offsets) or any(
        graph.is_node(value) for value in values
    ):
        return None
    return dataclasses.replace(
        integers,
        scales=tuple(values[: len(scales)]),
        offsets=tuple(values[len(scales) :]),
    )


def _is_whole(graph: Graph, value: int) -> bool:
    """Whether a value has an element, or half a byte, for each place of two axes."""
    axes = graph.axes(value)
    return len(axes) == _OUT_AXES and all(a.is_plain or a.halves for a in axes)


def _matched(
    graph: Graph,
    out: tuple[int, ...],
    inner: int,
    place: int,
    parts: list[_Part | None],
) -> ScaledProduct | None:
    """The product of which the part at a place has the integers."""
    integer_part = parts[place]
    others = [part for i, part in enumerate(parts) if i != place]
    if integer_part is None or any(p is None or not p.is_plain for p in others):
        return None
    integers = integer_part.value
    columns = next((d for d in out if d in graph.dims_of(integers)), None)
    if columns is None or graph.dims_of(integers) != {inner, columns}:
        return None
    rows = next((d for d in out if d != columns), None)
    values = [part.value for part in others if part is not None]
    wanted = {inner} if rows is None else {rows, inner}
    factors = [
        v
        for v in values
        if graph.dims_of(v) == wanted and all(a.is_plain for a in graph.axes(v))
    ]
    if len(factors) != 1:
        return None
    scales = [v for v in values if v != factors[0]]
    # One row has no dimension: what scales the offsets, too, is of rows.
    of_rows = tuple(
        v
        for v in scales
        if rows in graph.dims_of(v)
        or (integer_part.offsets and columns not in graph.dims_of(v))
    )
    scales = [v for v in scales if v not in of_rows]
    if integer_part.offsets and scales:
        return None
    scales += integer_part.scales
    beside = [
        axis
        for v in (*scales, *integer_part.zeros, *integer_part.offsets)
        for axis in graph.axes(v)
    ]
    before = [axis for v in of_rows for axis in graph.axes(v)]
    along = [axis for axis in (*beside, *before) if inner in axis.dims]
    fits = all(_is_scale(axis, inner, columns) for axis in beside)
    fits = fits and all(_is_scale(axis, inner, rows) for axis in before)
    halved = [axis for axis in graph.axes(integers) if not axis.is_plain]
    if not fits or any(a.dims != (inner,) or not a.halves for a in halved):
        return None
    block = min((axis.divisor for axis in along), default=None)
    if any(axis.divisor % (block or 1) for axis in along):
        return None
    if block is not None and halved and block % halved[0].divisor:
        return None
    return ScaledProduct(
        factors[0],
        integers,
        tuple(scales),
        of_rows,
        integer_part.zeros,
        integer_part.zero,
        integer_part.offsets,
        integer_part.is_less,
        rows,
        inner,
        columns,
        block,
        bool(halved),
        len(graph.inputs),
    )


def _is_scale(axis: IndexMap, inner: int, other: int | None) -> bool:
    """Whether an axis of scales is a dimension of the output, blocks of the inner one,
    or of one element."""
    if axis.dims == (inner,):
        return axis.is_divided and not axis.halves
    return axis.dim == other or not axis.terms
