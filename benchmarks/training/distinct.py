"""Find programs that differ in form, not in work: `Distinct`.

Loops around loops, and moves elsewhere, give a program another form of the same work.
The cost model prices both alike, and which of them is the faster one is chance.
"""

import math
from collections.abc import Sequence

from morello.learned.features import is_fused
from morello.search import Impl

_SAME = math.log(1.005)
"""Programs of one class whose costs differ by less are one."""


class Distinct:
    """Programs that were met: of each class those that differ in cost."""

    def __init__(self) -> None:
        self._costs: dict[tuple[frozenset[str], bool | None], list[float]] = {}

    def is_new(self, impl: Impl, features: Sequence[str]) -> bool:
        """Whether none that was met is the same one; it has been met from now on.

        Args:
            features: its class.
        """
        met = self._costs.setdefault((frozenset(features), is_fused(impl)), [])
        cost = math.log(max(1, impl.cost))
        if any(abs(cost - other) < _SAME for other in met):
            return False
        met.append(cost)
        return True
