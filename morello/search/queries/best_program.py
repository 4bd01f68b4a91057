"""The best program of a Spec, or in a hurry a good one.

`best_program` searches the whole space, unless it is stopped: by a time limit, or by
Ctrl-C where the caller says so. A time limit leaves a quarter of the seconds to that,
before narrow tables take the rest (`morello/search/dp/narrow.py`): those of the space
without other layouts and of the whole one in turns, wider and wider, until they are
whole; if this ends before, so does the search. After Ctrl-C they have `LEAST` seconds.
There is a `first_program` before, made of the tables that were solved: the best of
those for which there is time, `GRACE` seconds at most, after the limit where it is
short; and one in any case. The solution then says that it is not complete. Whole tables
are in the database, if there is one, and the next search goes on from them.
"""

import contextlib
import dataclasses
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from numbers import Real

from morello.errors import MorelloError, SearchError, shortened
from morello.machine import Target
from morello.processes.interrupts import defer_sigint
from morello.search.dp.narrow import NarrowRun
from morello.search.dp.run import Watch
from morello.search.dp.solver import Solution, Solver, pins_of
from morello.search.garbage import rare_collections
from morello.search.impl import Impl
from morello.search.queries.first_program import first_programs
from morello.search.queries.pins import Pins
from morello.search.statistics import Statistics
from morello.search.storage.overlay import Overlay
from morello.search.storage.shelf import SHELF
from morello.spec import Spec, print_spec

LEAST = 10.0
"""Seconds that narrow tables get after Ctrl-C, unless that is pressed again."""

GRACE = 0.35
"""Seconds in which a better first program is looked for. Until there is one they are
seconds of this thread: a busy machine makes a search late, not fail."""

_BEFORE = 0.25
"""The part of the time that the whole search has before narrow tables are solved."""

_KEPT = 256
"""How many solutions are remembered, of some 20 KB each; their tables are not. The
memory of a process that solves ever new Specs grows until there are so many."""

Goal = tuple[Spec, Target, Pins]
"""All that the program of a Spec depends on but the database."""

_Question = tuple[Spec, Target, Overlay | None, Pins]
_known: OrderedDict[_Question, Solution] = OrderedDict()


class SearchStoppedError(MorelloError):
    """The search was stopped before it had seen the whole space."""


_NEVER = 2.0**63
"""Seconds that no clock counts."""


@dataclasses.dataclass(frozen=True)
class Patience:
    """When to stop, and whom to tell how far a search is.

    Args:
        seconds: after how long; None for never.
        interruptible: whether Ctrl-C stops the search and not the caller.
        watch: told before each table.
        grace: seconds in which first programs are compared: the last before the limit,
            or after it where there are no more.
        early: told a first program where a quarter of the time was not enough, and
            there is more than the grace; what it returns takes the place of the rest.
    """

    seconds: float | None = None
    interruptible: bool = False
    watch: Watch | None = None
    grace: float = GRACE
    early: "Callable[[Solution], Patience] | None" = None

    def __post_init__(self) -> None:
        if self.seconds is None:
            return
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, Real):
            raise MorelloError(
                f"a time limit of {self.seconds!r}", "give a number of seconds"
            )
        if not self.seconds >= 0 or _NEVER <= self.seconds < math.inf:
            raise MorelloError(
                f"a time limit of {shortened(str(self.seconds))} seconds",
                "give a number from 0 on, or None for no limit",
            )

    @classmethod
    def of(cls, limit: "float | Patience | None") -> "Patience":
        """Convert a time limit of `morello.compile`."""
        return limit if isinstance(limit, Patience) else cls(limit)

    def after(self, seconds: float) -> "Patience":
        """Subtract seconds that have passed from the limit, then from the grace."""
        if self.seconds is None:
            return self
        left = float(self.seconds) - seconds
        grace = max(0.0, self.grace + min(0.0, left))
        return dataclasses.replace(self, seconds=max(0.0, left), grace=grace)

    def before_grace(self) -> "Patience":
        """The time that is not for first programs."""
        if self.seconds is None:
            return self
        seconds = max(0.0, float(self.seconds) - self.grace)
        return dataclasses.replace(self, seconds=seconds)

    def in_part(self, part: float) -> "Patience":
        """A copy with a part of the time, and all of the grace."""
        if self.seconds is None:
            return self
        return dataclasses.replace(self, seconds=float(self.seconds) * part)

    def shared(self, part: float) -> "Patience":
        """A part of the time, and of the grace."""
        if self.seconds is None:
            return self
        seconds, grace = float(self.seconds) * part, self.grace * part
        return dataclasses.replace(self, seconds=seconds, grace=grace)


