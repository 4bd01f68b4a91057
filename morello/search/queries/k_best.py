"""The cheapest program of each class, cheapest class first: `k_best`.

The solved tables are a hypergraph: points are nodes, actions are edges to their holes.
The k best derivations of a node are combinations of the best of its holes (Huang and
Chiang 2005, algorithm 3); here a derivation is kept for each class (`program_class.py`),
and all points of a table are derived at once. Read `KBest.programs`:

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
from functools import lru_cache
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from morello.actions import Action
from morello.interrupts import check_sigint
from morello.search.compiled import compiled
from morello.search.compiled.words import ACTION, HOLE, address
from morello.search.dp.axes import Axis, Box
from morello.search.dp.evaluate import Evaluated, Gathered
from morello.search.dp.table import (
    NO_ACTION,
    Costs,
    Floats,
    Integers,
    TableId,
    position,
)
from morello.search.dp.table_solver import aligned
from morello.search.dp.tiling import (
    Loops,
    Peeled,
    Plan,
    axis_words,
    peel_words,
    plan_loops,
)
from morello.search.impl import Branch, Impl
from morello.search.queries.pins import Pinned
from morello.search.queries.program_class import ProgramClass, class_of, pin_feature
from morello.spec import Spec, SpecKey
from morello.spec.frame import Frame

if TYPE_CHECKING:
    from morello.search.dp.solver import Solver

_SLACKS = (0.01, 0.03, 0.1, 0.3, 1.0, 4.0, 20.0, math.inf)
"""How much more than the best a program may cost, one bound after another."""


UNEVEN = 0.25
"""A loop whose remainder counts, and is such a part of its dimension, is in no class
but that of the search's own program: what leads there would be but a part of the whole,
and after a few such loops next to nothing."""


@dataclasses.dataclass(frozen=True)
class Derived:
    """A program, and its class."""

    impl: Impl
    features: ProgramClass


def k_best(solver: "Solver", goal: Spec, count: int) -> tuple[Derived, ...]:
    """The cheapest program of each of the ``count`` cheapest classes, in this order;
    fewer if there are fewer classes. The first is the program of `Solver.solve`.

    Args:
        solver: for the target as the goal sees it (`Target.at`).

    Raises:
        SearchError: the goal has no program.
    """
    return KBest(solver, goal).programs(count)


@dataclasses.dataclass(frozen=True)
class _Edge:
    """An action on all points of a table whose holes are in other tables.

    Args:
        leading: for each hole that has a say in the class, its place among ``holes``.
        holes: the tables of the holes.
    """

    index: int
    action: Action
    feature: int
    gathered: Gathered
    holes: tuple[TableId, ...]
    leading: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class _Below:
    """Loops whose tiles have another key.

    Args:
        place: where a point of this table, with coordinates of theirs along the
            dimension of the loops, is in their table; -1 for nowhere.
    """

    table: TableId
    loops: Loops
    feature: int
    place: Integers


@dataclasses.dataclass(frozen=True)
class _Peel:
    """A reduction that is peeled: its first part is in this table, the others leave it.

    Args:
        edge: without the first part.
        dim: the reduction.
        place: the coordinate of the first part.
        others: what all but the first part costs at best.
        alone: where there is no main part, so that the first part leads.
    """

    edge: _Edge
    dim: int
    place: int
    others: Floats
    alone: Any


class _Node:
    """A table as the passes need it: dense, with its actions."""

    def __init__(self, work: "KBest", identity: TableId) -> None:
        self.id = identity
        self.box: Box = work.run.box(identity)
        self.best = work.costs(identity)
        self.shape = self.box.shape
        self.actions = work.run.candidates(identity)
        self.fixed = work.run.fixed(identity)
        self.edges: list[_Edge] = []
        self.peels: list[_Peel] = []
        self.below: list[_Below] = []
        self.own: list[Loops] = []
        self.excess = np.full(self.best.slices.size, np.inf)
        self.times = np.full(self.best.slices.size, np.inf)
        self.classes: dict[int, _Class] = {}
        self.choices: list[tuple[int, ...]] = []
        self.numbers: dict[tuple[int, ...], int] = {}

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many coordinates each dimension has."""
        return self.shape[: len(self.box.sizes)]

    @property
    def width(self) -> int:
        """How many points each combination of sizes has."""
        return math.prod(self.shape[len(self.box.sizes) :])

    def tables_below(self) -> Iterator[TableId]:
        """The tables whose points may lead to the class of a program."""
        for edge in (*self.edges, *(peel.edge for peel in self.peels)):
            yield from (edge.holes[place] for place in edge.leading)
        yield from (below.table for below in self.below)

    def code(self, action: int, chosen: tuple[int, ...]) -> int:
        """The decision for an action with the classes of its leading holes."""
        number = self.numbers.setdefault(chosen, len(self.choices))
        if number == len(self.choices):
            self.choices.append(chosen)
        return number * len(self.actions) + action

    def decoded(self, code: int) -> tuple[Action, tuple[int, ...]]:
        """The action of a decision, and the classes of its leading holes."""
        number, action = divmod(code, len(self.actions))
        return self.actions[action], self.choices[number]


