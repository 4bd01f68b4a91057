"""Blocks of a divided axis: where a dimension lies within one, the axis is none.

Of ``y[n] = sum(a[k] * s[n,k//32] * b[n,k])`` with at most 32 k each row has one scale,
``s[n,0]``, and what reads it is ``y[n] = sum(a[k] * s[n] * b[n,k])``.
"""

from functools import lru_cache

from morello.spec.graphs.graph import Graph
from morello.spec.index_map import ONE, IndexMap


@lru_cache(maxsize=65536)
def in_one_block(graph: Graph, dim: int) -> Graph:
    """The graph of as many elements of a dimension as no divided axis tells apart."""

    def left(axis: IndexMap) -> IndexMap:
        return ONE if _is_block(axis, dim) else axis

    return graph.by_axis(left)


@lru_cache(maxsize=65536)
def block_of(graph: Graph, dim: int) -> int | None:
    """The most such elements; None for any number."""
    axes = (axis for axes in graph.inputs for axis in axes)
    return min((a.divisor for a in axes if _is_block(a, dim)), default=None)


def _is_block(axis: IndexMap, dim: int) -> bool:
    """Whether an axis has one element for several of a dimension."""
    return axis.is_divided and not axis.halves and dim in axis.dims
