"""`tune_all`: tuning many Specs, by any `concurrent.futures.Executor`."""

from collections.abc import Generator, Iterable
from concurrent.futures import Executor
from numbers import Real

from morello.cluster.job import Job, Solved
from morello.cluster.solve_all import MakeExecutor, run_all
from morello.compiler.goal import TUNING_SECONDS
from morello.compiler.target_choice import chosen_target
from morello.compiler.threads import thread_count
from morello.errors import MorelloError
from morello.machine import Target
from morello.search.storage.overlay import Overlay, PathLike


def tune_all(
    specs: Iterable[str],
    *,
    executor: Executor | MakeExecutor,
    seconds: float = TUNING_SECONDS,
    again: bool = False,
    db: PathLike | Overlay | None = None,
    target: str | Target | None = None,
    threads: int | None = None,
    workers: int | None = None,
) -> Generator[Solved, None, None]:
    """Search for many Specs, and time their programs, on other processes or machines.

    As `solve_all`; besides, each worker tunes what it has searched, as `morello tune`
    does. What was measured goes into ``db`` with the name of the worker's processor:
    `morello.compile` uses it on such processors alone. Processes on one machine disturb
    each other's timing: give it one. Threads of a process take turns.

    Args:
        specs: as for `solve_all`.
        executor: as for `solve_all`.
        seconds: that a Spec takes after its search, above 0, at most 86400.
        again: whether Specs are tuned anew that were tuned on a worker's processor.
        db, target, threads, workers: as for `solve_all`.

    Yields:
        A result for each Spec; ``measured`` has the programs and their times.

    Raises:
        MorelloError: an argument is refused; nothing was begun.
        ClusterError: as `solve_all`.
    """
    if not isinstance(seconds, Real) or not 0 < float(seconds) <= 86_400:
        raise MorelloError(
            f"'seconds' is {seconds!r}", "give a number above 0, up to 86400"
        )
    machine = chosen_target(target)
    count = thread_count(threads)
    return run_all(
        specs,
        machine,
        lambda text: Job.of(text, machine, count, float(seconds), again),
        executor,
        db,
        workers,
    )
