"""Few programs for every size of a range, and what they cost beyond the best.

A program of one size is taken to all sizes around that to which it applies. Of these
programs each takes as many sizes in a row as it costs no more than the regret allows:
from the least size on, the program that reaches farthest comes next, which makes the
fewest ranges that these programs can make.
"""

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from morello.actions import SizesError, Tile, TileParallel, tiled_dims
from morello.errors import ScheduleError, SearchError
from morello.machine import Target
from morello.search.dp.axes import is_rung
from morello.search.dp.solver import Solution, Solver, Watch
from morello.search.impl import Impl
from morello.search.ranges.over import Over, part_of, switch
from morello.search.ranges.sizes import Searched, Sizes, check_range, search_sizes
from morello.search.statistics import Statistics
from morello.search.storage.overlay import Overlay
from morello.spec import Spec

MOST_PARTS = 96
"""Ranges with a program each."""

MOST_LEAVES = 768
"""Kernels in the programs of all ranges: one is some 250 bytes of code."""

REGRETS = (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1e6)
"""In percent."""

TILES = (1, 2, 4, 8, 16, 32, 64)
"""Sizes of tiles that are tried beside the programs that are best somewhere."""

Costs = np.ndarray[Any, np.dtype[np.float64]]


@dataclasses.dataclass(frozen=True)
class Part:
    """Some neighbouring sizes and their program."""

    first: int
    last: int
    impl: Impl
    costs: tuple[float, ...]
    """At each size, in 1/1000 cycle."""


@dataclasses.dataclass(frozen=True)
class Cover:
    """The programs of every size of a Spec's range."""

    sizes: Sizes
    parts: tuple[Part, ...]
    impl: Impl
    """One program of all, with a comparison for each border."""
    least: dict[int, float]
    """For each size the cost of its best program; where that was not searched, of the
    best of the programs of all."""

    @property
    def costs(self) -> dict[int, float]:
        """The cost of each size, without that of finding its program."""
        every = (cost for part in self.parts for cost in part.costs)
        return dict(zip(self.least, every, strict=True))

    @property
    def regrets(self) -> dict[int, float]:
        """For each size how much it costs more than its best program: 0.01 is 1 %."""
        return {m: cost / self.least[m] - 1 for m, cost in self.costs.items()}

    @property
    def solution(self) -> Solution:
        """It as the result of a search."""
        return Solution(self.impl, self.sizes.statistics)


def cover(
    spec: Spec,
    target: Target,
    regret: float | None = None,
    watch: Watch | None = None,
    most: int = MOST_PARTS,
) -> Cover:
    """Search every size of a Spec's range, and choose programs for all.

    Args:
        spec: the Spec, with one range.
        target: the machine.
        regret: how much more than its best program a size may cost, in percent; None
            for the least of `REGRETS` that has no more programs than ``most``, or for
            that which has the fewest.
        watch: told before each table that is solved.
        most: the programs that are wanted; more are taken only where it takes more.

    Raises:
        SearchError: a size has no program; there are two ranges, or too many sizes;
            more programs than `MOST_PARTS` would be needed.
    """
    sizes = search_sizes(spec, target, watch)
    runs = [_Run.of(sizes, run) for run in _runs(sizes)]
    count, percent = _fewest(runs, REGRETS if regret is None else (regret,), most)
    if count > MOST_PARTS:
        raise SearchError(
            f"{spec} takes {count} programs, more than {MOST_PARTS}",
            "give a shorter range, or allow a regret",
        )
    parts = [part for run in runs for part in run.parts(percent)]
    least = {m: cost for run in runs for m, cost in zip(run.run, run.best, strict=True)}
    over = Over(sizes.tables[parts[-1].last])
    impl = switch(spec, [(part.last, part.impl) for part in parts], over)
    return Cover(sizes, tuple(parts), impl, least)


def _fewest(
    runs: list["_Run"], regrets: Sequence[float], most: int
) -> tuple[int, float]:
    """The number of programs, and the regret that has it: the least that has no more
    than ``most``, and few kernels; else the fewest."""
    counts: list[tuple[int, float]] = []
    for percent in regrets:
        numbers = [(run, number) for run in runs for *_, number in run.chosen(percent)]
        counts.append((len(numbers), percent))
        leaves = sum(run.programs[number].leaves for run, number in numbers)
        if len(numbers) <= most and leaves <= MOST_LEAVES:
            return counts[-1]
    return min(counts)


@dataclasses.dataclass(frozen=True)
class CoverOptions:
    """How the programs of every size are chosen: see `cover`."""

    regret: float | None = None
    most: int = MOST_PARTS

    def __str__(self) -> str:
        return f"{'least' if self.regret is None else self.regret}/{self.most}"


def covered(
    spec: Spec,
    target: Target,
    options: CoverOptions,
    database: Overlay | None = None,
    watch: Watch | None = None,
) -> Solution:
    """The programs of every size of a Spec's range as one: from the database, or
    searched and stored there.

    Raises:
        SearchError: see `cover`.
    """
    start = time.perf_counter()
    check_range(spec)
    solver = Solver(target.at(spec), database, cover=str(options))
    kept = solver.kept(spec)
    if kept is not None:
        return Solution(kept, Statistics(0, 0, time.perf_counter() - start))
    found = cover(spec, target, options.regret, watch, options.most).solution
    solver.note(spec, found.statistics)
    solver.keep(spec, found.impl)
    return found


def _runs(sizes: Sizes) -> Iterator[list[int]]:
    """Neighbouring sizes that were searched together."""
    run: list[int] = []
    for size, tables in sizes.tables_in_order():
        if run and sizes.tables[run[-1]] is not tables:
            yield run
            run = []
        run.append(size)
    yield run


