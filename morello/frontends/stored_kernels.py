"""Kernels of models that a process before has made: `stored_kernel`, `store_kernel`.

An entry of the folder of machine code (`morello.runtime.code_cache`), whose rules say
who may read it, has the name that whoever compiles gives it: what a model was read of.
It holds the kernel, and the program of each goal that it was made with. The searches
are asked for these again, which a database answers in moments, so that what has been
measured or pinned since counts; a kernel with any other program is made anew.
"""

import dataclasses
import functools
import hashlib
import pickle
from pathlib import Path

import numpy as np

from morello.compiler.driver import Driver, available_threads
from morello.compiler.kernel import Kernel
from morello.compiler.searches import NO_SEARCH, Searches, UnsearchedError, tuning_time
from morello.compiler.target_choice import chosen_target
from morello.compiler.threads import thread_count
from morello.errors import SearchError
from morello.frontends.grouping.beside import Answer, settled
from morello.machine import Target
from morello.processes.small_stacks import on_large_stack
from morello.processes.subinterpreters import in_any_interpreter
from morello.runtime.code_cache import LIMIT, entry_key, read_entry, write_entry
from morello.search import Patience
from morello.search.storage.overlay import Overlay, PathLike
from morello.spec import OpenSpec

FEW_PROGRAMS = 12
"""Most programs of a part whose size each call says: a model has many parts."""

_MOST = LIMIT // 4
"""Bytes of a kernel that is kept: one model leaves room for others."""


@dataclasses.dataclass(frozen=True)
class _Entry:
    """An entry.

    Args:
        target: the machine, with the threads of a call.
        answers: those of the search, by goal.
        text: the model, printed.
        kernel: pickled by itself, so that it is loaded only if it is wanted.
    """

    target: Target
    answers: dict[OpenSpec, Answer]
    text: str
    kernel: bytes


def model_driver(
    target: str | Target | None,
    threads: int | None,
    db: PathLike | Overlay | None,
    time_limit: float | Patience | None,
    tune: bool | float | str | None,
    load: bool = True,
) -> Driver:
    """The way to the kernel of a model, with the arguments of `Model.compile`."""
    machine = chosen_target(target)
    count = available_threads(thread_count(threads, None), load)
    searches = Searches(db, time_limit, tuning_time(tune), programs=FEW_PROGRAMS)
    return Driver(machine, count, searches, load)


@on_large_stack
@in_any_interpreter
def stored_kernel(
    name: str,
    *,
    target: str | Target | None = None,
    threads: int | None = None,
    db: PathLike | Overlay | None = None,
    tune: bool | float | str | None = None,
) -> tuple[Kernel, str] | None:
    """The kernel that was kept under a name, and its model, printed; None if there is
    none, or it would now have another program.

    Args:
        name: that `store_kernel` was given.
        target, threads, db, tune: as `Model.compile` takes them.

    Raises:
        TargetError, CompileError, DatabaseError: as `Model.compile`.
    """
    driver = model_driver(target, threads, db, NO_SEARCH, tune)
    if driver.search.code is None:
        return None
    data = read_entry(driver.search.code, _entry(name))
    if data is None:
        return None
    entry: _Entry = pickle.loads(data)
    if entry.target != driver.target or not _holds(entry.answers, driver):
        return None
    kernel: Kernel = pickle.loads(entry.kernel)
    return kernel, entry.text


def store_kernel(
    name: str,
    kernel: Kernel,
    text: str,
    answers: dict[OpenSpec, Answer],
    driver: Driver,
) -> None:
    """Keep a kernel for the next process, where machine code is kept, and each goal was
    searched to its end.

    Args:
        name: of what the model was read of, and all that its reading depends on.
        kernel: of the model.
        text: the model, printed.
        answers: what its goals' searches said.
        driver: what made it.
    """
    folder = driver.search.code
    programs = [answer.program for answer in answers.values()]
    if folder is None or not all(p is None or p[1].complete for p in programs):
        return
    entry = _Entry(driver.target, answers, text, pickle.dumps(kernel))
    if len(entry.kernel) <= _MOST:
        write_entry(folder, _entry(name), pickle.dumps(entry))


def _holds(answers: dict[OpenSpec, Answer], driver: Driver) -> bool:
    """Whether each search would say again what it said."""
    for goal, answer in answers.items():
        try:
            spec, solution = settled(
                goal, answer.is_laid_out, driver.target, driver.search
            )
        except SearchError:
            if answer.program is not None:
                return False
        except UnsearchedError:
            return False
        else:
            if answer.program is None or (spec, solution.impl) != (
                answer.program[0],
                answer.program[1].impl,
            ):
                return False
    return True


def _entry(name: str) -> str:
    return entry_key("kernel", _sources(), np.__version__, name)


@functools.cache
def _sources() -> str:
    """A hash that is another one when a module of Morello is: these made the kernel."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder in (root, root / "dialect", root / "passes"):  # links in a clone
        for path in sorted(folder.rglob("*.py")):
            status = path.stat()
            state = str(path), status.st_size, status.st_mtime_ns
            digest.update(repr(state).encode())
    return digest.hexdigest()
