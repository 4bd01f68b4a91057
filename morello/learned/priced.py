"""Programs of one goal with what each of their decisions costs and counts: `Priced`."""

from collections.abc import Sequence

import numpy as np

from morello.learned.ledger import FITTED, Counts, Decisions, Group, Vector, cost_of
from morello.machine import Target
from morello.search import Impl


class Priced:
    """Quantities of programs that every learned model reads.

    Args:
        impls: the programs of one goal, the cost model's choice first.
        target: as it is chosen, not as the goal sees it.
    """

    def __init__(self, impls: Sequence[Impl], target: Target) -> None:
        self.impls = tuple(impls)
        self.goal = impls[0].spec
        self.target = target.at(self.goal)
        """The target as the goal sees it."""
        self.paid = Decisions(impls, target)
        """The distinct decisions of all programs, and how often each program runs
        them."""
        self.node_costs = self.paid.decision_costs(self.target)
        """Millicycles of each decision by itself, run once."""
        self.costs = np.maximum(self.paid.runs @ self.node_costs, 1.0)
        """Millicycles of a call of each program."""
        prices = np.array([cost_of(target, name) for name in FITTED], np.float64)
        self.spent = self._counts() * prices
        """Decisions x `FITTED`: what is spent on each, if one followed another."""

    def _counts(self) -> Vector:
        """Decisions x `FITTED`: how many of each a run of a decision counts."""
        counts = Counts(self.target)
        counts_of = np.zeros((self.paid.runs.shape[1], len(FITTED)))
        for group in self.paid.groups:
            for index, count in counts.of(group):
                counts_of[group.places, index] = count
        return counts_of

    def places(self) -> dict[int, tuple[Group, int]]:
        """For each decision its group and its row there."""
        return {
            int(place): (group, row)
            for group in self.paid.groups
            for row, place in enumerate(group.places)
        }
