"""The cheapest program of each class, cheapest class first: `k_best`.

The solved tables are a hypergraph: points are nodes, actions are edges to their holes.
The k best derivations of a node are combinations of the best of its holes (Huang and
Chiang 2005, algorithm 3). Here one derivation is kept for each class
(`program_class.py`), and all points of a table are derived at once. Read
`KBest.programs`:

1. `_reach` goes down from the goal with a bound: whatever lies on a program that costs
   no more. Most tables do not.
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
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from morello.actions import Action
from morello.interrupts import check_sigint
from morello.search.compiled import compiled
from morello.search.compiled.words import address
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
    taken,
)
from morello.search.queries.pins import Fixed, Pinned
from morello.search.queries.program_class import ProgramClass, class_of, pin_feature
from morello.spec import Spec
from morello.spec.frame import Frame

if TYPE_CHECKING:
    from morello.search.dp.solver import Solver

_SLACKS = (0.01, 0.03, 0.1, 0.3, 1.0, 4.0, 20.0, math.inf)
"""How much more than the best a program may cost, one bound after another."""

_FEW = 4
"""Classes that are found however long it takes."""


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
        until: when the bound is raised no more, by `time.perf_counter`: then there may
            be as few as `_FEW`.

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
        """See `k_best`."""
        first = Derived(self._best, class_of(self._best, self._graph.target))
        if count <= 1 or isinstance(self._decided(), Pinned):
            return (first,)[:count]
        self._graph.visit()
        point = self._graph.point(self._graph.root, self._goal)
        found: list[Derived] = []
        for slack in _SLACKS:
            self._reach(point, slack * self._best.cost)
            self._derive(slack * self._best.cost)
            classes = self._graph.nodes[self._graph.root].classes
            costs = {
                c: float(known.costs.slices.reshape(-1)[point])
                for c, known in classes.items()
            }
            costs = {c: cost for c, cost in costs.items() if math.isfinite(cost)}
            late = len(costs) >= _FEW and time.perf_counter() > until
            if len(costs) >= count or late or math.isinf(slack):
                break
        mine = self._graph.mask(first.features)
        ranked = sorted(costs, key=lambda c: (costs[c], sorted(self._graph.names(c))))
        for chosen in ranked:
            if chosen != mine and len(found) + 1 < count:
                impl = self._program(self._graph.root, chosen, self._goal)
                found.append(Derived(impl, self._graph.names(chosen)))
        return (first, *found)

    def _decided(self) -> Action | None:
        table = self._run.entry(self._graph.root)
        return table.decision(self._goal.sizes, self._goal.limits)

    # Down: what lies within the bound

    def _reach(self, point: int, slack: float) -> None:
        """Bounds of the excess and of the times of every point within a slack."""
        for node in self._graph.nodes.values():
            node.excess.fill(np.inf)
            node.times.fill(np.inf)
        root = self._graph.nodes[self._graph.root]
        root.excess[point], root.times[point] = 0.0, 1.0
        bound = np.array([slack])
        for identity in reversed(self._graph.order):
            node = self._graph.nodes[identity]
            if node.excess.size and node.excess.min() <= slack:
                self._reach_from(node, bound)

    def _reach_from(self, node: Node, bound: Floats) -> None:
        excess, times, width = node.excess, node.times, node.width
        costs = node.best.slices.reshape(-1)
        axes, _kept = axis_words(node.own, node.sizes)
        peels = [
            Peeled(p.dim, p.place, 0, np.where(p.alone, p.others, np.inf))
            for p in node.peels
        ]
        own = excess, times, costs, costs, excess, times
        code = compiled()
        code.reach_loops(*own, bound, width, axes, peel_words(peels, node.sizes))
        nothing = peel_words((), ())
        for below in node.below:
            far = self._graph.nodes[below.table]
            tiles, reached, often = (
                taken(array, below.place)
                for array in (far.best.slices.reshape(-1), far.excess, far.times)
            )
            axes, _kept = axis_words([below.loops], below.place.shape)
            code.reach_loops(
                excess, times, costs, tiles, reached, often, bound, width, axes, nothing
            )
            valid = below.place.reshape(-1) >= 0
            for ours, theirs in ((reached, far.excess), (often, far.times)):
                places = below.place.reshape(-1)[valid]
                np.minimum.at(theirs, places, ours[valid])
        for edge in node.edges:
            self._reach_holes(node, edge, costs, bound)
        for peel in node.peels:
            first = _shifted(node, peel.dim, peel.place)
            with np.errstate(invalid="ignore"):
                rest = costs - first.reshape(-1)
            self._reach_holes(node, peel.edge, rest, bound)

    def _reach_holes(
        self, node: Node, edge: Edge, costs: Floats, bound: Floats
    ) -> None:
        if not edge.leading:
            return
        words = []
        for place in edge.leading:
            far = self._graph.nodes[edge.holes[place]]
            words.append((place, address(far.excess), address(far.times)))
        actions, holes = self._graph.words([(0, edge, {})])
        near, far_ = node.shape[-2:]
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

    # Up: the costs of each class

    def _derive(self, slack: float) -> None:
        for identity in self._graph.order:
            node = self._graph.nodes[identity]
            node.classes.clear()
            if node.excess.size and node.excess.min() <= slack:
                check_sigint()
                self._derive_table(node, slack)

    def _derive_table(self, node: Node, slack: float) -> None:
        allowed = node.excess <= slack
        wanted = self._wanted(node)
        for fixed in node.fixed:
            allowed.reshape(node.shape)[fixed.point] = False
        for mask in sorted(wanted):
            found = self._derived(node, mask, wanted[mask], allowed)
            costs = found.costs.slices.reshape(-1)
            with np.errstate(invalid="ignore"):  # infinity less infinity
                gone = costs - node.best.slices.reshape(-1)
                over = node.excess + node.times * gone
            costs[~(over <= slack)] = np.inf
            if np.isfinite(costs).any():
                node.classes[mask] = found

    def _wanted(self, node: Node) -> "dict[int, _Wanted]":
        """The classes that a table may have, and what leads to them."""
        found: dict[int, _Wanted] = {}

        def of(mask: int) -> _Wanted:
            return found.setdefault(mask, _Wanted())

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
        return found

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
        near, far = node.shape[-2:]
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
            axes, _kept = axis_words([loops], below.place.shape)
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
        axes, _kept = axis_words(
            [_coded(node, loops, mask) for loops in node.own], node.sizes
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
        totals = (totals + _shifted(node, peel.dim, peel.place)).reshape(-1)
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
        found = Impl(spec, action, cost, tuple(branches))
        self._known[identity, mask, spec] = found
        return found


@dataclasses.dataclass
class _Wanted:
    """What leads to a class of a table."""

    edges: list[tuple[Edge, tuple[int, ...]]] = dataclasses.field(default_factory=list)
    peels: list[tuple[Peel, tuple[int, ...]]] = dataclasses.field(default_factory=list)
    below: list[tuple[Below, int]] = dataclasses.field(default_factory=list)
    fixed: list[Fixed] = dataclasses.field(default_factory=list)


def _shifted(node: Node, dim: int, place: int) -> Floats:
    """For each point the best cost with another coordinate, ``place``; infinite where
    its own is no greater."""
    best = node.best.slices.reshape(node.shape)
    found = np.repeat(best.take([place], axis=dim), node.shape[dim], axis=dim)
    found[(slice(None),) * dim + (slice(0, place + 1),)] = np.inf
    return found


def _coded(node: Node, loops: Loops, mask: int) -> Loops:
    """Loops with the decisions that stand for tiles of a class."""
    first = node.code(0, (mask,))
    return dataclasses.replace(loops, codes=(loops.codes + first).astype(np.int32))
