"""Tuning one goal: `tune`.

The candidates are the cheapest programs of different classes, the model's choice first.
Each is compiled, and checked against the definition of the Spec, before any is timed.
"""

import dataclasses
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from morello.compiler.candidates import Candidate, find_candidates
from morello.compiler.compile import TUNING_SECONDS
from morello.compiler.kernel import Kernel, Times, native_function
from morello.compiler.stages import Stages, build_stages
from morello.compiler.tuning.contest import contest
from morello.compiler.tuning.entry import Entry
from morello.compiler.tuning.order import CANDIDATES, tried_order
from morello.compiler.tuning.placing import Placements
from morello.compiler.tuning.timing import before_all_else, no_collection, pinned
from morello.compiler.tuning.trial import Trial
from morello.errors import CompileError, MorelloError, ScheduleError
from morello.machine import Target
from morello.runtime import clock
from morello.runtime.engine import compile_llvm
from morello.search import Solution, Solver, Statistics
from morello.search.queries.measured import Measured, keep_measured, measured_key
from morello.search.queries.partial_program import Partial
from morello.search.storage.measured_rows import MeasuredRow
from morello.spec import Array, Spec

_FINDING = 0.25
"""The part of the time after which no more classes of candidates are looked for; twice
as much where there are but a few."""

_TIMING = 0.3
"""The part of the time in which candidates are timed. Before it they are found,
compiled and checked; those for which there is no time are left out."""

_COMPILING = 0.2
"""The part in which they are compiled and checked, at least, where finding them takes
long."""

_LEAST = 2
"""Candidates that are compiled in any case, of different code if there are some among
the first few."""

_MOST_ALIKE = 4
"""Those few."""

_SHORTEST = 0.1
"""The part in which they are timed, at least, where all before takes long."""

