"""``morello precompute``: fill the database for a family of Specs."""

import contextlib
import dataclasses
import itertools
import os
import sys
import time
from collections.abc import Generator
from typing import Any

from morello.cluster.dask import DaskExecutor
from morello.cluster.job import Solved
from morello.cluster.solve_all import solve_all
from morello.cluster.tune_all import tune_all
from morello.cluster.waves import largest_first
from morello.compiler.threads import thread_count
from morello.errors import MorelloError
from morello.explain.words import counted
from morello.machine import Target, print_target
from morello.machine.processors import processors
from morello.search.queries.measured import Measured
from morello.search.ranges.together import groups_of
from morello.search.storage.overlay import (
    NONE,
    default_path,
    named_paths,
    open_database,
)
from morello.spec import parse_open_spec, print_open_spec
from morello.tools.braces import expand_braces
from morello.tools.commands import PrecomputeOptions
from morello.tools.input_output import UsageError, write_output
from morello.tools.measured_text import measured_summary
from morello.tools.progress import progress
from morello.tools.request import tool_target
from morello.tools.subcommands.workers import Job
from morello.tools.subcommands.workers import solve_all as solve_jobs
from morello.tools.table import cost_text, time_text


def main(options: PrecomputeOptions) -> int:
    """Run the command.

    Returns:
        0; or 1 if a Spec could not be solved, or not in time.

    Raises:
        MorelloError: an argument is refused; nothing was begun.
        ClusterError: the scheduler's workers cannot be used.
        KeyboardInterrupt: tables that were solved are stored.
    """
    plan = _plan(options)
    total = len(plan.specs)
    start = time.perf_counter()
    results: list[Solved] = []
    try:
        with (
            progress(f"solving {total} Specs") as show,
            contextlib.closing(_searches(plan, options)) as searches,
        ):
            for done in searches:
                results.append(done)
                _tell(done, f"{len(results)} of {total}")
                show(_progress(len(results), total, time.perf_counter() - start))
    except KeyboardInterrupt:
        sys.stderr.write(
            f"morello: interrupted after {len(results)} of {total} Specs; what was "
            "solved is stored, and the same command goes on from there\n"
        )
        raise
    if plan.programs:
        _pack(plan.db)
    write_output("-", _summary(results, plan.threads, time.perf_counter() - start))
    if len(results) < total:
        write_output(
            "-",
            f"the time is over: {total - len(results)} are left; the same command goes "
            "on from there\n",
        )
    return 1 if len(results) < total or any(r.error for r in results) else 0


@dataclasses.dataclass(frozen=True)
class _Plan:
    """Specs to solve, and how, as a command line asks."""

    jobs: tuple[tuple[str, ...], ...]
    """The Specs in their shortest form, the largest first, so that none is left for the
    end; those that are searched together are one."""
    target: Target
    target_name: str
    threads: int
    db: str
    """The databases, as ``--db`` gives them."""
    tune: float = 0.0
    """Seconds for which programs of each Spec are timed; 0 for none."""
    programs: bool = False
    """Whether programs alone are stored, and no tables."""
    seconds: float | None = None
    """After how long to end."""

    @property
    def specs(self) -> tuple[str, ...]:
        """All Specs."""
        return tuple(itertools.chain(*self.jobs))


def _searches(plan: _Plan, options: PrecomputeOptions) -> Generator[Solved, None, None]:
    """The results as they come, from processes here or from a scheduler's workers."""
    if options.scheduler is None:
        return _here(plan, options.jobs or (1 if plan.tune else processors()))
    return _there(plan, options.scheduler)


def _here(plan: _Plan, processes: int) -> Generator[Solved, None, None]:
    words = plan.target_name, plan.threads, plan.db, plan.tune, plan.programs
    jobs = [Job(first, *words, tuple(rest)) for first, *rest in plan.jobs]
    return solve_jobs(jobs, processes, plan.seconds)


def _together(specs: list[str], target: Target) -> list[tuple[str, ...]]:
    """The Specs, those in one tuple that are searched together, the largest first.

    Args:
        specs: texts, the largest first.
        target: the machine, with one thread.
    """
    parsed = {parse_open_spec(text, target.limits): text for text in specs}
    settled = {
        goal.spec: text
        for goal, text in parsed.items()
        if goal.is_settled and goal.spec.serial and not goal.spec.ranges
    }
    groups = [g.goals for g in groups_of(settled, target) if g.is_one_search]
    together = [tuple(settled[goal] for goal in group) for group in groups]
    together += [(spec,) for spec in set(specs).difference(*together)]
    place = {spec: index for index, spec in enumerate(specs)}
    return sorted(together, key=lambda specs: place[specs[0]])


