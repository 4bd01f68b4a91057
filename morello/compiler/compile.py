"""From a Spec to a kernel that runs in this process: `compile`."""

import dataclasses
import time
from numbers import Real
from typing import Any, Literal

from morello.compiler.code_folder import folder_beside
from morello.compiler.goal import TUNING_SECONDS, Program, goal_of
from morello.compiler.kernel import Kernel, Times, native_function, parameters
from morello.compiler.stages import build_stages
from morello.compiler.target_choice import chosen_target
from morello.compiler.threads import thread_count
from morello.errors import CompileError
from morello.machine import Target
from morello.runtime.code_cache import compile_cached
from morello.runtime.openmp import load_openmp
from morello.search import Patience, Solution, Solver, best_program, best_settled
from morello.search.dp.solver import pins_of
from morello.search.queries.best_program import (
    SearchStoppedError,
    parallel_goal,
    watch_of,
)
from morello.search.queries.measured import measured_solution
from morello.search.storage.overlay import Overlay, PathLike, open_database
from morello.small_stacks import on_large_stack
from morello.spec import Encoding, OpenSpec, Spec
from morello.subinterpreters import in_any_interpreter
from morello.user_warnings import warn


@on_large_stack
@in_any_interpreter
def compile(
    spec: str | Spec | OpenSpec | Program,
    *,
    target: str | Target | None = None,
    threads: int | None = None,
    schedule: str | None = None,
    db: PathLike | Overlay | None = None,
    time_limit: float | Patience | None = None,
    tune: bool | float | Literal["learned"] | None = None,
) -> Kernel:
    """The fastest kernel for a Spec that the search finds.

    Args:
        spec: what to compute, as a `Spec` or as text: ``matmul:512x512x512:f32``. An
            operand that is packed once may leave its layout to the search:
            ``matmul:1x512x512:f32:rhs=any``; `Kernel.pack` then gives the argument. Or
            a program: what `from_mlir`, `from_onnx` or `trace` returns.
        target: the machine to compile for: a name, optionally with numbers in braces,
            ``@FILE``, or a `Target`. If it is left out: the target of the given
            schedule, else ``MORELLO_TARGET``, else the known target that is nearest to
            this machine (``native``).
        threads: the most threads that a call may use, at least 1. If it is left out:
            the number of the given schedule, else ``MORELLO_THREADS``, else the number
            of processors that this process may use.
        schedule: a module with the Spec and a schedule, as `Kernel.schedule` gives it,
            used instead of a search. Its holes are searched, and `Kernel.schedule` is
            then the complete schedule.
        db: the database of solved Specs: a path, several with ``:`` between them (the
            first is written), or ``none``. If it is left out, ``MORELLO_DB`` names it;
            without that there is none.
        time_limit: seconds after which the search stops with the best program that it
            knows (then ``Kernel.solution.complete`` is false); or a `Patience`, which
            can say more.
        tune: whether measurements on this machine decide. True, or a number of seconds
            that it may take, times programs of different classes, unless that was done
            before, and the fastest is the kernel; it is kept in the database, or
            without one as long as the process lives. If it is left out, a choice that
            was measured before is used, if there is one. False is the model's choice,
            the same on every machine. ``"learned"`` is, of programs of different
            classes, the choice of the learned model of the target, for calls with one
            thread; nothing is measured, and it is the same on every machine, too.

    Raises:
        SpecError, TargetError, SearchError, ScheduleError, CompileError: an argument is
            wrong, or no kernel can be made, or not within the time limit.
        DatabaseError: a database is another program's or another version's file.
    """
    _check_schedule(schedule)
    if isinstance(spec, Program):
        if schedule is not None:
            raise CompileError(
                "a schedule is given, which is for one Spec, and a program",
                "give the Spec of one part, as Model.specs lists them",
            )
        return spec.compile(
            target=target, threads=threads, db=db, time_limit=time_limit, tune=tune
        )
    tuning = tuning_time(tune, schedule)
    machine = chosen_target(target, schedule)
    goal = goal_of(spec, machine)
    _check(goal, schedule)
    count = available_threads(thread_count(threads, schedule))
    parallel, machine = parallel_goal(goal.spec, machine, count)
    search = Searches(db, time_limit, tuning)
    return _kernel(OpenSpec(parallel, goal.open), machine, schedule, search)


def _kernel(
    goal: OpenSpec, machine: Target, schedule: str | None, search: "Searches"
) -> Kernel:
    """The kernel of one Spec: by the schedule, if there is one, else by a search."""
    start = time.perf_counter()
    wanted = goal.spec
    program: Solution | str
    if schedule is not None:
        program = schedule
    else:
        wanted, program = search.settle(goal, machine)
    stages = build_stages(wanted, machine, program, search)
    features = ",".join(f"+{feature}" for feature in machine.features)
    engine = compile_cached(
        stages.llvm, cpu=machine.cpu, features=features, folder=search.code
    )
    function = native_function(stages, engine, parameters(stages.spec))
    elapsed = time.perf_counter() - start
    times = Times(search.seconds, elapsed - search.seconds)
    return Kernel(stages, function, engine, times, goal.open)


