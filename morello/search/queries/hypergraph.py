"""The solved tables of a goal as a hypergraph of whole tables: `Hypergraph`.

A `Node` is a table, dense; its edges are the actions on all of its points, as the
compiled passes of `k_best.py` read them. A table gets a node when a program that is
cheap enough leads there, and edges when such programs are followed from there on: of
most tables nothing is needed.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from morello.actions import Action, Child
from morello.search.compiled import compiled
from morello.search.compiled.words import ACTION, HOLE
from morello.search.dp.box import Axis, Box
from morello.search.dp.evaluate import Evaluated, Gathered
from morello.search.dp.table import Costs, Floats, Integers, TableId, position
from morello.search.dp.table_solver import aligned
from morello.search.dp.tiling import Bools, Loops, Plan, plan_loops
from morello.search.queries.pins import Fixed, Pinned
from morello.search.queries.program_class import ProgramClass
from morello.spec import Spec, SpecKey

if TYPE_CHECKING:
    from morello.search.dp.solver import Solver

UNEVEN = 0.25
"""A loop whose remainder counts, and is such a part of its dimension, is in no class
but that of the search's own program: what leads there would be but a part of the whole,
and after a few such loops next to nothing."""


@dataclasses.dataclass(frozen=True)
class Edge:
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
class Below:
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
class Peel:
    """A reduction that is peeled: its first part is in this table, the others leave it.

    Args:
        edge: without the first part.
        dim: the reduction.
        place: the coordinate of the first part.
        others: what all but the first part costs at best.
        alone: where there is no main part, so that the first part leads.
    """

    edge: Edge
    dim: int
    place: int
    others: Floats
    alone: Bools


class Node:
    """A table as the passes need it: dense, with its actions."""

    def __init__(self, work: "Hypergraph", identity: TableId) -> None:
        self.id = identity
        self.has_edges = False
        self.box: Box = work.run.box(identity)
        self.best = work.costs(identity)
        self.shape = self.box.shape
        self.actions: tuple[Action, ...] = ()
        self.fixed: tuple[Fixed, ...] = ()
        self.edges: list[Edge] = []
        self.peels: list[Peel] = []
        self.below: list[Below] = []
        self.loops: list[Loops] = []
        self.excess = np.full(self.best.slices.size, np.inf)
        self.times = np.full(self.best.slices.size, np.inf)
        self.classes: dict[int, ClassTable] = {}
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
class ClassTable:
    """The least costs of one class at each point of a table, and the decisions."""

    costs: Costs
    decisions: "np.ndarray[Any, np.dtype[np.int32]]"


class Hypergraph:
    """The tables of one solved goal."""

    def __init__(self, solver: "Solver", goal: Spec) -> None:
        self.target = solver.target
        self.run = solver.run_of(goal)
        self.root = solver.goal_table(goal)
        self.run.reach(self.root, goal, through=True)
        self.nodes: dict[TableId, Node] = {}
        self._costs: dict[TableId, Costs] = {}
        self._features: dict[str, int] = {}

    def costs(self, identity: TableId) -> Costs:
        """The best costs of a table, with a slice for each combination of limits."""
        costs = self._costs.get(identity)
        if costs is None:
            costs = self.run.costs(identity)
            plain = np.arange(len(costs.place))
            if not np.array_equal(costs.place, plain[: costs.slices.shape[-1]]):
                costs = Costs.of(costs.box, np.ascontiguousarray(costs.dense))
            self._costs[identity] = costs
        return costs

    def point(self, identity: TableId, spec: Spec) -> int:
        """Flat index of a Spec in the arrays of a table."""
        box = self.run.box(identity)
        point = position(box, spec.sizes, spec.limits)
        assert point is not None
        return int(np.ravel_multi_index(point, box.shape))

    def bit(self, feature: str) -> int:
        """The number that stands for a feature in a set of them; 0 for none."""
        if not feature:
            return 0
        return 1 << self._features.setdefault(feature, len(self._features))

    def mask(self, features: ProgramClass) -> int:
        """The set of the numbers of some features."""
        return sum(self.bit(feature) for feature in features)

    def names(self, mask: int) -> ProgramClass:
        """The features of a set of numbers."""
        return frozenset(f for f, bit in self._features.items() if mask >> bit & 1)

    # Tables and their actions

    def node(self, identity: TableId) -> Node:
        """The node of a table, which may have no edges yet."""
        node = self.nodes.get(identity)
        if node is None:
            node = self.nodes[identity] = Node(self, identity)
        return node

    def order(self, wanted: Callable[[Node], bool]) -> list[Node]:
        """The nodes that the root leads to over nodes that are wanted, those below
        before those above."""
        stack: list[tuple[Node, Iterator[TableId]]] = []
        nodes: list[Node] = []
        seen = {self.root}

        def begin(identity: TableId) -> None:
            node = self.node(identity)
            if wanted(node):
                stack.append((node, node.tables_below()))

        begin(self.root)
        while stack:
            node, below = stack[-1]
            following = next((t for t in below if t not in seen), None)
            if following is None:
                stack.pop()
                nodes.append(node)
            else:
                seen.add(following)
                begin(following)
        return nodes

    def add_edges(self, node: Node) -> None:
        """Give a node its edges, if it has none yet."""
        if node.has_edges:
            return
        node.has_edges = True
        if not node.best.slices.size:
            return
        node.actions = self.run.candidates(node.id)
        node.fixed = self.run.fixed(node.id)
        key = node.id.key
        loops: dict[tuple[int, SpecKey, str], dict[int, Action]] = {}
        for index, action in enumerate(node.actions):
            if isinstance(action, Pinned):
                continue
            dim = action.loop_dim(key)
            if dim is not None:
                group = dim, action.loop_key(key), action.feature(key)
                loops.setdefault(group, {})[index] = action
            elif action.first_part(key) is not None:
                self._add_peel(node, index, action)
            else:
                node.edges += self._edges(node, index, action)
        for (dim, tiles, feature), by_number in loops.items():
            self._add_loops(node, dim, tiles, self.bit(feature), by_number)

    def _edges(self, node: Node, index: int, action: Action) -> Iterator[Edge]:
        """An action on all points of a table: twice if a first part leads at some of
        them, and not where it leads nowhere."""
        evaluated = self._evaluated(node, action)
        if evaluated is None:
            return
        if all(child.role != "first" for child in evaluated.children):
            parts = [(evaluated, lambda child: not child.is_lesser)]
        else:
            alone = _alone(evaluated, node.shape)
            parts = [
                (_only(evaluated, ~alone), lambda child: not child.is_lesser),
                (_only(evaluated, alone), lambda child: child.role == "first"),
            ]
        for part, leads in parts:
            edge = self._edge(node, index, action, part, leads)
            if edge is not None:
                yield edge

    def _evaluated(self, node: Node, action: Action) -> Evaluated | None:
        return self.run.evaluations.evaluated(action, node.id.key, node.box)

    def _edge(
        self,
        node: Node,
        index: int,
        action: Action,
        evaluated: Evaluated,
        leads: Callable[[Child], bool],
    ) -> Edge | None:
        """An action on all points of a table; None where it leads nowhere."""
        run, key = self.run, node.id.key
        tables = run.holes(node.id, action, evaluated)
        holes = tuple(zip(tables, evaluated.children, strict=True))
        boxes = tuple(None if b == node.id else run.box(b) for b in tables)
        gathered = run.evaluations.gathered(evaluated, boxes)
        if gathered is None:
            return None
        away = [(b, child) for b, child in holes if b != node.id]
        leading = tuple(i for i, (_, child) in enumerate(away) if leads(child))
        bit = self.bit(action.feature(key))
        return Edge(index, action, bit, gathered, tuple(b for b, _ in away), leading)

    def _add_peel(self, node: Node, index: int, action: Action) -> None:
        evaluated = self._evaluated(node, action)
        dim, size = action.first_part(node.id.key) or (0, 0)
        if evaluated is None or size not in node.box.sizes[dim][:-1]:
            return
        edge = self._edge(node, index, action, evaluated, lambda c: not c.is_lesser)
        if edge is None:
            return
        others = self.totals(node, edge, {})
        place = node.box.sizes[dim].index(size)
        alone = _alone(evaluated, node.shape)
        node.peels.append(Peel(edge, dim, place, others, alone))

    def _add_loops(
        self,
        node: Node,
        dim: int,
        key: SpecKey,
        feature: int,
        by_code: dict[int, Action],
    ) -> None:
        actions = tuple(by_code.values())
        in_table = key == node.id.key
        identity = node.id if in_table else self.run.loop_id(node.id, key)
        box = self.run.box(identity)
        form = actions[0].loop_form(node.id.key, self.target)
        axes = node.box.sizes[dim], box.sizes[dim]
        plan = plan_loops(form, dim, *axes, actions, self.target)
        plan = _even(plan, *axes)
        if plan.is_empty or not math.prod(box.shape):
            return
        loops = Loops(dim, node.sizes, plan, np.asarray(list(by_code), np.int32))
        if in_table:
            node.loops.append(loops)
            return
        numbers = np.arange(math.prod(box.shape), dtype=np.float64)
        there = aligned(Costs.of(box, numbers.reshape(box.shape)), node.box, dim)
        place = np.where(np.isfinite(there), there, -1).astype(np.int64)
        node.below.append(Below(identity, loops, feature, place))

    def totals(self, node: Node, edge: Edge, classes: dict[int, int]) -> Floats:
        """Cost of an action at each point, without the children that stay in
        the table."""
        totals = np.full(node.best.slices.size, np.inf)
        actions, holes = self.words([(0, edge, classes)])
        near, far = node.box.classes
        compiled().gather_totals(totals, near, far, actions[0], holes)
        return totals.reshape(node.shape)

    def words(
        self, evaluated: Sequence[tuple[int, Edge, dict[int, int]]]
    ) -> tuple[Integers, Integers]:
        """Actions and their holes as `compiled/gather.py` reads them.

        Args:
            evaluated: the decision; the action; for leading holes, the class.
        """
        actions: list[tuple[int, ...]] = []
        holes: list[tuple[int, ...]] = []
        for code, edge, classes in evaluated:
            gathered = edge.gathered
            actions.append((code, *gathered.action, len(holes), len(edge.holes)))
            for place, (table, words) in enumerate(
                zip(edge.holes, gathered.holes, strict=True)
            ):
                costs = self.costs(table)
                if place in classes:
                    costs = self.nodes[table].classes[classes[place]].costs
                holes.append((*costs.words, *words))
        return (
            np.asarray(actions, np.int64).reshape(-1, len(ACTION)),
            np.asarray(holes, np.int64).reshape(-1, len(HOLE)),
        )


def _alone(evaluated: Evaluated, shape: tuple[int, ...]) -> Bools:
    """Mask of the points where no child but a remainder exists."""
    mask: Any = np.ones(shape, np.bool_)
    for child in evaluated.children:
        if not child.is_lesser:
            mask = mask & (np.asarray(child.exists) == 0)
    return np.asarray(mask)


def _only(evaluated: Evaluated, where: Bools) -> Evaluated:
    """Restrict an evaluated action to some points."""
    price = np.where(where, evaluated.price, np.inf)
    return dataclasses.replace(evaluated, price=price, is_shared=False)


@lru_cache(maxsize=4096)
def _even(plan: Plan, axis: Axis, below: Axis) -> Plan:
    """The loops that leave less than `UNEVEN` of their size."""
    counts = np.diff(plan.starts)
    extents = np.repeat(np.asarray(axis, np.int64), counts)
    sizes = np.append(np.asarray(below, np.int64), 0)  # -1 is no remainder
    even = (plan.share == 0) | (sizes[plan.rest] < UNEVEN * extents)
    starts = np.concatenate([[0], np.cumsum(even)])[plan.starts]
    columns = (
        np.ascontiguousarray(column[even])
        for column in (
            plan.actions,
            plan.main,
            plan.rest,
            plan.trips,
            plan.share,
            plan.price,
        )
    )
    return Plan(starts.astype(np.int64), *columns)


def taken(array: Floats, place: Integers) -> Floats:
    """Elements at some places, flat; infinity for those that are nowhere."""
    flat = place.reshape(-1)
    elements = array.take(np.maximum(flat, 0))
    elements[flat < 0] = np.inf
    return elements


def shifted(node: Node, dim: int, place: int) -> Floats:
    """For each point the best cost with another coordinate, ``place``; infinite where
    its own is no greater."""
    best = node.best.slices.reshape(node.shape)
    shifted_costs = np.repeat(best.take([place], axis=dim), node.shape[dim], axis=dim)
    shifted_costs[(slice(None),) * dim + (slice(0, place + 1),)] = np.inf
    return shifted_costs