def best_program(
    spec: Spec,
    target: Target,
    database: Overlay | None = None,
    patience: Patience | None = None,
    solver: Solver | None = None,
    context: Target | None = None,
) -> Solution:
    """The best program of ``spec`` on ``target``; programs are kept, tables are not.

    Args:
        spec: what to compute.
        target: the machine.
        database: where tables are looked for, and stored when they are solved.
        patience: when to stop; None to search the whole space.
        solver: one for the same database and patience that has solved related Specs,
            whose tables and target are used.
        context: the target as another goal sees it, of which this is a part.

    Raises:
        SearchError: no program exists, or none was found in time.
    """
    target = (context or target.at(spec)) if solver is None else solver.target
    pins = pins_of(database, target) if solver is None else solver.pinned.pins
    question = (spec, target, database, pins)
    solution = _known.get(question)
    if solution is not None:
        return solution
    patience = patience or Patience()
    with rare_collections():  # and while its tables go: one would follow all of them
        solution = _search(
            spec,
            solver or Solver(target, database, watch_of(patience), pins, SHELF),
            patience,
        )
    if solution.complete:
        _remember(question, solution)
    return solution


def _remember(question: _Question, solution: Solution) -> None:
    _known[question] = solution
    while len(_known) > _KEPT:
        _known.popitem(last=False)


def known_programs() -> dict[Goal, Solution]:
    """The solutions that this process remembers."""
    return {(s, target, pins): known for (s, target, _, pins), known in _known.items()}


def add_known(solutions: dict[Goal, Solution], database: Overlay | None) -> None:
    """Remember what another process solved with the same databases."""
    for (spec, target, pins), solution in solutions.items():
        _remember((spec, target, database, pins), solution)


def parallel_goal(spec: Spec, target: Target, threads: int) -> tuple[Spec, Target]:
    """Make the goal and target of a search for a call with so many threads."""
    if threads == 1:
        return spec, target
    goal = dataclasses.replace(spec, serial=False)
    return goal, dataclasses.replace(target, threads=threads)


def _search(spec: Spec, solver: Solver, patience: Patience) -> Solution:
    start = time.perf_counter()
    try:
        solver.watch_by(watch_of(patience.in_part(_BEFORE)))
        return solver.solve(spec)
    except SearchStoppedError:
        left = patience.after(time.perf_counter() - start)
        if patience.early is not None and left.before_grace().seconds:
            with contextlib.suppress(SearchError):
                left = patience.early(_first(spec, (solver,), 0.0))
        solution = _search_less(spec, solver, left, goes_on=True)
    except KeyboardInterrupt:
        if not patience.interruptible:
            raise
        left = patience.after(time.perf_counter() - start)
        seconds = LEAST if left.seconds is None else left.seconds
        left = dataclasses.replace(left, seconds=seconds)
        solution = _search_less(spec, solver, left, goes_on=False)
    elapsed = time.perf_counter() - start
    statistics = dataclasses.replace(solution.statistics, seconds=elapsed)
    return dataclasses.replace(solution, statistics=statistics)


