"""Searches in processes of their own: `solve_all`.

Each process has one Spec at a time and stores its tables in the database; what it had
stored stays when it is ended. One that dies fails its Spec.
"""

import contextlib
import dataclasses
import time
from collections import deque
from collections.abc import Generator, Sequence

from morello.cluster.job import Job as ClusterJob
from morello.cluster.job import Solved, search, search_family, tuned
from morello.errors import MorelloError
from morello.machine import find_target
from morello.processes.pool import work_off
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
        """The job's searches, one Spec at a time."""
        alone = dataclasses.replace(self, others=())
        others = (dataclasses.replace(alone, spec=spec) for spec in self.others)
        return (alone, *others)


def solve_all(
    jobs: Sequence[Job], processes: int, seconds: float | None = None
) -> Generator[Solved, None, None]:
    """The results of ``jobs``, as they come, by at most so many processes at a time.

    Closing the iterator ends the processes.

    Args:
        seconds: after which no more come; None for all.
    """
    waiting = deque(jobs)

    def take(place: int) -> Job | None:
        return waiting.popleft() if waiting else None

    with contextlib.closing(work_off(take, solve_each, processes, seconds)) as results:
        for ended in results:
            for job in ended.job.each if ended.death else ():
                yield Solved(job.spec, ended.seconds, error=ended.death)
            yield from ended.result or ()


def solve_each(job: Job) -> list[Solved]:
    """Do a job of one Spec or more in this process."""
    if job.others:
        # Where that is refused, each Spec says why by itself.
        with contextlib.suppress(MorelloError):
            return _solve_together(job)
    return list(map(solve, job.each))


def _solve_together(job: Job) -> list[Solved]:
    """The results of Specs that differ in their sizes alone.

    Raises:
        MorelloError: they have to be searched one at a time.
    """
    database = open_database(job.db)
    specs = tuple(one.spec for one in job.each)
    solutions = search_family(specs, job.target, database)
    return [
        Solved(spec, count.seconds, None, count.tables, count.specs, impl.cost)
        for spec, (impl, count) in zip(specs, solutions, strict=True)
    ]


def solve(job: Job) -> Solved:
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
    except MorelloError as refusal:
        return Solved(job.spec, time.perf_counter() - start, error=str(refusal))
    except MemoryError:
        return Solved(job.spec, time.perf_counter() - start, error="out of memory")
    is_lost = database is None or database.top is None
    error = "solved, but the database cannot be written" if is_lost else ""
    seconds = time.perf_counter() - start
    return Solved(job.spec, seconds, error=error, measured=rows).of(solution)
