"""`solve_all`: the searches of many Specs, by any `concurrent.futures.Executor`.

The client hands out jobs, merges the databases that come back, and hands out again what
was lost with a worker. A worker needs to import Morello, and to see nothing else.
"""

import tempfile
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from pathlib import Path

from morello.cluster.job import Answer, Job, Solved, perform
from morello.cluster.waves import Waves, largest_first
from morello.compiler.target_choice import chosen_target
from morello.compiler.threads import thread_count
from morello.errors import MorelloError
from morello.machine import Target
from morello.machine.processors import processors
from morello.search.storage.database import Database
from morello.search.storage.measured_rows import MeasuredRow
from morello.search.storage.overlay import Overlay, PathLike, open_database
from morello.search.storage.transfer import copy_rows, merge_bytes
from morello.spec import OpenSpec, parse_open_spec, print_open_spec

TRIES = 3
"""How often a job is begun whose worker is lost: it may be the job that kills it."""

MOST_SHIPPED = 64_000_000
"""Bytes of known tables that go to the workers; more would take longer to ship than
what they save. Programs and pins always go."""


class ClusterError(MorelloError):
    """Workers that cannot be used."""


MakeExecutor = Callable[[], Executor]


def solve_all(
    specs: Iterable[str],
    *,
    executor: Executor | MakeExecutor,
    db: PathLike | Overlay | None = None,
    target: str | Target | None = None,
    threads: int | None = None,
    workers: int | None = None,
) -> Generator[Solved, None, None]:
    """Search for many Specs on other processes or machines; results as they come.

    What is found is in the database ``db``, where `morello.compile` looks it up. The
    workers share no file with this process: jobs and databases go as bytes. The largest
    Spec of each family goes first, and the others start from its tables.

    Args:
        specs: texts of Specs, which may leave layouts open; repeats are solved once.
        executor: of processes, of machines (a Dask client's ``get_executor()``, …); it
            stays open. Or a function that makes one: it is called again, at most twice
            for a job, where a process of a pool has died, and the pools are closed.
        db: the databases, as for `morello.compile`; the first is written.
        target: the machine that kernels are for; it is settled here, so that ``native``
            is this machine and not a worker's.
        threads: the most that a call of a kernel may use.
        workers: how many jobs run at once; what the executor says if left out, else
            the processors of this machine.

    Yields:
        A result for each Spec. One that has no program, or whose worker died three
        times, has an ``error``; the others go on.

    Raises:
        MorelloError: an argument is refused; nothing was begun.
        ClusterError: a worker has another Morello, or the executor is closed or broken;
            what came before is stored.
    """
    machine = chosen_target(target)
    count = thread_count(threads)
    return run_all(
        specs, machine, lambda text: Job.of(text, machine, count), executor, db, workers
    )


def run_all(
    specs: Iterable[str],
    target: Target,
    job_of: Callable[[str], Job],
    executor: Executor | MakeExecutor,
    db: PathLike | Overlay | None,
    workers: int | None,
) -> Generator[Solved, None, None]:
    """The results of a job for each Spec, the largest of each family first.

    Args:
        job_of: makes the job of a Spec in its shortest form.

    Raises:
        MorelloError: an argument is refused; nothing was begun.
    """
    if isinstance(specs, str):
        raise MorelloError(
            f"'specs' is one text, {specs!r}", "give a list of texts of Specs"
        )
    texts = list(specs)
    for text in texts:
        if not isinstance(text, str):
            raise MorelloError(
                f"{text!r} is not the text of a Spec",
                "give texts; print_spec of morello.spec makes one",
            )
    _check_workers(executor, workers)
    goals = {
        print_open_spec(goal, target.limits): goal
        for goal in (parse_open_spec(text, target.limits) for text in texts)
    }
    database = _writable(db)
    jobs = [(job_of(text), goals[text]) for text in largest_first(goals)]
    return _run(jobs, executor, database, workers)


def _check_workers(executor: object, workers: object) -> None:
    """Refuse what gives no workers.

    Raises:
        MorelloError: says what to give.
    """
    if not isinstance(executor, Executor) and not callable(executor):
        raise MorelloError(
            f"'executor' is {executor!r}",
            "give an executor of concurrent.futures, or a function that makes one",
        )
    is_count = isinstance(workers, int) and not isinstance(workers, bool)
    if workers is not None and (not is_count or workers < 1):  # type: ignore[operator]
        raise MorelloError(
            f"'workers' is {workers!r}", "give a whole number from 1 on, or none"
        )


def _executor(make: MakeExecutor) -> Executor:
    """A new executor.

    Raises:
        MorelloError: the function makes something else.
    """
    executor = make()
    if not isinstance(executor, Executor):
        raise MorelloError(
            f"'executor' makes {executor!r}",
            "give a function that makes an executor of concurrent.futures",
        )
    return executor


def _writable(wanted: PathLike | Overlay | None) -> Overlay:
    """Databases of a text, of which the first has to be writable.

    Raises:
        MorelloError: there is none.
    """
    database = open_database(wanted)
    if database is None or database.top is None:
        raise MorelloError(
            "there is no database that can be written, so what is solved would be lost",
            "give its path as 'db', or with MORELLO_DB",
        )
    return database


