"""Cycles of programs' calls, without what calling costs: `Stopwatch`.

A generated function calls a program again and again, so that Python is not in the
time. Programs that are compared are visited in turns, several times, and the least
time of each counts: everything else on a machine only takes time away.

A chain of dependent additions, which every core does one a cycle, says how long a cycle
is. It is one cycle for all programs of a round: the clock that a chain shows just
after a program is not always the program's own, so that some of them seem faster or
slower than they are beside others.

What else runs on the core, on its other hardware thread, does not show in the chain,
but it takes ports: some programs then take a fifth longer, others a tenth. So eight
chains side by side, more than a core can go on with in a cycle, run around the samples
of a visit, too: where these are slowed down, its times are marked as disturbed.
"""

import bisect
import ctypes
import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from morello.compiler.stages import build_stages
from morello.errors import CompileError
from morello.machine import Target
from morello.machine.architectures import HOST
from morello.runtime.clock import CHAIN_TRIPS, clock_code, cycle_by
from morello.runtime.engine import Engine, compile_llvm
from morello.search import Impl, Solution, Statistics
from morello.spec import Spec

_ALIGNMENT = 4096
_LEAST_SAMPLE = 1e-4
"""Seconds of a sample if not told; a thousand times the step of the clock and more."""
_VISITS = 6
"""How often each program is timed in a round, the others in between."""
_LEAST_VISITS = 2
"""Visits of each program, where calls are so long that all would take `_LONG`."""
_LONG = 10.0
"""Times of the seconds that a stopwatch is to measure each program."""
_LEAST_SAMPLES = 2
"""In a visit."""
_QUIET = 1.05
"""How many times as long the chains side by side may take as they mostly do when it is
quiet: on a Golden Cove with a busy neighbour they take 1.1 times as long."""
_QUIETEST = 20
"""The fastest of so many readings of the core is taken to be undisturbed."""
_STEADY = 0.005
"""By how much a cycle may change during a look that says what is quiet."""
_POINTERS = 6
"""Operands and a workspace: a function may be called with more than it takes."""


class Code(Protocol):
    """Machine code that takes pointers to operands, and one to a workspace if any."""

    @property
    def address(self) -> int:
        """Address of the function."""

    @property
    def workspace_bytes(self) -> int:
        """Bytes of workspace that the function needs."""


class Program:
    """A program as machine code, with arguments of its own."""

    def __init__(self, spec: Spec, impl: Impl, target: Target) -> None:
        solution = Solution(impl, Statistics(0, 0, 0.0))
        stages = build_stages(spec, target, solution)
        if len(spec.tensors) + (stages.workspace_bytes > 0) > _POINTERS:
            raise CompileError(
                f"{spec} has more operands than can be timed",
                f"give it at most {_POINTERS - 1}",
            )
        features = target.llvm_features
        self._engine = compile_llvm(stages.llvm, cpu=target.cpu, features=features)
        self.address = self._engine.address(stages.name)
        self.workspace_bytes = stages.workspace_bytes


class Arguments:
    """Memory for the operands of a Spec, written to, each at the start of a page."""

    def __init__(self, spec: Spec) -> None:
        rng = np.random.default_rng(0)
        self._memories: list[npt.NDArray[np.uint8]] = []
        self.pointers: list[int] = []
        self._workspace = 0, 0
        """Address and bytes of the workspace."""
        for index, tensor in enumerate(spec.tensors):
            values = rng.integers(1, 4, spec.physical_shape(index))
            data = np.ascontiguousarray(values.astype(tensor.dtype.numpy))
            self.pointers.append(self._place(data.nbytes, data.tobytes()))

    def with_workspace(self, nbytes: int) -> list[int]:
        """Pointers for a call: operands, then a workspace, then nulls."""
        pointers = list(self.pointers)
        if nbytes > self._workspace[1]:
            self._workspace = self._place(nbytes, b""), nbytes
        if nbytes:
            pointers.append(self._workspace[0])
        return pointers + [0] * (_POINTERS - len(pointers))

    def _place(self, nbytes: int, content: bytes) -> int:
        memory = np.ones(nbytes + _ALIGNMENT, np.uint8)
        address = int(memory.ctypes.data)
        address += -address % _ALIGNMENT
        ctypes.memmove(address, content, len(content))
        self._memories.append(memory)
        return address


@dataclasses.dataclass(frozen=True)
class _Look:
    """Reading of the core's speed now."""

    cycle: float
    """Seconds of a cycle."""
    wide: float
    """Cycles of chains side by side: more where others use the core."""


