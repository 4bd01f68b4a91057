"""The roofs of the machine: ``python -m benchmarks.harness.roofs THREADS [native]``.

A process like a contender's, which answers two requests, each with 10^9 a second: of
the best call, and of all calls together, as a contender's sample is a mean:

- ``arithmetic``: operations of a loop in registers, on all threads together;
- ``read``: bytes of so many bytes of memory read again and again, each thread with a
  part of its own.

Loops are compiled by Morello's own compiler of LLVM IR, for AVX2; with ``native``
arithmetic is that of AVX-512, where the CPU has it.
"""

import ctypes
import dataclasses
import functools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import llvmlite.binding as lb
import numpy as np

from benchmarks.harness.case import Array, aligned
from benchmarks.harness.process import cores
from benchmarks.harness.roof_loops import (
    READINGS,
    WIDE_CPU,
    Reading,
    arithmetic_text,
    operations,
    wide_cpu,
)
from benchmarks.harness.worker import answers_pipe, serve, settling_calls
from morello.machine.host import missing_features
from morello.runtime.engine import Engine, compile_llvm

_CPU = "haswell"
_TRIPS = 200_000
"""Trips of an arithmetic loop in one call: near a millisecond."""
_LEAST_READ = 1 << 26
"""Bytes read in one call; calling takes a microsecond."""


@dataclasses.dataclass(frozen=True, order=True)
class Rate:
    """10^9 a second."""

    best: float
    """The rate of the best call."""
    mean: float
    """The rate of all calls, one after another."""

    @property
    def answer(self) -> dict[str, float]:
        """Rates that are sent to the harness."""
        return {"rate": self.best, "mean": self.mean}


class Roofs:
    """The worker: answers requests, keeps loops and memory."""

    def __init__(self, threads: int, native: bool = False) -> None:
        self._threads = threads
        self._wide = native and not missing_features(*WIDE_CPU)
        self._cores = cores(threads)
        self._memory: list[Array] = []
        self._rates: dict[int, dict[Reading, float]] = {}

    def do(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        seconds = float(request["seconds"])
        match request["do"]:
            case "arithmetic":
                return self.arithmetic(request["name"], seconds).answer
            case "read":
                return self.read(int(request["bytes"]), seconds).answer
            case other:
                raise ValueError(f"no request is called {other!r}")

    def arithmetic(self, name: str, seconds: float) -> "Rate":
        """10^9 operations a second of all threads together."""
        if self._wide and missing_features(*wide_cpu(name)):
            name = "fma f32"
        loop = _arithmetic(name, self._wide)
        element = np.float32 if name.endswith("f32") else np.int32
        values, out = np.ones(32, element), np.zeros(16 * self._threads, np.int32)
        start, to = int(values.ctypes.data), int(out.ctypes.data)

        def call(thread: int) -> None:
            loop(_TRIPS, start, to + 64 * thread)

        return self._rate(call, operations(name, self._wide) * _TRIPS, seconds)

    def read(self, nbytes: int, seconds: float) -> "Rate":
        """10^9 bytes a second of all threads together.

        Ways of reading take turns, one a request; the best one so far is tried in each.
        """
        part = nbytes // self._threads
        self._allocate(part)
        rates = self._rates.setdefault(nbytes, dict.fromkeys(READINGS, 0.0))
        best = max(rates, key=lambda way: rates[way])
        turn = next(iter(rates))
        measured = {way: self._read(way, part, seconds) for way in {best, turn}}
        rates[best] = max(rates[best], measured[best].best)
        rates[turn] = max(rates.pop(turn), measured[turn].best)  # and is the last now
        return max(measured.values())

    def _read(self, way: Reading, nbytes: int, seconds: float) -> "Rate":
        nbytes = max(way.chunk, nbytes // way.chunk * way.chunk)
        loop, out = reading(way), np.zeros(8 * self._threads, np.int64)
        places, to = [int(m.ctypes.data) for m in self._memory], int(out.ctypes.data)
        trips = max(1, _LEAST_READ // nbytes)

        def call(thread: int) -> None:
            loop(trips, places[thread], to + 64 * thread, nbytes)

        settling = settling_calls(_elapsed(call), nbytes)
        return self._rate(call, trips * nbytes, seconds, settling)

    def _allocate(self, nbytes: int) -> None:
        """Memory for every thread, written so that it is there."""
        if not self._memory or self._memory[0].nbytes < nbytes + 8192:
            self._memory.clear()
            sizes = [nbytes + 8192] * self._threads
            self._memory.extend(aligned((size,), "u8", 1) for size in sizes)

    def _rate(
        self, call: Callable[[int], None], work: int, seconds: float, settling: int = 1
    ) -> "Rate":
        """Work a second / 10^9 of all threads, after so many calls to settle.

        Of one thread the best call: a limit is looked for, and everything else on the
        machine only takes away. Of several from the first start to the last end, since
        they share what they read.
        """
        for _ in range(settling):
            call(0)
        once = max(_elapsed(call), 1e-7)
        calls = max(1, round(seconds / once))
        if self._threads > 1:
            rate = self._together(call, calls, settling) * work * calls / 1e9
            return Rate(rate, rate)
        times = [_elapsed(call) for _ in range(calls)]
        return Rate(work / min(times) / 1e9, work * calls / sum(times) / 1e9)

    def _together(
        self, call: Callable[[int], None], calls: int, settling: int
    ) -> float:
        """Threads / seconds, of as many threads as there are, started together."""
        barrier = threading.Barrier(self._threads)
        times = [(0.0, 0.0)] * self._threads

        def run(thread: int) -> None:
            os.sched_setaffinity(0, {self._cores[thread % len(self._cores)]})
            for _ in range(settling):
                call(thread)
            barrier.wait()
            start = time.perf_counter()
            for _ in range(calls):
                call(thread)
            times[thread] = (start, time.perf_counter())

        workers = [
            threading.Thread(target=run, args=(i,)) for i in range(self._threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return self._threads / (max(e for _, e in times) - min(s for s, _ in times))


def _elapsed(call: Callable[[int], None]) -> float:
    start = time.perf_counter()
    call(0)
    return time.perf_counter() - start


@functools.cache
def _arithmetic(name: str, wide: bool) -> Callable[..., None]:
    lb.initialize_native_asmparser()  # the loops name their instructions
    cpu, features = wide_cpu(name) if wide else (_CPU, "")
    text = arithmetic_text(name, wide)
    return _function(compile_llvm(text, cpu=cpu, features=features), 0)


@functools.cache
def reading(way: Reading) -> Callable[..., None]:
    """The loop of a way of reading: trips, from where, to where, and bytes."""
    return _function(compile_llvm(way.text(), cpu=_CPU), 1)


_engines: list[Engine] = []
"""Engines own the code, and live as long as the process."""


def _function(engine: Engine, integers: int) -> Callable[..., None]:
    _engines.append(engine)
    pointers = [ctypes.c_void_p] * 2
    sizes = [ctypes.c_int64] * integers
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *pointers, *sizes)
    function: Callable[..., None] = kind(engine.address("loop"))
    return function


def main(argv: list[str]) -> int:
    """Serve on standard input and output."""
    serve(Roofs(int(argv[0]), "native" in argv[1:]), sys.stdin, answers_pipe())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