Show = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much is tried.

    Args:
        seconds: for candidates, compilations and times of one goal, on the clock. It
            takes longer only where two compilations, or one call, do.
        candidates: how many, at most.
        priority: whether programs with one thread are timed before all else that runs,
            where the system allows it.
    """

    seconds: float = TUNING_SECONDS
    candidates: int = CANDIDATES
    priority: bool = False


@dataclasses.dataclass(frozen=True)
class Tuned:
    """What tuning a goal found."""

    measured: Measured
    candidates: tuple[Candidate, ...]
    """Those that were timed, in the order of the rows of ``measured``."""
    left_out: int
    """Candidates for which there was no time."""
    seconds: float
    """What it took after the search."""

    @property
    def chosen(self) -> Candidate:
        """The one that is used from now on."""
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
    start = time.perf_counter()
    show("candidates")
    finding = start + _FINDING * plan.seconds
    found = tried_order(
        find_candidates(goal, target, solver, plan.candidates, finding), target
    )
    trial = Trial.make(goal, 0, {})
    now = time.perf_counter()
    until = max(start + (1 - _TIMING) * plan.seconds, now + _COMPILING * plan.seconds)
    kernels, tried = checked_kernels(found, trial, until, show)
    show(f"timing {len(kernels)} programs")
    left = start + plan.seconds - time.perf_counter()
    seconds, cycle, winner = _timed(
        [kernel for _, kernel in kernels],
        trial,
        max(left, _SHORTEST * plan.seconds),
        plan.priority,
    )
    timed = tuple(candidate for candidate, _ in kernels)[: len(seconds)]
    key = measured_key(goal, target, solver.pinned.pins)
    rows = tuple(
        MeasuredRow(
            key,
            place,
            str(Partial.of(candidate.impl)),
            candidate.class_text,
            seconds[place],
            seconds[place] / cycle,
            int(place == winner),
        )
        for place, candidate in enumerate(timed)
    )
    keep_measured(rows, solver.database)
    took = time.perf_counter() - start
    left_out = len(found) - tried + len(kernels) - len(timed)
    return Tuned(Measured(rows), timed, left_out, took)


def checked_kernels(
    candidates: Sequence[Candidate],
    trial: Trial,
    until: float | None = None,
    show: Show = lambda text: None,
) -> tuple[list[tuple[Candidate, Kernel]], int]:
    """The candidates whose kernels are right; and how many were tried in the time.

    LLVM works on one while the one before is checked and the passes make the next.

    Args:
        candidates: of one goal; the first is not left out.
        trial: gives arguments, and judges outputs.
        until: when the last should be checked, by `time.perf_counter`; None to try all.
        show: is told what is going on.

    Raises:
        MorelloError: the first is not right.
    """
    checks, tried = _Checks(trial), 0
    with ThreadPoolExecutor(1, "morello-tune") as pool:
        waiting: tuple[Candidate, Future[Kernel]] | None = None
        before = time.perf_counter()
        for candidate in candidates:
            now = time.perf_counter()
            # Another one takes its turn, and that of LLVM after it.
            late = until is not None and now + 2 * (now - before) > until
            if tried >= _LEAST and late:
                if waiting is not None:
                    checks.add(*waiting)
                    waiting = None
                if len(checks.right) >= _LEAST or tried >= _MOST_ALIKE:
                    break
            before, tried = now, tried + 1
            show(f"compiling {tried} of {len(candidates)}")
            future = _making(candidate, pool)
            if waiting is not None:
                checks.add(*waiting)
            waiting = candidate, future
        if waiting is not None:
            checks.add(*waiting)
    return checks.right, tried


class _Checks:
    """Kernels of one goal, of which those are kept that are right.

    Args:
        trial: gives arguments, and judges outputs.
    """

    def __init__(self, trial: Trial) -> None:
        self.right: list[tuple[Candidate, Kernel]] = []
        self._trial = trial
        self._expected: list[Array] | None = None
        self._codes: set[bytes] = set()

    def add(self, candidate: Candidate, future: "Future[Kernel]") -> None:
        """Check a kernel when it is made; of those of the same code the first is kept.

        Raises:
            MorelloError: it is the first, and not right.
        """
        try:
            kernel = future.result()
        except (CompileError, ScheduleError):
            if not self.right:
                raise
            return
        code = kernel.object
        if code in self._codes:
            return
        self._codes.add(code)
        outputs = self._trial.run(kernel)
        if self._expected is None or not self._trial.agree(outputs, self._expected):
            verdict = self._trial.judge(outputs)
            if not verdict.holds:
                _refuse(candidate, str(verdict), is_first=not self.right)
                return
            self._expected = self._expected or outputs
        self.right.append((candidate, kernel))


def _making(candidate: Candidate, pool: ThreadPoolExecutor) -> "Future[Kernel]":
    """A kernel that a thread makes of the stages of a candidate."""
    try:
        return pool.submit(_kernel, _stages(candidate))
    except (CompileError, ScheduleError) as error:
        failed: Future[Kernel] = Future()
        failed.set_exception(error)
        return failed


def _refuse(candidate: Candidate, why: str, *, is_first: bool) -> None:
    """Say that a kernel is wrong; nothing else is to be done without the first.

    Raises:
        MorelloError: it is the first.
    """
    what = f"a kernel of {candidate.class_text} is wrong and was not timed: {why}"
    remedy = "please report it with the schedule of the candidate"
    if is_first:
        raise MorelloError(what, remedy)
    warnings.warn(f"{what}; {remedy}", RuntimeWarning, stacklevel=4)


def _stages(candidate: Candidate) -> Stages:
    program = Solution(candidate.impl, Statistics(0, 0, 0.0))
    return build_stages(candidate.spec, candidate.target, program)


def _kernel(stages: Stages) -> Kernel:
    target = stages.target
    features = ",".join(f"+{feature}" for feature in target.features)
    engine = compile_llvm(stages.llvm, cpu=target.cpu, features=features)
    function = native_function(stages, engine)
    return Kernel(stages, function, engine, Times(0.0, 0.0))


def _timed(
    kernels: Sequence[Kernel], trial: Trial, seconds: float, priority: bool
) -> tuple[list[float], float, int]:
    """Seconds of a call of each kernel that there was time for, the first ones; seconds
    of a cycle; and the winner."""
    placements = Placements(trial)
    entries = [Entry(placements.calls(kernel)) for kernel in kernels]
    serial = all(kernel.threads == 1 for kernel in kernels)
    first = before_all_else(priority and serial)
    with pinned(serial), first, no_collection():
        before = clock.cycle()
        winner = contest(entries, seconds)
        cycle = (before + clock.cycle()) / 2
    taken = [entry.seconds for entry in entries if entry.repeats]
    return taken, cycle, winner
