"""Products of upper halves of floats that may take denormals for zero: `flushing`."""

import dataclasses
from collections.abc import Mapping

from morello.spec.compose import Compose
from morello.spec.elements.dtypes import UPPER_HALVES, Dtype, computed_in
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.products import may_flush, rounded_to
from morello.spec.kind import Kind
from morello.spec.matmul import Matmul
from morello.spec.mixes import summed_whole


def flushing(kind: Kind, dtypes: tuple[Dtype, ...]) -> Kind:
    """The kind whose products of two upper halves of floats, with sums of whole ones,
    may take denormals for zero; the kind as it is where it has none."""
    if isinstance(kind, Matmul):
        *factors, out = dtypes
        is_narrow = all(d.is_upper_half for d in factors) and out is Dtype.F32
        return dataclasses.replace(kind, flushing=True) if is_narrow else kind
    if not isinstance(kind, Compose) or not computed_in(dtypes).is_float:
        return kind
    dtype_of = dict(zip(kind.values, dtypes, strict=True))
    narrow = {value for value, dtype in dtype_of.items() if dtype in UPPER_HALVES}
    return Compose.of(kind.graph, may_flush(kind.graph, narrow))


def flushing_as(other: Kind, kind: Kind, dtypes: tuple[Dtype, ...]) -> Kind:
    """A part of another kind: its products flush where those of the other may."""
    return flushing(kind, dtypes) if other.flushes else kind


def dtype_between(kind: Kind, dtypes: tuple[Dtype, ...], value: int) -> Dtype:
    """The dtype of a value of a graph in a buffer between two parts.

    A factor of a product that flushes is stored as the dtype that it is rounded to.
    """
    graph = kind.as_graph
    assert graph is not None
    if value in summed_whole(kind, dtypes):
        return Dtype.S32
    if kind.flushes and _is_factor(graph, value):
        return rounded_to(graph, value) or Dtype.F32
    return computed_in(dtypes)


def dtypes_between(kind: Kind, dtypes: tuple[Dtype, ...]) -> Mapping[int, Dtype]:
    """`dtype_between` of each node of a graph that is no operand, and the dtypes of
    the operands; empty where there is no graph."""
    graph = kind.as_graph
    if graph is None:
        return {}
    between = {v: dtype_between(kind, dtypes, v) for v in graph.node_values}
    return between | dict(zip(kind.values, dtypes, strict=True))


def _is_factor(graph: Graph, value: int) -> bool:
    return any(value in graph.arguments(product) for product in graph.contractions)
