"""The cheapest way to compute a DAG of nodes by groups: `cheapest`.

A group may compute a node again that another group stores, or that nobody does. States
of the dynamic program are the nodes that are stored or hidden in a group; a step adds a
group whose reads are in the state.
"""

import dataclasses
import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class Candidate:
    """Some nodes that one part may compute."""

    nodes: frozenset[int]
    copies: frozenset[int] = frozenset()
    """The nodes that it computes for itself alone: other readers compute them again."""

    @property
    def covered(self) -> frozenset[int]:
        """The nodes that need no other group."""
        return self.nodes - self.copies

    @property
    def _order(self) -> tuple[list[int], list[int]]:
        return sorted(self.nodes), sorted(self.copies)


Price = Callable[[Candidate], float]
"""A candidate's price; infinite where it has no program."""


def cheapest(
    rule: Sequence[Candidate],
    alternatives: Iterable[Candidate],
    price: Price,
    reads: Mapping[int, Collection[int]],
    results: Collection[int],
) -> list[Candidate]:
    """The groups of least price in all, each after those that it reads.

    The segments of nodes that no candidate reaches across are solved one by one, which
    loses nothing: nodes read those before them.

    Args:
        rule: a partition, taken where no other is cheaper, in order.
        alternatives: the other groups.
        price: asked of a candidate only if a cheaper partition could have it.
        reads: by node, what it reads: nodes of lower numbers.
        results: the nodes that have to be stored.
    """
    every = [*dict.fromkeys([*rule, *alternatives])]
    readers: dict[int, set[int]] = {node: set() for node in reads}
    for node, reads_of_node in reads.items():
        for read in reads_of_node:
            readers[read].add(node)
    chosen: list[Candidate] = []
    for nodes in _segments(sorted(reads), every):
        targets = {n for n in nodes if n in results or readers[n] - nodes}
        inside = {n: frozenset(r for r in reads[n] if r in nodes) for n in nodes}
        candidates = [c for c in every if c.nodes <= nodes]
        by_rule = [c for c in rule if c.nodes <= nodes]
        if len(candidates) > len(by_rule):
            by_rule = _Segment(candidates, price, inside, targets).solve(by_rule)
        chosen += by_rule
    return chosen


def _segments(
    nodes: Sequence[int], candidates: Iterable[Candidate]
) -> list[frozenset[int]]:
    """Runs of nodes that no candidate reaches across."""
    last = {node: node for node in nodes}
    for candidate in candidates:
        first = min(candidate.nodes)
        last[first] = max(last[first], *candidate.nodes)
    segments: list[frozenset[int]] = []
    run: list[int] = []
    end = -1
    for node in nodes:
        if run and node > end:
            segments.append(frozenset(run))
            run = []
        run.append(node)
        end = max(end, last[node])
    return [*segments, frozenset(run)] if run else segments


class _Segment:
    """Shortest ways from no node to the targets of a segment."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        price: Price,
        reads: Mapping[int, frozenset[int]],
        targets: set[int],
    ) -> None:
        self._price = price
        self._reads = reads
        self._targets = targets
        self._needs = {
            c: frozenset(r for n in c.nodes for r in reads[n]) - c.nodes
            for c in candidates
        }
        self._touching: dict[int, list[Candidate]] = {node: [] for node in reads}
        for candidate in sorted(candidates, key=lambda c: c._order):
            for node in candidate.nodes:
                self._touching[node].append(candidate)

    def solve(self, rule: list[Candidate]) -> list[Candidate]:
        """The cheapest way; that of the rule where none is cheaper."""
        best, bound = rule, sum(map(self._price, rule))
        nothing: frozenset[int] = frozenset()
        ways: dict[frozenset[int], tuple[Candidate, frozenset[int]]] = {}
        totals = {nothing: 0.0}
        number = 0
        queue = [(0.0, number, nothing)]
        while queue:
            total, _, done = heapq.heappop(queue)
            if total >= bound:
                break
            if total > totals[done]:
                continue
            if self._targets <= done:
                best, bound = _way(ways, done), total
                break
            for candidate in self._next(done):
                after, sum_ = done | candidate.covered, total + self._price(candidate)
                if sum_ < min(bound, totals.get(after, bound)):
                    totals[after], ways[after] = sum_, (candidate, done)
                    number += 1
                    heapq.heappush(queue, (sum_, number, after))
        return best

    def _next(self, done: frozenset[int]) -> list[Candidate]:
        """The groups that may be computed now, of those that the first missing node
        waits for: others may come later."""
        missing = [min(self._missing(done))]
        seen = {*missing}
        ready: dict[Candidate, None] = {}
        while missing:
            for candidate in self._touching[missing.pop()]:
                if candidate.covered & done:
                    continue
                waits = self._needs[candidate] - done
                if not waits:
                    ready[candidate] = None
                missing += waits - seen
                seen |= waits
        return list(ready)

    def _missing(self, done: frozenset[int]) -> set[int]:
        """The nodes that targets wait for."""
        missing: set[int] = set()
        stack = list(self._targets - done)
        while stack:
            node = stack.pop()
            if node not in missing:
                missing.add(node)
                stack += self._reads[node] - done
        return missing


def _way(
    ways: Mapping[frozenset[int], tuple[Candidate, frozenset[int]]],
    done: frozenset[int],
) -> list[Candidate]:
    """The groups that led to a state, in order."""
    chosen = []
    while done:
        candidate, done = ways[done]
        chosen.append(candidate)
    return chosen[::-1]
