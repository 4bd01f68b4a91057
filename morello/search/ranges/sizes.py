"""The best program of each size of a range, by one search.

Sizes are coordinates of the tables, where each is whole and gapless as a goal of that
size is; tiles have the sizes of the ladder. Of a long range some sizes are searched
(`sampled`), whose programs take the others. What the model takes from the goal, such as
whether its operands stay in L2 from call to call, is not the same for every size
(`Target.at`): sizes for which it is are searched together; and 1 alone, which a graph
may drop.
"""

import dataclasses
import itertools
import math
import time
from collections.abc import Iterable, Iterator

from morello.actions import Action, Child
from morello.errors import SearchError
from morello.machine import Target
from morello.search.dp import axes as ax
from morello.search.dp.axes import Axis
from morello.search.dp.solver import Solver, Watch
from morello.search.dp.table import TableId
from morello.search.impl import Impl
from morello.search.statistics import Statistics
from morello.spec import Limits, Spec, print_spec

MOST_SIZES = 1 << 16
"""Each program has a cost at each size."""

EVERY_ROW = 1024
"""All sizes up to it are searched where the range is of rows, of which the tables have
every number at little more cost."""

EVERY_TERM = 64
"""All sizes up to it are searched where the range is reduced: the smaller they are, the
more their programs differ."""


@dataclasses.dataclass(frozen=True)
class Searched:
    """The tables of sizes that were searched together."""

    solver: Solver
    greatest: Spec
    root: TableId

    @property
    def target(self) -> Target:
        """The target as Specs below these goals see it."""
        return self.solver.target

    def program(self, spec: Spec, table: TableId) -> Impl:
        """The best program of a Spec of a table.

        Raises:
            SearchError: there is none.
        """
        run = self.solver.run_of(self.greatest)
        return run.program(spec, run.entry(table))

    def below(self, table: TableId, action: Action, child: Child) -> TableId:
        """The table of a hole that an action leaves."""
        return self.solver.run_of(self.greatest).hole_id(table, action, child)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The best program of every size of a Spec's range.

    Args:
        spec: the Spec, with one range.
        best: the program of each size that was searched, ascending.
        tables: what each size was searched in.
    """

    spec: Spec
    best: dict[int, Impl]
    tables: dict[int, Searched]
    statistics: Statistics

    def tables_in_order(self) -> Iterator[tuple[int, Searched]]:
        """Each size, ascending, and what it was searched in, or would be."""
        return iter(sorted(self.tables.items()))

    def cost(self, size: int) -> float:
        """The cost of the best program of a size, in 1/1000 cycle; infinite where that
        was not searched."""
        return self.best[size].cost if size in self.best else math.inf


def check_range(spec: Spec) -> range:
    """The sizes of a Spec with one range.

    Raises:
        SearchError: it has two, or too many sizes.
    """
    text = print_spec(spec, spec.limits)
    if len(spec.ranges) != 1:
        raise SearchError(
            f"{text} has {len(spec.ranges)} ranges of sizes, and a search takes one",
            "settle the others",
        )
    sizes = spec.ranges[0].sizes(spec.greatest[0])
    if len(sizes) > MOST_SIZES:
        raise SearchError(
            f"the range of {text} has {len(sizes)} sizes, and a search takes "
            f"{MOST_SIZES} at most",
            "give a shorter range, or greater steps",
        )
    return sizes


def runs_of(sizes: Iterable[int], step: int) -> Iterator[tuple[int, ...]]:
    """Sizes in a row, of ascending ones."""
    run: list[int] = []
    for size in sizes:
        if run and size - run[-1] > step:
            yield tuple(run)
            run = []
        run.append(size)
    yield tuple(run)


def sampled(sizes: tuple[int, ...], every: int) -> tuple[int, ...]:
    """The sizes of a run that are searched.

    Args:
        sizes: of the run, ascending.
        every: all up to this one; then the first of each octave above, and the last.
    """
    near = [size for size in sizes if size <= every] or sizes[:1]
    octave = (every << i for i in itertools.count())
    bounds = itertools.takewhile(lambda bound: bound < sizes[-1], octave)
    found = {*near, sizes[-1]}
    for bound in bounds:
        found.add(next(size for size in sizes if size >= bound))
    return tuple(sorted(found))


def search_sizes(spec: Spec, target: Target, watch: Watch | None = None) -> Sizes:
    """Search the sizes of a Spec's range, or some of a long one.

    Args:
        spec: the Spec, with one range.
        target: the machine.
        watch: told before each table that is solved; what it raises ends the search.

    Raises:
        SearchError: a size has no program, there are too many, or two ranges.
    """
    sizes = check_range(spec)
    every = EVERY_TERM if _is_reduced(spec) else EVERY_ROW
    groups: dict[tuple[Target, Limits, tuple[Axis, ...], int, bool], list[int]] = {}
    for size in sizes:
        goal = spec.at(size)
        own = target.at(goal, spec)
        room, fine = ax.room(goal, own), ax.fine(goal)
        kind = own, room, _others(spec, goal), fine, size == 1
        groups.setdefault(kind, []).append(size)
    best: dict[int, Impl] = {}
    tables: dict[int, Searched] = {}
    parts = []
    for (own, *_), members in groups.items():
        start = time.perf_counter()
        some = tuple(
            sorted(
                {m for run in runs_of(members, sizes.step) for m in sampled(run, every)}
            )
        )
        found = _searched(spec, own, some, watch)
        run = found.solver.run_of(found.greatest)
        with run.store.working():
            for size in some:
                best[size] = found.program(spec.at(size), found.root)
        tables |= dict.fromkeys(members, found)
        parts.append(run.statistics(time.perf_counter() - start))
    best = dict(sorted(best.items()))
    return Sizes(spec, best, tables, Statistics.of_all(parts))


def _is_reduced(spec: Spec) -> bool:
    """Whether no result has the dimension of a Spec's range."""
    varying = {*spec.ranges[0].dims}
    written = (o.dims for o in spec.kind.operands if o.is_written)
    return not any(varying.intersection(dims) for dims in written)


def _others(spec: Spec, goal: Spec) -> tuple[Axis, ...]:
    """The axes of the dimensions whose size is settled, below the goal of one size."""
    varying = spec.ranges[0].dims
    return tuple(
        axis for dim, axis in enumerate(ax.goal_axes(goal, 1)) if dim not in varying
    )


def _searched(
    spec: Spec, target: Target, sizes: tuple[int, ...], watch: Watch | None
) -> Searched:
    """The tables of some sizes, none solved."""
    axis = closed(sizes)
    greatest = spec.at(sizes[-1])
    goals = ax.Goals(frozenset({axis}), ax.fine(greatest))
    solver = Solver(target, watch=watch, goals=goals)
    axes = list(ax.goal_axes(greatest, 1))
    for dim in spec.ranges[0].dims:
        axes[dim] = axis
    root = solver.run_of(greatest).root(spec.key, tuple(axes))
    return Searched(solver, greatest, root)


def closed(sizes: tuple[int, ...]) -> Axis:
    """Sizes, the ladder up to them, and every remainder of one by a rung."""
    return tuple(sorted({one for size in sizes for one in ax.size_axis(size)}))
