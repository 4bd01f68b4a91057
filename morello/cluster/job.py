"""A search as a value, and doing it: `Job`, `perform`, `Answer`. Tuning may follow.

A job holds all that it depends on, and its answer all that was found, so both can go to
another machine and back. `search` is what it does there; processes of one machine,
which share a file, call that alone.
"""

import dataclasses
import os
import platform
import tempfile
import time
from pathlib import Path

from morello.cluster.fingerprint import source_fingerprint
from morello.compiler.tuning import Plan, measure
from morello.errors import MorelloError
from morello.machine import Target, find_target, print_target
from morello.runtime.openmp import load_openmp
from morello.search import Impl, Solution, Solver, Statistics, best_settled
from morello.search.queries.best_program import parallel_goal
from morello.search.queries.measured import Measured
from morello.search.ranges.cover import CoverOptions, covered
from morello.search.ranges.together import solve_together
from morello.search.storage.cache_key import family
from morello.search.storage.database import Database
from morello.search.storage.measured_rows import MeasuredRow
from morello.search.storage.overlay import Overlay
from morello.search.storage.shelf import SHELF
from morello.search.storage.transfer import bytes_file
from morello.spec import OpenSpec, parse_open_spec


@dataclasses.dataclass(frozen=True)
class Job:
    """A search to be made, on any machine."""

    spec: str
    """Text of the Spec, which may leave layouts open."""
    target: str
    """Text of the target with every number: it names no file, and not ``native``,
    which another machine would read otherwise."""
    threads: int
    family: str
    """Family of a row's key, which the target and the version of the search
    determine."""
    source: str
    """The `source_fingerprint` of whoever made the job."""
    tune: float = 0.0
    """Seconds for which programs are timed after the search; 0 for none."""
    again: bool = False
    """Whether a Spec is tuned that was tuned on this processor before."""

    @classmethod
    def of(
        cls,
        spec: str,
        target: Target,
        threads: int,
        tune: float = 0.0,
        again: bool = False,
    ) -> "Job":
        """A job for workers that have the same Morello as this process.

        Raises:
            TargetError: the target cannot be written as text.
        """
        text = print_target(target, whole=True)
        source = source_fingerprint()
        return cls(spec, text, threads, family(target), source, tune, again)


@dataclasses.dataclass(frozen=True)
class Solved:
    """A search that has ended."""

    spec: str
    """Text of the Spec in the shortest form."""
    seconds: float = 0.0
    cpu_seconds: float | None = None
    """Seconds of CPU time of the process that searched; None if unknown."""
    tables: int = 0
    specs: int = 0
    """How many Specs were solved for it; 0 if everything was in the database."""
    cost: int = 0
    """Millicycles of the best program."""
    worker: str = ""
    """The machine and process that searched."""
    error: str = ""
    """Message of an error; empty if there was none."""
    measured: tuple[MeasuredRow, ...] = ()
    """The programs that were timed: the model's choice first."""

    def of(self, solution: Solution) -> "Solved":
        """The search with what it has found."""
        count, cost = solution.statistics, solution.impl.cost
        return dataclasses.replace(
            self, tables=count.tables, specs=count.specs, cost=cost
        )


@dataclasses.dataclass(frozen=True)
class Answer:
    """A job with its result, as a worker returns them."""

    job: Job
    solved: Solved
    refusal: str = ""
    """Why the worker may not do jobs of this client; empty if it may."""
    database: bytes = dataclasses.field(default=b"", repr=False)
    """A database file with all that was solved."""


