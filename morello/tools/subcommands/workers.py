"""Searches in processes of their own: `solve_all`.

Each process has one Spec at a time and stores its tables in the database. They
leave Ctrl-C to the process that started them, which ends them; what they had stored
stays. One that dies fails its Spec, and another takes its place.
"""

import contextlib
import dataclasses
import math
import multiprocessing
import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Generator, Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from morello.cluster.job import Job as ClusterJob
from morello.cluster.job import search, search_family, tuned
from morello.errors import MorelloError
from morello.machine import find_target
from morello.processes.parent_death import end_with_parent
from morello.search.storage.measured_rows import MeasuredRow
from morello.search.storage.overlay import open_database


@dataclasses.dataclass(frozen=True)
class Job:
    """A search to be made."""

    spec: str
    """Text of the Spec, which may leave layouts open."""
    target: str
    threads: int
    db: str
    """The databases, as ``--db`` gives them."""
    tune: float = 0.0
    """Seconds for which programs are timed after the search; 0 for none."""
    programs: bool = False
    """Whether programs alone are stored, and no tables."""
    others: tuple[str, ...] = ()
    """Specs with other sizes that are searched together with it, for programs alone."""

    @property
    def each(self) -> tuple["Job", ...]:
        """The searches of its Specs one at a time."""
        alone = dataclasses.replace(self, others=())
        others = (dataclasses.replace(alone, spec=spec) for spec in self.others)
        return (alone, *others)


@dataclasses.dataclass(frozen=True)
class Done:
    """A search that has ended."""

    job: Job
    seconds: float
    tables: int = 0
    solved: int = 0
    """Specs that were solved; 0 if everything was in the database."""
    cost: int = 0
    """Millicycles of the best program."""
    error: str = ""
    """Message of an error; empty if there was none."""
    measured: tuple[MeasuredRow, ...] = ()
    """The programs that were timed."""


@dataclasses.dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    job: Job
    start: float


def solve_all(
    jobs: Sequence[Job], processes: int, seconds: float | None = None
) -> Generator[Done, None, None]:
    """The results of ``jobs``, as they come, by at most so many processes at a time.

    Closing the iterator ends the processes.

    Args:
        seconds: after which no more come; None for all.
    """
    waiting = deque(jobs)
    end = math.inf if seconds is None else time.monotonic() + seconds
    workers: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and len(workers) < processes:
                workers.append(_start(waiting.popleft()))
            pipes = [worker.pipe for worker in workers]
            left = None if seconds is None else max(0.0, end - time.monotonic())
            ready = wait(pipes, left)
            if not ready and time.monotonic() >= end:
                return
            for worker in [w for w in workers if w.pipe in ready]:
                results = _receive(worker)
                if waiting and not _has_died(results[0], worker):
                    _hand(worker, waiting.popleft())
                else:
                    workers.remove(worker)
                    _stop(worker)
                yield from results
    finally:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            _stop(worker)


def _start(job: Job) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, os.getpid()), daemon=True)
    resource_tracker.ensure_running()  # else the first start does it, which unblocks
    # Blocked there for good: Ctrl-C is for this process, which ends the other one.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    theirs.close()  # so that a process that dies is the end of the pipe
    worker = _Worker(process, ours, job, 0.0)
    _hand(worker, job)
    return worker


def _hand(worker: _Worker, job: Job) -> None:
    worker.job, worker.start = job, time.perf_counter()
    with contextlib.suppress(BrokenPipeError):  # it has died: `_receive` will see it
        worker.pipe.send(job)


def _receive(worker: _Worker) -> list[Done]:
    """The results of a process; errors if it has died."""
    try:
        message = worker.pipe.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        error = f"its process ended with {_ending(worker.process.exitcode)}"
        seconds = time.perf_counter() - worker.start
        return [Done(job, seconds, error=error) for job in worker.job.each]
    if not isinstance(message, list):
        raise TypeError(f"a process sends {message!r}")
    return message


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = " (out of memory? use fewer --jobs)" if name == "SIGKILL" else ""
        return f"{name}{hint}"
    return f"exit code {code}"


def _has_died(done: Done, worker: _Worker) -> bool:
    return bool(done.error) and worker.process.exitcode is not None


def _stop(worker: _Worker) -> None:
    worker.pipe.close()  # the end of the pipe ends a process that waits
    worker.process.join()


def _work(pipe: Connection, parent: int) -> None:
    """The loop of a process: job after job, until the pipe or its parent ends."""
    end_with_parent(parent)
    warnings.simplefilter("ignore")  # of the database: said by who started this
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        results = solve_each(job)
        try:
            pipe.send(results)
        except BrokenPipeError:
            return


def solve_each(job: Job) -> list[Done]:
    """Do a job of one Spec or more in this process."""
    if job.others:
        # Where that is refused, each Spec says why by itself.
        with contextlib.suppress(MorelloError):
            return _solve_together(job)
    return list(map(solve, job.each))


def _solve_together(job: Job) -> list[Done]:
    """The results of Specs that differ in their sizes alone.

    Raises:
        MorelloError: they have to be searched one at a time.
    """
    database = open_database(job.db)
    specs = tuple(one.spec for one in job.each)
    found = search_family(specs, job.target, database)
    return [
        Done(one, count.seconds, count.tables, count.specs, impl.cost)
        for one, (impl, count) in zip(job.each, found, strict=True)
    ]


def solve(job: Job) -> Done:
    """Do a job of one Spec in this process."""
    start = time.perf_counter()
    try:
        database = open_database(job.db)
        if database is not None and job.programs:
            database = database.of_programs()
        solution = search(job.spec, job.target, job.threads, database)
        rows: tuple[MeasuredRow, ...] = ()
        if job.tune:
            wanted = ClusterJob.of(
                job.spec, find_target(job.target), job.threads, job.tune
            )
            rows = tuned(wanted, database).rows
    except MorelloError as error:
        return Done(job, time.perf_counter() - start, error=str(error))
    except MemoryError:
        return Done(job, time.perf_counter() - start, error="out of memory")
    is_lost = database is None or database.top is None
    return Done(
        job,
        time.perf_counter() - start,
        solution.statistics.tables,
        solution.statistics.specs,
        solution.impl.cost,
        "solved, but the database cannot be written" if is_lost else "",
        rows,
    )