class Searches:
    """The searches that one kernel needs, and the time that they take together.

    Args:
        db: as `compile` takes it.
        time_limit: of all searches together.
        tune: the seconds that tuning a goal may take; 0 to use what was measured
            before; None for the model's choice; or ``learned``.
    """

    def __init__(
        self,
        db: PathLike | Overlay | None,
        time_limit: float | Patience | None,
        tune: float | Literal["learned"] | None = None,
    ) -> None:
        self._db = db
        self._tune = tune
        self._patience = Patience.of(time_limit)
        self.seconds = 0.0
        """Seconds spent so far."""
        self.left = 1
        """How many searches are to come, of which each may take the same share of the
        time that is left; what one does not need is the others'."""
        self.code = folder_beside(db)
        """The folder of machine code; None for none."""

    def _share(self) -> Patience:
        """The time of the next search."""
        left = self._patience.after(self.seconds)
        if left.seconds is None:
            return left
        return dataclasses.replace(left, seconds=left.seconds / self.left)

    def __call__(self, spec: Spec, target: Target) -> Solution:
        """The best program of a Spec."""
        start = time.perf_counter()
        share = self._share()
        overlay = open_database(self._db)
        solution = self._measured(spec, target, overlay, share)
        if solution is None:
            left = share.after(time.perf_counter() - start)
            solution = best_program(spec, target, overlay, left)
        self.seconds += time.perf_counter() - start
        return solution

    def _measured(
        self, spec: Spec, target: Target, overlay: Overlay | None, share: Patience
    ) -> Solution | None:
        """Measure a Spec, or read its earlier measurements; None for the
        model's choice."""
        if self._tune is None:
            return None
        if self._tune == "learned":
            return self._learned(spec, target, overlay, share)
        pins = pins_of(overlay, target)
        known = measured_solution(spec, target, overlay, pins)
        if known is not None or not self._tune:
            return known
        # What tuning needs is imported only where it is done.
        from morello.compiler.tuning import Plan, tune

        watch = watch_of(share)
        solver = Solver(target.at(spec), overlay, watch, pins)
        try:
            tune(spec, target, solver, Plan(self._tune))
        except SearchStoppedError:  # in a hurry nothing is measured
            return None
        return measured_solution(spec, target, overlay, pins)

    def _learned(
        self, spec: Spec, target: Target, overlay: Overlay | None, share: Patience
    ) -> Solution | None:
        """The choice of the learned model; None if the search is stopped before."""
        from morello.compiler.tuning.order import learned_solution

        solver = Solver(target.at(spec), overlay, watch_of(share))
        try:
            return learned_solution(spec, target, solver)
        except SearchStoppedError:
            return None

    def settle(self, goal: OpenSpec, target: Target) -> tuple[Spec, Solution]:
        """The best program of a Spec with open layouts, and the settled Spec."""
        if goal.is_settled:
            return goal.spec, self(goal.spec, target)
        start = time.perf_counter()
        overlay = open_database(self._db)
        spec, solution = best_settled(goal, target, overlay, self._share())
        self.seconds += time.perf_counter() - start
        if solution.complete and self._tune is not None:
            solution = self(spec, target)
        return spec, solution


def tuning_time(
    tune: Any, schedule: str | None = None
) -> float | Literal["learned"] | None:
    """Convert the argument ``tune`` of `compile` to that of `Searches`.

    Raises:
        CompileError: it is no number of seconds; or a schedule is given, too.
    """
    if tune is None or tune is False:
        return 0.0 if tune is None else None
    if schedule is not None:
        raise CompileError(
            "a schedule is given, and it is to be tuned",
            "leave 'tune' out: a given schedule is taken as it is",
        )
    if tune is True:
        return TUNING_SECONDS
    if tune == "learned":
        return "learned"
    if not isinstance(tune, Real) or not 0 < float(tune) <= 86_400:
        raise CompileError(
            f"'tune' is {tune!r}",
            "give True, False, 'learned', or seconds up to 86400",
        )
    return float(tune)


def available_threads(threads: int) -> int:
    """``threads``, or 1 with a warning where there is no OpenMP runtime."""
    if threads > 1 and not load_openmp():
        warn(
            "no OpenMP runtime was found, so the kernel has one thread; install the "
            "package intel-openmp"
        )
        return 1
    return threads


def _check_schedule(schedule: Any) -> None:
    if schedule is not None and not isinstance(schedule, str):
        raise CompileError(
            f"'schedule' is {type(schedule).__name__}, not text",
            "give the text of a module, as Kernel.schedule has it",
        )


def _check(goal: OpenSpec, schedule: str | None) -> None:
    if schedule is not None and not goal.is_settled:
        raise CompileError(
            "a layout is left open, but a given schedule is for one",
            "name the layout, as Kernel.spec of the search's kernel has it",
        )
    spec = goal.spec
    for operand, tensor in zip(spec.kind.operands, spec.tensors, strict=True):
        if isinstance(tensor.dtype, Encoding):
            raise CompileError(
                f"operand '{operand.name}' has the dtype {tensor.dtype}, which "
                "arguments do not have: programs bring bytes to it themselves",
                f"give it the dtype {tensor.dtype.byte or tensor.dtype.part_of}",
            )
        if not tensor.level.is_main:
            raise CompileError(
                f"operand '{operand.name}' is in {tensor.level}, but the arguments of "
                "a kernel are in MEM",
                "leave the level out",
            )
