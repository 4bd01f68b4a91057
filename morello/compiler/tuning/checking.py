"""Compiling candidates and checking what they compute: `checked_kernels`.

LLVM works on one candidate while the one before is checked and the passes make the
next. The first candidate shows what each step takes (`_Pace`); another one is begun
only if it is likely to be checked in time.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from morello.aot.stages import Stages
from morello.compiler.candidates import Candidate
from morello.compiler.kernel import Kernel, Times, native_function, parameters
from morello.compiler.stages import build_stages
from morello.compiler.tuning.contest import likely_seconds
from morello.compiler.tuning.trial import Trial
from morello.errors import CompileError, MorelloError, ScheduleError
from morello.runtime.engine import compile_llvm
from morello.search import Solution, Statistics
from morello.spec import Array
from morello.user_warnings import warn

LEAST = 2
"""Candidates for which there is more time than for all others, of different code if
there are some among the first few."""

_MOST_ALIKE = 4
"""The first few candidates: as many are tried though their code be alike."""

Show = Callable[[str], None]


class Checked(NamedTuple):
    """A candidate whose kernel is right."""

    candidate: Candidate
    kernel: Kernel
    seconds: float
    """Seconds of the call that was checked: the first one, which finds no cache
    warm."""


@dataclasses.dataclass(frozen=True)
class Deadlines:
    """When candidates should be checked, by `time.perf_counter`."""

    few: float = math.inf
    """The second one: there is something to choose from."""
    all: float = math.inf
    """All others."""
    end: float = -math.inf
    """Time by which the right ones should be timed, too: a tournament of a few
    programs is short, and leaves its time for more."""

    def of_all(self, programs: int, call: float) -> float:
        """When all others should be checked.

        Args:
            programs: how many there will be.
            call: seconds of a call.
        """
        return max(self.all, self.end - likely_seconds(programs, call))


def checked_kernels(
    candidates: Sequence[Candidate],
    trial: Trial,
    deadlines: Deadlines | None = None,
    show: Show = lambda text: None,
) -> tuple[list[Checked], int]:
    """The candidates whose kernels are right; and how many were tried in the time.

    Args:
        candidates: of one goal; the first is not left out.
        trial: gives arguments, and judges outputs.
        deadlines: when candidates should be checked; None to try all.
        show: is told what is going on.

    Raises:
        MorelloError: the first is not right.
    """
    deadlines = deadlines or Deadlines()
    tried = 0
    with ThreadPoolExecutor(1, "morello-tune") as pool:
        checks = _Checks(trial, pool)
        for candidate in candidates:
            all_of_them = deadlines.of_all(tried + 1, checks.call)
            if not checks.fits(candidate, all_of_them):
                checks.finish()
                is_enough = len(checks.right) >= LEAST or tried >= _MOST_ALIKE
                end = all_of_them if is_enough else deadlines.few
                if not checks.fits(candidate, end):
                    continue
            tried += 1
            show(f"compiling {tried} of {len(candidates)}")
            checks.begin(candidate)
            if tried == 1:
                checks.finish()  # what it takes is what the others are judged by
        checks.finish()
    return checks.right, tried


@dataclasses.dataclass
class _Pace:
    """The seconds that steps took; of those that all candidates share the longest."""

    stages: float = 0.0
    llvm: float = 0.0
    """Seconds of the latest."""
    judging: float = 0.0
    """Seconds of the latest; the definition that all are compared with is computed
    once."""
    call: float = 0.0
    """Seconds of the first candidate."""
    cost: int = 0
    """Predicted cost of the first candidate."""

    def checking(self, candidate: Candidate) -> float:
        """Estimate the seconds of checking a candidate: a slow one is not
        called if its call alone would take too long."""
        slower = max(1.0, candidate.cost / self.cost) if self.cost else 1.0
        return self.call * slower + self.judging


class _Checks:
    """Kernels of one goal, of which those are kept that are right.

    Args:
        trial: gives arguments, and judges outputs.
        pool: a thread in which LLVM works.
    """

    def __init__(self, trial: Trial, pool: ThreadPoolExecutor) -> None:
        self.right: list[Checked] = []
        self._trial = trial
        self._pool = pool
        self._pace = _Pace()
        self._waiting: tuple[Candidate, Future[Kernel]] | None = None
        self._expected: list[Array] | None = None
        self._codes: set[bytes] = set()

    @property
    def call(self) -> float:
        """Seconds of a call of the first candidate; 0 before that."""
        return self._pace.call

    def fits(self, candidate: Candidate, end: float) -> bool:
        """Whether another candidate is likely to be checked by then. The first fits."""
        pace = self._pace
        if not pace.cost:
            return True
        ahead = pace.stages
        if self._waiting is not None:
            ahead = max(ahead, pace.llvm) + pace.checking(self._waiting[0])
        needed = ahead + pace.llvm + pace.checking(candidate)
        return time.perf_counter() + needed <= end

    def begin(self, candidate: Candidate) -> None:
        """Lower a candidate to LLVM IR, start its compilation in a thread, and check
        the previous candidate meanwhile."""
        start = time.perf_counter()
        future: Future[Kernel]
        try:
            stages = _stages(candidate)
            taken = time.perf_counter() - start
            self._pace.stages = max(self._pace.stages, taken)
            future = self._submitted(stages)
        except (CompileError, ScheduleError) as error:
            future = Future()
            future.set_exception(error)
        self.finish()
        self._waiting = candidate, future

    def _submitted(self, stages: Stages) -> Future[Kernel]:
        """The kernel of some stages, made by LLVM in the other thread; where none can
        be made, at once."""
        try:
            return self._pool.submit(self._kernel, stages)
        except RuntimeError:
            future: Future[Kernel] = Future()
            future.set_result(self._kernel(stages))
            return future

    def finish(self) -> None:
        """Check the candidate that LLVM has, if it has one."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._add(*waiting)

    def _kernel(self, stages: Stages) -> Kernel:
        start = time.perf_counter()
        kernel = compiled(stages)
        self._pace.llvm = time.perf_counter() - start
        return kernel

    def _add(self, candidate: Candidate, future: "Future[Kernel]") -> None:
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
        arguments = self._trial.arguments()
        start = time.perf_counter()
        kernel(*arguments)
        called = time.perf_counter()
        is_right = self._is_right(arguments)
        self._pace.judging = time.perf_counter() - called
        if not self.right:
            self._pace.call, self._pace.cost = called - start, candidate.cost
        if is_right:
            self.right.append(Checked(candidate, kernel, called - start))
        else:
            verdict = str(self._trial.judge(arguments))
            _refuse(candidate, verdict, is_first=not self.right)

    def _is_right(self, outputs: list[Array]) -> bool:
        known = self._expected
        if known is not None and self._trial.agree(outputs, known):
            return True
        if not self._trial.is_right(outputs):
            return False
        self._expected = known or outputs
        return True


def compiled(stages: Stages) -> Kernel:
    """A kernel that is timed: it is in no cache of machine code.

    Raises:
        CompileError: LLVM does not compile it.
    """
    target = stages.target
    engine = compile_llvm(stages.llvm, cpu=target.cpu, features=target.llvm_features)
    function = native_function(stages, engine, parameters(stages.spec))
    return Kernel(stages, function, Times(0.0, 0.0))


def _refuse(candidate: Candidate, why: str, *, is_first: bool) -> None:
    """Say that a kernel is wrong; nothing else is to be done without the first.

    Raises:
        MorelloError: it is the first.
    """
    what = f"a kernel of {candidate.class_text} is wrong and was not timed: {why}"
    remedy = "please report it with the schedule of the candidate"
    if is_first:
        raise MorelloError(what, remedy)
    warn(f"{what}; {remedy}")


def _stages(candidate: Candidate) -> Stages:
    program = Solution(candidate.impl, Statistics(0, 0, 0.0))
    return build_stages(candidate.spec, candidate.target, program)
