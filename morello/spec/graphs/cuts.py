"""Fission of a graph in two: producers, then consumers of their results."""

import dataclasses
import itertools
from collections.abc import Iterator
from functools import lru_cache

from morello.spec.graphs.graph import Graph, Output, Part, canonical_part, part_of
from morello.spec.graphs.loops import loops
from morello.spec.graphs.passes import one_pass
from morello.spec.hashing import HashedOnce

NONE: frozenset[int] = frozenset()

MOST_NODES = 12
"""Graphs of more nodes are not cut: there would be thousands of ways."""


@dataclasses.dataclass(frozen=True)
class Halves(HashedOnce):
    """A graph as two, one after the other."""

    first: tuple[int, ...]
    """The nodes of the producers."""
    again: tuple[int, ...]
    """The maps of the producers that the consumers compute again."""
    temporaries: tuple[int, ...]
    """The values that the producers leave and the consumers read, beside outputs."""
    producers: Part
    consumers: Part

    __hash__ = HashedOnce.__hash__


@lru_cache(maxsize=65536)
def cuts(graph: Graph, rounded: frozenset[int] = NONE) -> tuple[Halves, ...]:
    """Every way to cut a graph, each once.

    Outputs that keep less than f32, ``rounded``, are computed again where consumers
    read them.

    Not where a contraction would be beside a temporary that it reads: that is cut off
    before it. Not where a dimension that loops could go along would lose its loop. A
    graph that one pass computes is cut in one place, before the maps of what it
    reduces: only so can loops go along what is reduced. Not with maps computed twice
    beside contractions: that is for long rows. Not with a node left behind that the
    pass which computes the producers could compute as well, nor with a map of rows that
    these could add to what they leave of rows, nor with one of a product that these
    could leave in its place.
    """
    nodes = tuple(graph.node_values)
    if not 2 <= len(nodes) <= MOST_NODES:
        return ()
    whole = one_pass(graph)
    if whole is not None:
        first = tuple(v for v in nodes if v not in whole.late or graph.node(v).reduced)
        every = _halves(graph, first, rounded)
        return tuple(h for h in every if {*h.again} <= rounded)
    by_parts: dict[tuple[Graph, Graph], Halves] = {}
    for size in range(1, len(nodes)):
        for first in itertools.combinations(nodes, size):
            for halves in _halves(graph, first, rounded):
                if {*halves.again} - rounded and graph.contractions:
                    continue
                if _leaves_rows(graph, halves) or _leaves_behind(graph, halves):
                    continue
                if _leaves_map_of_product(graph, halves):
                    continue
                key = halves.producers.graph, halves.consumers.graph
                by_parts.setdefault(key, halves)
    return tuple(by_parts.values())


def _leaves_rows(graph: Graph, halves: Halves) -> bool:
    """Whether the consumers compute a map that the producers could leave in place of
    what it is made of, and that has fewer dimensions than an operand: as the reciprocal
    of a sum of each row."""
    operands = (*range(len(graph.inputs)), *graph.modes)
    rest = [v for v in graph.node_values if v not in halves.first]
    return any(
        graph.is_map(v)
        and graph.below[v]
        and graph.below[v] <= {*halves.first}
        and any(graph.dims_of(v) < graph.dims_of(other) for other in operands)
        for v in (*(rest if len(rest) > 1 else ()), *halves.again)
    )


def _leaves_map_of_product(graph: Graph, halves: Halves) -> bool:
    """Whether the consumers are more than one pass, and among them is the only reader
    of a product, a map: the mask of scores. The producers can apply it while the
    product is in registers, and leave as much."""
    if one_pass(halves.consumers.graph) is not None:
        return False
    for value in {*halves.temporaries} & {*graph.contractions}:
        readers = [v for v in graph.node_values if value in graph.arguments(v)]
        reader = readers[0]
        more = (*halves.first, reader)
        if (
            len(readers) == 1
            and graph.is_map(reader)
            and graph.below[reader] <= {*halves.first}
            and graph.dims_of(reader) == graph.dims_of(value)
            and any(not h.again for h in _halves(graph, more))
        ):
            return True
    return False


def _leaves_behind(graph: Graph, halves: Halves) -> bool:
    """Whether the pass that computes the producers could compute one more node."""
    if one_pass(halves.producers.graph) is None:
        return False
    for value in graph.node_values:
        if value in halves.first or graph.below[value] - {*halves.first}:
            continue
        more = part_of(
            graph, (*halves.first, value), [Output(v) for v in (*halves.first, value)]
        )
        if one_pass(more.graph) is not None:
            return True
    return False


def cut(graph: Graph, first: tuple[int, ...], again: tuple[int, ...]) -> Halves | None:
    """The cut after some nodes; None where that is no legal one."""
    rounded = frozenset(again).intersection(graph.modes)
    for halves in cuts(graph, rounded):
        if halves.first == first and halves.again == again:
            return halves
    for halves in _halves(graph, tuple(sorted(first)), rounded):
        if halves.again == tuple(sorted(again)):
            return halves
    return None


def _halves(
    graph: Graph, first: tuple[int, ...], rounded: frozenset[int] = NONE
) -> Iterator[Halves]:
    inside = frozenset(first)
    rest = [value for value in graph.node_values if value not in inside]
    if not rest or any(graph.below[value] - inside for value in first):
        return
    crossing = [v for v in first if any(v in graph.arguments(user) for user in rest)]
    unsettled = (v for v in first if graph.modes.get(v))
    added = [v for v in rest if graph.modes.get(v)]
    if any(v in graph.below[out] for v in unsettled for out in added):
        return  # what this one holds is relative to what that one held
    forced = tuple(v for v in crossing if v in rounded)
    free = [v for v in crossing if v not in graph.modes and graph.is_map(v)]
    for count in range(len(free) + 1):
        for more in itertools.combinations(free, count):
            again = tuple(sorted((*forced, *more)))
            halves = _with_again(graph, first, rest, crossing, again)
            read = {a for v in again for a in graph.arguments(v)}
            if halves is not None and read.isdisjoint(rounded - {*again}):
                yield halves


def _with_again(
    graph: Graph,
    first: tuple[int, ...],
    rest: list[int],
    crossing: list[int],
    again: tuple[int, ...],
) -> Halves | None:
    inside = frozenset(first)
    read_again = [
        a
        for v in again
        for a in graph.arguments(v)
        if graph.is_node(a) and a not in again
    ]
    temporaries = tuple(
        v
        for v in dict.fromkeys(sorted([*crossing, *read_again]))
        if v not in again and v not in graph.modes
    )
    produced = [
        Output(v, graph.modes.get(v, False))
        for v in first
        if v in graph.modes or v in temporaries
    ]
    consumed = [out for out in graph.outputs if out.value not in inside]
    if not produced or not consumed:
        return None
    for value in graph.contractions:
        if value in inside and any(t in graph.arguments(value) for t in temporaries):
            return None
    producers = canonical_part(graph, first, produced)
    consumers = canonical_part(graph, (*rest, *again), consumed)
    if not all(_keeps_loops(graph, part) for part in (producers, consumers)):
        return None
    return Halves(first, again, temporaries, producers, consumers)


def _keeps_loops(graph: Graph, part: Part) -> bool:
    """Whether a part can be tiled wherever the graph can: then its tiles have all the
    sizes that tiles of the graph have."""
    return all(
        loops(part.graph, dim) or not loops(graph, whole)
        for dim, whole in enumerate(part.dims)
    )
