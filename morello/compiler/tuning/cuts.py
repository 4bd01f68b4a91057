"""Borders between the programs of a range, moved to where measurements have them.

At the first, the middle and the last size of each program its neighbours are timed,
too, as far as they apply. Between these sizes the ratio of measured time to the model's
price is interpolated. A border moves if the program that comes to take the sizes beyond
it is clearly faster in the middle of them (`duel.py`).
"""

import dataclasses
import itertools
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from morello.compiler.kernel import Kernel
from morello.compiler.stages import build_stages
from morello.compiler.tuning.checking import Show, compiled
from morello.compiler.tuning.duel import beats
from morello.compiler.tuning.entry import Entry
from morello.compiler.tuning.placing import Placements
from morello.compiler.tuning.timing import alone, before_all_else, no_collection, pinned
from morello.compiler.tuning.trial import Trial
from morello.compiler.tuning.tuner import Plan
from morello.errors import MorelloError, ScheduleError, SearchError
from morello.machine import Target
from morello.runtime import clock
from morello.search import Solution, Statistics
from morello.search.dp.run import Watch
from morello.search.dp.solver import pins_of
from morello.search.impl import Impl
from morello.search.queries.measured import Measured, keep_measured, measured_key
from morello.search.queries.partial_program import Partial
from morello.search.ranges.borders import Borders, Ends, taker
from morello.search.ranges.cover import CoverOptions, cover
from morello.search.storage.measured_rows import MeasuredRow
from morello.search.storage.overlay import Overlay
from morello.spec import Spec
from morello.user_warnings import warn

_ROUNDS = 3
"""Samples of each program at a size, at least."""

_DUELS = 0.4
"""The part of the time for the duels of borders that may move."""

Numbers = np.ndarray[Any, np.dtype[np.float64]]


@dataclasses.dataclass(frozen=True)
class _Move:
    """Sizes at an end of a part that a neighbour's program may take."""

    part: int
    taker: int
    first: int
    last: int
    gain: float
    """The sum of the logarithms of how many times as fast it is at each size."""


def tune_cuts(
    goal: Spec,
    target: Target,
    options: CoverOptions,
    database: Overlay | None = None,
    plan: Plan | None = None,
    watch: Watch | None = None,
    show: Show = lambda text: None,
) -> Measured:
    """Move the borders of a range's programs to where they are by measurement.

    Args:
        goal: what is searched for, with one range, parallel or not.
        target: as it is chosen, with its threads.
        options: how the programs are chosen.
        database: keeps what was measured.
        plan: the seconds of all samples. Up to five compilations come before.
        watch: told before each table that is solved.
        show: is told what is going on.

    Raises:
        SearchError: a size has no program, or there are too many.
        MorelloError: the model's choice is wrong or cannot be compiled; or the machine
            has not the memory.
    """
    plan = plan or Plan()
    chosen = cover(goal, target, options.regret, watch, options.most)
    borders = Borders(chosen)
    bench = _Bench(borders, target, plan, show)
    with (
        alone(),
        pinned(target.threads == 1),
        before_all_else(plan.priority and target.threads == 1),
        no_collection(),
    ):
        before = clock.cycle()
        ends = bench.moved()
        cycle = (before + clock.cycle()) / 2
    key = measured_key(goal, target, pins_of(database, target), options)
    choices = [(borders.ends, chosen.impl)]
    if ends != borders.ends:
        choices.append((ends, borders.joined(ends)))
    rows = tuple(
        MeasuredRow(
            key,
            place,
            str(Partial.of(impl)),
            _class_text(taken),
            bench.seconds(taken),
            bench.seconds(taken) / cycle,
            int(place == len(choices) - 1),
        )
        for place, (taken, impl) in enumerate(choices)
    )
    keep_measured(rows, database)
    return Measured(rows)


