"""A program of one size on all sizes of a range, and what it costs at each.

Loops along the range have trips that a call says; what remains of one is a range of its
own, with a program for each size.
"""

import dataclasses

from morello.actions import Child, Range
from morello.errors import ScheduleError, SearchError
from morello.search.dp.table import TableId
from morello.search.impl import Branch, Impl
from morello.search.ranges.at_size import CostsAtSizes
from morello.search.ranges.sizes import Searched
from morello.spec import Spec
from morello.spec.frame import Frame

MOST_REMAINDERS = 64
"""Sizes of what remains of a loop, each with code of its own."""


@dataclasses.dataclass
class Over:
    """Programs over ranges, made of what one search has found."""

    tables: Searched

    def __post_init__(self) -> None:
        self._costs = CostsAtSizes(self.tables.target)

    def program(self, impl: Impl, spec: Spec, table: TableId) -> Impl:
        """The program of one size on a Spec with a range, or with settled sizes.

        Raises:
            SizesError: it does not apply to every size.
            ScheduleError: it applies to none but its own.
        """
        if not spec.ranges:
            return impl if impl.spec == spec else self.tables.program(spec, table)
        expansion = impl.action.expand(Frame.of(spec), self.tables.target)
        below = {child.role: child for child in expansion.children}
        given = {branch.role: branch.impl for branch in impl.branches}
        rewrite = impl.action.apply(spec, self.tables.target)
        loop = impl.action.loop_dim(spec.key)
        along = loop is not None and loop in spec.ranges[0].dims
        branches = []
        for hole in rewrite.holes:
            under = self._table(table, impl, below[hole.role])
            own = given.get(hole.role)
            if hole.role == "remainder" and (along or own is None):
                found = self.each(hole.spec, under)
            elif own is None:
                found = self.tables.program(hole.spec, under)
            else:
                found = self.program(own, hole.spec, under)
            branches.append(Branch(hole.role, hole.times, found))
        found = Impl(spec, impl.action, 0, tuple(branches))
        return dataclasses.replace(found, cost=self._costs.at_greatest(found))

    def _table(self, table: TableId, impl: Impl, child: Child) -> TableId:
        return self.tables.below(table, impl.action, child)

    def each(self, spec: Spec, table: TableId) -> Impl:
        """The best program of each size, chosen by comparisons.

        Raises:
            ScheduleError: there are too many, or one has none.
        """
        if not spec.ranges:
            return self.tables.program(spec, table)
        sizes = list(spec.ranges[0].sizes(spec.greatest[0]))
        if len(sizes) > MOST_REMAINDERS:
            raise ScheduleError(f"{len(sizes)} sizes remain of a loop")
        try:
            parts = [
                (size, self.tables.program(spec.at(size), table)) for size in sizes
            ]
        except SearchError as error:
            raise ScheduleError(error.what) from error
        return switch(spec, parts, self)

    def cost(self, impl: Impl, spec: Spec) -> float:
        """The cost of a program over a range at one size; infinite where it does not
        apply.

        Args:
            spec: of this size.
        """
        return self._costs.cost(impl, spec)


def switch(spec: Spec, parts: list[tuple[int, Impl]], over: Over) -> Impl:
    """One program of programs for neighbouring sizes, chosen by as few comparisons as
    it takes.

    Args:
        spec: with a range of all sizes.
        parts: the last size of each program, ascending, and the program.
    """
    if len(parts) == 1:
        return parts[0][1]
    one = spec.ranges[0]
    action = Range(spec.kind.dims[one.dims[0]], parts[(len(parts) - 1) // 2][0])
    rewrite = action.apply(spec, over.tables.target)
    halves = {
        "low": [part for part in parts if part[0] <= action.last],
        "high": [part for part in parts if part[0] > action.last],
    }
    branches = [
        Branch(hole.role, hole.times, switch(hole.spec, halves[hole.role], over))
        for hole in rewrite.holes
    ]
    cost = rewrite.cost + sum(b.times * b.impl.cost for b in branches)
    return Impl(spec, action, cost, tuple(branches))
