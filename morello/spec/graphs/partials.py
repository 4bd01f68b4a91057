"""Partial results of reductions, and the graph that makes results of them.

Several threads reduce a share each. What they leave is one array for each output that
reduces, with the share as its first axis. The sum of sums is the sum; the maximum of
maxima the maximum. A sum that is relative to a maximum (`loops.py`) is brought to the
maximum of all shares first: it is multiplied by exp(w · (of the share - of all)).
"""

import dataclasses
from functools import lru_cache

from morello.spec.graphs.expression import Call, Expression, Reference
from morello.spec.graphs.graph import MAP, NEUTRAL, Graph, Node, Output, Part, canonical
from morello.spec.graphs.loops import growth, weight
from morello.spec.index_map import plain
from morello.spec.kind import Kind
from morello.spec.structure import neutral_of

_REDUCTIONS = {neutral: name for name, neutral in NEUTRAL.items()}


@dataclasses.dataclass(frozen=True)
class Merging:
    """The graph that makes results of partial results."""

    part: Part
    """The graph: its dimensions are those of the kind that adds, and `share`; its
    values are the operands of that kind, a partial result of operand i is -1 - i, and
    factors are values of no operand."""
    share: int
    """The dimension that counts shares."""


@lru_cache(maxsize=4096)
def merging(
    kind: Kind, partial: tuple[int, ...], written: tuple[tuple[int, bool], ...]
) -> Merging:
    """How the partial results of a kind that adds become results.

    Args:
        kind: of what each thread does.
        partial: its outputs of which each thread has its own.
        written: those of them that are results, and whether these add to what they
            hold. Others are maxima that sums are relative to.
    """
    share, count = len(kind.dims), len(partial)
    axes = [kind.operands[out].dims for out in partial]
    inputs = tuple(plain(share, *dims) for dims in axes)
    nodes: list[Node] = []
    results: dict[int, int] = {}

    def add(node: Node) -> int:
        nodes.append(node)
        return count + len(nodes) - 1

    relative = {out: _relative_to(kind, out, partial) for out in partial}
    # Maxima first: sums are relative to them.
    for out in sorted(partial, key=lambda out: bool(relative[out])):
        place = partial.index(out)
        term: Expression = Reference(place)
        for maximum, factor in relative[out]:
            position = partial.index(maximum)
            scale = growth(position, results[maximum], factor)
            node = Node((share, *axes[position]), MAP, scale, ())
            term = Call("mul", (term, Reference(add(node))))
        reduction = _REDUCTIONS[neutral_of(kind, out)]
        results[out] = add(Node(axes[place], reduction, term, (share,)))
    outputs = sorted(Output(results[out], accumulates) for out, accumulates in written)
    whole = canonical(Graph(inputs, tuple(nodes), tuple(outputs)))
    names = {place: -1 - out for place, out in enumerate(partial)}
    names |= {value: out for out, value in results.items()}
    values = tuple(names.get(v, len(kind.operands)) for v in whole.values)
    return Merging(Part(whole.graph, whole.dims, values), share)


def _relative_to(
    kind: Kind, out: int, partial: tuple[int, ...]
) -> list[tuple[int, int]]:
    """The maxima among some outputs that one is relative to, and its weight."""
    graph = kind.as_graph
    if graph is None:
        return []
    value = kind.values[out]
    return [
        (other, factor)
        for other in partial
        if kind.values[other] in graph.below[value]
        and (factor := weight(graph, graph.node(value).expression, kind.values[other]))
    ]
