"""Points on programs that cost no more than a bound: `Reach`.

It goes down from a goal. Each point of a table that is reached has the least excess of
any way that leads there, and the least number of times that it is run
(`compiled/classes.py`). A table whose points get less than they had is followed once
more: those that come first are as a rule those above, and few are.
"""

import heapq
import itertools
from collections.abc import Callable

import numpy as np

from morello.search.compiled import compiled
from morello.search.compiled.words import address
from morello.search.dp.table import Floats, TableId
from morello.search.dp.tiling import Peeled, axis_words, peel_words
from morello.search.queries.hypergraph import Edge, Hypergraph, Node, shifted, taken
from morello.spec import Spec


class Reach:
    """Goes down from a goal.

    Args:
        graph: gets the nodes, and edges, of what is reached.
        check: is called for each table; what it raises ends the search.
    """

    def __init__(self, graph: Hypergraph, check: Callable[[], None]) -> None:
        self._graph = graph
        self._check = check
        self._waiting: list[tuple[int, int, Node]] = []
        self._numbers = itertools.count()
        self._followed: dict[TableId, tuple[Floats, Floats]] = {}
        """Excess and runs of a table's points when it was followed."""

    def nodes(self, goal: Spec, slack: float) -> list[Node]:
        """The tables that are reached, those below before those above.

        Args:
            slack: what a program may cost beyond the best.
        """
        graph = self._graph
        for node in graph.nodes.values():
            node.excess.fill(np.inf)
            node.times.fill(np.inf)
        root = graph.node(graph.root)
        point = graph.point(graph.root, goal)
        root.excess[point], root.times[point] = 0.0, 1.0
        bound = np.array([slack])
        self._wait(root, slack)
        while self._waiting:
            _level, _number, node = heapq.heappop(self._waiting)
            if self._is_new(node):
                self._check()
                graph.add_edges(node)
                self._follow(node, bound)
                self._followed[node.id] = node.excess.copy(), node.times.copy()
                for far in map(graph.node, dict.fromkeys(node.tables_below())):
                    self._wait(far, slack)
        return graph.order(lambda node: node.id in self._followed)

    def _wait(self, node: Node, slack: float) -> None:
        """Queue a table to be followed later; operands in far memories go first."""
        if node.excess.size and node.excess.min() <= slack and self._is_new(node):
            distance = sum(tensor.level.distance for tensor in node.id.key.tensors)
            heapq.heappush(self._waiting, (-distance, next(self._numbers), node))

    def _is_new(self, node: Node) -> bool:
        """Whether a table has to be followed, perhaps once more."""
        before = self._followed.get(node.id)
        if before is None:
            return True
        excess, times = before
        return bool((node.excess < excess).any() or (node.times < times).any())

    def _follow(self, node: Node, bound: Floats) -> None:
        excess, times, width = node.excess, node.times, node.width
        costs = node.best.slices.reshape(-1)
        axes, _alive = axis_words(node.loops, node.sizes)
        peels = [
            Peeled(p.dim, p.place, 0, np.where(p.alone, p.others, np.inf))
            for p in node.peels
        ]
        arrays = excess, times, costs, costs, excess, times
        code = compiled()
        code.reach_loops(*arrays, bound, width, axes, peel_words(peels, node.sizes))
        nothing = peel_words((), ())
        for below in node.below:
            far = self._graph.node(below.table)
            tiles, reached, often = (
                taken(array, below.place)
                for array in (far.best.slices.reshape(-1), far.excess, far.times)
            )
            axes, _alive = axis_words([below.loops], below.place.shape)
            code.reach_loops(
                excess, times, costs, tiles, reached, often, bound, width, axes, nothing
            )
            valid = below.place.reshape(-1) >= 0
            for ours, theirs in ((reached, far.excess), (often, far.times)):
                places = below.place.reshape(-1)[valid]
                np.minimum.at(theirs, places, ours[valid])
        for edge in node.edges:
            self._follow_holes(node, edge, costs, bound)
        for peel in node.peels:
            first = shifted(node, peel.dim, peel.place)
            with np.errstate(invalid="ignore"):
                rest = costs - first.reshape(-1)
            self._follow_holes(node, peel.edge, rest, bound)

    def _follow_holes(
        self, node: Node, edge: Edge, costs: Floats, bound: Floats
    ) -> None:
        if not edge.leading:
            return
        words = []
        for place in edge.leading:
            far = self._graph.node(edge.holes[place])
            words.append((place, address(far.excess), address(far.times)))
        actions, holes = self._graph.words([(0, edge, {})])
        near, far_ = node.box.classes
        compiled().reach_holes(
            node.excess,
            node.times,
            np.ascontiguousarray(costs),
            np.empty(near * far_),
            bound,
            near,
            far_,
            actions[0],
            holes,
            np.asarray(words, np.int64),
        )