def _search_less(
    spec: Spec, stopped: Solver, patience: Patience, goes_on: bool
) -> Solution:
    """The best program of the tables that a search has by now and of narrow ones.

    Args:
        stopped: the solver of the search that was stopped.
        patience: what is left of it.
        goes_on: whether the search may go on in the seconds that are left.

    Raises:
        SearchError: there is no program.
    """
    start = time.perf_counter()

    def left() -> Patience:
        return patience.after(time.perf_counter() - start)

    hurried = _in_a_hurry(stopped)
    quick = hurried[:1] if patience.before_grace().seconds else hurried
    best: Solution | None = None
    with contextlib.suppress(SearchError):
        best = _first(spec, quick, patience.grace)
    stops = KeyboardInterrupt if patience.interruptible else SearchStoppedError
    with contextlib.suppress(SearchStoppedError, stops):
        for solution in _narrow_programs(spec, hurried, left):
            if best is None or solution.impl.cost < best.impl.cost:
                best = solution
        if goes_on:
            stopped.watch_by(watch_of(left()))
            return stopped.solve(spec)
    return best or _first(spec, hurried, left().grace)


def _in_a_hurry(stopped: Solver) -> tuple[Solver, ...]:
    """Solvers that first programs come from: without other layouts they are better."""
    if not stopped.target.relayouts:
        return (stopped,)
    target = dataclasses.replace(stopped.target, relayouts=False)
    pins = stopped.pinned.pins
    smaller = Solver(target, stopped.database, pins=pins, shelf=stopped.shelf)
    return smaller, stopped


def _narrow_programs(
    spec: Spec, solvers: tuple[Solver, ...], left: Callable[[], Patience]
) -> Iterator[Solution]:
    """The best programs of ever wider tables, until those of the last solver are whole.

    Args:
        solvers: in the order in which each width is tried.
        left: tells the time that is left.
    """
    width, narrow = 0, list(solvers)
    while solvers[-1] in narrow:
        for solver in tuple(narrow):
            root = solver.goal_table(spec)
            run = NarrowRun(solver.run_of(spec), width, watch_of(left()))
            with contextlib.suppress(SearchError):
                with defer_sigint(), rare_collections(), run.store.working():
                    impl = run.best(spec, root)
                yield Solution(impl, Statistics(0, 0, 0.0), complete=False)
            if run.is_whole:
                narrow.remove(solver)
        width = 2 * width or 2


def _first(spec: Spec, solvers: tuple[Solver, ...], grace: float) -> Solution:
    """The best program of those that are found at once, from what the solvers know. One
    with more kernels, whose code takes longer to make, has to be as much cheaper.

    Args:
        grace: the seconds for that.

    Raises:
        SearchError: there is none.
    """
    best: Impl | None = None
    least = 0
    end, last = time.perf_counter() + grace, time.thread_time() + GRACE

    def pause() -> None:
        is_late = best is not None and time.perf_counter() >= end
        if is_late or time.thread_time() >= last:
            raise SearchStoppedError("no more time")

    with contextlib.suppress(SearchStoppedError):
        for solver in solvers:
            for impl in first_programs(spec, solver, pause):
                price = impl.cost * impl.leaves
                if best is None or price < least:
                    best, least = impl, price
    if best is None:
        text = print_spec(spec, solvers[-1].target.limits)
        raise SearchError(
            f"no program of {text} was found in the time that there was",
            "give more time; with a database the search goes on where it was stopped",
        )
    return Solution(best, Statistics(0, 0, 0.0), complete=False)


def watch_of(patience: Patience) -> Watch | None:
    """Make the callback that stops a solver; the time begins now. None if nobody is
    told anything, and there is no limit."""
    if patience.watch is None and patience.seconds is None:
        return None
    start = time.monotonic()

    def watch(statistics: Statistics) -> None:
        if patience.watch is not None:
            patience.watch(statistics)
        if patience.seconds is None:
            return
        if time.monotonic() - start >= patience.seconds:
            was = f"the {patience.seconds:.3g} seconds that it had are over"
            raise SearchStoppedError(was if patience.seconds else "no time was left")

    return watch
