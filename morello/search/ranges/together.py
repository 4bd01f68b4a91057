"""The best programs of many goals that differ in their sizes alone, by few searches.

Sizes of all goals are coordinates of the tables, as those of a range are
(`sizes.py`), along every dimension. Goals for which the model takes the same from the
goal are searched together, and groups of them share tables (`Shelf`).
"""

import dataclasses
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from morello.errors import SearchError
from morello.machine import Target
from morello.search.dp import axes as ax
from morello.search.dp.box import Axis
from morello.search.dp.run import Watch
from morello.search.dp.solver import Solver, pins_of
from morello.search.garbage import rare_collections
from morello.search.impl import Impl
from morello.search.ranges.sizes import closed
from morello.search.statistics import Statistics
from morello.search.storage.overlay import Overlay
from morello.search.storage.shelf import SHELF, Shelf
from morello.spec import Spec
from morello.spec.structure import is_batch

MOST_POINTS = 1 << 15
"""Combinations of sizes in a table, before limits: more are slower than goals alone."""


@dataclasses.dataclass(frozen=True)
class Group:
    """Goals that one search answers, of which the first is the greatest.

    Args:
        goals: differ in their sizes alone.
        axes: the sizes of each dimension.
    """

    goals: tuple[Spec, ...]
    axes: tuple[Axis, ...]

    @property
    def is_one_search(self) -> bool:
        """Whether there are several goals, and tables of all are not too large."""
        points = math.prod(map(len, self.axes))
        return len(self.goals) > 1 and points <= MOST_POINTS


def groups_of(goals: Iterable[Spec], target: Target) -> tuple[Group, ...]:
    """Goals in groups, those of the greatest sizes first.

    Args:
        goals: settled and serial ones.
        target: the machine.
    """
    kinds: defaultdict[object, list[Spec]] = defaultdict(list)
    for goal in goals:
        priced = target.at(goal)
        shape = tuple(
            size if is_batch(goal.kind, dim) else size == 1
            for dim, size in enumerate(goal.sizes)
        )
        room, leading = ax.room(goal, priced), goal.leading
        same = goal.key, goal.limits, leading, priced, room, ax.fine(goal), shape
        kinds[same].append(goal)
    groups = [group_of(tuple(members)) for members in kinds.values()]
    groups.sort(key=lambda g: math.prod(axis[-1] for axis in g.axes), reverse=True)
    return tuple(groups)


def group_of(goals: tuple[Spec, ...]) -> Group:
    """Goals of a group, the greatest first."""
    ordered = sorted(goals, key=lambda goal: math.prod(goal.sizes), reverse=True)
    axes = tuple(
        ax.goal_axes(ordered[0], 1)[dim]
        if is_batch(ordered[0].kind, dim)
        else closed(tuple(goal.sizes[dim] for goal in ordered))
        for dim in range(len(ordered[0].sizes))
    )
    return Group(tuple(ordered), axes)


def search_together(
    group: Group, target: Target, shelf: Shelf | None = None, watch: Watch | None = None
) -> Iterator[tuple[Impl, Statistics]]:
    """The best program of each goal of a group, in order, and the work that it took
    beside those before it.

    Args:
        group: see `groups_of`.
        target: the machine.
        shelf: tables that groups share.
        watch: told before each table that is solved; what it raises ends the search.

    Raises:
        SearchError: a goal has no program.
    """
    first = group.goals[0]
    goals = ax.Goals(frozenset(group.axes), ax.fine(first))
    solver = Solver(target.at(first), watch=watch, shelf=shelf, goals=goals)
    run = solver.run_of(first)
    root = run.root(first.key, group.axes)
    before = run.statistics(0.0)
    with rare_collections(), run.store.working():
        for goal in group.goals:
            start = time.perf_counter()
            impl = run.best(goal, root)
            statistics = run.statistics(time.perf_counter() - start)
            yield impl, statistics.since(before)
            before = statistics


def solve_together(
    goals: Sequence[Spec], target: Target, database: Overlay | None
) -> Iterator[tuple[Impl, Statistics]]:
    """The best program of each goal, in order, and the work that it took beside those
    before it; from the database, or searched together and stored there.

    Args:
        goals: a group of `groups_of`.
        target: the machine.
        database: where programs are looked for and stored.

    Raises:
        SearchError: a goal has no program, or a schedule is pinned, which makes a
            difference between goals.
    """
    pins = pins_of(database, target)
    if pins.pins:
        raise SearchError("a schedule is pinned", "search one goal at a time")
    solvers = {goal: Solver(target.at(goal), database, pins=pins) for goal in goals}
    results: dict[Spec, tuple[Impl, Statistics]] = {}
    for goal, solver in solvers.items():
        start = time.perf_counter()
        impl = solver.stored(goal)
        if impl is not None:
            seconds = time.perf_counter() - start
            results[goal] = impl, Statistics(0, 0, seconds)
    missing = tuple(goal for goal in goals if goal not in results)
    if missing:
        solved = search_together(group_of(missing), target, SHELF)
        results |= zip(missing, solved, strict=True)
    if database is not None:
        database.keep(
            tuple(solvers[goal].row_of(goal, results[goal][0]) for goal in missing)
        )
    return (results[goal] for goal in goals)
