"""Cycles of a program's calls, without what calling costs: `Stopwatch`.

A generated function calls the program again and again, so that Python is not in the
time. A chain of dependent additions, which every x86 does one a cycle, says how long a
cycle is; it runs between the samples, so that both see the same clock.
"""

import contextlib
import ctypes
import os
import time
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from morello.errors import CompileError
from morello.jit.engine import Engine, compile_llvm
from morello.search import Impl, Solution, Statistics
from morello.spec import Spec
from morello.stages import build_stages
from morello.targets import Target

_ALIGNMENT = 4096
_LEAST_SAMPLE = 1e-4
"""Seconds of a sample, at least; more than a thousand times the clock's step."""
_LEAST_SAMPLES = 4
_CHAIN = 128
_CHAIN_TRIPS = 500
_POINTERS = 4
"""Operands and a workspace: a function may be called with more than it takes."""

_REPEAT = """
define void @repeat(ptr %f, i64 %n, ptr %a, ptr %b, ptr %c, ptr %d) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void %f(ptr %a, ptr %b, ptr %c, ptr %d)
  %next = add i64 %i, 1
  %done = icmp uge i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret void
}
"""


def _chain() -> str:
    """``@chain``: additions and exclusive ors, each of the one before."""
    lines = []
    for i in range(0, _CHAIN, 2):
        before = f"%v{i}" if i else "%v"
        lines += [
            f"  %v{i + 1} = add i64 {before}, %y",
            f"  %v{i + 2} = xor i64 %v{i + 1}, %z",
        ]
    steps = "\n".join(lines)
    return f"""
define i64 @chain(i64 %n, i64 %y, i64 %z) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %v = phi i64 [ %y, %entry ], [ %v{_CHAIN}, %loop ]
{steps}
  %next = add i64 %i, 1
  %done = icmp uge i64 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret i64 %v{_CHAIN}
}}
"""


class Program:
    """A program as machine code, with arguments of its own."""

    def __init__(self, spec: Spec, impl: Impl, target: Target) -> None:
        solution = Solution(impl, Statistics(0, 0, 0.0))
        stages = build_stages(spec, target, solution)
        if len(spec.tensors) + (stages.workspace_bytes > 0) > _POINTERS:
            raise CompileError(
                f"{spec} has more operands than can be timed", "give it at most 3"
            )
        features = ",".join(f"+{feature}" for feature in target.features)
        self._engine = compile_llvm(stages.llvm, cpu=target.cpu, features=features)
        self.address = self._engine.address(stages.name)
        self.workspace_bytes = stages.workspace_bytes


class Arguments:
    """Memory for the operands of a Spec, written to, each at the start of a page."""

    def __init__(self, spec: Spec) -> None:
        rng = np.random.default_rng(0)
        self._kept: list[npt.NDArray[np.uint8]] = []
        self.pointers: list[int] = []
        self._workspace = 0, 0
        """Where it is, and its bytes."""
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
        self._kept.append(memory)
        return address


class Stopwatch:
    """Measures calls on one core.

    Args:
        seconds: how long to measure a program; a few samples are always taken.
    """

    def __init__(self, seconds: float = 0.05) -> None:
        self.seconds = seconds
        self._memory: tuple[Spec, Arguments] | None = None
        self._engine: Engine = compile_llvm(_REPEAT + _chain(), cpu="x86-64-v3")
        pointers = [ctypes.c_void_p] * (_POINTERS + 1)
        kind = ctypes.CFUNCTYPE(None, pointers[0], ctypes.c_int64, *pointers[1:])
        self._repeat = kind(self._engine.address("repeat"))
        integers = [ctypes.c_int64] * 3
        self._chain = ctypes.CFUNCTYPE(ctypes.c_int64, *integers)(
            self._engine.address("chain")
        )

    def cycle(self) -> float:
        """Seconds of a cycle of the core, now."""
        best = min(_elapsed(lambda: self._chain(_CHAIN_TRIPS, 3, 5)) for _ in range(3))
        return best / (_CHAIN * _CHAIN_TRIPS)

    def seconds_of(self, spec: Spec, program: Program) -> tuple[float, float]:
        """The least seconds of a call, its data warm, and of a cycle meanwhile.

        Programs of one Spec that follow each other work on the same memory: which pages
        it has makes some of the time, the same for all of them.
        """
        if self._memory is None or self._memory[0] != spec:
            self._memory = spec, Arguments(spec)
        pointers = self._memory[1].with_workspace(program.workspace_bytes)

        def run(calls: int) -> float:
            return _elapsed(lambda: self._repeat(program.address, calls, *pointers))

        run(1)  # faults pages in, fills caches, wakes the vector unit
        calls = 1
        while (elapsed := run(calls)) < _LEAST_SAMPLE:
            calls = max(2 * calls, int(1.1 * calls * _LEAST_SAMPLE / elapsed))
        samples, cycles = [elapsed / calls], [self.cycle()]
        end = time.perf_counter() + self.seconds
        while len(samples) < _LEAST_SAMPLES or time.perf_counter() < end:
            samples.append(run(calls) / calls)
            cycles.append(self.cycle())
        return min(samples), min(cycles)

    def cycles_of(self, spec: Spec, impl: Impl, target: Target) -> float:
        """Cycles of a call of a program.

        Raises:
            MorelloError: it cannot be compiled.
        """
        seconds, cycle = self.seconds_of(spec, Program(spec, impl, target))
        return seconds / cycle


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Keep the calling thread on the last core that it may use; others may fail to."""
    cores = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cores)


def _elapsed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
