"""Searches that one kernel needs, with one time limit and one choice of tuning."""

import dataclasses
import math
import time
from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal

from morello.compiler.code_folder import folder_beside
from morello.compiler.code_seconds import CODE_SECONDS
from morello.compiler.goal import TUNING_SECONDS
from morello.errors import CompileError, MorelloError, SearchError
from morello.machine import Target
from morello.search import (
    Patience,
    Solution,
    Solver,
    Statistics,
    best_program,
    best_settled,
)
from morello.search.dp.solver import pins_of
from morello.search.queries.best_program import SearchStoppedError, watch_of
from morello.search.queries.measured import measured_solution
from morello.search.ranges.cover import MOST_PARTS, CoverOptions, covered
from morello.search.storage.overlay import NONE, Overlay, PathLike, open_database
from morello.search.storage.shelf import SHELF
from morello.spec import OpenSpec, Spec
from morello.spec.varying import varying_places


class UnsearchedError(MorelloError):
    """A goal that has to be searched."""


def _refuse(statistics: Statistics) -> None:
    del statistics
    raise UnsearchedError("it was not searched before")


NO_SEARCH = Patience(watch=_refuse)
"""The time limit of searches that read alone what is solved."""


def part_of_time(spec: Spec, later: Iterable[Spec]) -> float:
    """The part of the time that is left which a search may take before others.

    Half of the time is in equal shares; the other half goes by the points of the loops,
    by which a poor program costs more.
    """
    points = [math.prod(each.sizes) for each in (spec, *later)]
    return (1 / len(points) + points[0] / sum(points)) / 2


