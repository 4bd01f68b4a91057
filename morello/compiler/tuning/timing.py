"""Timing calls: warm, in samples long enough for the clock, on one core if wanted."""

import contextlib
import dataclasses
import gc
import math
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

SAMPLE_SECONDS = 1e-3
"""A sample repeats a call until it takes at least this long."""

LEAST_SAMPLES = 3


@dataclasses.dataclass(frozen=True)
class Samples:
    """Seconds a call, one for each sample."""

    seconds: tuple[float, ...]
    calls: int
    """Calls in each sample."""

    @property
    def best(self) -> float:
        """The least: everything else on a machine only takes time away."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The median: the time of a typical call."""
        return statistics.median(self.seconds)


def sample(
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
    between: Callable[[], None],
    seconds: float,
) -> Samples:
    """Time ``call(*arguments)`` again and again.

    Args:
        between: is called after each sample, outside of the time taken.
        seconds: when to stop, samples and ``between`` counted; at least
            `LEAST_SAMPLES` are taken however long they are.
    """
    end = time.perf_counter() + seconds
    timed(call, arguments, 1)  # faults pages in, fills caches, wakes the vector unit
    calls = calls_of(call, arguments)
    samples: list[float] = []
    with no_collection():
        while len(samples) < LEAST_SAMPLES or time.perf_counter() < end:
            samples.append(timed(call, arguments, calls) / calls)
            between()
    return Samples(tuple(samples), calls)


def calls_of(call: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    """How many calls make a sample that is long enough, with a margin.

    Each number is timed until it is too short, `LEAST_SAMPLES` times at most: an
    interruption makes one of them long, not all.
    """

    def least(calls: int) -> float:
        elapsed = math.inf
        for _ in range(LEAST_SAMPLES):
            elapsed = min(elapsed, timed(call, arguments, calls))
            if elapsed < SAMPLE_SECONDS:
                break
        return elapsed

    calls = 1
    while (elapsed := least(calls)) < SAMPLE_SECONDS:
        calls = max(2 * calls, int(1.1 * calls * SAMPLE_SECONDS / max(elapsed, 1e-6)))
    return calls


def timed(call: Callable[..., Any], arguments: tuple[Any, ...], calls: int) -> float:
    """Seconds of so many calls."""
    start = time.perf_counter()
    for _ in repeat(None, calls):
        call(*arguments)
    return time.perf_counter() - start


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python's garbage collector from running within a sample."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def pinned(wanted: bool) -> Iterator[None]:
    """Context in which the calling thread stays on one core, if ``wanted``.

    The last one: systems tend to serve interrupts on the first. Where the system does
    not allow it, the thread stays where it is put.
    """
    cores = os.sched_getaffinity(0)
    if wanted:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        if wanted:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, cores)


_lock = threading.Lock()


def _renew() -> None:
    """A new lock in a forked child, where the thread that held the old one is
    missing."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """While it lasts, no other thread of this process times anything: they would share
    the core of `pinned`. Whoever comes later waits."""
    with _lock:
        yield


_PRIORITY = 50
"""Priority of a process that runs before all else: the middle of those that Linux has.
"""


@contextlib.contextmanager
def before_all_else(wanted: bool) -> Iterator[None]:
    """While it lasts, nothing else has the core of the calling thread, if ``wanted``
    and if the system allows it."""
    if not wanted:
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):  # only some users may
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, policy, parameters)