@dataclasses.dataclass(frozen=True)
class _Visit:
    """The least time of a program's call in a visit, and looks before and after it."""

    seconds: float
    before: _Look
    after: _Look

    def is_good(self, most: float) -> bool:
        """Whether chains side by side were as fast as ``most``."""
        return max(self.before.wide, self.after.wide) <= most


@dataclasses.dataclass(frozen=True)
class Time:
    """How long a call of a program takes, at least."""

    seconds: float
    cycles: float
    """By the clock of all programs that were timed in turns with it."""
    is_good: bool
    """Whether nothing disturbed it, as far as can be seen."""


class Stopwatch:
    """Measures calls on one core.

    Args:
        seconds: how long to measure a program; a few samples are always taken in each
            of its visits.
        sample: seconds of calls in a sample, at least. The longer, the nearer to calls
            without end, and the more likely that something disturbs it.
    """

    def __init__(self, seconds: float = 0.05, sample: float = _LEAST_SAMPLE) -> None:
        self.seconds = seconds
        self.sample = sample
        self._memory: tuple[Spec, Arguments] | None = None
        self._engine: Engine = compile_llvm(clock_code(), cpu=HOST.vector_cpu)
        pointers = [ctypes.c_void_p] * (_POINTERS + 1)
        kind = ctypes.CFUNCTYPE(None, pointers[0], ctypes.c_int64, *pointers[1:])
        self._repeat = kind(self._engine.address("repeat"))
        probe = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)
        self._chain = probe(self._engine.address("chain"))
        self._wide = probe(self._engine.address("wide"))
        self._wides: list[float] = []
        """Cycles of chains side by side, of looks with a steady clock, ascending."""

    def cycle(self) -> float:
        """Seconds of a cycle of the core, now."""
        return cycle_by(self._chain, 3)

    def _look(self) -> _Look:
        before = self.cycle()
        best = min(_elapsed(lambda: self._wide(CHAIN_TRIPS, 3, 5)) for _ in range(3))
        after = self.cycle()
        look = _Look(after, 2 * best / (before + after))
        if abs(after / before - 1) <= _STEADY or not self._wides:
            bisect.insort(self._wides, look.wide)
        return look

    def time(self, spec: Spec, program: Code) -> Time:
        """The time of a call of one program, as `times` measures it."""
        return self.times(spec, [program])[0]

    def times(self, spec: Spec, programs: Sequence[Code]) -> list[Time]:
        """A call of each program, its data warm, timed in turns.

        It is the least of the visits that nothing disturbed; where there are none, the
        least of all. Programs of one Spec work on the same memory: which pages it has
        makes some of the time, the same for all of them (`place_anew`).
        """
        if not programs:
            return []
        if self._memory is None or self._memory[0] != spec:
            self._memory = spec, Arguments(spec)
        calls = [1] * len(programs)
        visits: list[list[_Visit]] = [[] for _ in programs]
        end = time.perf_counter() + _LONG * self.seconds * len(programs)
        for number in range(_VISITS):
            if number >= _LEAST_VISITS and time.perf_counter() > end:
                break
            for index, program in enumerate(programs):
                visit, calls[index] = self._visit(program, calls[index])
                visits[index].append(visit)
        looks = [v.after.cycle for visit_list in visits for v in visit_list]
        cycle = statistics.median(looks)
        most = _QUIET * self._wides[len(self._wides) // _QUIETEST]
        return [_time_of(visit_list, cycle, most) for visit_list in visits]

    def _visit(self, program: Code, calls: int) -> tuple[_Visit, int]:
        """One visit, and the calls of its samples, which the next begins with."""
        assert self._memory
        pointers = self._memory[1].with_workspace(program.workspace_bytes)

        def run(calls: int) -> float:
            return _elapsed(lambda: self._repeat(program.address, calls, *pointers))

        before = self._look()
        run(1)  # faults pages in, fills caches, wakes the vector unit
        while (elapsed := run(calls)) < self.sample:
            calls = max(2 * calls, int(1.1 * calls * self.sample / elapsed))
        samples = [elapsed / calls]
        end = time.perf_counter() + self.seconds / _VISITS
        while len(samples) < _LEAST_SAMPLES or time.perf_counter() < end:
            samples.append(run(calls) / calls)
        return _Visit(min(samples), before, self._look()), calls

    def place_anew(self) -> None:
        """Let the next program work on other pages."""
        self._memory = None


def _time_of(visits: Sequence[_Visit], cycle: float, most: float) -> Time:
    good = [visit for visit in visits if visit.is_good(most)]
    seconds = min(visit.seconds for visit in good or visits)
    return Time(seconds, seconds / cycle, bool(good))


def _elapsed(work: Callable[[], object]) -> float:
    """Seconds of this thread: where others have the core meanwhile does not count."""
    start = time.thread_time()
    work()
    return time.thread_time() - start
