"""Whether one pass over a graph's inputs computes all of it."""

import dataclasses
from functools import lru_cache

from morello.spec.graphs.graph import Graph


@dataclasses.dataclass(frozen=True)
class Pass:
    """Values that one pass computes: for each element, or after a reduction."""

    reduced: frozenset[int]
    """The dimensions of all reductions; none, or the same of each."""
    late: frozenset[int]
    """The reductions, and the values that depend on one."""


@lru_cache(maxsize=65536)
def one_pass(graph: Graph) -> Pass | None:
    """The one pass; None where it does not suffice.

    A value that has a dimension which was reduced may not depend on the reduction, and
    each reduction has, or reduces, every dimension: it would be repeated along others.
    Contractions have kernels of their own.
    """
    if graph.contractions:
        return None
    sets = {frozenset(n.reduced) for n in graph.nodes if n.reduced}
    if len(sets) > 1:
        return None
    reduced = next(iter(sets), frozenset())
    reductions = [v for v in graph.node_values if graph.node(v).reduced]
    if any(graph.dims_of(v) | reduced != graph.every_dim for v in reductions):
        return None
    late = set(reductions)
    for value in graph.node_values:
        if any(r in graph.below[value] for r in reductions):
            node = graph.node(value)
            if (graph.dims_of(value) | {*node.reduced}) & reduced:
                return None
            late.add(value)
    return Pass(reduced, frozenset(late))