@dataclasses.dataclass(frozen=True)
class _Run:
    """Neighbouring sizes that were searched together, and programs of them.

    Args:
        run: the sizes.
        over: takes programs to several sizes.
        programs: each takes neighbouring sizes.
        loops: for each whether loops took the place of what applies to some alone.
        costs: of each program at each size; infinite where it does not apply.
    """

    sizes: Sizes
    run: list[int]
    over: Over
    programs: list[Impl]
    loops: list[bool]
    costs: Costs

    @classmethod
    def of(cls, sizes: Sizes, run: list[int]) -> "_Run":
        """Programs that are best somewhere, and loops over tiles of all sizes."""
        over = Over(sizes.tables[run[0]])
        found = cls(sizes, run, over, [], [], np.full((0, len(run)), np.inf))
        rows: list[Costs] = []

        def add(start: int, stop: int, impl: Impl, loops: bool = False) -> None:
            row = np.full(len(run), np.inf)
            part = part_of(sizes.spec, run[start], run[stop - 1])
            row[start:stop] = over.costs(impl, part)
            found.programs.append(impl)
            found.loops.append(loops)
            rows.append(row)

        for place, best in enumerate(found.best):
            is_reached = rows and min(row[place] for row in rows) <= best
            if np.isfinite(best) and not is_reached:
                add(*_taken(sizes, run, place, over))
        for looped in _looped(sizes, run, over):
            add(*looped)
        for impl in _freely(sizes, run, over):
            add(0, len(run), impl, loops=True)
        return dataclasses.replace(found, costs=np.array(rows))

    @property
    def best(self) -> Costs:
        """The cost of the best program of each size; infinite where none is known."""
        searched = np.array([self.sizes.cost(size) for size in self.run], float)
        best: Costs = np.minimum(searched, self.costs.min(0, initial=np.inf))
        return best

    def chosen(self, percent: float) -> Iterator[tuple[int, int, int]]:
        """Places from the first to an end, and their program: that which reaches
        farthest, again and again; of several the cheapest."""
        most = 1 + percent / 100
        fits = self.costs <= np.maximum(most * self.best, self.costs.min(0))
        at = 0
        while at < len(self.run):
            reach = [_end(row, at) for row in fits]
            end = max(reach)
            totals = [
                (self.costs[p, at:end].sum(), p)
                for p, stop in enumerate(reach)
                if stop == end
            ]
            yield at, end, min(totals)[1]
            at = end

    def parts(self, percent: float) -> Iterator[Part]:
        """Each range of sizes with its program."""
        for at, end, number in self.chosen(percent):
            spec = part_of(self.sizes.spec, self.run[at], self.run[end - 1])
            impl, loops = self.programs[number], self.loops[number]
            impl = self.over.program(impl, spec, self.over.tables.root, loops)
            own = self.over.costs(impl, spec)
            yield Part(self.run[at], self.run[end - 1], impl, tuple(map(float, own)))


def _end(fits: np.ndarray[Any, np.dtype[np.bool_]], start: int) -> int:
    """The end of the places from ``start`` on that are true."""
    wrong = np.flatnonzero(~fits[start:])
    return start + int(wrong[0]) if len(wrong) else len(fits)


def _taken(
    sizes: Sizes, run: list[int], place: int, over: Over
) -> tuple[int, int, Impl]:
    """The places around one to which its program applies, and the program on them."""
    own = sizes.best[run[place]]
    start, stop = 0, len(run)
    while stop - start > 1:
        spec = part_of(sizes.spec, run[start], run[stop - 1])
        try:
            return start, stop, over.program(own, spec, over.tables.root)
        except SizesError as error:
            holds = error.holds
            if len(holds) != stop - start or not holds[place - start]:
                break
            wrong = np.flatnonzero(~holds) + start
            start = max((int(w) + 1 for w in wrong if w < place), default=start)
            stop = min((int(w) for w in wrong if w > place), default=stop)
        except (ScheduleError, SearchError):
            break
    return place, place + 1, own


def _freely(sizes: Sizes, run: list[int], over: Over) -> Iterator[Impl]:
    """Programs of some sizes on all, with loops where they do not apply: the greater
    size of two has the program that more sizes take."""
    spec = part_of(sizes.spec, run[0], run[-1])
    found: list[Impl] = []
    for size in reversed([m for m in run if is_rung(m, 1) or m == run[-1]]):
        if size in sizes.best and spec.ranges:
            try:
                impl = over.program(sizes.best[size], spec, over.tables.root, True)
            except (ScheduleError, SearchError):
                continue
            if impl not in found:
                found.append(impl)
                yield impl


def _looped(
    sizes: Sizes, run: list[int], over: Over
) -> Iterator[tuple[int, int, Impl]]:
    """Loops over tiles of a few sizes, each with the places of greater sizes: they
    apply whatever else does not."""
    spec = sizes.spec
    (first, *_) = spec.ranges[0].dims
    if spec.kind.dims[first] not in tiled_dims(spec.key):
        return
    for size in TILES:
        start = next((i for i, own in enumerate(run) if own > size), len(run))
        if start >= len(run) - 1:
            continue
        part = part_of(spec, run[start], run[-1])
        for action in (Tile, TileParallel):
            loop = Impl(spec.at(run[-1]), action(spec.kind.dims[first], size), 0, ())
            try:
                yield start, len(run), over.program(loop, part, over.tables.root)
            except (ScheduleError, SearchError):
                continue


__all__ = ["Cover", "CoverOptions", "Part", "Searched", "cover", "covered", "part_of"]
