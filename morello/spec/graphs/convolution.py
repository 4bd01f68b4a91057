"""Contractions with more dimensions than a product of matrices, taken one by one.

Where all of its dimensions but three are 1, a convolution is a `Matmul`: of the others
nothing is left, and a window such as ``2*v+j`` is ``v``, in steps of 2.
"""

from functools import lru_cache

from morello.spec.embedding import ONE, Embedding
from morello.spec.graphs.expression import references
from morello.spec.graphs.graph import Graph, Output, canonical_part
from morello.spec.graphs.products import axis_of, normal, product
from morello.spec.index_map import IndexMap, dims_of
from morello.spec.matmul import Matmul


@lru_cache(maxsize=65536)
def squeezed(graph: Graph) -> Embedding | None:
    """The `Matmul` that the one contraction of a graph is where its other dimensions
    are 1; None where there is none.

    Columns are the last axis of the output, so that these lie side by side there; where
    the factor that has them is read through windows, but not along them one by one,
    they are the last axis that the other factor has. Rows are the last dimension of the
    output that the other factor has and the columns' has not; what is summed is the
    last reduced dimension that both have by itself, not in a sum.
    """
    if len(graph.nodes) != 1 or not graph.contractions or graph.padded_dims:
        return None
    whole = normal(graph)
    if whole is not None:
        return whole
    node = graph.node(len(graph.inputs))
    lhs, rhs = references(node.expression)
    last = node.axes[-1]
    owner = lhs if last in graph.dims_of(lhs) else rhs
    if _is_read_along(graph, owner, last):
        return _with_columns(graph, last)
    other = rhs if owner == lhs else lhs
    column_dims = [
        d for d in node.axes if d in graph.dims_of(other) - graph.dims_of(owner)
    ]
    if not column_dims or _windows(graph, other):
        return None
    return _with_columns(graph, column_dims[-1])


def _windows(graph: Graph, value: int) -> list[IndexMap]:
    return [axis for axis in graph.axes(value) if not axis.is_plain]


def _is_read_along(graph: Graph, value: int, dim: int) -> bool:
    """Whether a factor has no windows, or one that a dimension moves one by one; a
    divided axis is a batch of its own."""
    windows = [axis for axis in _windows(graph, value) if not axis.is_divided]
    return not windows or any((dim, 1) in window.terms for window in windows)


def _with_columns(graph: Graph, columns: int) -> Embedding | None:
    """The `Matmul` with these columns."""
    value = len(graph.inputs)
    node = graph.node(value)
    lhs, rhs = references(node.expression)
    if columns in graph.dims_of(lhs):
        lhs, rhs = rhs, lhs
    left, right = graph.dims_of(lhs), graph.dims_of(rhs)
    windows = [*_windows(graph, lhs), *_windows(graph, rhs)]
    divided = dims_of(axis for axis in windows if axis.is_divided)
    if columns not in right - left - divided:
        return None
    rows = [d for d in node.axes if d in left - right - divided]
    inner = [d for d in node.reduced if d in left & right - dims_of(windows)]
    many = len(node.axes) > 2 or len(node.reduced) > 1 or windows
    if not inner or not many:
        return None
    dims = ONE, rows[-1] if rows else ONE, inner[-1], columns
    matmul = Matmul(accum=graph.modes[value])
    axes = tuple(
        tuple(axis_of(graph, v, dims[d]) for d in operand.dims)
        for v, operand in zip((lhs, rhs, value), matmul.operands, strict=True)
    )
    if any(_steps(graph, rhs, columns)) or any(_steps(graph, lhs, inner[-1])):
        return None
    return Embedding(matmul, dims, (lhs, rhs, value), axes)


def _steps(graph: Graph, value: int, dim: int) -> list[int]:
    """Steps other than 1 by which a value is indexed by a dimension."""
    return [
        step
        for axis in graph.axes(value)
        for axis_dim, step in axis.terms
        if axis_dim == dim and step != 1
    ]


@lru_cache(maxsize=65536)
def products_inside(graph: Graph) -> tuple[Embedding, ...]:
    """For each contraction of a graph, where there is one, the `Matmul` that it is in
    itself or where its other dimensions are 1, on an image without padding."""
    bare = without_padding(graph)
    embeddings = (
        product(bare, v) or _squeezed_inside(bare, v) for v in bare.contractions
    )
    return tuple(inner for inner in embeddings if inner is not None)


def _squeezed_inside(graph: Graph, value: int) -> Embedding | None:
    """Embedding that `squeezed` finds for one contraction, in the graph's numbering."""
    outputs = [Output(value, graph.modes.get(value, False))]
    part = canonical_part(graph, (value,), outputs)
    inner = squeezed(part.graph)
    if inner is None:
        return None
    dims = tuple(ONE if d == ONE else part.dims[d] for d in inner.dims)
    values = tuple(part.values[v] for v in inner.values)
    return Embedding(inner.kind, dims, values, inner.axes)


@lru_cache(maxsize=65536)
def few_sizes(graph: Graph, dim: int) -> bool:
    """Whether a dimension is taken whole or one by one: all that contractions have but
    those of the products of matrices that are left of them."""
    products = products_inside(graph)
    if not products or len(products) < len(graph.contractions):
        return False
    values = {v for c in graph.contractions for v in (c, *graph.arguments(c))}
    contracted = any(dim in graph.dims_of(v) for v in values)
    return contracted and all(dim not in inner.dims for inner in products)


@lru_cache(maxsize=4096)
def without_padding(graph: Graph) -> Graph:
    """The graph on an array that has zeros where this one has padding."""
    return graph.by_axis(lambda axis: axis.unpadded)
