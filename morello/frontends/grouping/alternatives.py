"""Alternatives to the groups of the rule: `alternatives`, `refusal`.

Products of the same rows (queries, keys and values) stay several: one product of all
their columns has the same sums and reads the same weights, and costs about as much.
"""

import itertools

from morello.frontends.grouping.cheapest import Candidate
from morello.frontends.grouping.group_dims import UnfitError
from morello.frontends.grouping.groups import (
    MOST_OF_MAPS,
    MOST_OUTPUTS,
    Grouping,
    is_product,
)
from morello.spec.graphs.graph import MAP

MOST_PRODUCTS = 2
"""The most products in a group: each multiplies the number of programs."""


def alternatives(grouping: Grouping, rule: list[Candidate]) -> list[Candidate]:
    """Groups that the rule does not make: pieces of its groups, two of them joined, and
    groups that take or copy a map of another.

    They are those of one part; whether one of them gains is for prices to say.
    """
    groups = [g.nodes for g in rule if not g.nodes & grouping.plain.keys()]
    group_of = {node: nodes for nodes in groups for node in nodes}
    proposed = [c for nodes in groups for c in _pieces(nodes)]
    for producer, consumer in _edges(grouping, groups, group_of):
        proposed.append(Candidate(producer | consumer))
    for node in sorted(group_of):
        proposed += _moves(grouping, node, group_of)
    distinct = dict.fromkeys(proposed)
    return [c for c in distinct if c not in rule and not refusal(grouping, c)]


def refusal(grouping: Grouping, group: Candidate) -> str:
    """The reason why a group cannot be one part; empty for none."""
    nodes = group.nodes
    if len(nodes) == 1:
        return ""
    products = [i for i in nodes if is_product(grouping.nodes[i])]
    if len(products) > MOST_PRODUCTS:
        return f"it has more than {MOST_PRODUCTS} products"
    outputs = [i for i in grouping.outputs(nodes) if i not in group.copies]
    if len(outputs) > MOST_OUTPUTS:
        return f"it has more than {MOST_OUTPUTS} outputs"
    if grouping.joins(nodes):
        return "it writes one tensor in pieces"
    if not _is_connected(grouping, nodes):
        return "its nodes do not read each other"
    try:
        part = grouping.part(nodes, group.copies)
    except UnfitError:
        return "it is no graph of a Spec"
    if grouping.convolves(nodes) and part.is_turned:
        return "what follows a convolution lies in another order"
    if not products and len(part.operands) > MOST_OF_MAPS:
        return f"it has more than {MOST_OF_MAPS} operands"
    return "no pass computes both reductions" if part.crosses else ""


def _is_connected(grouping: Grouping, nodes: frozenset[int]) -> bool:
    """Whether each node reads another, or is read by one, all in one piece."""
    reached: set[int] = set()
    stack = [min(nodes)]
    while stack:
        node = stack.pop()
        if node not in reached:
            reached.add(node)
            around = {*grouping.reads[node], *grouping.readers[node]}
            stack += around & nodes
    return reached == nodes


def _pieces(nodes: frozenset[int]) -> list[Candidate]:
    """Runs of a group's nodes, in their order."""
    order = sorted(nodes)
    places = itertools.combinations(range(len(order) + 1), 2)
    return [Candidate(frozenset(order[a:b])) for a, b in places]


def _edges(
    grouping: Grouping,
    groups: list[frozenset[int]],
    group_of: dict[int, frozenset[int]],
) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Groups, and those that read them."""
    pairs = dict.fromkeys(
        (group_of[read], nodes)
        for nodes in groups
        for node in sorted(nodes)
        for read in grouping.reads[node]
        if read in group_of and group_of[read] != nodes
    )
    return list(pairs)


def _moves(
    grouping: Grouping, node: int, group_of: dict[int, frozenset[int]]
) -> list[Candidate]:
    """Groups that compute a map which another group has, in its place or again."""
    map_ = grouping.nodes[node]
    if map_.reduction != MAP or map_.into is not None or is_product(map_):
        return []
    producer = group_of[node]
    readers = [group_of[r] for r in sorted(grouping.readers[node]) if r in group_of]
    others = [g for g in dict.fromkeys(readers) if g != producer]
    moves = [Candidate(g | {node}) for g in others]
    if node in grouping.results or len(readers) < len(grouping.readers[node]):
        return moves
    copies = frozenset({node})
    again = [Candidate(g | copies, copies) for g in others]
    if len(producer) > 1 and producer in readers:
        again.append(Candidate(producer, copies))
    rest = producer - copies
    return [*moves, *again, *([Candidate(rest)] if rest else [])]
