"""The best program of each size of a range, or of each pair of two, by one search.

Sizes are coordinates of the tables, where each is whole and gapless as a goal of that
size is; tiles have the sizes of the ladder. Of a long range some sizes are searched
(`sampled`), whose programs take the others. What the model takes from the goal, such as
whether its operands stay in L2 from call to call, is not the same for every size
(`Target.at`): sizes for which it is are searched together; and 1 alone, which a graph
may drop. Of two ranges all pairs see what the greatest sees.
"""

import bisect
import dataclasses
import itertools
import math
import time
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator

from morello.actions import Action, Child
from morello.errors import SearchError
from morello.machine import Target
from morello.search.dp import axes as ax
from morello.search.dp.box import Axis
from morello.search.dp.run import Watch
from morello.search.dp.solver import Solver
from morello.search.dp.table import TableId
from morello.search.impl import Impl
from morello.search.statistics import Statistics
from morello.spec import SizeRange, Spec, print_spec
from morello.spec.structure import is_batch

MOST_SIZES = 1 << 16
"""Each program has a cost at each size."""

MOST_PAIRS = 1 << 12
"""Each pair of two ranges is a point of the tables."""

EVERY_ROW = 64
"""All sizes up to it are searched where the range is of rows, and some of each octave
above: programs there are those of many sizes."""

OF_OCTAVE = 4
"""Numbers of rows of an octave that are searched, each with one that leaves rows of a
block of registers over (`ROWS_OVER`)."""

ROWS_OVER = 9
"""Rows that some sizes have above those that blocks of registers divide."""

EVERY_TERM = 64
"""All sizes up to it are searched where the range is reduced: the smaller they are, the
more their programs differ."""

EVERY_BATCH = 1
"""All sizes up to it, and one in each octave above, are searched where programs take a
range whole or element by element, as they do images and heads."""

EVERY_PAIR = 8
"""All sizes of a range up to it, and one in each octave above, have their programs
taken to others, each with such sizes of the other range, where there are two."""

