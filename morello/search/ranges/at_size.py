"""The cost of a program over a range at one of its sizes."""

import numpy as np

from morello.machine import Target
from morello.search.impl import Impl
from morello.spec import Spec
from morello.spec.frame import Frame


class CostsAtSizes:
    """Costs of programs over ranges, at each size.

    Args:
        target: the machine as Specs below the goal see it.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._costs: dict[tuple[int, Spec], float] = {}
        self._kept: list[Impl] = []

    def cost(self, impl: Impl, spec: Spec) -> float:
        """The cost at one size; infinite where the program does not apply.

        Args:
            spec: of this size.
        """
        key = id(impl), spec
        found = self._costs.get(key)
        if found is None:
            self._kept.append(impl)  # so that no other has its id
            found = self._costs[key] = self._cost(impl, spec)
        return found

    def at_greatest(self, impl: Impl) -> int:
        """The cost at the greatest size, at which less may remain of a loop than at
        others."""
        return int(self._cost(impl, impl.spec.at(*impl.spec.greatest)))

    def _cost(self, impl: Impl, spec: Spec) -> float:
        if impl.spec == spec:
            return impl.cost
        expansion = impl.action.expand(Frame.of(spec), self._target)
        given = {branch.role: branch.impl for branch in impl.branches}
        if not impl.action.splits_sizes and expansion.refusal():
            return np.inf
        total = float(expansion.cost)
        for child in expansion.children:
            if int(child.exists):
                if child.role not in given:
                    return np.inf
                total += int(child.times) * self.cost(
                    given[child.role], child.frame.spec()
                )
        return total
