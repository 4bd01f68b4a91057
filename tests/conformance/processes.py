"""Processes of tests: one for each, forked from a parent that has imported everything.

A test that crashes or hangs is then a row of the table, and nothing else.
"""

import contextlib
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

from tests.conformance.outcomes import Outcome, Row, outcome_of
from tests.conformance.suite import Suite

_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Limits:
    """Bounds of a run: processes at once, seconds of a test, seconds of all."""

    jobs: int
    test: float
    all: float


@dataclass(frozen=True)
class _Child:
    test: str
    attempt: str  # the one that is blamed for an end without an answer
    process: ForkProcess
    answer: Connection
    start: float

    def seconds(self) -> float:
        return time.monotonic() - self.start

    def stop(self) -> None:
        """End the process and those that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.answer.close()


def rows_of(tests: Sequence[str], suite: Suite, limits: Limits) -> Iterator[list[Row]]:
    """The rows of each test as its process ends. What is not done when the time of all
    is over has none."""
    end = time.monotonic() + limits.all
    waiting, running = deque(tests), list[_Child]()
    try:
        while (waiting or running) and time.monotonic() < end:
            while waiting and len(running) < limits.jobs:
                running.append(_started(waiting.popleft(), suite))
            wait([child.answer for child in running], 0.5)
            for child in list(running):
                if rows := _rows(child, limits.test):
                    running.remove(child)
                    child.stop()
                    yield rows
    finally:
        for child in running:
            child.stop()


def _started(test: str, suite: Suite) -> _Child:
    receiver, sender = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_run, args=(test, suite, sender))
    process.start()
    sender.close()
    return _Child(test, suite.attempts[0], process, receiver, time.monotonic())


def _run(test: str, suite: Suite, answer: Connection) -> None:
    """The body of a child: silent, in a group that can be stopped as one."""
    os.setpgid(0, 0)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        rows = suite.rows(test)
    except BaseException as error:  # noqa: BLE001 (the process ends here)
        rows = [Row(test, {suite.attempts[0]: outcome_of(error)})]
    answer.send(rows)
    os._exit(0)


def _rows(child: _Child, limit: float) -> list[Row]:
    """The answer of a child, or what became of it; none while it may yet answer."""
    if child.answer.poll():
        try:
            rows: list[Row] = child.answer.recv()
        except EOFError:
            child.process.join()
            return [_lost(child, "crashed", _ending(child.process.exitcode))]
        for row in rows:
            row.seconds = row.seconds or child.seconds()
        return rows
    if child.seconds() > limit:
        return [_lost(child, "hung", f"more than {limit:g} s")]
    return []


def _lost(child: _Child, verdict: str, note: str) -> Row:
    outcomes = {child.attempt: Outcome(verdict, note)}
    return Row(child.test, outcomes, seconds=child.seconds())


def _ending(code: int | None) -> str:
    """The name of a signal, or the status of an exit."""
    return signal.Signals(-code).name if code and code < 0 else f"exit {code}"
