"""The cost of a program under other coefficients, and how it follows each of them."""

from collections.abc import Sequence

import numpy as np

from morello.lazy import cached_property
from morello.learned.ledger import (
    FITTED,
    Counts,
    Decisions,
    Group,
    Vector,
    cost_of,
    with_costs,
)
from morello.machine import Target
from morello.search import Impl


class Ledger(Decisions):
    """Many programs, to be priced again and again: their decisions, found once."""

    def __init__(self, impls: Sequence[Impl], machine: Target) -> None:
        super().__init__(impls, machine)
        self._machine = machine

    def slopes(self, target: Target) -> Vector:
        """How each cost changes with each of `FITTED`: mostly how often it is paid.

        Where two parts of a kernel bind alike, each is counted half.

        Returns:
            programs x coefficients.
        """
        steps = _Steps(target)
        by_decision = np.zeros((self.runs.shape[1], len(FITTED)))
        for group, counted in zip(self.groups, self._counted, strict=True):
            by_decision[group.places] = steps.slopes(group, counted)
        return self.runs @ by_decision

    @cached_property
    def _counted(self) -> tuple[tuple[int, ...], ...]:
        """For each group, the coefficients that it counts, whatever their
        values are."""
        counts = Counts(self._machine)
        return tuple(tuple(i for i, _ in counts.of(group)) for group in self.groups)


class _Steps:
    """A target with coefficients a little above and below its own."""

    def __init__(self, target: Target) -> None:
        self._above, self._below = [], []
        self._widths = []
        for name in FITTED:
            value = cost_of(target, name)
            step = max(1, value // 64)
            low = max(0, value - step)
            self._above.append(with_costs(target, {name: value + step}))
            self._below.append(with_costs(target, {name: low}))
            self._widths.append(value + step - low)

    def slopes(self, group: Group, counted: Sequence[int]) -> Vector:
        """Specs x coefficients: differences of the cost by those of coefficients."""
        rises = np.zeros((len(group.places), len(FITTED)))
        for index in counted:
            rise = group.cost(self._above[index]) - group.cost(self._below[index])
            rises[:, index] = rise / self._widths[index]
        return rises
