"""Few programs for every size of ranges, and what they cost beyond the best.

A program of one size is taken to all sizes around that to which it applies. Of these
programs each takes as many sizes in a row as it costs no more than the regret allows:
from the least size on, the program that reaches farthest comes next, which makes the
fewest ranges that these programs can make. Pairs of two ranges are parted into boxes
(`boxes.py`) that have the least regret of all that are not too many. Of a range without
end the sizes of the lower half of those that have a price are covered so; all above
have one program, in which loops along the range are the only decisions that see it.
"""

import bisect
import dataclasses
import itertools
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from numbers import Real

from morello.actions import Range
from morello.errors import SearchError, shortened
from morello.machine import Target
from morello.search.dp.run import Watch
from morello.search.dp.solver import Solution, Solver
from morello.search.impl import Impl
from morello.search.ranges.area import Area, Part
from morello.search.ranges.boxes import Boxed
from morello.search.ranges.over import Box, Over, switch
from morello.search.ranges.sizes import Call, Sizes, check_ranges, runs_of, search_sizes
from morello.search.statistics import Statistics
from morello.search.storage.overlay import Overlay
from morello.spec import SizeRange, Spec

MOST_PARTS = 96
"""Ranges with a program each."""

MOST_BOXED = 384
"""Boxes of pairs with a program each: many have one kernel."""

MOST_LEAVES = 768
"""Kernels in the programs of all ranges: one is some hundred bytes of code, up to 900
where rows are written out."""

REGRETS = (0.0, *(2.0 ** (power / 4) for power in range(-4, 28)), 1e6)
"""In percent."""

PRICES = (0.0, *(2.0 ** (power / 2) for power in range(-20, 20)), 1e12)
"""Regret that a kernel has to save, summed up over pairs of two ranges."""


@dataclasses.dataclass(frozen=True)
class Cover:
    """The programs of every size of a Spec's ranges."""

    sizes: Sizes
    parts: tuple[Part, ...]
    impl: Impl
    """One program of all, with a comparison for each border."""
    least: dict[Call, float]
    """For the sizes of each call the cost of their best program; where that was not
    searched, of the best of the programs of all."""
    beyond: tuple[tuple[Box, Impl], ...] = ()
    """The programs of the sizes above all of these, of ranges without end."""

    def switched(self, parts: list[tuple[Box, Impl]]) -> Impl:
        """One program of programs for boxes of these sizes, and of that beyond."""
        over = Over(self.sizes.tables[self.parts[-1].box.last])
        return switch(self.impl.spec, [*parts, *self.beyond], over)

    @property
    def costs(self) -> dict[Call, float]:
        """The cost of each call, without that of finding its program."""
        spec, costs = self.sizes.spec, dict[Call, float]()
        for part in self.parts:
            costs |= dict(zip(_calls(spec, part.box), part.costs, strict=True))
        return {call: costs[call] for call in self.least}

    @property
    def regrets(self) -> dict[Call, float]:
        """For each call how much it costs more than its best program: 0.01 is 1 %."""
        return {call: cost / self.least[call] - 1 for call, cost in self.costs.items()}

    @property
    def solution(self) -> Solution:
        """It as the result of a search."""
        return Solution(self.impl, self.sizes.statistics)


def _calls(spec: Spec, box: Box) -> Iterator[Call]:
    """The sizes of the calls of a box, in order."""
    pairs = zip(spec.ranges, *box, strict=True)
    return itertools.product(*(range(f, n + 1, one.step) for one, f, n in pairs))


def cover(
    spec: Spec,
    target: Target,
    regret: float | None = None,
    watch: Watch | None = None,
    most: int = MOST_PARTS,
) -> Cover:
    """Search every size of a Spec's range, and choose programs for all.

    Args:
        spec: the Spec, with one range or two.
        target: the machine.
        regret: how much more than its best program a size may cost, in percent; None
            for the least of `REGRETS` that has no more programs than ``most``, or for
            that which has the fewest; of pairs for boxes as good as are not too many.
        watch: told before each table that is solved.
        most: the programs that are wanted of one range; more are taken only where it
            takes more.

    Raises:
        SearchError: a size has no program; there are too many sizes; more programs than
            `MOST_PARTS`, or of pairs than `MOST_BOXED`, would be needed.
    """
    first = _first_half(spec)
    if first != spec:
        return _without_end(spec, cover(first, target, regret, watch, most))
    sizes = search_sizes(spec, target, watch)
    areas = [Area.of(sizes, area) for area in _areas(sizes)]
    doubtful = {size for area in areas for size in area.doubtful}
    if doubtful:
        sizes = search_sizes(spec, target, watch, doubtful)
        areas = [Area.of(sizes, area) for area in _areas(sizes)]
    if len(spec.ranges) > 1:
        parts = _priced(areas, regret)
    else:
        regrets = REGRETS if regret is None else (regret,)
        percent = _fewest(areas, regrets, most)
        parts = [part for area in areas for part in area.parts(area.chosen(percent))]
    limit = MOST_PARTS if len(spec.ranges) == 1 else MOST_BOXED
    if len(parts) > limit:
        raise SearchError(
            f"{spec} takes {len(parts)} programs, more than {limit}",
            "give a shorter range, or allow a regret",
        )
    least: dict[Call, float] = {}
    for area in areas:
        calls = itertools.product(*area.area)
        least |= dict(zip(calls, map(float, area.best.flat), strict=True))
    over = Over(sizes.tables[parts[-1].box.last])
    impl = switch(spec, [(part.box, part.impl) for part in parts], over)
    return Cover(sizes, tuple(parts), impl, dict(sorted(least.items())))