class _Bench:
    """Programs of a range, timed at some of its sizes.

    Args:
        borders: the programs.
        target: as it is chosen.
        plan: the seconds of samples.
        show: is told what is going on.
    """

    def __init__(
        self, borders: Borders, target: Target, plan: Plan, show: Show
    ) -> None:
        self._borders = borders
        self._target = target
        self._seconds = plan.seconds
        self._show = show
        self._reaches = dict(_reaches(borders))
        show("compiling the programs of all sizes")
        self._kernels = [(borders.ends, self._kernel(borders.cover.impl))]
        for side, parity in itertools.product((1, -1), (0, 1)):
            self._add(side, parity)
        self._entries: dict[tuple[int, int], Entry] = {}
        """By the number of a part and a size: its program there."""

    def _kernel(self, impl: Impl) -> Kernel:
        program = Solution(impl, Statistics(0, 0, 0.0))
        spec = self._borders.cover.sizes.spec
        return compiled(build_stages(spec, self._target, program))

    def _add(self, side: int, parity: int) -> None:
        """Compile a kernel in which every second program takes its neighbour's sizes,
        too."""
        ends = self._borders.ends
        for (number, of_side), sizes in self._reaches.items():
            if of_side == side and number % 2 == parity:
                ends = self._borders.with_reach(ends, number, sizes)
        if ends == self._borders.ends:
            return
        self._show("compiling programs on their neighbours' sizes")
        try:
            self._kernels.append((ends, self._kernel(self._borders.joined(ends))))
        except (ScheduleError, SearchError):
            return

    def moved(self) -> Ends:
        """The ends of programs as they are by measurement."""
        ends = self._borders.ends
        probes = [self._probes(pair) for pair in ends]
        share = (1 - _DUELS) * self._seconds / sum(map(len, probes))
        for number, sizes in enumerate(probes):
            self._show(f"timing program {number + 1} of {len(ends)}")
            for size in sizes:
                self._sample(size, share)
        moves = [move for number in range(len(ends)) for move in self._moves(number)]
        moves.sort(key=lambda move: -move.gain)
        self._show(f"comparing {len(moves)} borders")
        for move in moves:
            new = self._applied(ends, move)
            if new is not None and self._is_sure(move, len(moves)):
                ends = new
        return ends

    def _sample(self, size: int, seconds: float) -> None:
        """Time each program that takes a size in one of the kernels there."""
        placements = None
        some: list[Entry] = []
        for ends, kernel in list(self._kernels):
            part = taker(ends, size)
            if (part, size) in self._entries:
                continue
            if placements is None:
                trial = Trial.make(self._borders.cover.sizes.spec.at(size), 0, {})
                placements = Placements(trial)
            if not self._is_right(trial, ends, kernel):
                continue
            entry = Entry(placements.calls(kernel))
            self._entries[part, size] = entry
            some.append(entry)
        end = time.perf_counter() + seconds
        number = 0
        while some and (number < _ROUNDS or time.perf_counter() < end):
            first = number % len(some)
            for entry in (*some[first:], *some[:first]):
                entry.sample(number % min(_ROUNDS, len(entry.calls)))
            number += 1

    def _is_right(self, trial: Trial, ends: Ends, kernel: Kernel) -> bool:
        """Whether a kernel computes what its Spec defines; where it does not, and is
        not the model's, it is left out.

        Raises:
            MorelloError: the model's choice is wrong.
        """
        arguments = trial.run(kernel)
        if trial.is_right(arguments):
            return True
        what = f"a program of {trial.spec} is wrong: {trial.judge(arguments)}"
        remedy = "please report it with its schedule"
        if ends == self._borders.ends:
            raise MorelloError(what, remedy)
        warn(f"{what}; {remedy}")
        self._kernels.remove((ends, kernel))
        return False

    def _moves(self, number: int) -> Iterator[_Move]:
        """The sizes at both ends of a part that its neighbours should take."""
        part = self._borders.cover.parts[number]
        (first,), (last,) = part.box
        sizes = np.arange(first, last + 1, self._borders.step)
        below, between, above = (
            self._times(number + side, number, sizes) for side in (-1, 0, 1)
        )
        start, stop = cheapest_ends(below, between, above)
        if start:
            gain = float((between - below)[:start].sum())
            yield _Move(number, number - 1, first, int(sizes[start - 1]), gain)
        if stop < len(sizes):
            gain = float((between - above)[stop:].sum())
            yield _Move(number, number + 1, int(sizes[stop]), last, gain)

    def _times(self, program: int, part: int, sizes: Any) -> Numbers:
        """The logarithm of the likely seconds of a program at the sizes of a part;
        infinite where it does not apply."""
        times = np.full(len(sizes), np.inf)
        probes = [m for m in sizes.tolist() if (program, m) in self._entries]
        if not probes:
            return times
        ends = self._borders.ends[part]
        if program != part:
            ends = self._reaches[program, part - program]
        every = self._borders.sizes(*ends)
        costs = dict(zip(every, self._borders.costs(program, *ends), strict=True))
        ratios = [np.log(self._entries[program, m].seconds / costs[m]) for m in probes]
        taken = np.array([m in costs for m in sizes.tolist()])
        near = np.interp(sizes[taken], probes, ratios)
        times[taken] = near + np.log([costs[m] for m in sizes[taken].tolist()])
        return times

    def _applied(self, ends: Ends, move: _Move) -> Ends | None:
        """The ends with a border moved; None where another one has moved the border, or
        the program does not apply to all of its sizes then."""
        step = self._borders.step
        first, last = ends[move.taker]
        low, high = ends[move.part]
        is_beside = move.first == last + step or move.last == first - step
        if not is_beside or move.first < low or move.last > high:
            return None
        sizes = min(first, move.first), max(last, move.last)
        new = self._borders.with_reach(ends, move.taker, sizes)
        try:
            self._borders.joined(new)
        except (ScheduleError, SearchError):
            return None
        return new

    def _is_sure(self, move: _Move, count: int) -> bool:
        """Whether the program that is to take some sizes is clearly faster in the
        middle of them."""
        sizes = self._borders.sizes(move.first, move.last)
        middle = sizes[len(sizes) // 2]
        self._sample(middle, 0.0)
        one = self._entries.get((move.taker, middle))
        other = self._entries.get((move.part, middle))
        if one is None or other is None:
            return False
        end = time.perf_counter() + _DUELS * self._seconds / count
        return beats(one, other, end)

    def seconds(self, ends: Ends) -> float:
        """Seconds of a call: the geometric mean over the first, the middle and the last
        size of each of the model's programs."""
        probes = [m for pair in self._borders.ends for m in self._probes(pair)]
        return statistics.geometric_mean(
            self._entries[taker(ends, m), m].seconds for m in probes
        )

    def _probes(self, ends: tuple[int, int]) -> list[int]:
        """The first, the middle and the last of some sizes."""
        sizes = self._borders.sizes(*ends)
        return sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]})


def cheapest_ends(below: Numbers, between: Numbers, above: Numbers) -> tuple[int, int]:
    """How many sizes at the beginning of some the program below takes, and from which
    on the one above does, so that the sum of their costs is least.

    Args:
        below, between, above: the cost of each program at each size; that of the
            one between is finite.
    """
    whole = np.append(0, between.cumsum())
    saved = np.append(0, below.cumsum()) - whole
    rest = np.append(above[::-1].cumsum()[::-1], 0)
    totals = np.minimum.accumulate(saved) + whole + rest
    stop = len(between) - int(totals[::-1].argmin())
    return int(saved[: stop + 1].argmin()), stop


def _class_text(ends: Ends) -> str:
    """The last size of each program, for people."""
    lasts = (str(last) for first, last in ends if first <= last)
    return f"programs to {', '.join(lasts)}"


def _reaches(borders: Borders) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """For each part and side on which its program takes sizes of the neighbour: all
    that it takes with its own."""
    count = len(borders.ends)
    for number, side in itertools.product(range(count), (1, -1)):
        if number + side in range(count):
            sizes = borders.reach(number, side)
            if sizes is not None:
                yield (number, side), sizes
