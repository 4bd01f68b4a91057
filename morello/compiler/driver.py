"""One way from programs to kernels, whichever door they come through: `Driver`.

A Spec is a program of one part; a model has several, and arrays of its own.
"""

import dataclasses
import time

from morello.aot.stages import Stages
from morello.compiler.kernel import HeldArrays, Kernel, Times, native_function
from morello.compiler.searches import Searches
from morello.compiler.stages import build_stages
from morello.errors import CompileError
from morello.machine import Target
from morello.runtime.calls.parameter import Parameter
from morello.runtime.code_cache import compile_cached
from morello.runtime.openmp import load_openmp
from morello.search import Solution
from morello.search.queries.best_program import parallel_goal
from morello.spec import OpenSpec
from morello.user_warnings import warn


class Driver:
    """Searches the parts of a program and compiles them as one function.

    Args:
        target: the machine, whatever number of threads it says.
        threads: the most that a call may use.
        search: the searches.
        load: whether kernels are for this process; else their code is loaded at the
            first call, which a machine has to be for that can run it.
    """

    def __init__(
        self, target: Target, threads: int, search: Searches, load: bool = True
    ) -> None:
        if not isinstance(load, bool):
            raise CompileError(
                f"'load' is {load!r}",
                "give True, or False for code that is not run here",
            )
        self._start = time.perf_counter()
        self._threads = threads
        self._load = load
        self.target = (
            target if threads == 1 else dataclasses.replace(target, threads=threads)
        )
        """The machine, with the threads of a call."""
        self.search = search

    def parallel(self, goal: OpenSpec) -> OpenSpec:
        """The goal of a call with so many threads."""
        spec, _ = parallel_goal(goal.spec, self.target, self._threads)
        return OpenSpec(spec, goal.open)

    def stages(self, goal: OpenSpec, schedule: str | None = None) -> Stages:
        """Each stage of a program of one Spec.

        Args:
            goal: what is computed.
            schedule: a module with the Spec and its schedule, used in place of a
                search.

        Raises:
            ScheduleError, SearchError, CompileError: as `build_stages`.
        """
        goal = self.parallel(goal)
        spec = goal.spec
        program: Solution | str
        if schedule is not None:
            program = schedule
        else:
            spec, program = self.search.settle(goal, self.target)
        return build_stages(spec, self.target, program, self.search)

    def kernel(
        self,
        stages: Stages,
        every: tuple[Parameter, ...],
        settled: tuple[int, ...] = (),
        held: HeldArrays | None = None,
    ) -> Kernel:
        """The machine code of all stages.

        Args:
            stages: of one Spec, or of all parts of a model.
            every: the parameters of the function.
            settled: the operands whose layouts the search chose.
            held: arrays that a model brings to each call.

        Raises:
            CompileError: a module that LLVM does not compile.
            TargetError: this machine lacks a feature of the target.
        """
        engine = compile_cached(
            stages.llvm,
            cpu=self.target.cpu,
            features=self.target.llvm_features,
            folder=self.search.code,
        )
        if self._load:
            engine.load()
        function = native_function(stages, engine, every)
        if not engine.was_read:
            self.search.note_code(spec for spec, _ in stages.parts)
        elapsed = time.perf_counter() - self._start
        seconds = self.search.seconds
        times = Times(seconds, elapsed - seconds)
        return Kernel(stages, function, times, settled, held)


def available_threads(threads: int, load: bool = True) -> int:
    """``threads``, or 1 with a warning where a kernel of this process is to have
    several, and there is no OpenMP runtime."""
    if threads > 1 and load and not load_openmp():
        warn(
            "no OpenMP runtime was found, so the kernel has one thread; install the "
            "package intel-openmp"
        )
        return 1
    return threads
