"""The most that groups may gain, without a search: `Savings`.

Groups other than the rule's compute as much or more. They gain by what they need not
store and read again, and by fewer calls; so a few sums tell which are worth a search.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from morello.frontends.grouping.cheapest import Candidate
from morello.frontends.grouping.group_dims import UnfitError
from morello.frontends.grouping.parts import Part
from morello.machine import Target
from morello.spec.tensors.layout import LINE_BYTES

WORTH = 0.01
"""The part of a price that another group has to gain: less is no more than what prices
do not know, such as what caches hold between parts."""


class Savings:
    """The most that groups save of what the rule's cost.

    Args:
        rule: its groups.
        prices: of each of them.
        part: a group as a part.
        target: the machine.
    """

    def __init__(
        self,
        rule: Sequence[Candidate],
        prices: Sequence[float],
        part: Callable[[Candidate], Part],
        target: Target,
    ) -> None:
        self._rule = tuple(zip(rule, prices, strict=True))
        self._part = part
        self._target = target

    def share(self, group: Candidate) -> float:
        """The most that a group saves, as a part of what it takes the place of; 0 for a
        piece of a group of the rule."""
        if any(group.nodes <= of_rule.nodes for of_rule, _ in self._rule):
            return 0.0
        replaced = [
            (of_rule, p) for of_rule, p in self._rule if of_rule.nodes & group.nodes
        ]
        after = [group, *(self._rest(of_rule, group) for of_rule, _ in replaced)]
        moved = math.fsum(self._moved(of_rule) for of_rule, _ in replaced)
        moved -= math.fsum(self._moved(of_rule) for of_rule in after)
        return moved / max(1.0, math.fsum(price for _, price in replaced))

    def worthwhile(self, groups: Iterable[Candidate]) -> list[Candidate]:
        """The groups that may save enough, and what is left of the groups that they
        split."""
        groups = list(groups)
        savers = [group for group in groups if self.share(group) >= WORTH]
        left = {
            self._rest(of_rule, saver) for of_rule, _ in self._rule for saver in savers
        }
        return [group for group in groups if group in left or group in savers]

    def _rest(self, of_rule: Candidate, group: Candidate) -> Candidate:
        """The nodes of a group of the rule that another group leaves. It computes those
        that the other has again alone where its others read them."""
        nodes = of_rule.nodes - group.covered
        again = nodes & group.copies
        alone = Candidate(nodes - again)
        part = self._part_of(alone) if again else None
        is_read = part is not None and not again.isdisjoint(part.inputs)
        return Candidate(nodes, again) if is_read else alone

    def _part_of(self, group: Candidate) -> Part | None:
        """A group as a part; None if it has no nodes to store, or is no Spec."""
        if not group.covered:
            return None
        with suppress(UnfitError):
            return self._part(group)
        return None

    def _moved(self, group: Candidate) -> float:
        """The price of the lines that a part reads and writes, and of calling it.

        Operands that fit L2 move nothing: those of several parts are still there.
        """
        part = self._part_of(group)
        if part is None:
            return 0.0
        spec = part.spec(self._target.limits)
        prices = self._target.at(spec).prices
        total = float(prices.loop)
        for index, operand in enumerate(spec.kind.operands):
            size = spec.span(index) * spec.dtypes[index].itemsize
            lines = math.ceil(size / LINE_BYTES)
            if lines > self._target.l2_lines:
                total += operand.is_read * lines * prices.line_mem_demand
                total += operand.is_written * lines * prices.store_mem
        return total
