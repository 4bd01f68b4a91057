"""How many programs a Spec has: `count_programs`.

By the recursion of the search, with a sum in place of the minimum: the programs of a
Spec are, for each action that applies, all combinations of programs of its holes. A
tile and its remainder multiply, so the count of a matmul has millions of digits; it is
kept as a logarithm. Every table is filled once, as the search does, but with -log2 of
the counts (so that infinity marks a Spec without a program, as it does for costs).
"""

import math
from collections.abc import Iterator

import numpy as np

from morello.actions import Action, Child, Expansion
from morello.machine import Target
from morello.search.dp.axes import Box
from morello.search.dp.evaluate import Applied
from morello.search.dp.limit_slices import Slices
from morello.search.dp.machine_code import address
from morello.search.dp.solver import Solver
from morello.search.dp.table import Costs, Floats, Integers, TableId, position
from morello.search.dp.table_solver import TableSolver, aligned
from morello.search.dp.tiling import Plan
from morello.search.queries.native_sum import sum_function
from morello.search.queries.pins import Fixed
from morello.spec import Spec, SpecKey


def count_programs(spec: Spec, target: Target) -> float:
    """The binary logarithm of the number of distinct programs of a Spec.

    Its relative error is below 1e-12; of up to 2^40 programs every one is counted.

    Returns:
        minus infinity if there is none.
    """
    solver = Solver(target)
    counts = _Counts(solver, spec)
    table = counts.costs(solver.goal_table(spec))
    point = position(table.box, spec.sizes, spec.limits)
    return -math.inf if point is None else -float(table.dense[point])


class _Counts:
    """The counts of all tables that a goal needs."""

    def __init__(self, solver: Solver, spec: Spec) -> None:
        self._run = solver.run_of(spec)
        self.target = solver.target
        self.limits = self._run.limits
        self.room = self._run.room
        self._tables: dict[TableId, Costs] = {}

    def box(self, identity: TableId) -> Box:
        """The box of a table."""
        return self._run.box(identity)

    def candidates(self, identity: TableId) -> tuple[Action, ...]:
        """The actions that are tried on the Specs of a table."""
        return self._run.candidates(identity)

    def child_id(self, parent: TableId, child: Child) -> TableId:
        """The table that a hole of a parent's table is looked up in."""
        return self._run.child_id(parent, child)

    def loop_id(self, parent: TableId, key: SpecKey) -> TableId:
        """The table of the tiles of loops, where these have another key."""
        return self._run.loop_id(parent, key)

    def fixed(self, identity: TableId) -> tuple[Fixed, ...]:
        """None: the programs that a pin leaves out count too."""
        return ()

    def costs(self, identity: TableId) -> Costs:
        """-log2 of the counts of a table."""
        found = self._tables.get(identity)
        if found is None:
            found = self._tables[identity] = _TableCounter(self, identity).count()
        return found


