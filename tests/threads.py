"""Functions in several threads at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

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
