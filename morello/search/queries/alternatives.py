"""Alternatives to a program's first action, with the cost of the best program of each.

Read `Explorer`: it walks a solved goal node by node. At each, every action that applies
is followed by the best program of each hole that it leaves, read from the tables, so
the cost of an alternative is the least that any program beginning with it can have.
"""

import dataclasses

from morello.actions import Action, Child
from morello.errors import ScheduleError, SearchError
from morello.machine import Target
from morello.search.dp.solver import Solution, Solver
from morello.search.dp.table import TableId
from morello.search.impl import Branch, Impl
from morello.search.queries.partial_program import HOLE, Partial
from morello.search.queries.pins import Pinned
from morello.spec import Spec
from morello.spec.frame import Frame


@dataclasses.dataclass(frozen=True)
class Place:
    """Position of a node in the search: a Spec, in a table."""

    spec: Spec
    goal: Spec
    """The goal whose search it belongs to."""
    table: TableId | None
    """None where a person has decided, not a search."""
    decided: Partial = HOLE
    """Schedule that a person has fixed for this node."""


@dataclasses.dataclass(frozen=True)
class Alternative:
    """A first action, and the best program that begins with it."""

    impl: Impl
    excess: int
    """Millicycles more than the best program of the Spec; 0 is a tie with it."""

    @property
    def action(self) -> Action:
        """The first action."""
        return self.impl.action


@dataclasses.dataclass(frozen=True)
class Alternatives:
    """Every action that could begin the program of a Spec."""

    chosen: Impl
    """The best program, as the search decided it."""
    rejected: tuple[Alternative, ...]
    """Alternatives that were not chosen and lead to a program, the cheapest first;
    among equal ones in the order in which the search tries them."""
    dead_ends: int
    """Actions that apply but leave a hole that has no program."""
    refused: int
    """Actions that the search tries on other Specs of the key; here they do not
    apply."""

    @property
    def applicable(self) -> int:
        """Actions that apply, the chosen one among them."""
        return 1 + len(self.rejected) + self.dead_ends

    @property
    def ties(self) -> int:
        """Rejected actions whose best program costs what the chosen one does."""
        return sum(a.excess == 0 for a in self.rejected)


class Explorer:
    """Reads the tables of one solved goal.

    Args:
        solver: what solves it.
        goal: the Spec.
        decided: the program that it begins with, if a person has decided that.

    Raises:
        SearchError: the goal has no program.
        ScheduleError: what is given does not apply.
    """

    def __init__(self, solver: Solver, goal: Spec, decided: Partial = HOLE) -> None:
        self._solver = solver
        self._target: Target = solver.target
        self.root = self._place(goal, decided)
        self.solution: Solution = (
            solver.solve(goal)
            if decided.action is None
            else solver.complete(goal, decided)
        )

    def alternatives(self, place: Place) -> Alternatives:
        """Every action that could begin the program of a place.

        Raises:
            SearchError: the place has no program.
            ScheduleError: a schedule that was given decides there.
        """
        if place.table is None:
            raise ScheduleError(f"a schedule decides {place.spec}, not the search")
        tables = self._solver.run_of(place.goal)
        chosen = tables.best(place.spec, place.table)
        rejected, dead_ends, refused = [], 0, 0
        for action in tables.candidates(place.table):
            if action == chosen.action or isinstance(action, Pinned):
                continue
            holes = self._holes(place, action)
            if holes is None:
                refused += 1
                continue
            impl = self._begin(place, action, holes)
            if impl is None:
                dead_ends += 1
            else:
                rejected.append(Alternative(impl, impl.cost - chosen.cost))
        rejected.sort(key=lambda alternative: alternative.excess)
        return Alternatives(chosen, tuple(rejected), dead_ends, refused)

    def below(self, place: Place, impl: Impl) -> tuple[Place, ...]:
        """The places of the holes that a place's program leaves, in order."""
        decided = self._decided(place)
        if decided.action is None:
            return tuple(hole for _, hole in self._holes(place, impl.action) or ())
        return tuple(
            self._place(branch.impl.spec, below)
            for branch, below in zip(impl.branches, decided.branches, strict=True)
        )

    def _place(self, goal: Spec, decided: Partial) -> Place:
        """The place of a Spec in the tree: a goal's, or a pinned decision's."""
        table = self._solver.goal_table(goal) if decided.action is None else None
        return Place(goal, goal, table, decided)

    def _decided(self, place: Place) -> Partial:
        """Find the schedule that is fixed for a node: by a schedule, or
        by a pin."""
        if place.table is None:
            return place.decided
        run = self._solver.run_of(place.goal)
        run.reach(place.table, place.spec)
        table = run.decisions(place.table)
        action = table.decision(place.spec.sizes, place.spec.limits)
        if not isinstance(action, Pinned):
            return HOLE
        return self._solver.pinned.pins.find(action).program

    def _holes(
        self, place: Place, action: Action
    ) -> tuple[tuple[Child, Place], ...] | None:
        """The holes of an action; None if it does not apply."""
        expansion = action.expand(Frame.of(place.spec), self._target)
        if expansion.refusal() or place.table is None:
            return None
        run = self._solver.run_of(place.goal)
        return tuple(
            (
                child,
                Place(
                    child.frame.spec(),
                    place.goal,
                    run.child_id(place.table, child.frame.key, child.dims),
                ),
            )
            for child in expansion.children
            if int(child.exists)
        )

    def _begin(
        self, place: Place, action: Action, holes: tuple[tuple[Child, Place], ...]
    ) -> Impl | None:
        """The best program that begins so; None if a hole has none."""
        branches = []
        for child, hole in holes:
            impl = self._program(hole)
            if impl is None:
                return None
            branches.append(Branch(child.role, int(child.times), impl))
        rewrite = action.apply(place.spec, self._target)
        cost = rewrite.total(tuple(branch.impl.cost for branch in branches))
        return Impl(place.spec, action, cost, tuple(branches))

    def _program(self, place: Place) -> Impl | None:
        if place.table is None:
            return None
        run = self._solver.run_of(place.goal)
        try:
            return run.best(place.spec, place.table)
        except SearchError:
            return None