def _there(plan: _Plan, scheduler: str) -> Generator[Solved, None, None]:
    with DaskExecutor(scheduler) as executor:
        options: dict[str, Any] = {
            "executor": executor,
            "db": plan.db,
            "target": plan.target,
            "threads": plan.threads,
        }
        results = (
            tune_all(plan.specs, seconds=plan.tune, **options)
            if plan.tune
            else solve_all(plan.specs, **options)
        )
        with contextlib.closing(results):
            yield from results


def _progress(done: int, total: int, seconds: float) -> str:
    """How far the work is. The largest Specs come first: what is left is at most so
    long."""
    left = total - done
    return (
        f"{done} of {total}, {left} left: {time_text(seconds)}, at most about "
        f"{time_text(seconds / done * left)} more"
    )


def _plan(options: PrecomputeOptions) -> _Plan:
    """The searches to be made.

    Raises:
        UsageError: no Spec, no such target, or no database.
        SpecError: the text of a Spec is refused.
        MorelloError: the database cannot be written.
    """
    if not options.specs:
        raise UsageError("no SPEC is given", "see morello precompute --help")
    if options.jobs is not None and options.scheduler is not None:
        raise UsageError(
            "--jobs is for processes of this machine, --scheduler for other workers",
            "say how many workers there are where they are started",
        )
    if options.scheduler is not None and (options.programs or options.time_limit):
        raise UsageError(
            "--programs and --time-limit are for processes of this machine",
            "take programs alone out of the database with 'morello db export "
            "--programs'",
        )
    if options.tune and (options.jobs or 1) > 1:
        raise UsageError(
            "--tune times programs, which processes beside each other would disturb",
            "give --jobs 1, or leave it out",
        )
    target = tool_target(options.target)
    name = options.target or print_target(target)
    database = _database(options.db)
    texts = [text for family in options.specs for text in expand_braces(family)]
    goals = [parse_open_spec(text, target.limits) for text in texts]
    specs = largest_first({print_open_spec(g, target.limits): g for g in goals})
    threads = thread_count(options.threads)
    jobs: list[tuple[str, ...]] = [(spec,) for spec in specs]
    if options.programs and threads == 1:
        jobs = _together(specs, target)
    if options.shard is not None:
        which, count = options.shard
        jobs = jobs[which - 1 :: count]  # each part has large ones and small ones
    return _Plan(
        tuple(jobs),
        target,
        name,
        threads,
        database,
        options.tune or 0.0,
        options.programs,
        options.time_limit,
    )


def _database(wanted: str | None) -> str:
    """The databases to be used, as text.

    Raises:
        UsageError: there is to be none.
        MorelloError: the first cannot be written.
    """
    paths = named_paths(wanted)
    if paths is None:
        raise UsageError(
            f"--db or MORELLO_DB says '{NONE}': there is no database to fill",
            "give its path with --db",
        )
    paths = paths or (default_path(),)
    text = os.pathsep.join(map(str, paths))
    overlay = open_database(text)
    if overlay is None or overlay.top is None:
        raise MorelloError(f"{paths[0]} cannot be written", "give another with --db")
    return text


def _tell(done: Solved, count: str) -> None:
    """A line for a Spec that is finished."""
    if done.error:
        sys.stderr.write(f"morello: error: {done.spec}: {done.error} ({count})\n")
        return
    took = time_text(done.seconds)
    how = f"solved in {took}" if done.tables else f"was there, read in {took}"
    cost = cost_text(done.cost)
    timed = f"; {measured_summary(Measured(done.measured))}" if done.measured else ""
    write_output("-", f"{done.spec}  {how}, {cost}{timed} ({count})\n")


def _pack(db: str) -> None:
    """Put the programs of the database that is written into boxes."""
    database = open_database(db)
    if database is not None and database.top is not None:
        database.top.fold_programs()


def _summary(results: list[Solved], threads: int, seconds: float) -> str:
    failed = sum(bool(done.error) for done in results)
    new = sum(done.tables > 0 and not done.error for done in results)
    there = len(results) - failed - new
    points = sum(done.specs for done in results)
    return (
        f"{counted(len(results), 'Spec')} for {counted(threads, 'thread')} in "
        f"{time_text(seconds)}: {new} solved "
        f"({counted(points, 'Spec')} below), {there} were there, {failed} failed\n"
    )