def _first_half(spec: Spec) -> Spec:
    """The sizes of a Spec up to half of the greatest that has a price, of ranges
    without end; else the Spec itself."""
    last = list(spec.greatest)
    for axis, (one, sizes) in enumerate(zip(spec.ranges, spec.every_size, strict=True)):
        if one.is_open:
            last[axis] = _half(spec, one, sizes)
    first = tuple(one.least for one in spec.ranges)
    return spec.part(first, tuple(last)) if spec.open_dims else spec


def _half(spec: Spec, one: SizeRange, sizes: range) -> int:
    """The size halfway to the greatest that has a price, of a range without end.

    Raises:
        SearchError: too few sizes have one.
    """
    half = max(size for size in sizes if size <= max(sizes[-1] // 2, sizes[1]))
    if sizes[-1] - half < 2 * sizes.step:
        raise SearchError(
            f"{spec} has prices of {len(sizes)} sizes, and without end four are needed",
            f"write {one.least}.. with no number",
        )
    return half


def _without_end(spec: Spec, first: Cover) -> Cover:
    """The cover of ranges without end.

    Args:
        spec: with the ranges.
        first: of their first sizes.

    Raises:
        SearchError: no program is known that loops over tiles of all others.
    """
    parts = [(part.box, part.impl) for part in first.parts]
    half = parts[-1][0].last
    over = Over(first.sizes.tables[half])
    best = [
        first.sizes.best[box.last] for box, _ in parts if box.last in first.sizes.best
    ]
    beyond: list[tuple[Box, Impl]] = []
    low, high = [one.least for one in spec.ranges], list(spec.greatest)
    for axis, one in enumerate(spec.ranges):
        if one.is_open:
            low[axis] = half[axis] + one.step
            rest = Box(tuple(low), tuple(high))
            beyond.append((rest, over.beyond(spec.part(*rest), best)))
            low[axis], high[axis] = one.least, half[axis]
    impl = switch(spec, [*parts, *beyond], over)
    return dataclasses.replace(first, impl=impl, beyond=tuple(beyond))


def _fewest(areas: list["Area"], regrets: Sequence[float], most: int) -> float:
    """The regret that has few programs: the least that has no more than ``most``, and
    few kernels; else that with the fewest."""
    counts: dict[float, tuple[int, float]] = {}

    def is_few(percent: float) -> bool:
        leaves = [n for area in areas for n in area.leaves(area.chosen(percent))]
        counts[percent] = len(leaves), percent
        return len(leaves) <= most and sum(leaves) <= MOST_LEAVES

    place = bisect.bisect_left(regrets, True, key=is_few)
    if place < len(regrets):
        return regrets[place]
    return min(counts.values())[1]


def _priced(areas: list["Area"], regret: float | None) -> list[Part]:
    """Boxes of pairs, each with its program: those of the least regret that are few,
    and have few kernels; with a regret that is allowed, those of the fewest kernels.

    Args:
        areas: of pairs.
        regret: how much more than its best program a pair may cost, in percent.
    """
    boxes = [area.boxes(regret) for area in areas]
    compared = sum(float((Range.comparison / area.best).sum()) for area in areas)
    compared /= math.log(2)

    def chosen(price: float, count: int = MOST_BOXED) -> list[list[Boxed]]:
        """Boxes of which each saves more regret than it adds to the comparisons, whose
        number is the logarithm of that of all."""
        return [one.chosen(price, compared / count) for one in boxes]

    def parts(every: list[list[Boxed]]) -> list[Part]:
        pairs = zip(areas, every, strict=True)
        return [part for area, some in pairs for part in area.parts(some)]

    low, high = 0, len(PRICES) - 1
    while regret is None and low < high:
        middle = (low + high) // 2
        fewer = parts(chosen(PRICES[middle]))
        leaves = sum(part.impl.leaves for part in fewer)
        if len(fewer) <= MOST_BOXED and leaves <= MOST_LEAVES:
            high = middle
        else:
            low = middle + 1
    count, fewest = MOST_BOXED, chosen(PRICES[high])
    while sum(map(len, fewest)) < count:
        count = sum(map(len, fewest))
        fewest = chosen(PRICES[high], count)
    return parts(fewest)


@dataclasses.dataclass(frozen=True)
class CoverOptions:
    """How the programs of every size are chosen: see `cover`."""

    regret: float | None = None
    most: int = MOST_PARTS

    def __post_init__(self) -> None:
        is_number = isinstance(self.regret, Real) and not isinstance(self.regret, bool)
        if self.regret is not None and not (
            is_number and 0 <= self.regret <= REGRETS[-1]
        ):
            raise SearchError(
                f"'regret' is {shortened(repr(self.regret))}",
                f"give per cent from 0 to {REGRETS[-1]:,.0f}, or None for as little as "
                "programs allow",
            )

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
    check_ranges(spec)
    solver = Solver(target.at(spec), database, cover=str(options))
    stored = solver.stored(spec)
    if stored is not None:
        return Solution(stored, Statistics(0, 0, time.perf_counter() - start))
    solution = cover(spec, target, options.regret, watch, options.most).solution
    solver.note(spec, solution.statistics)
    solver.keep(spec, solution.impl)
    return solution


def _areas(sizes: Sizes) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Neighbouring sizes that were searched together: those of each range."""
    members: defaultdict[int, list[Call]] = defaultdict(list)
    for call, tables in sizes.tables.items():
        members[id(tables)].append(call)
    steps = [one.step for one in sizes.spec.ranges]
    areas: list[tuple[tuple[int, ...], ...]] = []
    for calls in members.values():
        columns = [sorted({*column}) for column in zip(*calls, strict=True)]
        runs = (
            runs_of(column, step) for column, step in zip(columns, steps, strict=True)
        )
        areas += itertools.product(*runs)
    yield from sorted(areas)