Call = tuple[int, ...]
"""A size for each range of a Spec."""


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
        return run.best(spec, table)

    def cost(self, spec: Spec) -> float:
        """The cost of the best program of a goal; infinite where there is none."""
        table = self.solver.run_of(self.greatest).table(self.root)
        point = table.point(spec.sizes, spec.limits)
        return math.inf if point is None else float(table.costs[point])

    def below(self, table: TableId, action: Action, child: Child) -> TableId:
        """The table of a hole that an action leaves."""
        return self.solver.run_of(self.greatest).hole_id(table, action, child)


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The best program of every call of a Spec with ranges.

    Args:
        spec: the Spec.
        best: the program of the sizes of each call that was searched, in the order of
            `Spec.calls`.
        tables: what the sizes of each call were searched in, or would be.
        costs: the cost of the best program of each call that was searched, in 1/1000
            cycle; of two ranges of each pair.
    """

    spec: Spec
    best: dict[Call, Impl]
    tables: dict[Call, Searched]
    costs: dict[Call, float]
    statistics: Statistics

    def cost(self, call: Call) -> float:
        """The cost of the best program of a call; infinite where that was not
        searched."""
        return self.costs.get(call, math.inf)

    def program(self, call: Call) -> Impl:
        """The best program of a call.

        Raises:
            SearchError: there is none.
        """
        if call in self.best:
            return self.best[call]
        tables = self.tables[call]
        return tables.program(self.spec.point(*call), tables.root)


def check_ranges(spec: Spec) -> list[range]:
    """The sizes of each range of a Spec.

    Raises:
        SearchError: there are too many.
    """
    every = spec.every_size
    count = math.prod(map(len, every))
    is_one = len(every) < 2
    most, what = (MOST_SIZES, "sizes") if is_one else (MOST_PAIRS, "pairs of sizes")
    if count > most:
        raise SearchError(
            f"{print_spec(spec, spec.limits)} has {count} {what}, and a search takes "
            f"{most} at most",
            "give a shorter range, or greater steps",
        )
    return every


def runs_of(sizes: Iterable[int], step: int) -> Iterator[tuple[int, ...]]:
    """Sizes in a row, of ascending ones."""
    run: list[int] = []
    for size in sizes:
        if run and size - run[-1] > step:
            yield tuple(run)
            run = []
        run.append(size)
    yield tuple(run)


def sampled_rows(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers of rows of a run that are searched: some of each octave, and more the
    nearer the last one is, at which a cache may be full.

    Args:
        sizes: of the run, ascending.
    """
    chosen = {*sampled(sizes, EVERY_ROW)}
    octave = EVERY_ROW
    wanted: set[int] = set()
    while octave < sizes[-1]:
        steps = range(octave, 2 * octave, octave // OF_OCTAVE)
        wanted |= {rows + over for rows in steps for over in (0, ROWS_OVER)}
        octave *= 2
    wanted |= {sizes[-1] - (1 << i) for i in range(sizes[-1].bit_length() - 1)}
    for rows in wanted:
        place = bisect.bisect_left(sizes, rows)
        if rows > EVERY_ROW and place < len(sizes):
            chosen.add(sizes[place])
    return tuple(sorted(chosen))


def sampled(sizes: tuple[int, ...], every: int) -> tuple[int, ...]:
    """The sizes of a run that are searched.

    Args:
        sizes: of the run, ascending.
        every: all up to this one; then the first of each octave above, and the last.
    """
    near = [size for size in sizes if size <= every] or sizes[:1]
    octave = (every << i for i in itertools.count())
    bounds = itertools.takewhile(lambda bound: bound < sizes[-1], octave)
    chosen = {*near, sizes[-1]}
    for bound in bounds:
        chosen.add(next(size for size in sizes if size >= bound))
    return tuple(sorted(chosen))


def search_sizes(
    spec: Spec,
    target: Target,
    watch: Watch | None = None,
    more: Collection[int] = (),
) -> Sizes:
    """Search the sizes of a Spec's ranges, or some of long ones.

    Args:
        spec: the Spec, with one range or two.
        target: the machine.
        watch: told before each table that is solved; what it raises ends the search.
        more: numbers of rows that are searched beside the usual ones.

    Raises:
        SearchError: a size has no program, or there are too many.
    """
    sizes = check_ranges(spec)
    groups: defaultdict[Hashable, list[Call]] = defaultdict(list)
    for call in spec.calls:
        groups[_group(spec, call, target)].append(call)
    best: dict[Call, Impl] = {}
    tables: dict[Call, Searched] = {}
    costs: dict[Call, float] = {}
    parts = []
    for members in groups.values():
        start = time.perf_counter()
        columns = [tuple(sorted({*column})) for column in zip(*members, strict=True)]
        some = []
        for one, every, column in zip(spec.ranges, sizes, columns, strict=True):
            runs = runs_of(column, every.step)
            if not is_rows(spec, one):
                most = _searched_up_to(spec, one)
                chosen = {m for run in runs for m in sampled(run, most)}
            else:
                chosen = {m for run in runs for m in sampled_rows(run)}
                chosen.update({*more}.intersection(column))
            some.append(tuple(sorted(chosen)))
        solved = columns if len(columns) > 1 else some  # a box may have any pair alone
        searched = _searched(
            spec, target.at(spec.point(*members[0]), spec), solved, watch
        )
        run = searched.solver.run_of(searched.greatest)
        with run.store.working():
            for call in itertools.product(*some):
                best[call] = searched.program(spec.point(*call), searched.root)
                costs[call] = best[call].cost
            if len(columns) > 1:
                costs |= {call: searched.cost(spec.point(*call)) for call in members}
        tables |= dict.fromkeys(members, searched)
        parts.append(run.statistics(time.perf_counter() - start))
    return Sizes(
        spec,
        dict(sorted(best.items())),
        dict(sorted(tables.items())),
        costs,
        Statistics.of_all(parts),
    )


def _group(spec: Spec, call: Call, target: Target) -> Hashable:
    """A key that calls have in common which are searched together. An operand may take
    what it takes at the greatest size: no smaller one reaches points above its own."""
    ones = tuple(size == 1 for size in call)
    if len(call) > 1:
        return ones
    goal = spec.point(*call)
    context = target.at(goal, spec)
    return context, _others(spec, goal), ax.fine(goal), ones


def is_rows(spec: Spec, one: SizeRange) -> bool:
    """Whether the one range of a Spec is of rows that programs tile."""
    written = (o.dims for o in spec.kind.operands if o.is_written)
    is_reduced = not any({*one.dims}.intersection(dims) for dims in written)
    return not (len(spec.ranges) > 1 or _is_batch(spec, one) or is_reduced)


def _searched_up_to(spec: Spec, one: SizeRange) -> int:
    """The size up to which all sizes of a range are searched that is not of rows."""
    if len(spec.ranges) > 1:
        return EVERY_PAIR
    return EVERY_BATCH if _is_batch(spec, one) else EVERY_TERM


def _is_batch(spec: Spec, one: SizeRange) -> bool:
    """Whether programs take the sizes of a range whole, or element by element."""
    return all(is_batch(spec.kind, dim) for dim in one.dims)


def _others(spec: Spec, goal: Spec) -> tuple[Axis, ...]:
    """The axes of the dimensions whose size is settled, below the goal of a call."""
    varying = {dim for one in spec.ranges for dim in one.dims}
    return tuple(
        axis for dim, axis in enumerate(ax.goal_axes(goal, 1)) if dim not in varying
    )


def _searched(
    spec: Spec, target: Target, sizes: list[tuple[int, ...]], watch: Watch | None
) -> Searched:
    """The tables of some sizes of each range, none solved."""
    closed_axes = [
        tuple(sorted({1, *column})) if _is_batch(spec, one) else closed(column)
        for one, column in zip(spec.ranges, sizes, strict=True)
    ]
    greatest = spec.point(*(column[-1] for column in sizes))
    goals = ax.Goals(frozenset(closed_axes), ax.fine(greatest))
    solver = Solver(target, watch=watch, goals=goals)
    axes = list(ax.goal_axes(greatest, 1))
    for one, axis in zip(spec.ranges, closed_axes, strict=True):
        for dim in one.dims:
            axes[dim] = axis
    root = solver.run_of(greatest).root(spec.key, tuple(axes))
    return Searched(solver, greatest, root)


def closed(sizes: tuple[int, ...]) -> Axis:
    """Sizes, the ladder below them, and the remainders of tiling one by another."""
    return tuple(sorted({one for size in sizes for one in ax.size_axis(size)}))