def _run(
    jobs: list[tuple[Job, OpenSpec]],
    executor: Executor | MakeExecutor,
    database: Overlay,
    workers: int | None,
) -> Generator[Solved, None, None]:
    families = {job: goal.family for job, goal in jobs}
    waves = Waves([(job, families[job]) for job, _ in jobs])
    with _Known(database) as known, _Hands(executor) as hands:
        while True:
            count = hands.count if workers is None else workers
            idle = max(0, count - hands.busy)
            for job in waves.ready(idle, idle if hands.may_break else None):
                hands.give(job, known.layer)
            if not hands.busy:
                return
            for answer in hands.take(known):
                known.merge(answer.database, answer.solved.measured)
                waves.came(families[answer.job])
                yield answer.solved


class _Known:
    """Tables that are solved: in the user's database, and as a layer for workers."""

    def __init__(self, database: Overlay) -> None:
        self._database = database
        self._folder = tempfile.TemporaryDirectory(prefix="morello-")
        self._gathered = Database(Path(self._folder.name) / "known.sqlite")
        self._layer = b""
        self._is_old = True

    def __enter__(self) -> "_Known":
        files = self._database.readable
        small = sum(file.path.stat().st_size for file in files) <= MOST_SHIPPED
        for file in files:
            copy_rows(file, self._gathered, tables=small)
            rows = tuple(row for row, is_whole in file.measured() if is_whole)
            if rows:
                self._gathered.put_measured(rows, replace=False)
        return self

    def __exit__(self, *error: object) -> None:
        self._gathered.close()
        self._folder.cleanup()

    @property
    def layer(self) -> bytes:
        """A database file with what is known by now."""
        if self._is_old:
            self._layer = self._gathered.to_bytes()
            self._is_old = False
        return self._layer

    def merge(self, data: bytes, measured: tuple[MeasuredRow, ...]) -> None:
        """Add what a worker has found, and what it has measured.

        Raises:
            DatabaseError: the database cannot be written any more.
        """
        top = self._database.top
        if not data or top is None:
            return
        merge_bytes(data, top)
        if measured:
            top.put_measured(measured)
        if len(self._layer) + len(data) <= MOST_SHIPPED:
            merge_bytes(data, self._gathered)
            self._is_old = True


class _Hands:
    """An executor and the jobs that it has; one that breaks is made again."""

    def __init__(self, executor: Executor | MakeExecutor) -> None:
        self._make = None if isinstance(executor, Executor) else executor
        self._executor = (
            executor if isinstance(executor, Executor) else _executor(executor)
        )
        self._jobs: dict[Future[Answer], Job] = {}
        self._tries: dict[Job, int] = {}

    def __enter__(self) -> "_Hands":
        return self

    def __exit__(self, *error: object) -> None:
        for future in self._jobs:
            future.cancel()
        if self._make is not None:
            self._executor.shutdown(cancel_futures=True)

    @property
    def count(self) -> int:
        """How many jobs run at once."""
        return getattr(self._executor, "_max_workers", None) or processors()

    @property
    def may_break(self) -> bool:
        """Whether a dead process ends every job that waits: few are handed out then."""
        return self._make is not None

    @property
    def busy(self) -> int:
        """How many jobs have not come back."""
        return len(self._jobs)

    def give(self, job: Job, layer: bytes) -> None:
        """Hand out a job."""
        self._tries[job] = self._tries.get(job, 0) + 1
        try:
            future = self._executor.submit(perform, job, layer)
        except BrokenExecutor as error:  # found out since the last answer
            self._renew(error)
            future = self._executor.submit(perform, job, layer)
        except RuntimeError as error:
            raise ClusterError(
                f"the executor takes no jobs: {error}",
                "give one that is open; what came is stored, and the same call goes on "
                "from there",
            ) from error
        self._jobs[future] = job

    def take(self, known: _Known) -> Generator[Answer, None, None]:
        """Wait for answers; what is lost with a worker is handed out again.

        Raises:
            ClusterError: a worker has another Morello; after all answers of others.
        """
        refusal = ""
        done, _ = wait(self._jobs, return_when=FIRST_COMPLETED)
        for future in done:
            job = self._jobs.pop(future)
            try:
                answer = future.result()
            except Exception as error:  # noqa: BLE001 (whatever the executor raises)
                if not self._is_lost(error, job):
                    yield Answer(job, Solved(job.spec, error=_words(error)))
                    continue
                self.give(job, known.layer)
                continue
            if answer.refusal:
                refusal = answer.refusal
                continue
            yield answer
        if refusal:
            raise ClusterError(
                f"a worker is refused: {refusal}",
                "install the same Morello there, or stop that worker; what came is "
                "stored, and the same call goes on from there",
            )

    def _is_lost(self, error: Exception, job: Job) -> bool:
        """Whether a job may be handed out again: its worker is gone."""
        if not isinstance(error, (BrokenExecutor, CancelledError)):
            return False
        if self._tries[job] >= TRIES:
            return False
        return self._make is not None or not isinstance(error, BrokenExecutor)

    def _renew(self, error: BrokenExecutor) -> None:
        """Another pool for one that a dead process has broken.

        Raises:
            ClusterError: nobody said how to make one.
        """
        if self._make is None:
            raise ClusterError(
                f"the executor is broken: {error}",
                "give a function that makes one, as "
                "functools.partial(ProcessPoolExecutor, 8): it is called again; what "
                "came is stored, and the same call goes on from there",
            ) from error
        self._executor.shutdown(wait=False)
        self._executor = _executor(self._make)


def _words(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    return f"its worker failed: {type(error).__name__}{text and f': {text}'}"
