"""Programs compiled first, then timed in turns: `cycles_of_all`.

Compiling disturbs what is timed. Where several measurements share a machine, each holds
a lock for the seconds in which it times, and lets the next one go on.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from morello.calibration.timing import Program, Stopwatch, one_core
from morello.search import Impl
from morello.spec import Spec
from morello.targets import Target

_TOGETHER = 40
"""Programs that are machine code at the same time."""

_TURN = 15.0
"""Seconds after which another measurement may go on."""

_PASSES = 2
"""How often every program is timed: what disturbs one pass may spare the other."""

_PRIORITY = 50
"""Of a turn under a lock: before all that is no measurement, where that is allowed."""


def cycles_of_all(
    spec: Spec,
    impls: Sequence[Impl],
    target: Target,
    watch: Stopwatch,
    lock: Path | None = None,
) -> list[tuple[float, float]]:
    """The cycles and the seconds of a call of each program, the least of two passes.

    Args:
        lock: a file that is locked while programs are timed; None for no lock.

    Raises:
        MorelloError: a program cannot be compiled.
        OSError: the lock cannot be taken.
    """
    found: list[tuple[float, float]] = []
    for start in range(0, len(impls), _TOGETHER):
        part = impls[start:][:_TOGETHER]
        passes = in_rounds(spec, part, target, watch, _PASSES, lock)
        found += map(min, zip(*passes, strict=True))
    return found


def in_rounds(
    spec: Spec,
    impls: Sequence[Impl],
    target: Target,
    watch: Stopwatch,
    rounds: int,
    lock: Path | None = None,
) -> list[list[tuple[float, float]]]:
    """The cycles and the seconds of a call of each program, in each of some rounds.

    Args:
        impls: a few dozen at most: all are machine code at the same time.

    Raises:
        MorelloError: a program cannot be compiled.
        OSError: the lock cannot be taken.
    """
    programs = [Program(spec, impl, target) for impl in impls]
    return [_timed(spec, programs, watch, lock) for _ in range(rounds)]


def _timed(
    spec: Spec, programs: Sequence[Program], watch: Stopwatch, lock: Path | None
) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    while len(found) < len(programs):
        with one_core(), turn(lock):
            end = time.perf_counter() + _TURN
            while len(found) < len(programs) and time.perf_counter() < end:
                seconds, cycle = watch.seconds_of(spec, programs[len(found)])
                found.append((seconds / cycle, seconds))
    return found


@contextlib.contextmanager
def turn(lock: Path | None) -> Iterator[None]:
    """While it lasts, this process alone measures: it holds the lock, if there is one.

    Raises:
        OSError: the lock cannot be taken.
    """
    if lock is None:
        yield
        return
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
        with contextlib.suppress(OSError):  # only some users may
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.sched_setscheduler(0, policy, parameters)