class Searches:
    """The searches that one kernel needs, and the time that they take together.

    Args:
        db: as `compile` takes it.
        time_limit: of all searches together, and of the code that is made of what they
            find; the time begins now.
        tune: the seconds that tuning a goal may take; 0 to use what was measured
            before; None for the model's choice; or ``learned``.
        regret: what a size of a range may cost more than its best program, in percent;
            None for as little as ``programs`` allow.
        programs: the most of one range.
    """

    def __init__(
        self,
        db: PathLike | Overlay | None,
        time_limit: float | Patience | None,
        tune: float | Literal["learned"] | None = None,
        regret: float | None = None,
        programs: int = MOST_PARTS,
    ) -> None:
        self._cover = CoverOptions(regret, programs)
        self._db = db
        self._tune = tune
        self._patience = Patience.of(time_limit)
        # By the clock that all processes of a machine share.
        self._start = self._ended = time.monotonic()
        self.seconds = 0.0
        """Seconds spent so far."""
        self.parts = 1
        """How many different parts the program has whose code will be made."""
        self.part = 1.0
        """The part of the time that is left which the next search may take
        (`part_of_time`); what it does not need is the others'."""
        self.code = folder_beside(db)
        """The folder of machine code; None for none."""

    @property
    def database(self) -> Overlay | None:
        """The databases, open."""
        return open_database(self._db)

    @property
    def is_interruptible(self) -> bool:
        """Whether Ctrl-C stops a search alone."""
        return self._patience.interruptible

    @property
    def times_programs(self) -> bool:
        """Whether goals are tuned, for which nothing else should run."""
        return self.tuning_seconds > 0

    @property
    def tuning_seconds(self) -> float:
        """Seconds that tuning a goal may take."""
        return self._tune if isinstance(self._tune, float) else 0.0

    def of_process(self, part: float = 1.0) -> "Searches":
        """Searches for another process, with a part of the time that is left. Nobody is
        told how far they are."""
        left = self._left().shared(part)
        searches = self._with(Patience(left.seconds, grace=left.grace))
        searches.parts = 0  # what their code takes is left out already
        return searches

    def without_search(self) -> "Searches":
        """Searches that read alone what is solved.

        They raise `UnsearchedError`.
        """
        return self._with(NO_SEARCH)

    def _with(self, patience: Patience) -> "Searches":
        db = self.database or NONE
        cover = self._cover
        return Searches(db, patience, self._tune, cover.regret, cover.most)

    @property
    def has_time(self) -> bool:
        """Whether a time limit leaves time for more than first programs. A search that
        a person may stop is not taken up again."""
        return bool(not self.is_interruptible and self._left().before_grace().seconds)

    def _left(self) -> Patience:
        """The time that is left for searches: the code of all parts has its own."""
        passed = time.monotonic() - self._start
        return self._patience.after(passed + CODE_SECONDS.expected(self.parts))

    def _share(self, spec: Spec, target: Target) -> Patience:
        """The time of the next search."""
        share = self._left().shared(self.part)
        if share.seconds is None or not self.parts or CODE_SECONDS.knows(spec):
            return share

        def early(first: Solution) -> Patience:
            CODE_SECONDS.time(first, target, self.parts)
            return self._left().shared(self.part)

        return dataclasses.replace(share, early=early)

    def note_code(self, specs: Iterable[Spec]) -> None:
        """Remember that the code of all parts took the time since the last search."""
        CODE_SECONDS.note(time.monotonic() - self._ended, specs)

    def count(self, start: float) -> None:
        """Count searches that began at ``start``, by `time.monotonic`."""
        self._ended = time.monotonic()
        self.seconds += self._ended - start

    def __call__(
        self, spec: Spec, target: Target, context: Target | None = None
    ) -> Solution:
        """The best program of a Spec; of a range, the programs of every size as one.

        Args:
            spec: what to compute.
            target: the machine.
            context: the target as the goal sees it that the Spec is a part of: its
                operands may lie elsewhere than those of a goal of the same sizes.

        Raises:
            SearchError: there is none, or there is no time for every size of a range.
        """
        start = time.monotonic()
        share = self._share(spec, target)
        overlay = self.database
        try:
            solution = self._measured(spec, target, overlay, share)
            if solution is None:
                left = share.after(time.monotonic() - start)
                if spec.ranges:
                    solution = self._covered(spec, target, overlay, left)
                else:
                    solution = best_program(
                        spec, target, overlay, left, context=context
                    )
        finally:
            self.count(start)
        return solution

    def _covered(
        self, spec: Spec, target: Target, overlay: Overlay | None, share: Patience
    ) -> Solution:
        """The programs of every size of a Spec's range, as one.

        Raises:
            SearchError: a size has none, or there is no time for all.
        """
        try:
            return covered(spec, target, self._cover, overlay, watch_of(share))
        except SearchStoppedError as error:
            raise SearchError(
                f"the search of every size of {spec} was stopped: {error.what}",
                "give more time, or a shorter range",
            ) from error

    def _measured(
        self, spec: Spec, target: Target, overlay: Overlay | None, share: Patience
    ) -> Solution | None:
        """Measure a Spec, or read its earlier measurements; None for the
        model's choice."""
        if self._tune is None:
            return None
        if self._tune == "learned":
            return None if spec.ranges else self._learned(spec, target, overlay, share)
        pins = pins_of(overlay, target)
        known = measured_solution(spec, target, overlay, pins, self._cover)
        if known is not None or not self._tune:
            return known
        # What tuning needs is imported only where it is done.
        from morello.compiler.tuning import Plan, measure

        plan, watch = Plan(self._tune), watch_of(share)
        try:
            measure(spec, target, overlay, plan, self._cover, again=True, watch=watch)
        except SearchStoppedError:  # in a hurry nothing is measured
            return None
        return measured_solution(spec, target, overlay, pins, self._cover)

    def _learned(
        self, spec: Spec, target: Target, overlay: Overlay | None, share: Patience
    ) -> Solution | None:
        """The choice of the learned model; None if the search is stopped before."""
        from morello.compiler.tuning.order import learned_solution

        watch = watch_of(share)
        solver = Solver(target.at(spec), overlay, watch, shelf=SHELF)
        try:
            return learned_solution(spec, target, solver)
        except SearchStoppedError:
            return None

    def settle(self, goal: OpenSpec, target: Target) -> tuple[Spec, Solution]:
        """The best program of a Spec with open layouts, and the settled Spec; of every
        size of a range with the layouts that are best for the greatest, but for
        operands that have it."""
        if goal.is_settled:
            return goal.spec, self(goal.spec, target)
        if goal.spec.ranges:
            free = tuple(i for i in goal.open if not varying_places(goal.spec, i))
            greatest = goal.spec.at(*goal.spec.greatest)
            best, _ = self.settle(OpenSpec(greatest, free), target)
            layouts = tuple(best.tensors[index].layout for index in goal.open)
            spec = goal.settled(layouts)
            return spec, self(spec, target)
        start = time.monotonic()
        overlay = self.database
        spec, solution = best_settled(
            goal, target, overlay, self._share(goal.spec, target)
        )
        self.count(start)
        if solution.complete and self._tune is not None:
            solution = self(spec, target)
        return spec, solution


def tuning_time(
    tune: Any, schedule: str | None = None
) -> float | Literal["learned"] | None:
    """Convert the argument ``tune`` of `compile` to that of `Searches`.

    Raises:
        CompileError: it is no number of seconds; or a schedule is given, too.
    """
    if tune is None or tune is False:
        return 0.0 if tune is None else None
    if schedule is not None:
        raise CompileError(
            "a schedule is given, and it is to be tuned",
            "leave 'tune' out: a given schedule is taken as it is",
        )
    if tune is True:
        return TUNING_SECONDS
    if tune == "learned":
        return "learned"
    if not isinstance(tune, Real) or not 0 < float(tune) <= 86_400:
        raise CompileError(
            f"'tune' is {tune!r}", "give True, False, 'learned', or seconds up to 86400"
        )
    return float(tune)
