"""Tables of few actions, for a search that ends early: read `NarrowRun`.

In a narrow table not every action is tried: kernels, loops of its key and actions that
lead to tables which were solved; then some others, more of them until the largest of
its Specs has a program. All sizes of tiles are compared, as in a whole table, so that
its programs are the best of what was tried. A table without room for the sizes of the
goal is whole: it has tiles alone, and fewer tables below. What is whole, and needs
whole tables alone, is left to the search.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.actions import Action
from morello.search.dp import axes as ax
from morello.search.dp.run import Run, Watch
from morello.search.dp.table import Costs, Floats, Table, TableId
from morello.search.dp.table_solver import TableSolver
from morello.search.impl import Impl
from morello.search.storage.packed_table import Packed
from morello.search.storage.shelf import Once
from morello.spec import Spec

_TURNS = (0, 3, 2, 4, 5)
"""Turns of actions, the first first: an action that makes another graph comes before
moves, after which there may be a program, but seldom a good one."""


class NarrowRun(Run):
    """The tables of a search that was stopped, and narrow ones in place of the rest.

    Tables in which every action was tried are left to the search, which may go on.

    Args:
        whole: the tables of the search.
        width: the actions of a table that lead to tables of which nothing is known.
        watch: told before each table that is solved; what it raises ends it.
    """

    def __init__(self, whole: Run, width: int, watch: Watch | None) -> None:
        super().__init__(
            whole.limits,
            whole.room,
            whole.target,
            whole.store,
            whole.pinned,
            watch,
            whole.goals,
        )
        self.evaluations = whole.evaluations
        self.needed = dict(whole.needed)
        self.wholes = dict(whole.wholes)
        self.width = width
        self._narrow: dict[TableId, tuple[Costs, Callable[[], Table]]] = {}

    @property
    def is_whole(self) -> bool:
        """Whether every table that was needed is that of the whole search."""
        return not self._narrow

    def best(self, spec: Spec, identity: TableId) -> Impl:
        """The best program of a goal that these tables have.

        Raises:
            SearchError: they have none.
        """
        if not self.is_reached(identity, spec):  # not followed to the end
            self.reaches, self.needed = False, {}
        return super().best(spec, identity)

    def is_solved(self, identity: TableId) -> bool:
        """Whether a table has the best programs of all."""
        return self.is_here(identity)

    def is_known(self, identity: TableId) -> bool:
        """Whether a table was solved, if narrowly."""
        return identity in self._narrow or self.is_here(identity)

    def costs(self, identity: TableId) -> Costs:
        """The costs of a table, which is solved narrowly if it is new."""
        self._ensure(identity)
        narrow = self._narrow.get(identity)
        return super().costs(identity) if narrow is None else narrow[0]

    def decisions(self, identity: TableId) -> Table | Packed:
        """The decisions of a table, which is solved narrowly if it is new."""
        self._ensure(identity)
        narrow = self._narrow.get(identity)
        return super().decisions(identity) if narrow is None else narrow[1]()

    def _ensure(self, identity: TableId) -> None:
        if identity not in self._narrow:
            super()._ensure(identity)

    def _solve(self, identity: TableId) -> None:
        self._tell()
        solver = _NarrowSolver(self, identity)
        costs = solver.solve()
        table = solver.table
        del solver.run
        if solver.is_whole:
            self.store.put(identity, costs, table)
        else:
            self._narrow[identity] = costs, Once(table)


class _NarrowSolver(TableSolver):
    """Solves one table by few actions."""

    run: NarrowRun

    def __init__(self, run: NarrowRun, identity: TableId) -> None:
        super().__init__(run, identity)
        self.is_whole = False
        """Whether all actions were tried, on tables with the best programs of all."""
        self._below: dict[Action, list[TableId]] = {}
        """For each action, the other tables that its holes are in."""

    def solve(self) -> Costs:
        """The costs, once the tables of the actions that are tried are solved."""
        run, every = self.run, self.run.candidates(self.id)
        waiting = deque(
            sorted(every, key=lambda a: (not self._is_known(a), _TURNS.index(a.turn)))
        )
        tried: set[Action] = set()
        width = run.width if self._is_of_goals() else len(every)
        while True:
            while waiting and (width or self._is_known(waiting[0])):
                action = waiting.popleft()
                tried.add(action)
                width -= not self._is_known(action)
            costs = self._solved_by(tuple(a for a in every if a in tried))
            if not waiting or self._has_program(costs.slices):
                break
            width = 1
        self.is_whole = not waiting and all(
            run.is_solved(hole) for holes in self._below.values() for hole in holes
        )
        return costs

    def _is_of_goals(self) -> bool:
        """Whether a Spec with all sizes of the goal has room in this table."""
        ours, goals = self.run.whole_box(self.id).sizes, self.id.sizes
        is_cut = any(a[-1:] != b[-1:] for a, b in zip(ours, goals, strict=True))
        return not is_cut and bool(self._lies()[(-1,) * len(ours)])

    def _lies(self) -> Any:
        """Mask of the sizes at which every operand fits at its level."""
        run = self.run
        return ax.lies(self.key, self.id.sizes, self.box, run.room, run.dense)

    def _stays(self, action: Action) -> bool:
        """Whether an action needs no other table: kernels, and loops of one key."""
        is_loop = action.loop_dim(self.key) is not None
        return action.ends or (is_loop and action.loop_key(self.key) == self.key)

    def _is_known(self, action: Action) -> bool:
        """Whether an action leads to tables alone that were solved."""
        if self._stays(action):
            return True
        below = self._below.get(action)
        if below is None:
            below = self._below[action] = self._tables_below(action)
        return all(map(self.run.is_known, below))

    def _tables_below(self, action: Action) -> list[TableId]:
        """The tables that the holes of an action are in; none if it leads nowhere."""
        if action.loop_dim(self.key) is not None:
            return [self.run.loop_id(self.id, action.loop_key(self.key))]
        lead = self._holes(action)
        return [] if lead is None else lead[1]

    def _solved_by(self, actions: tuple[Action, ...]) -> Costs:
        """The costs by some of the candidates."""
        self.slices = self.nowhere = self.fixed = None
        self.actions = actions
        self._settle(actions)
        return self._cost_slices()

    def _has_program(self, costs: Floats) -> bool:
        """Whether the largest Spec whose operands fit at their levels has a program,
        whatever is left of the memories."""
        if not costs.size:
            return True
        sizes = costs.shape[:-1]
        extent = math.prod(self.box.mesh[: len(sizes)]).reshape(sizes)
        largest = np.argmax(np.where(self._lies(), extent, 0))
        return bool(np.isfinite(costs.reshape(-1, costs.shape[-1])[largest]).any())
