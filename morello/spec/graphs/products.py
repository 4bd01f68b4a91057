"""Graphs of one node that have a kind of their own: `Matmul` and `Move`."""

from collections.abc import Container
from functools import lru_cache

from morello.spec.elements.dtypes import UPPER_HALVES, Dtype
from morello.spec.embedding import ONE, Embedding
from morello.spec.graphs.expression import COPY, Call, Reference, references
from morello.spec.graphs.graph import Graph
from morello.spec.index_map import plain_dims
from morello.spec.matmul import Matmul
from morello.spec.move import Move


@lru_cache(maxsize=65536)
def product(graph: Graph, value: int) -> Embedding | None:
    """The `Matmul` that a node is; None for what is none.

    Its columns are the last axis of the node, so that these lie side by side.
    """
    return _as_product(graph, value) if value in graph.contractions else None


@lru_cache(maxsize=65536)
def row_product(graph: Graph) -> Embedding | None:
    """The `Matmul` of one row that a graph of one node is: a matrix times a vector;
    None for others.

    `Graph.contractions` does not have it, since the matrix has all dimensions.
    """
    value = len(graph.inputs)
    if len(graph.nodes) != 1 or not graph.is_product_of_two(value):
        return None
    return _as_product(graph, value)


def _as_product(graph: Graph, value: int) -> Embedding | None:
    node = graph.node(value)
    factors = tuple(references(node.expression))
    plain = all(axis.is_plain for v in factors for axis in graph.axes(v))
    if not plain or len(node.reduced) != 1 or not node.axes:
        return None
    (inner,) = node.reduced
    out = graph.dims_of(value)
    lhs, rhs = factors
    columns = node.axes[-1]
    if columns in graph.dims_of(lhs):
        lhs, rhs = rhs, lhs
    left, right = graph.dims_of(lhs), graph.dims_of(rhs)
    batch = out & left & right
    rows = out - batch - {columns}
    fits = (
        columns in right - left
        and inner in left & right
        and len(batch) <= 1
        and len(rows) <= 1
        and left == batch | rows | {inner}
        and right == batch | {inner, columns}
    )
    if not fits:
        return None
    b, m = next(iter(batch), ONE), next(iter(rows), ONE)
    dims = b, m, inner, columns
    matmul = Matmul(accum=graph.modes.get(value, False))
    values = lhs, rhs, value
    axes = tuple(
        tuple(axis_of(graph, v, dims[d]) for d in operand.dims)
        for v, operand in zip(values, matmul.operands, strict=True)
    )
    return Embedding(matmul, dims, values, axes)


def axis_of(graph: Graph, value: int, dim: int) -> int:
    """The axis of a value that a dimension indexes; `ONE` for that."""
    if dim == ONE:
        return ONE
    axes = graph.axes(value)
    return next(place for place, axis in enumerate(axes) if dim in axis.dims)


@lru_cache(maxsize=65536)
def normal(graph: Graph) -> Embedding | None:
    """The kind that a graph of one node is; None for those that stay graphs."""
    if len(graph.nodes) != 1:
        return None
    return product(graph, len(graph.inputs))


_COPIES = (Reference(0), COPY)


@lru_cache(maxsize=65536)
def copied(graph: Graph) -> Embedding | None:
    """The `Move` that a graph is whose output is its input, axes in any order."""
    node = graph.nodes[0]
    if len(graph.nodes) > 1 or node.reduced or node.expression not in _COPIES:
        return None
    (axes,) = graph.inputs
    dims = plain_dims(axes)
    if len(dims) < len(axes) or {*dims} != {*node.axes}:
        return None
    order = tuple(map(node.axes.index, dims))
    return Embedding(Move(len(dims)), dims, (0, 1), (tuple(range(len(dims))), order))


def rounded_to(graph: Graph, value: int) -> Dtype | None:
    """The upper half of floats that a map rounds to; None of other values."""
    if not graph.is_map(value):
        return None
    match graph.node(value).expression:
        case Call(name, _):
            return next((d for d in UPPER_HALVES if d.is_rounded_by(name)), None)
    return None


def may_flush(graph: Graph, narrow: Container[int] | None = None) -> bool:
    """Whether a graph has a product of two values in upper halves of floats.

    Args:
        graph: of floats.
        narrow: the operands in such a dtype; None where all may be.
    """
    return any(
        all(
            rounded_to(graph, v) is not None
            if graph.is_node(v)
            else narrow is None or v in narrow
            for v in graph.arguments(product)
        )
        for product in graph.contractions
    )
