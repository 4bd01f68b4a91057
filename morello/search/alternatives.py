"""What else a program could begin with, and what the best such program costs.

Read `Explorer`: it walks a solved goal node by node. At each, every action that applies
is followed by the best program of each hole that it leaves, read from the tables, so
the cost of an alternative is the least that any program beginning with it can have.
"""

import dataclasses
from typing import Protocol

from morello.actions import Action, Child
from morello.errors import SearchError
from morello.search.axes import Axis
from morello.search.impl import Branch, Impl
from morello.search.solver import Solution, Solver
from morello.search.table import Table, TableId
from morello.spec import Spec, SpecKey
from morello.spec.frame import Frame
from morello.targets import Target


class Tables(Protocol):
    """The tables of goals with one set of limits, as the solver keeps them."""

    def root(self, key: SpecKey, sizes: tuple[Axis, ...]) -> TableId:
        """The table of a goal."""

    def child_id(self, parent: TableId, child: Child) -> TableId:
        """The table of a hole."""

    def table(self, identity: TableId) -> Table:
        """A table, solved now if it was not."""

    def program(self, spec: Spec, table: Table) -> Impl:
        """The best program of a Spec; `SearchError` if there is none."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a node of a program was decided: a Spec, in a table."""

    spec: Spec
    table: TableId


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
    """Those that were not chosen and lead to a program, the cheapest first; among
    equal ones in the order in which the search tries them."""
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

    Raises:
        SearchError: the goal has no program.
    """

    def __init__(self, solver: Solver, goal: Spec) -> None:
        self.solution: Solution = solver.solve(goal)
        self._target: Target = solver.target
        self._tables: Tables = solver.run_of(goal)
        self.root = Place(goal, solver.goal_table(goal))

    def alternatives(self, place: Place) -> Alternatives:
        """Every action that could begin the program of a place.

        Raises:
            SearchError: the place has no program.
        """
        table = self._tables.table(place.table)
        chosen = self._tables.program(place.spec, table)
        found, dead_ends, refused = [], 0, 0
        for action in table.actions:
            if action == chosen.action:
                continue
            holes = self._holes(place, action)
            if holes is None:
                refused += 1
                continue
            impl = self._begin(place, action, holes)
            if impl is None:
                dead_ends += 1
            else:
                found.append(Alternative(impl, impl.cost - chosen.cost))
        found.sort(key=lambda alternative: alternative.excess)
        return Alternatives(chosen, tuple(found), dead_ends, refused)

    def below(self, place: Place, action: Action) -> tuple[Place, ...]:
        """The places of the holes that an action leaves, in order; it must apply."""
        return tuple(hole for _, hole in self._holes(place, action) or ())

    def _holes(
        self, place: Place, action: Action
    ) -> tuple[tuple[Child, Place], ...] | None:
        """The holes of an action; None if it does not apply."""
        expansion = action.expand(Frame.of(place.spec), self._target)
        if expansion.refusal():
            return None
        return tuple(
            (
                child,
                Place(child.frame.spec(), self._tables.child_id(place.table, child)),
            )
            for child in expansion.children
            if int(child.times)
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
        table = self._tables.table(place.table)
        try:
            return self._tables.program(place.spec, table)
        except SearchError:
            return None
