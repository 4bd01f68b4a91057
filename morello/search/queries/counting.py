"""How many programs a Spec has: `count_programs`.

By the recursion of the search, with a sum in place of the minimum: the programs of a
Spec are, for each action that applies, all combinations of programs of its holes. A
tile and its remainder multiply, so the count of a matmul has millions of digits; it is
kept as a logarithm. Every table is filled once, as the search does, but with -log2 of
the counts (so that infinity marks a Spec without a program, as it does for costs).
"""

import math

import numpy as np

from morello.actions import Action
from morello.machine import Target
from morello.search.compiled import compiled
from morello.search.dp.box import Box
from morello.search.dp.evaluate import Evaluated
from morello.search.dp.limit_slices import Slices
from morello.search.dp.solver import Solver
from morello.search.dp.table import Costs, Floats, Integers, TableId, position
from morello.search.dp.table_solver import TableSolver
from morello.search.dp.tiling import peel_words
from morello.search.queries.pins import Fixed
from morello.spec import Spec, SpecKey


def count_programs(spec: Spec, target: Target) -> float:
    """The binary logarithm of the number of distinct programs of a Spec.

    Its relative error is below 1e-12; of up to 2^40 programs every one is counted.

    Returns:
        minus infinity if there is none.
    """
    solver = Solver(target)
    root = solver.goal_table(spec)
    solver.run_of(spec).reach(root, spec)
    table = _Counts(solver, spec).costs(root)
    point = position(table.box, spec.sizes, spec.limits)
    return -math.inf if point is None else -float(table.dense[point])


class _Counts:
    """The counts of all tables that a goal needs."""

    def __init__(self, solver: Solver, spec: Spec) -> None:
        self._run = solver.run_of(spec)
        self.target = solver.target
        self.limits = self._run.limits
        self.room = self._run.room
        self.dense = self._run.dense
        self.evaluations = self._run.evaluations
        self._tables: dict[TableId, Costs] = {}

    def box(self, identity: TableId) -> Box:
        """The box of a table."""
        return self._run.box(identity)

    def candidates(self, identity: TableId) -> tuple[Action, ...]:
        """The actions that are tried on the Specs of a table."""
        return self._run.candidates(identity)

    def holes(
        self, identity: TableId, action: Action, evaluated: Evaluated
    ) -> list[TableId]:
        """The tables of the holes of an action on the points of a table."""
        return self._run.holes(identity, action, evaluated)

    def loop_id(self, parent: TableId, key: SpecKey) -> TableId:
        """The table of the tiles of loops, where these have another key."""
        return self._run.loop_id(parent, key)

    def pause(self) -> None:
        """Let Ctrl-C, or what watches the search, end it."""
        self._run.pause()

    def fixed(self, identity: TableId) -> tuple[Fixed, ...]:
        """None: the programs that a pin leaves out count too."""
        return ()

    def costs(self, identity: TableId) -> Costs:
        """-log2 of the counts of a table."""
        logarithms = self._tables.get(identity)
        if logarithms is None:
            logarithms = self._tables[identity] = _TableCounter(self, identity).count()
        return logarithms


class _TableCounter(TableSolver):
    """Counts the programs of every Spec of one table."""

    def count(self) -> Costs:
        """The table, filled."""
        self._settle(self.run.candidates(self.id))
        return self._cost_slices()

    def _choose(self, actions: Integers, holes: Integers) -> None:
        """Every program counts: none is better. Every hole that there is has its own
        programs, whether it counts or not."""
        self._add(self.costs, actions, holes)

    def _totals(self, actions: Integers, holes: Integers) -> Floats:
        """The programs of all holes but the first."""
        totals = np.full(self.box.shape, np.inf)
        self._add(totals, actions, holes)
        return totals

    def _add(self, counts: Floats, actions: Integers, holes: Integers) -> None:
        """Add the programs that begin with some actions."""
        near, far = self.box.classes
        room = np.empty(near * far)
        compiled().gather_counts(counts.reshape(-1), room, near, far, actions, holes)

    def _sweep(self, slices: Slices, axes: Integers, peels: Integers) -> None:
        """Loops and peeled reductions: their holes are smaller, and come first."""
        counts, width = slices.costs.reshape(-1), slices.costs.shape[-1]
        room = np.empty(width), np.empty(width)
        compiled().sweep_counts(counts, counts, *room, axes, peels)

    def _sweep_below(self, below: Floats, axes: Integers) -> None:
        """Loops whose tiles have another key."""
        counts = self.costs.reshape(-1)
        width = self.costs[(0,) * len(self.box.sizes)].size
        room = np.empty(width), np.empty(width)
        none = peel_words((), ())
        compiled().sweep_counts(counts, below.reshape(-1), *room, axes, none)
