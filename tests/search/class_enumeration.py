"""The least cost of each class of programs of a Spec, by enumeration.

As `brute_force.py` it shares nothing with `morello.search` but what actions say.
"""

import itertools
from typing import Any

from morello.actions import Action
from morello.spec import Spec, SpecKey
from morello.spec.frame import Frame
from tests.search.brute_force import (
    Axes,
    BruteForce,
    BudgetError,
    Family,
    goal_sizes,
    hole_axes,
    plain_frame,
)

Classes = dict[frozenset[str], int]
"""The least cost of each class."""


class ClassEnumeration(BruteForce):
    """Enumerates the programs of the space, class by class."""

    def classes(self, spec: Spec) -> Classes:
        """The least cost of each class of programs of ``spec``.

        Raises:
            BudgetError: more Specs than the budget had to be enumerated.
        """
        self._found: dict[tuple[SpecKey, Axes, Any], Classes] = {}
        axes = goal_sizes(spec, self.target.threads)
        return self._classes(self._family(spec.key, axes), Frame.of(spec))

    def _classes(self, family: Family, frame: Frame) -> Classes:
        point = family.key, family.axes, (frame.sizes, frame.limits)
        if point not in self._found:
            if len(self._found) > self.budget:
                raise BudgetError
            classes: Classes = {}
            for action in family.actions:
                for features, cost in self._begun(family, frame, action):
                    classes[features] = min(cost, classes.get(features, cost))
            self._found[point] = classes
        return self._found[point]

    def _begun(
        self, family: Family, frame: Frame, action: Action
    ) -> list[tuple[frozenset[str], int]]:
        """Classes and costs of the programs that start with an action."""
        expansion = action.expand(frame, self.target)
        if not all(bool(c.holds) for c in expansion.conditions):
            return []
        roles = {child.role for child in expansion.leading}
        feature = action.feature(family.key)
        features = frozenset([feature] if feature else [])
        parts: list[list[tuple[frozenset[str], int]]] = [
            [(features, int(expansion.cost))]
        ]
        for child in expansion.children:
            if not int(child.exists):
                continue
            times = int(child.times)
            plain = plain_frame(child.frame)
            axes = hole_axes(plain.key, child.dims, family.axes, self.target.threads)
            if any(s not in axis for s, axis in zip(plain.sizes, axes, strict=True)):
                return []
            below = self._family(plain.key, axes)
            if child.role in roles:
                classes = self._classes(below, plain)
                parts.append([(f, times * cost) for f, cost in classes.items()])
                continue
            dim = action.loop_dim(family.key)
            uneven = dim is not None and 4 * plain.sizes[dim] >= frame.sizes[dim]
            if uneven and times:
                return []  # what leads would be but a part of the whole
            best = self._best(below, plain)
            if best is None:
                return []
            parts.append([(frozenset(), times * best)])
        return [
            (frozenset().union(*(f for f, _ in chosen)), sum(c for _, c in chosen))
            for chosen in itertools.product(*parts)
        ]
