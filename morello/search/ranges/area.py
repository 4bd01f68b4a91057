"""Programs of neighbouring sizes, each on all sizes around that to which it applies.

The sizes of an area were searched together. A program of one of them is taken to
others; where none applies to all, one has loops over tiles of a few sizes.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from morello.actions import Range, SizesError, Tile, TileParallel, tiled_dims
from morello.errors import ScheduleError, SearchError
from morello.search.dp.axes import is_rung
from morello.search.impl import Impl
from morello.search.queries.partial_program import Partial
from morello.search.ranges.boxes import Bools, Boxed, Boxes, Places
from morello.search.ranges.over import Box, Over
from morello.search.ranges.sizes import Call, Sizes, is_rows
from morello.spec import Spec

NEAR = 0.01
"""A pair that has a program which costs no more than this share more than its best one
has not that tried on other pairs."""

DOUBTFUL = 1.05
"""Sizes between two that were searched are, too, where one of them costs so many times
as much as both: rows that remain of blocks take less than that."""

TILES = (1, 2, 4, 8, 16, 32, 64)
"""Sizes of tiles that are tried beside the programs that are best somewhere."""

Costs = np.ndarray[Any, np.dtype[np.float64]]


@dataclasses.dataclass(frozen=True)
class Part:
    """Some neighbouring sizes and their program."""

    box: Box
    impl: Impl
    costs: tuple[float, ...]
    """At each size, in 1/1000 cycle."""


@dataclasses.dataclass(frozen=True)
class Area:
    """Neighbouring sizes that were searched together, and programs of them.

    Args:
        area: the sizes of each range.
        over: takes programs to several sizes.
        programs: each takes neighbouring sizes.
        loops: for each whether loops took the place of what applies to some alone.
        costs: of each program at each size, an axis for each range; infinite where it
            does not apply.
    """

    sizes: Sizes
    area: tuple[tuple[int, ...], ...]
    over: Over
    programs: list[Impl]
    loops: list[bool]
    costs: Costs
    on: dict[tuple[int, Box], Impl] = dataclasses.field(default_factory=dict)
    """Programs on boxes of sizes, by their numbers."""
    runs: dict[int, list[Bools]] = dataclasses.field(default_factory=dict)
    """The boxes in which each kernel of a program runs, by the program's number."""

    @classmethod
    def of(cls, sizes: Sizes, area: tuple[tuple[int, ...], ...]) -> "Area":
        """Programs that are best somewhere, and loops over tiles of all sizes."""
        grid = tuple(map(len, area))
        over = Over(sizes.tables[tuple(axis[0] for axis in area)])
        started = cls(sizes, area, over, [], [], np.full((0, *grid), np.inf))
        rows: list[Costs] = []
        sources = started._best_somewhere(rows), started._with_loops()
        for source in sources if len(grid) == 1 else sources[::-1]:
            for places, impl, loops in source:
                row = np.full(grid, np.inf)
                part = sizes.spec.part(*started.box(places))
                row_part = tuple(itertools.starmap(slice, places))
                costs = over.costs(impl, part)
                row[row_part] = costs.reshape(row[row_part].shape)
                started.programs.append(impl)
                started.loops.append(loops)
                rows.append(row)
        return dataclasses.replace(started, costs=np.array(rows).reshape(-1, *grid))

    def _best_somewhere(self, rows: list[Costs]) -> Iterator[tuple[Places, Impl, bool]]:
        """Programs that are best at some sizes, on all around these; of pairs those of
        the greatest first.

        Args:
            rows: the costs of all programs so far; more come while it runs.
        """
        best, near = self.best, 1 + NEAR * (len(self.area) - 1)
        # One program of a size more is found by comparisons, which it has to save.
        finding = Range.comparison * math.log2(max(best.size, 2))
        reached: dict[tuple[Partial, Places], Bools] = {}

        def is_near(place: tuple[int, ...], beyond: float = 0.0) -> bool:
            return any(row[place] <= near * best[place] + beyond for row in rows)

        places = [*zip(*np.nonzero(np.isfinite(best)), strict=True)]
        for place in places[:: 1 if len(self.area) == 1 else -1]:
            if is_near(place):
                continue
            call = tuple(axis[at] for axis, at in zip(self.area, place, strict=True))
            program = self.sizes.program(call)
            decisions = Partial.of(program)
            for wide in self._widths(place):
                before = reached.get((decisions, wide))
                is_one = all(stop - start == 1 for start, stop in wide)
                if is_near(place, finding * is_one):
                    continue
                if before is not None and before[place]:
                    continue
                taken = self._taken(program, place, wide)
                if taken:
                    yield *taken, False
                    reached[decisions, wide] = np.isfinite(rows[-1])

    def _with_loops(self) -> Iterator[tuple[Places, Impl, bool]]:
        """Programs that apply whatever else does not."""
        whole: Places = tuple((0, len(axis)) for axis in self.area)
        part = self.sizes.spec.part(*self.box(whole))
        if len(self.area) == 1:
            yield from ((*one, False) for one in _looped(self))
        elif part.ranges:
            loop = self.over.looped(part, self.over.tables.root)
            if loop is not None:
                yield whole, loop, True
        yield from ((whole, impl, True) for impl in _freely(self))

    @property
    def best(self) -> Costs:
        """The cost of the best program of each size; infinite where none is known."""
        calls = itertools.product(*self.area)
        searched = np.array([self.sizes.cost(call) for call in calls], float)
        searched = searched.reshape(self.costs.shape[1:])
        best: Costs = np.minimum(searched, self.costs.min(0, initial=np.inf))
        return best

    @property
    def doubtful(self) -> Iterator[int]:
        """The numbers of rows, of one range, between two that were searched, of which
        one has no program nearly as cheap as the best ones of these two."""
        if len(self.area) > 1 or not is_rows(
            self.sizes.spec, self.sizes.spec.ranges[0]
        ):
            return
        (sizes,), best = self.area, self.best
        some = [at for at, m in enumerate(sizes) if (m,) in self.sizes.best]
        for low, high in itertools.pairwise(some):
            if np.any(best[low:high] > DOUBTFUL * max(best[low], best[high])):
                yield from sizes[low + 1 : high]

    def box(self, places: Places) -> Box:
        """The sizes at some places."""
        pairs = list(zip(self.area, places, strict=True))
        first = tuple(axis[start] for axis, (start, _) in pairs)
        return Box(first, tuple(axis[stop - 1] for axis, (_, stop) in pairs))

    def _widths(self, place: tuple[int, ...]) -> Iterator[Places]:
        """Places on which the program of one is tried: all; those along each of two
        ranges; the one alone of one range, as boxes have that of a pair."""
        alone: Places = tuple((at, at + 1) for at in place)
        grid = list(map(len, self.area))
        yield tuple((0, count) for count in grid)
        for axis, count in enumerate(grid):
            line = (0, count) if len(grid) > 1 else alone[axis]
            yield (*alone[:axis], line, *alone[axis + 1 :])

    def _taken(
        self, best: Impl, place: tuple[int, ...], places: Places
    ) -> tuple[Places, Impl] | None:
        """The places around one, of some, to which its program applies, and the program
        on them; None if that is it alone, and others were asked for."""
        if all(stop - start == 1 for start, stop in places):
            return places, best
        taken: tuple[Places, Impl] | None = None
        beyond: Places = ()
        while any(stop - start > 1 for start, stop in places):
            spec = self.sizes.spec.part(*self.box(places))
            try:
                impl = self.over.program(best, spec, self.over.tables.root)
            except SizesError as error:
                beyond, smaller = places, _around(error.holds, places, place)
                known = taken[0] if taken else tuple((at, at + 1) for at in place)
                places = smaller or _halfway(known, beyond)
            except (ScheduleError, SearchError):
                break
            else:
                taken = places, impl
                places = _halfway(places, beyond or places)
            if places == beyond or (taken and places == taken[0]):
                break
        return taken

    def chosen(self, percent: float) -> list[Boxed]:
        """Places along one range, and their program: that which reaches farthest, again
        and again, of several the cheapest."""
        most = 1 + percent / 100
        fits = self.costs <= np.maximum(most * self.best, self.costs.min(0))
        reaching = _reaching(fits, self.costs)
        return [Boxed(((at, end),), program) for at, end, program in reaching]

    def leaves(self, chosen: list[Boxed]) -> list[int]:
        """The number of kernels that run in each box of a program."""
        return [
            sum(bool(runs[tuple(itertools.starmap(slice, places))].any()) for runs in k)
            for places, n in chosen
            if n is not None
            for k in (self._kernels(n),)
        ]

    def _kernels(self, number: int) -> list[Bools]:
        """The boxes in which each kernel of a program runs."""
        if number not in self.runs:
            impl, there = self.programs[number], np.isfinite(self.costs[number])
            self.runs[number] = []
            for runs in self.over.kernels(impl, impl.spec):
                grid = np.zeros(there.shape, bool)
                grid[there] = runs
                self.runs[number].append(grid)
        return self.runs[number]

    def boxes(self, regret: float | None) -> Boxes:
        """Costs of boxes of pairs.

        Args:
            regret: that is allowed, in percent.
        """
        regrets = self.costs / self.best - 1
        if regret is not None:
            cheapest = self.costs.min(0, initial=np.inf)
            regrets[(regrets > regret / 100) & (self.costs > cheapest)] = np.inf
        kernels = [self._kernels(number) for number in range(len(self.programs))]
        leaves = [b.leaves for call, b in self.sizes.best.items() if self._has(call)]
        return Boxes(regrets, kernels, float(np.mean(leaves)))

    def _has(self, call: Call) -> bool:
        """Whether the sizes of a call are in this area."""
        return all(size in axis for size, axis in zip(call, self.area, strict=True))

    def parts(self, chosen: list[Boxed]) -> Iterator[Part]:
        """Each box of sizes with its program."""
        for places, number in chosen:
            box = self.box(places)
            spec = self.sizes.spec.part(*box)
            if number is None:
                impl = self.sizes.program(box.last)
            else:
                impl = self._on(number, box)
            costs = self.over.costs(impl, spec)
            yield Part(box, impl, tuple(map(float, costs)))

    def _on(self, number: int, box: Box) -> Impl:
        """A program restricted to a box of sizes, computed once for each box."""
        key = number, box
        if key not in self.on:
            spec = self.sizes.spec.part(*box)
            impl, loops = self.programs[number], self.loops[number]
            try:
                impl = self.over.program(impl, spec, self.over.tables.root, loops)
            except ScheduleError:  # its first loop has no trip at a size settled here
                impl = self._instead(box)
            self.on[key] = impl
        return self.on[key]

    def _instead(self, box: Box) -> Impl:
        """The cheapest of the programs that are best at a size of a box, on all; where
        none applies to all, one for each size.

        Raises:
            SearchError: those are too many.
        """
        spec = self.sizes.spec.part(*box)
        programs: list[Impl] = []
        for call in (call for call in self.sizes.best if call in box):
            try:
                best = self.sizes.best[call]
                programs.append(
                    self.over.program(best, spec, self.over.tables.root, True)
                )
            except ScheduleError:
                continue
        return min(programs, key=self.over.score) if programs else self._each(spec)

    def _each(self, spec: Spec) -> Impl:
        """A program for each size of a range of a Spec."""
        try:
            return self.over.each(spec, self.over.tables.root, loops=True)
        except ScheduleError as error:
            raise SearchError(
                f"{spec} has no program of all sizes: {error.what}",
                "give a shorter range, or allow a greater regret",
            ) from error


