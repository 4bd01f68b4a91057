"""The cheapest program of each class, cheapest class first: `k_best`.

The solved tables are a hypergraph: points are nodes, actions are edges to their holes.
The k best derivations of a node are combinations of the best of its holes (Huang and
Chiang 2005, algorithm 3). Here one derivation is kept for each class
(`program_class.py`), and all points of a table are derived at once. Read
`KBest.programs`:

1. `Reach` goes down from the goal with a bound: whatever lies on a program that costs
   no more (`reach.py`). Most tables do not.
2. `_derive` goes up. For each class of a table it makes the array of the least costs:
   `gather` and `sweep_class` with the costs of a class in leading holes, and the best
   ones in all others. Points beyond the bound are left out, and so are classes.
3. If the goal has too few classes within the bound, it is raised.

What is left out cannot be part of a program within the bound, so the costs are exact.
"""

import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from morello.actions import Action
from morello.processes.interrupts import check_sigint
from morello.search.compiled import compiled
from morello.search.dp.table import NO_ACTION, Costs, Floats, TableId
from morello.search.dp.tiling import Bools, Loops, Peeled, axis_words, peel_words
from morello.search.impl import Branch, Impl
from morello.search.queries.hypergraph import (
    Below,
    ClassTable,
    Edge,
    Hypergraph,
    Node,
    Peel,
    shifted,
    taken,
)
from morello.search.queries.pins import Fixed, Pinned
from morello.search.queries.program_class import ProgramClass, class_of, pin_feature
from morello.search.queries.reach import Reach
from morello.spec import Spec
from morello.spec.frame import Frame

if TYPE_CHECKING:
    from morello.search.dp.solver import Solver

_SLACKS = (0.01, 0.03, 0.1, 0.3, 1.0, 4.0, 20.0, math.inf)
"""How much more than the best a program may cost, one bound after another."""

_FEW = 4
"""Classes for which twice as long is looked."""


@dataclasses.dataclass(frozen=True)
class Derived:
    """A program, and its class."""

    impl: Impl
    features: ProgramClass


def k_best(
    solver: "Solver", goal: Spec, count: int, until: float = math.inf
) -> tuple[Derived, ...]:
    """The cheapest program of each of the ``count`` cheapest classes, in this order;
    fewer if there are fewer classes. The first is the program of `Solver.solve`.

    Args:
        solver: for the target as the goal sees it (`Target.at`).
        until: when those found so far are enough, by `time.perf_counter`; if they are
            fewer than `_FEW`, after twice the time. There may be the first alone.

    Raises:
        SearchError: the goal has no program.
    """
    return KBest(solver, goal).programs(count, until)