class _TableCounter(TableSolver):
    """Counts the programs of every Spec of one table."""

    def count(self) -> Costs:
        """The table, filled."""
        if self.costs.size:
            self._settle(self.run.candidates(self.id))
        if self.slices is not None:
            return Costs(self.box, self.slices.costs, self.slices.place)
        return Costs.of(self.box, self.costs)

    def _own(self, expansion: Expansion) -> Floats:
        """An action is one choice: the logarithm of 1."""
        return np.zeros(())

    def _hole(self, child: Child, costs: Floats) -> Floats:
        """Every hole that there is has its own programs, whether it counts or not."""
        if child.there is None:
            return costs
        return np.where(child.there, costs, 0.0)

    def _choose(self, index: int, applied: Applied) -> None:
        """Every program counts: none is better."""
        self._improve(index, self._total(applied), applied.window)

    def _improve(self, index: int, total: Floats, window: tuple[int, ...]) -> None:
        """Add the programs that begin with an action."""
        part = tuple(slice(0, extent) for extent in window)
        counts = self.costs[part]
        np.copyto(counts, -np.logaddexp2(-counts, -total))

    def _loop_within(self, loops: dict[int, dict[int, Action]]) -> Slices | None:
        """Loops along all axes at once: their holes are smaller, and come first."""
        plans = {}
        for dim, found in loops.items():
            axis = self.box.sizes[dim]
            plan = self._plan(dim, axis, found).plan
            if not plan.is_empty:
                plans[dim] = plan
        if not plans:
            return None
        slices = Slices.of(self.costs, len(self.box.sizes))
        sizes = tuple(map(len, self.box.sizes))
        _add_loops(slices.costs, slices.costs, _Sums.of(sizes, plans, sizes))
        return slices

    def _loop_below(self, dim: int, key: SpecKey, loops: dict[int, Action]) -> None:
        """Loops whose tiles have another key."""
        table = self.run.costs(self.run.loop_id(self.id, key))
        if not table.slices.size:
            return
        theirs = table.box.sizes[dim]
        plan = self._plan(dim, theirs, loops).plan
        if plan.is_empty:
            return
        below = np.ascontiguousarray(aligned(table, self.box, dim))
        sizes = tuple(map(len, self.box.sizes))
        holes = below.shape[: len(sizes)]
        _add_loops(self.costs, below, _Sums.of(sizes, {dim: plan}, holes))


class _Sums:
    """For each point of a table's sizes the pairs of holes that its loops leave.

    Args:
        starts: where the pairs of each point begin; one more says where the last end.
        main: the point of the tile, among those of the holes.
        rest: that of the remainder; -1 where there is none.
    """

    def __init__(self, starts: Integers, main: Integers, rest: Integers) -> None:
        self.starts = starts
        self.main = main
        self.rest = rest

    @classmethod
    def of(
        cls, sizes: tuple[int, ...], plans: dict[int, Plan], holes: tuple[int, ...]
    ) -> "_Sums":
        """The pairs of loops along several axes.

        Args:
            sizes: how many coordinates each axis has.
            plans: the loops along each.
            holes: how many coordinates the table of the holes has.
        """
        parts = list(_pairs(sizes, plans, holes))
        points, main, rest = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(points, kind="stable")
        ends = np.cumsum(np.bincount(points, minlength=math.prod(sizes)))
        starts = np.concatenate([[0], ends]).astype(np.int64)
        return cls(
            starts,
            np.ascontiguousarray(main[order]),
            np.ascontiguousarray(rest[order]),
        )


def _pairs(
    sizes: tuple[int, ...], plans: dict[int, Plan], holes: tuple[int, ...]
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Points, tiles and remainders of the loops along each axis."""
    grid = np.indices(sizes).reshape(len(sizes), -1)
    for dim, plan in plans.items():
        counts = np.diff(plan.starts)[grid[dim]]
        points = np.repeat(np.arange(grid.shape[1], dtype=np.int64), counts)
        firsts = np.cumsum(counts) - counts
        rows = np.arange(len(points)) - firsts[points]
        rows = rows + plan.starts[grid[dim][points]]
        place = list(grid[:, points])
        main, rest = plan.main[rows], plan.rest[rows]
        place[dim] = main
        tile = np.ravel_multi_index(place, holes)
        place[dim] = np.maximum(rest, 0)
        left = np.ravel_multi_index(place, holes)
        yield points, tile, np.where(rest < 0, -1, left)


def _add_loops(counts: Floats, below: Floats, sums: _Sums) -> None:
    """Add to each point, in ascending order, the products of the counts of its pairs.

    Args:
        counts: -log2, without gaps; the sizes before the limits.
        below: of the holes; ``counts`` itself if loops stay in the table.
    """
    points = len(sums.starts) - 1
    sum_function()(
        address(counts),
        address(below),
        points,
        counts.size // points,
        address(sums.starts),
        address(sums.main),
        address(sums.rest),
    )
