"""Functions in several threads at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

C = TypeVar("C")
R = TypeVar("R")


def in_threads(work: Callable[[C], R], cases: Iterable[C]) -> list[R]:
    """The results of several cases, each in a thread of its own; all begin together.

    An error of one is raised here, when all have ended.
    """
    cases = list(cases)
    start = Barrier(len(cases))

    def begin(case: C) -> R:
        start.wait()
        return work(case)

    with ThreadPoolExecutor(len(cases)) as pool:
        return list(pool.map(begin, cases))


class Here(Executor):
    """A pool of no thread, which does its work at once."""

    def __init__(self, *args: object) -> None:
        pass

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Do it."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future