class KBest:
    """Derives the programs of one goal.

    Raises:
        SearchError: the goal has no program.
    """

    def __init__(self, solver: "Solver", goal: Spec) -> None:
        self._goal = goal
        self._best = solver.solve(goal).impl
        self._graph = Hypergraph(solver, goal)
        self._run = self._graph.run
        self._known: dict[tuple[TableId, int, Spec], Impl] = {}

    def programs(self, count: int, until: float = math.inf) -> tuple[Derived, ...]:
        """Derive the best programs of different classes, as `k_best` describes."""
        first = Derived(self._best, class_of(self._best, self._graph.target))
        if count <= 1 or isinstance(self._decided(), Pinned):
            return (first,)[:count]
        now = time.perf_counter()
        time_limits = until, until + max(0.0, until - now)
        derived: tuple[Derived, ...] = (first,)
        for slack in _SLACKS:
            is_few = len(derived) < _FEW
            try:
                derived = self._within(first, count, slack, time_limits[is_few])
            except _LateError:
                break
            if len(derived) >= count:
                break
        return derived

    def _within(
        self, first: Derived, count: int, slack: float, until: float
    ) -> tuple[Derived, ...]:
        """The programs of the cheapest classes that cost no more than a bound.

        Raises:
            _LateError: it is later than ``until``.
        """

        def check() -> None:
            check_sigint()
            if time.perf_counter() > until:
                raise _LateError

        bound = slack * self._best.cost
        self._derive(Reach(self._graph, check).nodes(self._goal, bound), bound, check)
        root = self._graph.nodes[self._graph.root]
        point = self._graph.point(self._graph.root, self._goal)
        costs = {
            c: float(known.costs.slices.reshape(-1)[point])
            for c, known in root.classes.items()
        }
        mine = self._graph.mask(first.features)
        ranked = sorted(
            (c for c, cost in costs.items() if math.isfinite(cost) and c != mine),
            key=lambda c: (costs[c], sorted(self._graph.names(c))),
        )
        return first, *(
            Derived(
                self._program(self._graph.root, chosen, self._goal),
                self._graph.names(chosen),
            )
            for chosen in ranked[: count - 1]
        )

    def _decided(self) -> Action | None:
        table = self._run.entry(self._graph.root)
        return table.decision(self._goal.sizes, self._goal.limits)

    # Up: the costs of each class

    def _derive(
        self, nodes: Sequence[Node], bound: float, check: Callable[[], None]
    ) -> None:
        """The classes of some tables, those below before those above."""
        for node in self._graph.nodes.values():
            node.classes.clear()
        for node in nodes:
            check()
            self._derive_table(node, bound)

    def _derive_table(self, node: Node, slack: float) -> None:
        allowed = node.excess <= slack
        wanted = self._wanted(node)
        for fixed in node.fixed:
            allowed.reshape(node.shape)[fixed.point] = False
        for mask in sorted(wanted):
            derived = self._derived(node, mask, wanted[mask], allowed)
            costs = derived.costs.slices.reshape(-1)
            with np.errstate(invalid="ignore"):  # infinity less infinity
                gone = costs - node.best.slices.reshape(-1)
                over = node.excess + node.times * gone
            costs[~(over <= slack)] = np.inf
            if np.isfinite(costs).any():
                node.classes[mask] = derived

    def _wanted(self, node: Node) -> "dict[int, _Wanted]":
        """The classes that a table may have, and what leads to them."""
        by_class: dict[int, _Wanted] = {}

        def of(mask: int) -> _Wanted:
            return by_class.setdefault(mask, _Wanted())

        for edge in node.edges:
            for chosen in self._combinations(edge):
                mask = edge.feature
                for one in chosen:
                    mask |= one
                of(mask).edges.append((edge, chosen))
        for peel in node.peels:
            for chosen in self._combinations(peel.edge):
                of(peel.edge.feature | chosen[0]).peels.append((peel, chosen))
        for below in node.below:
            for mask in self._graph.nodes[below.table].classes:
                of(below.feature | mask).below.append((below, mask))
        for fixed in node.fixed:
            of(self._graph.bit(pin_feature(fixed.action))).fixed.append(fixed)
        return by_class

    def _combinations(self, edge: Edge) -> Iterator[tuple[int, ...]]:
        """Classes for each of the leading holes."""
        tables = [
            self._graph.nodes[edge.holes[place]].classes for place in edge.leading
        ]
        return itertools.product(*tables)

    def _derived(
        self, node: Node, mask: int, wanted: "_Wanted", allowed: Bools
    ) -> ClassTable:
        """The least costs of a class."""
        costs = np.full(node.best.slices.size, np.inf)
        decisions = np.full(costs.size, NO_ACTION, np.int32)
        near, far = node.box.classes
        code = compiled()
        if wanted.edges:
            words = self._graph.words(
                [
                    (
                        node.code(edge.index, chosen),
                        edge,
                        dict(zip(edge.leading, chosen, strict=True)),
                    )
                    for edge, chosen in wanted.edges
                ]
            )
            code.gather(costs, decisions, np.empty(near * far), near, far, *words)
        for peel, chosen in wanted.peels:
            self._choose_main(node, peel, chosen, costs, decisions)
        width = node.width
        nothing = peel_words((), ())
        for below, theirs in wanted.below:
            table = self._graph.nodes[below.table]
            tiles = taken(table.classes[theirs].costs.slices.reshape(-1), below.place)
            rests = taken(table.best.slices.reshape(-1), below.place)
            loops = _coded(node, below.loops, theirs)
            axes, _alive = axis_words([loops], below.place.shape)
            code.sweep_class(
                costs, decisions, tiles, rests, allowed, width, axes, nothing
            )
        free = allowed
        if wanted.fixed:
            free = allowed.copy()
            for fixed in wanted.fixed:
                place = int(np.ravel_multi_index(fixed.point, node.shape))
                costs[place] = fixed.cost
                decisions[place] = NO_ACTION
                free[place] = True
        best = node.best.slices.reshape(-1)
        axes, _alive = axis_words(
            [_coded(node, loops, mask) for loops in node.loops], node.sizes
        )
        peels = peel_words(
            [
                Peeled(
                    peel.dim,
                    peel.place,
                    node.code(peel.edge.index, (mask,)),
                    np.where(peel.alone, peel.others, np.inf),
                )
                for peel in node.peels
                if peel.edge.feature | mask == mask
            ],
            node.sizes,
        )
        code.sweep_class(costs, decisions, costs, best, free, width, axes, peels)
        box = node.box
        return ClassTable(Costs.of(box, costs.reshape(node.shape)), decisions)

    def _choose_main(
        self,
        node: Node,
        peel: Peel,
        chosen: tuple[int, ...],
        costs: Floats,
        decisions: Any,
    ) -> None:
        """Let a peeled reduction decide, whose main part leads."""
        classes = dict(zip(peel.edge.leading, chosen, strict=True))
        totals = self._graph.totals(node, peel.edge, classes)
        totals = np.where(peel.alone, np.inf, totals)
        totals = (totals + shifted(node, peel.dim, peel.place)).reshape(-1)
        less = totals < costs
        costs[less] = totals[less]
        decisions[less] = node.code(peel.edge.index, chosen)

    # The program of a class

    def _program(self, identity: TableId, mask: int, spec: Spec) -> Impl:
        """The cheapest program of a class of a Spec."""
        known = self._known.get((identity, mask, spec))
        if known is not None:
            return known
        node = self._graph.nodes[identity]
        point = self._graph.point(identity, spec)
        code = int(node.classes[mask].decisions[point])
        if code == NO_ACTION:  # a pin
            return self._run.program(spec, self._run.entry(identity))
        action, chosen = node.decoded(code)
        expansion = action.expand(Frame.of(spec), self._graph.target)
        classes = iter(chosen)
        leading = [child.role for child in expansion.leading]
        cost = int(expansion.cost)
        branches = []
        for child in expansion.children:
            if not int(child.exists):
                continue
            hole = self._run.hole_id(identity, action, child)
            inner = child.frame.spec()
            if child.role in leading:
                impl = self._program(hole, next(classes), inner)
            else:
                impl = self._run.program(inner, self._run.entry(hole))
            times = int(child.times)
            branches.append(Branch(child.role, times, impl))
            cost += times * impl.cost
        program = Impl(spec, action, cost, tuple(branches))
        self._known[identity, mask, spec] = program
        return program


class _LateError(Exception):
    """Raised inside of the query when its time limit is over."""


@dataclasses.dataclass
class _Wanted:
    """Edges, loops and pins that lead to a class of a table."""

    edges: list[tuple[Edge, tuple[int, ...]]] = dataclasses.field(default_factory=list)
    peels: list[tuple[Peel, tuple[int, ...]]] = dataclasses.field(default_factory=list)
    below: list[tuple[Below, int]] = dataclasses.field(default_factory=list)
    fixed: list[Fixed] = dataclasses.field(default_factory=list)


def _coded(node: Node, loops: Loops, mask: int) -> Loops:
    """Loops with the decisions that stand for tiles of a class."""
    first = node.code(0, (mask,))
    return dataclasses.replace(loops, codes=(loops.codes + first).astype(np.int32))