def perform(job: Job, layer: bytes = b"") -> Answer:
    """Do a job in this process, with files of its own that are gone at the end.

    Args:
        job: the search.
        layer: a database file with what is known already: tables, programs, pins, and
            what was measured.
    """
    worker = f"{platform.node()}, process {os.getpid()}"
    solved = Solved(job.spec, worker=worker)
    refusal = refusal_of(job)
    if refusal:
        return Answer(job, solved, f"{worker}, {refusal}")
    start, cpu = time.perf_counter(), time.process_time()
    solution: Solution | None = None
    rows: tuple[MeasuredRow, ...] = ()
    error, data = "", b""
    with tempfile.TemporaryDirectory(prefix="morello-") as name:
        try:
            folder = Path(name)
            top = Database(folder / "new.sqlite")
            path = folder / "layer.sqlite"
            below = (
                [Database(bytes_file(layer, path), is_writable=False)] if layer else []
            )
            overlay = Overlay(top, tuple(below))
            try:
                solution = search(job.spec, job.target, job.threads, overlay)
                data = top.to_bytes()
                if job.tune:
                    rows = tuned(job, overlay).rows
                if overlay.top is None:
                    error = "solved, but its disk took no database"
            finally:
                overlay.close()
        except MorelloError as caught:
            error = str(caught)
        except MemoryError:
            error = "out of memory"
    solved = dataclasses.replace(
        solved,
        seconds=time.perf_counter() - start,
        cpu_seconds=time.process_time() - cpu,
        error=error,
        measured=rows,
    )
    if solution is None:
        return Answer(job, solved)
    return Answer(job, solved.of(solution), database=data)


def refusal_of(job: Job) -> str:
    """Why this process may not do a job; empty if it may."""
    mine = source_fingerprint()
    if mine != job.source:
        return (
            f"has Morello {mine}, and the client has {job.source}: what it solved "
            "would never be read"
        )
    try:
        known = family(find_target(job.target))
    except MorelloError as error:
        return f"cannot read the client's target: {error}"
    if known != job.family:
        return (
            f"makes of the client's target {known!r}, and the client {job.family!r}: "
            "what it solved would never be read"
        )
    return ""


def search(spec: str, target: str, threads: int, database: Overlay | None) -> Solution:
    """The best program of a Spec that is given as text, as `morello.compile` finds it.

    Args:
        spec: may leave layouts open.
        target: as `find_target` reads it.
        threads: the most that a call of the kernel may use.
        database: where tables are looked for and stored.

    Raises:
        MorelloError: what is refused, and why.
    """
    machine = find_target(target)
    goal = parse_open_spec(spec, machine.limits)
    if goal.is_settled and goal.spec.ranges:
        return covered(goal.spec, machine, CoverOptions(), database)
    wanted, machine = parallel_goal(goal.spec, machine, threads)
    if goal.is_settled:
        # Tables that are not stored are kept in memory for the next search.
        is_stored = database is None or database.keeps_tables
        shelf = None if is_stored else SHELF
        return Solver(machine.at(wanted), database, shelf=shelf).solve(wanted)
    # Each choice of layouts is stored: the next search compares them again.
    return best_settled(OpenSpec(wanted, goal.open), machine, database)[1]


def search_family(
    specs: tuple[str, ...], target: str, database: Overlay | None
) -> tuple[tuple[Impl, Statistics], ...]:
    """The best program of each Spec of a group of `groups_of`, given as text, for one
    thread.

    Raises:
        MorelloError: they have to be searched one at a time.
    """
    machine = find_target(target)
    goals = [parse_open_spec(text, machine.limits).spec for text in specs]
    return tuple(solve_together(goals, machine, database))


def tuned(job: Job, database: Overlay | None) -> Measured:
    """Measure a Spec on this machine, or read what was measured before.

    Raises:
        MorelloError: what is refused, and why.
    """
    machine = find_target(job.target)
    goal = parse_open_spec(job.spec, machine.limits)
    wanted, machine = parallel_goal(goal.spec, machine, job.threads)
    if job.threads > 1 and not load_openmp():
        raise MorelloError(
            "no OpenMP runtime was found, which calls with several threads need",
            "tune for one thread, or install the package intel-openmp",
        )
    if not goal.is_settled:
        wanted, _ = best_settled(OpenSpec(wanted, goal.open), machine, database)
    return measure(wanted, machine, database, Plan(job.tune), again=job.again)
