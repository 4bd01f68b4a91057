"""The searches of a model in several processes: `search_beside`."""

import contextlib
import dataclasses
import math
import operator
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from morello.compiler.driver import Driver
from morello.compiler.searches import Searches, UnsearchedError, part_of_time
from morello.errors import CompileError, MorelloError, SearchError
from morello.machine import Target
from morello.processes.pool import work_off
from morello.search import Solution
from morello.search.queries.best_program import Goal, add_known, known_programs
from morello.spec import OpenSpec, Spec

Tell = Callable[[OpenSpec, int, int], None]
"""Called with a goal when its search begins, its number, and how many are searched."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """The search's answer for a goal of a model.

    Args:
        is_laid_out: whether operands lie as they should, for which programs without
            other layouts are searched first.
        program: the settled Spec and its best program; None where there is none.
    """

    is_laid_out: bool
    program: tuple[Spec, Solution] | None


@dataclasses.dataclass(frozen=True)
class _Search:
    """A search for another process."""

    goal: OpenSpec
    is_laid_out: bool
    target: Target
    searches: Searches


def process_count(jobs: Any, searches: Searches) -> int:
    """The argument ``jobs`` of `Model.compile`.

    Raises:
        CompileError: it is no number of processes, or the searches time programs.
    """
    try:
        count = operator.index(jobs)
    except TypeError:
        count = 0
    if isinstance(jobs, bool) or count < 1:
        raise CompileError(f"'jobs' is {jobs!r}", "give an integer of at least 1")
    if count > 1 and searches.times_programs:
        raise CompileError(
            "'tune' asks for times of programs, and 'jobs' for other work beside them",
            "leave one of them out",
        )
    return count


def settled(
    goal: OpenSpec, is_laid_out: bool, target: Target, searches: Searches
) -> tuple[Spec, Solution]:
    """The best program of a part; if ``is_laid_out``, one that changes no layouts.

    Raises:
        SearchError: there is none.
    """
    if is_laid_out:
        try:
            narrow = dataclasses.replace(target, relayouts=False)
            return searches.settle(goal, narrow)
        except SearchError:
            pass  # the larger space may have one
    return searches.settle(goal, target)


def go_on(
    goals: Iterable[OpenSpec], answers: dict[OpenSpec, Answer], driver: Driver
) -> None:
    """Go on with searches that were stopped, the largest first, while there is time:
    others have not needed all of theirs.

    Args:
        goals: have programs.
        answers: gets those that are better.
    """
    search = driver.search
    programs = ((goal, answers[goal].program) for goal in goals)
    order = Order([g for g, program in programs if program and not program[1].complete])
    while search.has_time and (goal := order.take(0)) is not None:
        search.part = part_of_time(goal.spec, (later.spec for later in order.left))
        is_laid_out, before = answers[goal].is_laid_out, answers[goal].program
        assert before is not None
        with contextlib.suppress(SearchError):
            program = settled(goal, is_laid_out, driver.target, search)
            if program[1].impl.cost < before[1].impl.cost or program[1].complete:
                answers[goal] = Answer(is_laid_out, program)


def search_beside(
    goals: Mapping[OpenSpec, bool], driver: Driver, processes: int, tell: Tell
) -> dict[OpenSpec, Answer]:
    """Search goals in processes beside each other; what they solve is known here.

    One whose process dies, and all that are left at Ctrl-C where that stops searches
    alone, have no answer: they are for this process.

    Args:
        goals: each with its `Answer.is_laid_out`.
        driver: has the target, and the searches whose time they share.
        processes: the most at a time.
        tell: is called with each goal.

    Raises:
        MorelloError: no other process can be started.
    """
    searches, target = driver.search, driver.target
    order = Order([g for g in goals if not _is_known(g, goals[g], driver)])
    total = len(order)
    processes = min(processes, total)
    answers: dict[OpenSpec, Answer] = {}
    if processes < 2:
        return answers
    start = time.monotonic()

    def take(place: int) -> _Search | None:
        goal = order.take(place)
        if goal is None:
            return None
        tell(goal, total - len(order), total)
        part = part_of_time(goal.spec, (later.spec for later in order.left))
        share = searches.of_process(min(1.0, processes * part))
        return _Search(goal, goals[goal], target, share)

    with contextlib.ExitStack() as stack:
        if searches.is_interruptible:
            stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        results = stack.enter_context(
            contextlib.closing(work_off(take, _searched, processes))
        )
        for ended in results:
            if ended.result is not None:
                answers[ended.job.goal], known = ended.result
                add_known(known, searches.database)
    searches.count(start)
    return answers


def _is_known(goal: OpenSpec, is_laid_out: bool, driver: Driver) -> bool:
    """Whether the answer for a goal is known without a search."""
    try:
        settled(goal, is_laid_out, driver.target, driver.search.without_search())
    except UnsearchedError:
        return False
    except SearchError:
        pass
    return True


def _searched(search: _Search) -> tuple[Answer, dict[Goal, Solution]] | None:
    """The answer of this process, and what it knows since; None where it fails, which
    the process that asks finds out by itself."""
    searches = search.searches
    before = known_programs()
    program: tuple[Spec, Solution] | None
    try:
        program = settled(search.goal, search.is_laid_out, search.target, searches)
    except SearchError:
        program = None
    except (MorelloError, MemoryError):
        return None
    known = {goal: s for goal, s in known_programs().items() if goal not in before}
    return Answer(search.is_laid_out, program), known


class Order:
    """The order of searches: the largest goal first, and those that share tables with
    what a process has searched in that process.

    Args:
        goals: different ones.
    """

    def __init__(self, goals: list[OpenSpec]) -> None:
        self.left = sorted(goals, key=lambda goal: -math.prod(goal.spec.sizes))
        self._families: dict[object, int] = {}
        """The process that has searched the largest goal of a family."""

    def __len__(self) -> int:
        return len(self.left)

    def take(self, place: int) -> OpenSpec | None:
        """The next goal for a process: of a new family, of one that it began, or any;
        None if none is left."""
        if not self.left:
            return None

        def rank(goal: OpenSpec) -> int:
            first = self._families.get(goal.family)
            return 0 if first is None else 1 if first == place else 2

        goal = min(self.left, key=rank)  # the first of equals, which is the largest
        self.left.remove(goal)
        self._families.setdefault(goal.family, place)
        return goal
