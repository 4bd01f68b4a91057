"""Few programs for every size of a range, and what they cost beyond the best.

A program of one size is taken to all sizes around that to which it applies. Of these
programs each takes as many sizes in a row as it costs no more than the regret allows:
from the least size on, the program that reaches farthest comes next, which makes the
fewest ranges that these programs can make.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from morello.actions import SizesError
from morello.errors import ScheduleError, SearchError
from morello.machine import Target
from morello.search.dp.solver import Solution, Watch
from morello.search.impl import Impl
from morello.search.ranges.over import Over, switch
from morello.search.ranges.sizes import Searched, Sizes, search_sizes
from morello.spec import SizeRange, Spec

MOST_PARTS = 96
"""Ranges with a program each."""


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

    @property
    def costs(self) -> dict[int, float]:
        """The cost of each size, without that of finding its program."""
        every = (cost for part in self.parts for cost in part.costs)
        return dict(zip(self.sizes.best, every, strict=True))

    @property
    def regrets(self) -> dict[int, float]:
        """For each size how much it costs more than its best program: 0.01 is 1 %."""
        return {m: cost / self.sizes.cost(m) - 1 for m, cost in self.costs.items()}

    @property
    def solution(self) -> Solution:
        """It as the result of a search."""
        return Solution(self.impl, self.sizes.statistics)


def cover(
    spec: Spec, target: Target, regret: float = 0.0, watch: Watch | None = None
) -> Cover:
    """Search every size of a Spec's range, and choose programs for all.

    Args:
        spec: the Spec, with one range.
        target: the machine.
        regret: how much more than its best program a size may cost, in percent.
        watch: told before each table that is solved.

    Raises:
        SearchError: a size has no program; there are two ranges, or too many sizes; too
            many programs would be needed.
    """
    sizes = search_sizes(spec, target, watch)
    parts: list[Part] = []
    for run in _runs(sizes):
        parts += _parts(sizes, run, 1 + regret / 100)
    if len(parts) > MOST_PARTS:
        raise SearchError(
            f"{spec} takes {len(parts)} programs, more than {MOST_PARTS}",
            "give a shorter range, or allow a regret",
        )
    over = Over(sizes.tables[parts[-1].last])
    impl = switch(spec, [(part.last, part.impl) for part in parts], over)
    return Cover(sizes, tuple(parts), impl)


def _runs(sizes: Sizes) -> Iterator[list[int]]:
    """Neighbouring sizes that were searched together."""
    run: list[int] = []
    for size, tables in sizes.tables_in_order():
        if run and sizes.tables[run[-1]] is not tables:
            yield run
            run = []
        run.append(size)
    yield run


def _parts(sizes: Sizes, run: list[int], most: float) -> Iterator[Part]:
    """The programs of neighbouring sizes."""
    tables = sizes.tables[run[0]]
    over = Over(tables)
    best = np.array([sizes.cost(size) for size in run], float)
    programs: list[tuple[int, int, Impl]] = []
    costs = np.full((0, len(run)), np.inf)
    for place in range(len(run)):
        if len(costs) and costs[:, place].min() <= best[place]:
            continue
        start, stop, impl = _taken(sizes, run, place, over)
        row = np.full((1, len(run)), np.inf)
        for i in range(start, stop):
            row[0, i] = over.cost(impl, sizes.spec.at(run[i]))
        programs.append((start, stop, impl))
        costs = np.concatenate([costs, row])
    allowed = np.maximum(most * best, costs.min(0))
    yield from _chosen(sizes, run, programs, costs, allowed, over)


def _chosen(
    sizes: Sizes,
    run: list[int],
    programs: list[tuple[int, int, Impl]],
    costs: "np.ndarray[tuple[int, int], np.dtype[np.float64]]",
    allowed: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    over: Over,
) -> Iterator[Part]:
    """The program that reaches farthest, again and again; of several the cheapest."""
    fits = costs <= allowed
    at = 0
    while at < len(run):
        reach = [_end(row, at) for row in fits]
        end = max(reach)
        totals = [
            (costs[p, at:end].sum(), p) for p, stop in enumerate(reach) if stop == end
        ]
        _, number = min(totals)
        impl = programs[number][2]
        spec = part_of(sizes.spec, run[at], run[end - 1])
        impl = over.program(impl, spec, over.tables.root)
        own = tuple(over.cost(impl, sizes.spec.at(m)) for m in run[at:end])
        yield Part(run[at], run[end - 1], impl, own)
        at = end


def _end(fits: "np.ndarray[tuple[int], np.dtype[np.bool_]]", start: int) -> int:
    """The end of the places from ``start`` on that are true."""
    wrong = np.flatnonzero(~fits[start:])
    return start + int(wrong[0]) if len(wrong) else len(fits)


def part_of(spec: Spec, first: int, last: int) -> Spec:
    """A Spec with a part of its range."""
    one = spec.ranges[0]
    settled = spec.at(last)
    if first == last:
        return settled
    part = SizeRange(one.dims, first, one.step)
    return dataclasses.replace(settled, ranges=(part,))


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
        except ScheduleError:
            break
    return place, place + 1, own


__all__ = ["Cover", "Part", "Searched", "cover", "part_of"]
