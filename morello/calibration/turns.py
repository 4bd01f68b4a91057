"""Programs compiled first, then timed in turns: `cycles_of_all`, `in_rounds`.

Compiling disturbs what is timed, on another core of the machine, too. Where several
measurements share a machine, each holds a lock for the seconds in which it times, and
shares it with the others while it searches and compiles.
"""

import contextlib
import fcntl
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from morello.calibration.timing import Code, Program, Stopwatch, Time
from morello.compiler.tuning.timing import before_all_else, pinned
from morello.errors import FileError
from morello.machine import Target
from morello.search import Impl
from morello.spec import Spec

_TOGETHER = 40
"""Programs that are machine code at the same time."""

_PASSES = 3
"""Placements of pages that every program is timed on."""

_MORE = 3
"""How many times as many rounds are made at most, for times that nothing disturbed."""

_MORE_SECONDS = 20.0
"""How long they are made: what is longer than the moments in which nothing else runs is
disturbed in any of them."""


def cycles_of_all(
    spec: Spec,
    impls: Sequence[Impl],
    target: Target,
    watch: Stopwatch,
    lock: Path | None = None,
) -> list[float]:
    """The cycles of a call of each program: the mean over placements of pages.

    Args:
        lock: a file that is locked while programs are timed; None for no lock.

    Raises:
        MorelloError: a program cannot be compiled.
        FileError: the lock cannot be taken.
    """
    cycles: list[float] = []
    for start in range(0, len(impls), _TOGETHER):
        part = impls[start:][:_TOGETHER]
        rounds = in_rounds(spec, part, target, watch, _PASSES, lock)
        for times in zip(*rounds, strict=True):
            good = [one.cycles for one in times if one.is_good]
            cycles.append(statistics.geometric_mean(good or [t.cycles for t in times]))
    return cycles


def in_rounds(
    spec: Spec,
    impls: Sequence[Impl],
    target: Target,
    watch: Stopwatch,
    rounds: int,
    lock: Path | None = None,
) -> list[list[Time]]:
    """Times of a call of each program, in turns.

    Args:
        impls: a few dozen at most: all are machine code at the same time.
        rounds: how many times of each are wanted that nothing disturbed. If there are
            fewer after so many rounds, more are made: up to three times as many, and
            for 20 seconds.

    Returns:
        rounds x programs.

    Raises:
        MorelloError: a program cannot be compiled.
        FileError: the lock cannot be taken.
    """
    with shared(lock):
        programs = [Program(spec, impl, target) for impl in impls]
    results = [one_round(spec, programs, watch, lock) for _ in range(rounds)]
    end = time.perf_counter() + _MORE_SECONDS
    while (
        impls
        and len(results) < _MORE * rounds
        and _fewest_good(results) < rounds
        and time.perf_counter() < end
    ):
        results.append(one_round(spec, programs, watch, lock))
    return results


def _fewest_good(rounds: Sequence[Sequence[Time]]) -> int:
    programs = zip(*rounds, strict=True)
    return min((sum(one.is_good for one in times) for times in programs), default=0)


def one_round(
    spec: Spec, programs: Sequence[Code], watch: Stopwatch, lock: Path | None
) -> list[Time]:
    """Times of a call of each program on the operands of a Spec, on pages of their own.

    Which pages operands have decides which lines meet in a set of L2.

    Raises:
        FileError: the lock cannot be taken.
    """
    watch.place_anew()
    with pinned(True), turn(lock):
        return watch.times(spec, programs)


def shared(lock: Path | None) -> contextlib.AbstractContextManager[None]:
    """While it lasts, no other process measures under the lock, if there is one.

    Raises:
        FileError: the lock cannot be taken.
    """
    return _held(lock, fcntl.LOCK_SH)


@contextlib.contextmanager
def turn(lock: Path | None) -> Iterator[None]:
    """While it lasts, this process alone measures: it holds the lock, if there is one.

    Raises:
        FileError: the lock cannot be taken.
    """
    with _held(lock, fcntl.LOCK_EX), before_all_else(lock is not None):
        yield


@contextlib.contextmanager
def _held(lock: Path | None, how: int) -> Iterator[None]:
    if lock is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        try:
            fcntl.flock(stack.enter_context(lock.open("a")), how)
        except OSError as error:
            raise FileError(
                f"the lock '{lock}' cannot be taken: {error.strerror}",
                "give a file that can be written, in a folder that is there",
            ) from error
        yield