def _reaching(fits: Bools, costs: Costs) -> Iterator[tuple[int, int, int]]:
    """Places from a first to an end, and their program: that which reaches farthest.

    Args:
        fits: of each program at each place.
        costs: of each program at each place.
    """
    count = fits.shape[1]
    wrong = np.where(fits, count, np.arange(count))
    ends = np.minimum.accumulate(wrong[:, ::-1], 1)[:, ::-1]
    totals = np.where(np.isfinite(costs), costs, 0.0).cumsum(1)
    at = 0
    while at < count:
        end = int(ends[:, at].max())
        some = np.flatnonzero(ends[:, at] == end)
        before = totals[some, at - 1] if at else 0.0
        yield at, end, int(some[np.argmin(totals[some, end - 1] - before)])
        at = end


def _around(holds: Bools, places: Places, place: tuple[int, ...]) -> Places | None:
    """The places around one, of some, at which an action applies; None where it does
    not apply at this one, or is not of these.

    Args:
        holds: whether it applies, at each of the places.
    """
    grid = tuple(stop - start for start, stop in places)
    if len(holds) != math.prod(grid):
        return None
    there = holds.reshape(grid)
    at = tuple(p - start for p, (start, _) in zip(place, places, strict=True))
    if not there[at]:
        return None
    around = []
    for axis, (start, _) in enumerate(places):
        # The sizes of ranges before are settled on; of those after it takes its own.
        later: Any = (..., *at[axis + 1 :])
        line = there[later].all(tuple(range(axis)))
        wrong = [int(w) for w in np.flatnonzero(~line)]
        low = max((w + 1 for w in wrong if w < at[axis]), default=0)
        high = min((w for w in wrong if w > at[axis]), default=grid[axis])
        around.append((start + low, start + high))
        there = there[(*[slice(None)] * axis, slice(low, high))]
    return tuple(around)


