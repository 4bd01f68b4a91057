"""``morello precompute``: fill the database for a family of Specs."""

import contextlib
import os
import sys
import time

from morello.compiler.threads import thread_count
from morello.errors import MorelloError
from morello.machine import print_target
from morello.machine.processors import processors
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
from morello.tools.progress import progress
from morello.tools.request import tool_target
from morello.tools.table import cost_text, time_text
from morello.tools.workers import Done, Job, solve_all


def main(options: PrecomputeOptions) -> int:
    """Run the command.

    Returns:
        0; or 1 if a Spec could not be solved.

    Raises:
        MorelloError: an argument is refused; nothing was begun.
        KeyboardInterrupt: tables that were solved are stored.
    """
    jobs = _jobs(options)
    count = options.jobs or processors()
    start = time.perf_counter()
    results: list[Done] = []
    try:
        with (
            progress(f"solving {len(jobs)} Specs") as show,
            contextlib.closing(solve_all(jobs, count)) as found,
        ):
            for done in found:
                results.append(done)
                _tell(done, f"{len(results)} of {len(jobs)}")
                show(_progress(len(results), len(jobs), time.perf_counter() - start))
    except KeyboardInterrupt:
        sys.stderr.write(
            f"morello: interrupted after {len(results)} of {len(jobs)} Specs; what was "
            "solved is stored, and the same command goes on from there\n"
        )
        raise
    threads = jobs[0].threads
    write_output("-", _summary(results, threads, time.perf_counter() - start))
    return 1 if any(done.error for done in results) else 0


def _progress(done: int, total: int, seconds: float) -> str:
    """How far the work is. The largest Specs come first: what is left is at most so
    long."""
    left = total - done
    return (
        f"{done} of {total}, {left} left: {time_text(seconds)}, at most about "
        f"{time_text(seconds / done * left)} more"
    )


def _jobs(options: PrecomputeOptions) -> list[Job]:
    """The searches to be made, the largest first, so that none is left for the end.

    Raises:
        UsageError: no Spec, no such target, or no database.
        SpecError: the text of a Spec is refused.
        MorelloError: the database cannot be written.
    """
    if not options.specs:
        raise UsageError("no SPEC is given", "see morello precompute --help")
    target = tool_target(options.target)
    name = options.target or print_target(target)
    database = _database(options.db)
    texts = [text for family in options.specs for text in expand_braces(family)]
    goals = [parse_open_spec(text, target.limits) for text in texts]
    specs = {print_open_spec(goal, target.limits): goal.spec for goal in goals}
    largest = sorted(specs, key=lambda text: -_volume(specs[text].sizes))
    return [
        Job(text, name, thread_count(options.threads), database) for text in largest
    ]


def _volume(sizes: tuple[int, ...]) -> int:
    volume = 1
    for size in sizes:
        volume *= size
    return volume


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


def _tell(done: Done, count: str) -> None:
    """A line for a Spec that is finished."""
    if done.error:
        sys.stderr.write(f"morello: error: {done.job.spec}: {done.error} ({count})\n")
        return
    took = time_text(done.seconds)
    how = f"solved in {took}" if done.solved else f"was there, read in {took}"
    cost = cost_text(done.cost)
    write_output("-", f"{done.job.spec}  {how}, {cost} ({count})\n")


def _summary(results: list[Done], threads: int, seconds: float) -> str:
    failed = sum(bool(done.error) for done in results)
    new = sum(done.solved > 0 for done in results)
    there = len(results) - failed - new
    points = sum(done.solved for done in results)
    return (
        f"{len(results)} Specs for {threads} thread{'s' if threads > 1 else ''} in "
        f"{time_text(seconds)}: {new} solved ({points:,} Specs below them), {there} "
        f"were there, {failed} failed\n"
    )
