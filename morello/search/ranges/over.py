"""A program of one size on all sizes of a range, and what it costs at each.

Loops along the range have trips that a call says; what remains of one is a range of its
own, with a program for each size.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from morello.actions import Action, Range, Split, Tile, TileParallel, ToAccum
from morello.errors import ScheduleError, SearchError
from morello.search.dp.table import TableId
from morello.search.impl import Branch, Impl
from morello.search.ranges.at_size import Costs, CostsAtSizes
from morello.search.ranges.sizes import Searched
from morello.spec import SizeRange, Spec
from morello.spec.frame import Frame

MOST_REMAINDERS = 64
"""Sizes of what remains of a loop, each with code of its own."""

MOST_EACH = 15
"""Above so many, loops over tiles of what remains are tried."""

LEAF = 0.001
"""The share of a program's cost that another kernel in its code has to save."""

TILES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Sizes of tiles of loops along a range."""


@dataclasses.dataclass
class Over:
    """Programs over ranges, made of what one search has found."""

    tables: Searched

    def __post_init__(self) -> None:
        self._costs = CostsAtSizes(self.tables.target)
        self._looped: dict[tuple[Spec, TableId], Impl | None] = {}

    def program(
        self, impl: Impl, spec: Spec, table: TableId, loops: bool = False
    ) -> Impl:
        """The program of one size on a Spec with a range, or with settled sizes.

        Args:
            loops: whether a loop along the range takes the place of each decision that
                does not apply to every size.

        Raises:
            SizesError: it does not apply to every size.
            ScheduleError: it applies to none but its own.
        """
        if impl.spec == spec:
            return impl
        if not spec.ranges:
            return self._settled(impl, spec, table)
        if isinstance(impl.action, Range) and not _parts(impl.action, spec):
            return self.program(_half(impl, spec), spec, table, loops)
        try:
            return self._decided(impl, spec, table, loops)
        except ScheduleError:
            looped = self.looped(spec, table) if loops else None
            if looped is None:
                raise
            return looped

    def _settled(self, impl: Impl, spec: Spec, table: TableId) -> Impl:
        """The best program of a settled size, or that of a range where none is."""
        try:
            return self.tables.program(spec, table)
        except SearchError:
            if not impl.spec.ranges:
                raise
        if isinstance(impl.action, Range):
            return self.program(_half(impl, spec), spec, table)
        expansion = impl.action.expand(Frame.of(spec), self.tables.target)
        below = {child.role: child for child in expansion.children}
        given = {branch.role: branch.impl for branch in impl.branches}
        rewrite = impl.action.apply(spec, self.tables.target)
        branches = []
        for hole in rewrite.holes:
            under = self.tables.below(table, impl.action, below[hole.role])
            found = self.program(given[hole.role], hole.spec, under)
            branches.append(Branch(hole.role, hole.times, found))
        costs = tuple(branch.impl.cost for branch in branches)
        return Impl(spec, impl.action, rewrite.total(costs), tuple(branches))

    def _decided(self, impl: Impl, spec: Spec, table: TableId, loops: bool) -> Impl:
        """The first decision of a program on a range, and programs of its holes."""
        expansion = impl.action.expand(Frame.of(spec), self.tables.target)
        below = {child.role: child for child in expansion.children}
        given = {branch.role: branch.impl for branch in impl.branches}
        rewrite = impl.action.apply(spec, self.tables.target)
        loop = impl.action.loop_dim(spec.key)
        along = loop is not None and loop in spec.ranges[0].dims
        branches = []
        for hole in rewrite.holes:
            under = self.tables.below(table, impl.action, below[hole.role])
            own = given.get(hole.role)
            if hole.role == "remainder" and (along or own is None):
                found = self._remainder(hole.spec, under, loops)
            elif own is None:
                found = self._any(hole.spec, under, loops)
            else:
                found = self.program(own, hole.spec, under, loops)
            branches.append(Branch(hole.role, hole.times, found))
        found = Impl(spec, impl.action, 0, tuple(branches))
        return dataclasses.replace(found, cost=self._costs.at_greatest(found))

    def _any(self, spec: Spec, table: TableId, loops: bool) -> Impl:
        """The program of a hole of which no program is known; of a range without a loop
        one of each size."""
        looped = self.looped(spec, table) if loops and spec.ranges else None
        return self.each(spec, table) if looped is None else looped

    def _remainder(self, spec: Spec, table: TableId, loops: bool) -> Impl:
        """The program of what remains of a loop."""
        count = len(spec.ranges[0].sizes(spec.greatest[0])) if spec.ranges else 1
        looped = self._any(spec, table, loops) if loops and count > MOST_EACH else None
        return self.each(spec, table) if looped is None else looped

    def looped(self, spec: Spec, table: TableId) -> Impl | None:
        """The best program that begins with a loop along the range, or with what makes
        a reduction one that can be looped over; None if there is none."""
        key = spec, table
        if key not in self._looped:
            self._looped[key] = None  # while it is looked for
            found = list(self._loops(spec, table))
            self._looped[key] = min(found, key=self._score) if found else None
        return self._looped[key]

    def _loops(self, spec: Spec, table: TableId) -> Iterator[Impl]:
        """Loops over tiles of several sizes."""
        one, greatest = spec.ranges[0], spec.greatest[0]
        names = [spec.kind.dims[dim] for dim in one.dims]
        actions: list[Action] = [
            action(name, size)
            for name in names
            for action in (Tile, TileParallel, Split)
            for size in TILES
            if size <= greatest
        ]
        if spec.kind.reform is not None:
            actions.append(ToAccum())
        for action in actions:
            loop = Impl(spec.at(greatest), action, 0, ())
            try:
                yield self._decided(loop, spec, table, True)
            except (ScheduleError, SearchError):
                continue

    def _score(self, impl: Impl) -> float:
        """The mean of the logarithms of the costs of all sizes, and what the code is
        worth."""
        mean = float(np.log(self.costs(impl, impl.spec)).mean())
        return mean + LEAF * impl.leaves

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

    def costs(self, impl: Impl, spec: Spec) -> Costs:
        """The cost of a program at every size of a Spec."""
        return self._costs.costs(impl, spec)


def part_of(spec: Spec, first: int, last: int) -> Spec:
    """A Spec with a part of its range."""
    one = spec.ranges[0]
    settled = spec.at(last)
    if first == last:
        return settled
    part = SizeRange(one.dims, first, one.step)
    return dataclasses.replace(settled, ranges=(part,))


def _parts(action: Range, spec: Spec) -> bool:
    """Whether a Spec has sizes on both sides."""
    least, *_ = spec.ranges[0].sizes(spec.greatest[0])
    return least <= action.last < spec.greatest[0]


def _half(impl: Impl, spec: Spec) -> Impl:
    """The program of a `Range` on the side on which a Spec is."""
    assert isinstance(impl.action, Range)
    size = spec.sizes[spec.kind.dims.index(impl.action.dim)]
    role = "low" if size <= impl.action.last else "high"
    return next(branch.impl for branch in impl.branches if branch.role == role)


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