def _halfway(places: Places, beyond: Places) -> Places:
    """Places that end halfway between the ends of some, to which a program applies, and
    of more, to which it does not: what is left of a cache may be that of the greatest
    size."""
    pairs = zip(places, beyond, strict=True)
    return tuple((start, (stop + end) // 2) for (_, stop), (start, end) in pairs)


def _freely(area: Area) -> Iterator[Impl]:
    """Programs of some sizes on all, with loops where they do not apply: the greater
    size of two has the program that more sizes take."""
    whole = tuple((0, len(axis)) for axis in area.area)
    spec = area.sizes.spec.part(*area.box(whole))
    programs: list[Impl] = []
    some = [[m for m in axis if is_rung(m, 1) or m == axis[-1]] for axis in area.area]
    for call in itertools.product(*(axis[::-1] for axis in some)):
        if call in area.sizes.best and spec.ranges:
            best = area.sizes.best[call]
            try:
                impl = area.over.program(best, spec, area.over.tables.root, True)
            except (ScheduleError, SearchError):
                continue
            if impl not in programs:
                programs.append(impl)
                yield impl


def _looped(area: Area) -> Iterator[tuple[Places, Impl]]:
    """Loops over tiles of a few sizes, each with the places of greater sizes: they
    apply whatever else does not."""
    spec, (axis,) = area.sizes.spec, area.area
    name = spec.kind.dims[spec.ranges[0].dims[0]]
    if name not in tiled_dims(spec.key):
        return
    for size in TILES:
        start = next((i for i, m in enumerate(axis) if m > size), len(axis))
        if start >= len(axis) - 1:
            continue
        places = ((start, len(axis)),)
        part = spec.part(*area.box(places))
        for action in (Tile, TileParallel):
            loop = Impl(spec.point(axis[-1]), action(name, size), 0, ())
            try:
                yield places, area.over.program(loop, part, area.over.tables.root)
            except (ScheduleError, SearchError):
                continue
