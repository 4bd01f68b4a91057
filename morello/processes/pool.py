"""Jobs in processes of their own: `work_off`.

A process is a new interpreter that imports what it calls; it neither runs the user's
``__main__`` nor has copies of threads. It leaves Ctrl-C to the process that started it,
which ends it. One that dies fails its job, and another takes its place.
"""

import contextlib
import dataclasses
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Generator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from morello.errors import MorelloError
from morello.processes.parent_death import end_with_parent

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Ended(Generic[Job, Result]):
    """A job that has ended."""

    job: Job
    seconds: float
    """Wall time since it was handed out."""
    result: Result | None = None
    death: str = ""
    """How the job's process died, if it did: then there is no result."""


@dataclasses.dataclass
class _Worker(Generic[Job]):
    process: subprocess.Popen[bytes]
    pipe: Connection
    place: int
    job: Job
    start: float = 0.0


def work_off(
    take: Callable[[int], Job | None],
    call: Callable[[Job], Result],
    processes: int,
    seconds: float | None = None,
) -> Generator[Ended[Job, Result], None, None]:
    """The results of jobs as they come.

    Closing the iterator ends the processes.

    Args:
        take: gives the next job for the process of a number below ``processes``; None
            if none is left.
        call: does one there; a function of a module. What it raises ends the process.
        processes: the most at a time.
        seconds: after which no more come; None for all.

    Raises:
        MorelloError: this program cannot start another Python.
    """
    end = math.inf if seconds is None else time.monotonic() + seconds
    workers: list[_Worker[Job]] = []
    idle = list(range(processes))
    try:
        while True:
            idle = [place for place in idle if not _begin(workers, place, take, call)]
            if not workers:
                return
            pipes = [worker.pipe for worker in workers]
            left = None if seconds is None else max(0.0, end - time.monotonic())
            ready = wait(pipes, left)
            if not ready and time.monotonic() >= end:
                return
            for worker in [w for w in workers if w.pipe in ready]:
                ended: Ended[Job, Result] = _receive(worker)
                job = None if ended.death else take(worker.place)
                if job is None:
                    workers.remove(worker)
                    _stop(worker)
                    idle.append(worker.place)
                else:
                    _hand(worker, job)
                yield ended
    finally:
        for worker in workers:
            _stop(worker)


def _begin(
    workers: list[_Worker[Job]],
    place: int,
    take: Callable[[int], Job | None],
    call: Callable[[Job], Result],
) -> bool:
    """Start a process for the next job; return whether there was one."""
    job = take(place)
    if job is None:
        return False
    workers.append(start(job, call, place))
    return True


def start(job: Job, call: Callable[[Job], Any], place: int = 0) -> _Worker[Job]:
    """Start a process, and hand it its first job.

    Raises:
        MorelloError: this program cannot start another Python.
    """
    if not sys.executable:
        raise MorelloError(
            "no other process can be started: 'sys.executable' names no Python",
            "use one process",
        )
    ours, theirs = Pipe()
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        "from morello.processes import pool; pool.serve()"
    )
    words = [sys.executable, "-c", code, str(theirs.fileno()), str(os.getpid())]
    # Blocked there for good: Ctrl-C is for this process, which ends the other one.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
        )
    except OSError as error:
        raise MorelloError(
            f"no other process can be started: {error}", "use one process"
        ) from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        theirs.close()  # so that a process that dies is the end of the pipe
    worker = _Worker(process, ours, place, job)
    with contextlib.suppress(BrokenPipeError):  # it has died: `_receive` will see it
        ours.send(call)
    _hand(worker, job)
    return worker


def _hand(worker: _Worker[Job], job: Job) -> None:
    worker.job, worker.start = job, time.perf_counter()
    with contextlib.suppress(BrokenPipeError):  # it has died: `_receive` will see it
        worker.pipe.send(job)


def _receive(worker: _Worker[Job]) -> Ended[Job, Any]:
    """The result of a process, or its death."""
    try:
        result = worker.pipe.recv()
    except (EOFError, ConnectionResetError):
        death = f"its process ended with {_ending(worker.process.wait())}"
        seconds = time.perf_counter() - worker.start
        return Ended(worker.job, seconds, death=death)
    return Ended(worker.job, time.perf_counter() - worker.start, result)


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    hint = " (out of memory? use fewer --jobs)" if name == "SIGKILL" else ""
    return f"{name}{hint}"


def _stop(worker: _Worker[Job]) -> None:
    worker.pipe.close()
    worker.process.terminate()  # a fork of this process may hold its pipe open
    worker.process.wait()


def serve() -> None:
    """The loop of a process: job after job, until the pipe or its parent ends."""
    descriptor, parent = map(int, sys.argv[1:])
    end_with_parent(parent)
    warnings.simplefilter("ignore")  # of the database: said by who started this
    pipe = Connection(descriptor)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        call = pipe.recv()
        while True:
            pipe.send(call(pipe.recv()))
