"""The explanation of a program: its tree with costs, tiles, memories, alternatives."""

import dataclasses
from collections.abc import Iterator

from morello.actions import Select
from morello.explain.memory import Held, Use, uses
from morello.explain.tiles import Tiles, below, moved, whole
from morello.machine import Target
from morello.machine.digests import COST_MODEL
from morello.search import Alternatives, Explorer, Impl, Place, Solver, Statistics
from morello.search.queries.partial_program import HOLE, Partial
from morello.spec import Limits, Spec


@dataclasses.dataclass(frozen=True)
class Request:
    """Selection of the nodes whose alternatives are wanted."""

    depth: int | None = 0
    """At nodes down to this depth, the root being 0; None is everywhere."""
    at: frozenset[int] = frozenset()
    """At these nodes too, by number."""

    def wants(self, number: int, depth: int) -> bool:
        """Whether alternatives are wanted at a node."""
        return self.depth is None or depth <= self.depth or number in self.at


@dataclasses.dataclass(frozen=True)
class Node:
    """One decision of the program."""

    number: int
    """Index in the order in which nodes first run, from 0."""
    depth: int
    role: str
    """The hole of its parent that it fills; empty at the root."""
    times: int
    """Runs for each run of the parent."""
    runs: int
    """Runs for each run of the whole program."""
    impl: Impl
    own_cost: int
    """Millicycles of its action alone: one run, without its holes."""
    total: int
    """Millicycles of all its runs, with its holes."""
    share: float
    """``total`` of the cost of the whole program, from 0 to 1."""
    own_share: float
    """Share of ``own_cost`` times ``runs``; of all nodes together they make 1."""
    tiles: tuple[Tiles, ...]
    """Tile of each operand, as the node finds it."""
    moved: Tiles | None
    """Tile of the operand that the action moves: the last stage is the destination."""
    memory: tuple[Use, ...]
    """Each counted memory, nearest first."""
    alternatives: Alternatives | None
    """None where they were not computed."""
    same_as: int | None
    """The number of the first node with this very program, if this is not the first."""
    children: tuple["Node", ...]

    def walk(self) -> Iterator["Node"]:
        """Itself and every node below it, by number."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The best program of a Spec, explained."""

    spec: Spec
    target: Target
    root: Node
    statistics: Statistics

    @property
    def cost(self) -> int:
        """Millicycles of the whole program."""
        return self.root.impl.cost

    @property
    def stale(self) -> tuple[str, ...]:
        """The prices that the program is made of and that were measured with something
        else: its kernels', and those of the cost model."""
        actions = (node.impl.action for node in self.root.walk())
        paid = {COST_MODEL, *(a.kernel for a in actions if isinstance(a, Select))}
        return tuple(name for name in self.target.stale if name in paid)

    def hottest(self) -> Node:
        """The kernel whose runs cost most: of the nodes without any below."""
        leaves = (node for node in self.root.walk() if not node.children)
        return max(leaves, key=lambda node: node.share)


def explain(
    spec: Spec, solver: Solver, request: Request | None = None, decided: Partial = HOLE
) -> Explanation:
    """Search and explain the best program of a Spec.

    Args:
        spec: which.
        solver: what searches.
        request: where alternatives are wanted.
        decided: what a schedule has decided already; there are no alternatives to it.

    Raises:
        SearchError: there is none.
        ScheduleError: the schedule does not apply.
    """
    explorer = Explorer(solver, spec, decided)
    builder = _Builder(explorer, solver.target, spec.limits, request or Request())
    impl = explorer.solution.impl
    root = builder.node(_Seat(0, "", 1, 1, whole(spec), ()), explorer.root, impl)
    return Explanation(spec, solver.target, root, explorer.solution.statistics)


@dataclasses.dataclass(frozen=True)
class _Seat:
    """The state that a node gets from above."""

    depth: int
    role: str
    times: int
    runs: int
    tiles: tuple[Tiles, ...]
    held: tuple[Held, ...]


class _Builder:
    """Makes nodes, in the order of their numbers."""

    def __init__(
        self, explorer: Explorer, target: Target, capacity: Limits, request: Request
    ) -> None:
        self.explorer = explorer
        self.target = target
        self.capacity = capacity
        self.request = request
        self.cost = explorer.solution.impl.cost
        self._count = 0
        self._first: dict[Impl, int] = {}
        self._alternatives: dict[Place, Alternatives] = {}

    def node(self, seat: _Seat, place: Place, impl: Impl) -> Node:
        number = self._count
        self._count += 1
        same_as = self._first.setdefault(impl, number)
        below_cost = sum(b.times * b.impl.cost for b in impl.branches)
        node_cost = impl.cost - below_cost
        after = moved(impl, seat.tiles, self.target)
        taken = _taken(impl, after)
        memory = uses(impl, self.capacity, seat.held, taken)
        alternatives = self._alternatives_at(number, seat.depth, place)
        children = self._children(seat, place, impl, after, taken)
        return Node(
            number,
            seat.depth,
            seat.role,
            seat.times,
            seat.runs,
            impl,
            node_cost,
            seat.runs * impl.cost,
            self._share(seat.runs * impl.cost),
            self._share(seat.runs * node_cost),
            seat.tiles,
            after,
            memory,
            alternatives,
            same_as if same_as != number else None,
            children,
        )

    def _children(
        self,
        seat: _Seat,
        place: Place,
        impl: Impl,
        after: Tiles | None,
        taken: Held | None,
    ) -> tuple[Node, ...]:
        held = seat.held if taken is None else (*seat.held, taken)
        nodes = []
        places = self.explorer.below(place, impl)
        for branch, hole in zip(impl.branches, places, strict=True):
            child = _Seat(
                seat.depth + 1,
                branch.role,
                branch.times,
                seat.runs * branch.times,
                below(impl, branch, seat.tiles, after),
                held,
            )
            nodes.append(self.node(child, hole, branch.impl))
        return tuple(nodes)

    def _alternatives_at(
        self, number: int, depth: int, place: Place
    ) -> Alternatives | None:
        if place.table is None or not self.request.wants(number, depth):
            return None
        if place not in self._alternatives:
            self._alternatives[place] = self.explorer.alternatives(place)
        return self._alternatives[place]

    def _share(self, cost: int) -> float:
        return cost / self.cost if self.cost else 0.0


def _taken(impl: Impl, after: Tiles | None) -> Held | None:
    """Find the part of a memory that an action takes; a temporary where it moves no
    operand."""
    if after is not None:
        stage = after.stages[-1]
        if stage.level.is_main:
            return None
        return Held(stage.level, after.origin, stage.shape, stage.amount)
    for level, free in impl.spec.limits.items():
        left = min((b.impl.spec.limits[level] for b in impl.branches), default=free)
        if left < free:
            return Held(level, "", (), int(free - left))
    return None