@dataclasses.dataclass(frozen=True)
class _Class:
    """The least costs of one class at each point of a table, and the decisions."""

    costs: Costs
    decisions: "np.ndarray[Any, np.dtype[np.int32]]"


class KBest:
    """Derives the programs of one goal.

    Raises:
        SearchError: the goal has no program.
    """

    def __init__(self, solver: "Solver", goal: Spec) -> None:
        self._target = solver.target
        self._goal = goal
        self.best = solver.solve(goal).impl
        self.run = solver.run_of(goal)
        self._root = solver.goal_table(goal)
        self._nodes: dict[TableId, _Node] = {}
        self._costs: dict[TableId, Costs] = {}
        self._features: dict[str, int] = {}
        self._order: list[TableId] = []
        """Every table that leads to a class, those below before those above."""
        self._known: dict[tuple[TableId, int, Spec], Impl] = {}

    def programs(self, count: int) -> tuple[Derived, ...]:
        """See `k_best`."""
        first = Derived(self.best, class_of(self.best, self._target))
        if count <= 1 or isinstance(self._decided(), Pinned):
            return (first,)[:count]
        self._visit(self._root)
        point = self._point(self._root, self._goal)
        found: list[Derived] = []
        for slack in _SLACKS:
            self._reach(point, slack * self.best.cost)
            self._derive(slack * self.best.cost)
            classes = self._nodes[self._root].classes
            costs = {
                c: float(known.costs.slices.reshape(-1)[point])
                for c, known in classes.items()
            }
            costs = {c: cost for c, cost in costs.items() if math.isfinite(cost)}
            if len(costs) >= count or math.isinf(slack):
                break
        mine = self._mask(first.features)
        ranked = sorted(costs, key=lambda c: (costs[c], sorted(self._names(c))))
        for chosen in ranked:
            if chosen != mine and len(found) + 1 < count:
                impl = self._program(self._root, chosen, self._goal)
                found.append(Derived(impl, self._names(chosen)))
        return (first, *found)

    def _decided(self) -> Action | None:
        table = self.run.entry(self._root)
        return table.decision(self._goal.sizes, self._goal.limits)

    def costs(self, identity: TableId) -> Costs:
        """The best costs of a table, with a slice for each combination of limits."""
        found = self._costs.get(identity)
        if found is None:
            found = self.run.costs(identity)
            if found.slices.shape[-1] != len(found.place):
                found = Costs.of(found.box, np.ascontiguousarray(found.dense))
            elif not np.array_equal(found.place, np.arange(len(found.place))):
                found = Costs.of(found.box, np.ascontiguousarray(found.dense))
            self._costs[identity] = found
        return found

    def _point(self, identity: TableId, spec: Spec) -> int:
        """Where a Spec is in the arrays of a table."""
        box = self.run.box(identity)
        point = position(box, spec.sizes, spec.limits)
        assert point is not None
        return int(np.ravel_multi_index(point, box.shape))

    def _bit(self, feature: str) -> int:
        """The number that stands for a feature in a set of them; 0 for none."""
        if not feature:
            return 0
        return 1 << self._features.setdefault(feature, len(self._features))

    def _mask(self, features: ProgramClass) -> int:
        return sum(self._bit(feature) for feature in features)

    def _names(self, mask: int) -> ProgramClass:
        return frozenset(f for f, bit in self._features.items() if mask >> bit & 1)

    # Tables and their actions

    def _visit(self, root: TableId) -> None:
        """Prepare every table that may lead to a class, those below first."""
        stack: list[tuple[TableId, Iterator[TableId]]] = []
        pending = {root}

        def begin(identity: TableId) -> None:
            check_sigint()
            node = self._nodes[identity] = self._prepared(identity)
            stack.append((identity, node.tables_below()))

        begin(root)
        while stack:
            identity, below = stack[-1]
            following = next((t for t in below if t not in pending), None)
            if following is None:
                stack.pop()
                self._order.append(identity)
            else:
                pending.add(following)
                begin(following)

    def _prepared(self, identity: TableId) -> _Node:
        node = _Node(self, identity)
        loops: dict[tuple[int, SpecKey, str], dict[int, Action]] = {}
        if not node.best.slices.size:
            return node
        for index, action in enumerate(node.actions):
            if isinstance(action, Pinned):
                continue
            dim = action.loop_dim(identity.key)
            if dim is not None:
                key = action.loop_key(identity.key)
                feature = action.feature(identity.key)
                loops.setdefault((dim, key, feature), {})[index] = action
            elif action.first_part(identity.key) is not None:
                self._add_peel(node, index, action)
            else:
                edge = self._edge(node, index, action)
                if edge is not None:
                    node.edges.append(edge)
        for (dim, key, feature), found in loops.items():
            self._add_loops(node, dim, key, self._bit(feature), found)
        return node

    def _edge(self, node: _Node, index: int, action: Action) -> _Edge | None:
        """An action on all points of a table; None where it leads nowhere."""
        run, key = self.run, node.id.key
        evaluated = run.evaluations.evaluated(action, key, node.box)
        if evaluated is None:
            return None
        keys = run.evaluations.child_keys(action, key)
        below = [
            run.child_id(node.id, k, child.dims)
            for k, child in zip(keys, evaluated.children, strict=True)
        ]
        boxes = tuple(None if b == node.id else run.box(b) for b in below)
        gathered = evaluated.gathered(boxes)
        if gathered is None:
            return None
        away = [(b, c) for b, c in zip(below, evaluated.children, strict=True)
                if b != node.id]
        leading = tuple(i for i, (_, c) in enumerate(away) if not c.is_lesser)
        holes = tuple(b for b, _ in away)
        bit = self._bit(action.feature(key))
        return _Edge(index, action, bit, gathered, holes, leading)

    def _add_peel(self, node: _Node, index: int, action: Action) -> None:
        edge = self._edge(node, index, action)
        dim, size = action.first_part(node.id.key) or (0, 0)
        if edge is None or size not in node.box.sizes[dim][:-1]:
            return
        evaluated = self.run.evaluations.evaluated(action, node.id.key, node.box)
        assert evaluated is not None
        alone = self._alone(node, evaluated)
        others = self._totals(node, edge, {})
        place = node.box.sizes[dim].index(size)
        node.peels.append(_Peel(edge, dim, place, others, alone))

    def _alone(self, node: _Node, evaluated: Evaluated) -> Any:
        """Where none but a first part leads."""
        found: Any = np.ones(node.shape, np.bool_)
        for child in evaluated.children:
            if not child.is_lesser:
                found = found & (np.asarray(child.exists) == 0)
        return found

    def _add_loops(
        self, node: _Node, dim: int, key: SpecKey, feature: int, found: dict[int, Action]
    ) -> None:
        actions = tuple(found.values())
        own = key == node.id.key
        identity = node.id if own else self.run.loop_id(node.id, key)
        box = self.run.box(identity)
        bare = actions[0].relevant(node.id.key, self._target)
        axes = node.box.sizes[dim], box.sizes[dim]
        plan = plan_loops(bare, dim, *axes, actions, self._target)
        plan = _even(plan, *axes)
        if plan.is_empty or not math.prod(box.shape):
            return
        loops = Loops(dim, node.sizes, plan, np.asarray(list(found), np.int32))
        if own:
            node.own.append(loops)
            return
        numbers = np.arange(math.prod(box.shape), dtype=np.float64)
        there = aligned(Costs.of(box, numbers.reshape(box.shape)), node.box, dim)
        place = np.where(np.isfinite(there), there, -1).astype(np.int64)
        node.below.append(_Below(identity, loops, feature, place))

    # Down: what lies within the bound

    def _reach(self, point: int, slack: float) -> None:
        """Bounds of the excess and of the times of every point within a slack."""
        for node in self._nodes.values():
            node.excess.fill(np.inf)
            node.times.fill(np.inf)
        root = self._nodes[self._root]
        root.excess[point], root.times[point] = 0.0, 1.0
        bound = np.array([slack])
        for identity in reversed(self._order):
            node = self._nodes[identity]
            if node.excess.size and node.excess.min() <= slack:
                self._reach_from(node, bound)

    def _reach_from(self, node: _Node, bound: Floats) -> None:
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
            far = self._nodes[below.table]
            tiles, reached, often = (
                _taken(array, below.place)
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
        self, node: _Node, edge: _Edge, costs: Floats, bound: Floats
    ) -> None:
        if not edge.leading:
            return
        words = []
        for place in edge.leading:
            far = self._nodes[edge.holes[place]]
            words.append((place, address(far.excess), address(far.times)))
        actions, holes = self._words([(0, edge, {})])
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
        for identity in self._order:
            node = self._nodes[identity]
            node.classes.clear()
            if node.excess.size and node.excess.min() <= slack:
                check_sigint()
                self._derive_table(node, slack)

    def _derive_table(self, node: _Node, slack: float) -> None:
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

    def _wanted(self, node: _Node) -> "dict[int, _Wanted]":
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
            for mask in self._nodes[below.table].classes:
                of(below.feature | mask).below.append((below, mask))
        for fixed in node.fixed:
            of(self._bit(pin_feature(fixed.action))).fixed.append(fixed)
        return found

    def _combinations(self, edge: _Edge) -> Iterator[tuple[int, ...]]:
        """Classes for each of the leading holes."""
        tables = [self._nodes[edge.holes[place]].classes for place in edge.leading]
        return itertools.product(*tables)

    def _derived(
        self, node: _Node, mask: int, wanted: "_Wanted", allowed: Any
    ) -> _Class:
        """The least costs of a class."""
        costs = np.full(node.best.slices.size, np.inf)
        decisions = np.full(costs.size, NO_ACTION, np.int32)
        near, far = node.shape[-2:]
        code = compiled()
        if wanted.edges:
            words = self._words(
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
            table = self._nodes[below.table]
            tiles = _taken(
                table.classes[theirs].costs.slices.reshape(-1), below.place
            )
            rests = _taken(table.best.slices.reshape(-1), below.place)
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
        return _Class(Costs.of(box, costs.reshape(node.shape)), decisions)

    def _choose_main(
        self,
        node: _Node,
        peel: _Peel,
        chosen: tuple[int, ...],
        costs: Floats,
        decisions: Any,
    ) -> None:
        """Let a peeled reduction decide, whose main part leads."""
        classes = dict(zip(peel.edge.leading, chosen, strict=True))
        totals = self._totals(node, peel.edge, classes)
        totals = np.where(peel.alone, np.inf, totals)
        totals = (totals + _shifted(node, peel.dim, peel.place)).reshape(-1)
        less = totals < costs
        costs[less] = totals[less]
        decisions[less] = node.code(peel.edge.index, chosen)

    def _totals(self, node: _Node, edge: _Edge, classes: dict[int, int]) -> Floats:
        """What an action costs at each point, but for holes that stay in the table."""
        totals = np.full(node.best.slices.size, np.inf)
        actions, holes = self._words([(0, edge, classes)])
        near, far = node.shape[-2:]
        compiled().gather_totals(totals, near, far, actions[0], holes)
        return totals.reshape(node.shape)

    def _words(
        self, found: Sequence[tuple[int, _Edge, dict[int, int]]]
    ) -> tuple[Integers, Integers]:
        """Actions and their holes as `compiled/gather.py` reads them.

        Args:
            found: the decision; the action; for leading holes, the class.
        """
        actions: list[tuple[int, ...]] = []
        holes: list[tuple[int, ...]] = []
        for code, edge, classes in found:
            gathered = edge.gathered
            actions.append((code, *gathered.action, len(holes), len(edge.holes)))
            for place, (table, words) in enumerate(
                zip(edge.holes, gathered.holes, strict=True)
            ):
                costs = self.costs(table)
                if place in classes:
                    costs = self._nodes[table].classes[classes[place]].costs
                holes.append((*costs.words, *words))
        return (
            np.asarray(actions, np.int64).reshape(-1, len(ACTION)),
            np.asarray(holes, np.int64).reshape(-1, len(HOLE)),
        )

    # The program of a class

    def _program(self, identity: TableId, mask: int, spec: Spec) -> Impl:
        """The cheapest program of a class of a Spec."""
        known = self._known.get((identity, mask, spec))
        if known is not None:
            return known
        node = self._nodes[identity]
        point = self._point(identity, spec)
        code = int(node.classes[mask].decisions[point])
        if code == NO_ACTION:  # a pin
            return self.run.program(spec, self.run.entry(identity))
        action, chosen = node.decoded(code)
        expansion = action.expand(Frame.of(spec), self._target)
        classes = iter(chosen)
        leading = [child.role for child in expansion.leading]
        cost = int(expansion.cost)
        branches = []
        for child in expansion.children:
            if not int(child.exists):
                continue
            hole = self.run.hole_id(identity, action, child)
            inner = child.frame.spec()
            if child.role in leading:
                impl = self._program(hole, next(classes), inner)
            else:
                impl = self.run.program(inner, self.run.entry(hole))
            times = int(child.times)
            branches.append(Branch(child.role, times, impl))
            cost += times * impl.cost
        found = Impl(spec, action, cost, tuple(branches))
        self._known[identity, mask, spec] = found
        return found


@dataclasses.dataclass
class _Wanted:
    """What leads to a class of a table."""

    edges: list[tuple[_Edge, tuple[int, ...]]] = dataclasses.field(default_factory=list)
    peels: list[tuple[_Peel, tuple[int, ...]]] = dataclasses.field(default_factory=list)
    below: list[tuple[_Below, int]] = dataclasses.field(default_factory=list)
    fixed: list[Any] = dataclasses.field(default_factory=list)


@lru_cache(maxsize=4096)
def _even(plan: Plan, axis: Axis, below: Axis) -> Plan:
    """The loops that leave less than `UNEVEN` of their size."""
    counts = np.diff(plan.starts)
    extents = np.repeat(np.asarray(axis, np.int64), counts)
    sizes = np.append(np.asarray(below, np.int64), 0)  # -1 is no remainder
    kept = (plan.share == 0) | (sizes[plan.rest] < UNEVEN * extents)
    starts = np.concatenate([[0], np.cumsum(kept)])[plan.starts]
    columns = (
        np.ascontiguousarray(column[kept])
        for column in (
            plan.actions,
            plan.main,
            plan.rest,
            plan.trips,
            plan.share,
            plan.own,
        )
    )
    return Plan(starts.astype(np.int64), *columns)


def _taken(array: Floats, place: Integers) -> Floats:
    """Elements at some places, flat; infinity for those that are nowhere."""
    flat = place.reshape(-1)
    found = array.take(np.maximum(flat, 0))
    found[flat < 0] = np.inf
    return found


def _shifted(node: _Node, dim: int, place: int) -> Floats:
    """For each point the best cost with another coordinate, ``place``; infinite where
    its own is no greater."""
    best = node.best.slices.reshape(node.shape)
    found = np.repeat(best.take([place], axis=dim), node.shape[dim], axis=dim)
    found[(slice(None),) * dim + (slice(0, place + 1),)] = np.inf
    return found


def _coded(node: _Node, loops: Loops, mask: int) -> Loops:
    """Loops with the decisions that stand for tiles of a class."""
    first = node.code(0, (mask,))
    return dataclasses.replace(loops, codes=(loops.codes + first).astype(np.int32))


__all__ = ["Axis", "Derived", "KBest", "k_best"]
