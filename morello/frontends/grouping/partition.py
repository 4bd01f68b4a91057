"""The partition of least price of a model, and what was considered for it."""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

from morello.compiler.driver import Driver
from morello.compiler.searches import Searches, part_of_time
from morello.errors import CompileError, SearchError
from morello.frontends.grouping.alternatives import alternatives, refusal
from morello.frontends.grouping.beside import Answer, settled
from morello.frontends.grouping.cheapest import Candidate, cheapest
from morello.frontends.grouping.compiling import goal_of
from morello.frontends.grouping.groups import Grouping
from morello.frontends.grouping.parts import Part, Step
from morello.frontends.grouping.savings import WORTH, Savings
from morello.frontends.nodes.tensors import Tensors
from morello.machine import Target
from morello.spec import OpenSpec
from morello.suggestions import did_you_mean

Partition = Literal["rule", "cost"]
"""The choice of a model's parts: by the rule of `grouped`, or by the search's costs."""


def checked_partition(choice: str) -> None:
    """Refuse what is no choice of parts.

    Raises:
        CompileError: it is none.
    """
    names = get_args(Partition)
    if choice not in names:
        raise CompileError(
            f"'partition' is {choice!r}",
            f"give one of {', '.join(names)}{did_you_mean(str(choice), names)}",
        )


class Prices:
    """The cost of each group that a partition may have, in 1/1000 cycle.

    It is that of the best program, and of entering it. Equal Specs are searched once.

    Args:
        answers: those of goals that were searched before; it gets more.
    """

    def __init__(
        self,
        grouping: Grouping,
        steps: Sequence[Step],
        driver: Driver,
        pack: bool | None,
        answers: dict[OpenSpec, Answer] | None = None,
    ) -> None:
        self._grouping = grouping
        self._steps = steps
        self._driver = driver
        self._pack = pack
        self._answers = {} if answers is None else answers
        self._awaited: set[OpenSpec] = set()
        """Goals that are to be priced, of which each may take the same time."""
        self._call = driver.target.coefficients.loop

    @property
    def target(self) -> Target:
        """The machine."""
        return self._driver.target

    @property
    def search(self) -> Searches:
        """The searches of groups."""
        return self._driver.search

    def __call__(self, group: Candidate) -> float:
        """The price of a group; infinite without a program."""
        if group.nodes & self._grouping.plain.keys():
            return 0.0
        program = self._answer(self.part(group)).program
        return math.inf if program is None else program[1].impl.cost + self._call

    def goal(self, group: Candidate) -> OpenSpec:
        """The goal of a group's search."""
        return self._goal_of(self.part(group))

    def part(self, group: Candidate) -> Part:
        """The group as a part."""
        return self._grouping.part(group.nodes, group.copies)

    def await_all(self, groups: Iterable[Candidate]) -> int:
        """Share the time that is left among groups, which are to be priced.

        Returns:
            How many different parts they are.
        """
        plain = self._grouping.plain.keys()
        fit = [group for group in groups if not group.nodes & plain]
        self._awaited = {self.goal(group) for group in fit}
        return len(self._awaited)

    def answers(self, parts: Iterable[Part]) -> dict[OpenSpec, Answer]:
        """The answers of the search for some parts that were priced, by goal."""
        goals = map(self._goal_of, parts)
        return {goal: self._answers[goal] for goal in goals if goal in self._answers}

    def _goal_of(self, part: Part) -> OpenSpec:
        tensors = self._grouping.tensors
        return goal_of(part, tensors, self._steps, self._driver, self._pack)

    def _answer(self, part: Part) -> Answer:
        driver = self._driver
        goal = self._goal_of(part)
        if goal not in self._answers:
            later = self._awaited.difference(self._answers) - {goal}
            driver.search.part = part_of_time(goal.spec, (g.spec for g in later))
            try:
                program = settled(goal, part.is_laid_out, driver.target, driver.search)
            except SearchError:
                program = None
            self._answers[goal] = Answer(part.is_laid_out, program)
        return self._answers[goal]


@dataclasses.dataclass(frozen=True)
class Join:
    """Two parts of which one reads the other, which are not one.

    Args:
        parts: their numbers.
        price: of both as one, in 1/1000 cycle; None where that is unknown.
        reason: why they are not one.
    """

    parts: tuple[int, int]
    price: int | None
    reason: str

    def text(self, apart: int, said: Callable[[int], str]) -> str:
        """The parts, and why they are apart.

        Args:
            apart: their price.
            said: a price as text.
        """
        pair = f"{self.parts[0]} and {self.parts[1]}"
        if self.price is None:
            return f"{pair}: {self.reason}"
        return f"{pair}: {said(apart)} apart, {said(self.price)} as one"


class Partitioning:
    """The groups of a model by the rule, and those of the least price.

    Args:
        tensors: of a model.
        steps: by the rule.
        driver: searches groups.
        pack: as `Model.compile` takes it.
    """

    def __init__(
        self, tensors: Tensors, steps: Sequence[Step], driver: Driver, pack: bool | None
    ) -> None:
        self._steps = tuple(steps)
        self._grouping = Grouping(tensors)
        self._rule = self._grouping.by_rule()
        self._prices = Prices(self._grouping, steps, driver, pack)

    def steps(self, partition: Partition) -> tuple[Step, ...]:
        """The steps of a partition; those of the rule where none are cheaper.

        Sizes that calls say keep the rule: their best parts differ by size.
        """
        ranged = any(isinstance(step, Part) and step.ranges for step in self._steps)
        if partition == "rule" or ranged:
            return self._steps
        grouping = self._grouping
        others = self._savings.worthwhile(alternatives(grouping, self._rule))
        self._prices.await_all(others)
        return grouping.steps(
            cheapest(
                self._rule,
                others,
                self._weighed,
                grouping.reads,
                grouping.results & grouping.reads.keys(),
            )
        )

    @functools.cached_property
    def _savings(self) -> Savings:
        rule = [g for g in self._rule if not g.nodes & self._grouping.plain.keys()]
        prices = self._prices
        prices.search.parts = prices.await_all(rule)
        return Savings(rule, [*map(prices, rule)], prices.part, prices.target)

    def _weighed(self, group: Candidate) -> float:
        """A group's price, and the margin by which a group that the rule lacks must
        win."""
        price = self._prices(group)
        return price if group in self._rule else price * (1 + WORTH)

    def answers(self, steps: Sequence[Step]) -> dict[OpenSpec, Answer]:
        """The programs of parts that are known from pricing, by goal."""
        return self._prices.answers(step for step in steps if isinstance(step, Part))

    def joins(self, steps: Sequence[Step], priced: bool) -> list[Join]:
        """Each two parts of which one reads the other.

        Args:
            steps: of a partition.
            priced: whether to search both as one.
        """
        parts = [step for step in steps if isinstance(step, Part)]
        readers = [
            (i, j)
            for j, part in enumerate(parts)
            for i in range(j)
            if {*parts[i].outputs} & {*part.inputs}
        ]
        joins = []
        for pair in readers:
            both = Candidate(frozenset(n for i in pair for n in parts[i].nodes))
            reason = refusal(self._grouping, both)
            if not reason and not priced:
                reason = "the rule keeps them apart; --partition cost has the prices"
            if not reason and (share := self._savings.share(both)) < WORTH:
                reason = f"as one they save {100 * max(0.0, share):.1f} % at most"
            price = math.inf if reason else self._prices(both)
            known = None if price == math.inf else int(price)
            joins.append(Join(pair, known, reason or "both as one have no program"))
        return joins
