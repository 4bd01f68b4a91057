"""Tuning one goal: `tune`.

The candidates are the cheapest programs of different classes, the model's choice first.
Each is compiled, and checked against the definition of the Spec, before any is timed
(`checking.py`).
"""

import dataclasses
import time
from collections.abc import Sequence

from morello.compiler.candidates import Candidate, find_candidates
from morello.compiler.goal import TUNING_SECONDS
from morello.compiler.tuning.checking import Checked, Deadlines, Show, checked_kernels
from morello.compiler.tuning.contest import contest
from morello.compiler.tuning.entry import Entry
from morello.compiler.tuning.order import CANDIDATES, tried_order
from morello.compiler.tuning.placing import Placements
from morello.compiler.tuning.timing import alone, before_all_else, no_collection, pinned
from morello.compiler.tuning.trial import Trial
from morello.machine import Target
from morello.runtime import clock
from morello.search import Solver
from morello.search.compiled import compiled
from morello.search.compiled.parameters import CLASSES
from morello.search.queries.measured import Measured, keep_measured, measured_key
from morello.search.queries.partial_program import Partial
from morello.search.storage.measured_rows import MeasuredKey, MeasuredRow
from morello.spec import Spec

_FINDING = 0.25
"""The part of the time after which no more classes of candidates are looked for; twice
as much where there are but a few."""

_TIMING = 0.3
"""The part of the time in which many candidates are timed. Before it they are found,
compiled and checked; those for which there is no time are left out."""

_COMPILING = 0.2
"""The part in which they are compiled and checked, at least, where finding them takes
long."""

_SHORTEST = 0.1
"""The part in which they are timed, at least, where all before takes long."""

_LEFT = 0.25
"""The part that is left for all else, at least, where the definition takes long."""

_CHOICE = 2.0
"""Seconds within which there may be something to choose from, however short a time was
asked for."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is tried.

    Args:
        seconds: for candidates, compilations and times of one goal, on the clock. It
            takes longer only where the model's choice and the definition alone do; and
            up to two seconds, to have something to choose from. Waiting until another
            thread has timed its programs does not count.
        candidates: how many, at most.
        priority: whether programs with one thread are timed before all else that runs,
            where the system allows it.
    """

    seconds: float = TUNING_SECONDS
    candidates: int = CANDIDATES
    priority: bool = False


@dataclasses.dataclass(frozen=True)
class Tuned:
    """Result of tuning a goal."""

    measured: Measured
    candidates: tuple[Candidate, ...]
    """Candidates that were timed, in the order of the rows of ``measured``."""
    left_out: int
    """Candidates for which there was no time."""
    seconds: float
    """Seconds of tuning after the search."""

    @property
    def chosen(self) -> Candidate:
        """The program that is used from now on."""
        return self.candidates[self.measured.chosen.place]


def tune(
    goal: Spec,
    target: Target,
    solver: Solver,
    plan: Plan | None = None,
    show: Show = lambda text: None,
) -> Tuned:
    """Time the candidates of a goal and keep the best of them.

    Args:
        goal: what is searched for, parallel or not.
        target: as it is chosen, with its threads.
        solver: for the target as the goal sees it; what was measured is kept in its
            database.
        plan: how much is tried.
        show: is told what is going on.

    Raises:
        SearchError: the goal has no program.
        MorelloError: the model's choice is wrong or cannot be compiled; or the machine
            has not the memory.
    """
    plan = plan or Plan()
    solver.solve(goal)
    solver.solve_tables(goal)
    compiled().prepare(CLASSES)  # once after installation: it is no part of tuning
    start = time.perf_counter()
    show("inputs")
    trial = Trial.make(goal, 0, {})
    _ = trial.definition  # the only step that nothing makes shorter: the rest adapts
    show("candidates")
    begin = time.perf_counter()
    left = max(start + plan.seconds - begin, _LEFT * plan.seconds)
    candidates = tried_order(
        find_candidates(goal, target, solver, plan.candidates, begin + _FINDING * left),
        target,
    )
    now = time.perf_counter()
    deadlines = Deadlines(
        few=max(begin + (1 - _SHORTEST) * left, start + _CHOICE),
        all=max(begin + (1 - _TIMING) * left, now + _COMPILING * left),
        end=begin + left,
    )
    kernels, tried = checked_kernels(candidates, trial, deadlines, show)
    show(f"timing {len(kernels)} programs")
    now = time.perf_counter()
    seconds = max(begin + left - now, _SHORTEST * left)
    entries, cycle, winner = _timed(kernels, trial, seconds, plan.priority)
    key = measured_key(goal, target, solver.pinned.pins)
    timed = [
        (one.candidate, entry)
        for one, entry in zip(kernels, entries, strict=True)
        if entry.repeats
    ]
    rows = _rows(key, timed, cycle, entries[winner])
    keep_measured(rows, solver.database)
    took = time.perf_counter() - start
    left_out = len(candidates) - tried + len(kernels) - len(timed)
    names = tuple(candidate for candidate, _ in timed)
    return Tuned(Measured(rows), names, left_out, took)


def _rows(
    key: MeasuredKey,
    timed: Sequence[tuple[Candidate, Entry]],
    cycle: float,
    fastest: Entry,
) -> tuple[MeasuredRow, ...]:
    """Programs that were timed, as the database keeps them."""
    return tuple(
        MeasuredRow(
            key,
            place,
            str(Partial.of(candidate.impl)),
            candidate.class_text,
            entry.seconds,
            entry.seconds / cycle,
            int(entry is fastest),
        )
        for place, (candidate, entry) in enumerate(timed)
    )


def _timed(
    kernels: Sequence[Checked], trial: Trial, seconds: float, priority: bool
) -> tuple[list[Entry], float, int]:
    """The kernels as they were timed, those that there was time for; seconds of a
    cycle; and the winner. The time begins when no other thread times anything."""
    placements = Placements(trial)
    entries = [Entry(placements.calls(one.kernel), one.seconds) for one in kernels]
    serial = all(one.kernel.threads == 1 for one in kernels)
    first = before_all_else(priority and serial)
    with alone(), pinned(serial), first, no_collection():
        before = clock.cycle()
        winner = contest(entries, seconds)
        cycle = (before + clock.cycle()) / 2
    return entries, cycle, winner
