"""A program of one size on all sizes of ranges, and what it costs at each.

Loops along a range have trips that a call says; what remains of one is a range of its
own, with a program for each size.
"""

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from morello.actions import (
    ACTIONS,
    Action,
    Child,
    Range,
    Rewrite,
    Split,
    Tile,
    TileParallel,
    ToAccum,
)
from morello.errors import ScheduleError, SearchError
from morello.search.dp.table import TableId
from morello.search.impl import Branch, Impl
from morello.search.ranges.at_size import Bools, Costs, CostsAtSizes
from morello.search.ranges.sizes import Searched
from morello.spec import Spec
from morello.spec.frame import Frame

MOST_REMAINDERS = 64
"""The most remainder sizes of a loop; each gets code of its own."""

MOST_EACH = 15
"""Above so many, loops over tiles of what remains are tried."""

LEAF = 0.001
"""The share of a program's cost that another kernel in its code has to save."""

TILES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Sizes of tiles of loops along a range; along one of two every second of them."""

T = TypeVar("T")


@dataclasses.dataclass
class Over:
    """Programs over ranges, made of what one search has found."""

    tables: Searched

    def __post_init__(self) -> None:
        self._costs = CostsAtSizes(self.tables.target)
        self._looped: dict[tuple[Spec, TableId], Impl | None] = {}
        self._rewrites: dict[tuple[Action, Spec], tuple[dict[str, Child], Rewrite]] = {}
        self._programs: dict[Hashable, Impl] = {}
        self._errors: dict[Hashable, ScheduleError | SearchError] = {}
        self._decisions: dict[Hashable, int] = {}
        self._numbers: dict[int, tuple[Impl, int]] = {}

    def _once(self, known: dict[Any, T], key: Hashable, make: Callable[[], T]) -> T:
        """A result, or the error in its place, that is computed once for a key."""
        if key in self._errors:
            raise self._errors[key]
        if key not in known:
            try:
                known[key] = make()
            except (ScheduleError, SearchError) as error:
                self._errors[key] = error
                raise
        return known[key]

    def _number(self, impl: Impl) -> int:
        """A number that programs of the same decisions have in common."""
        if id(impl) not in self._numbers:
            below = tuple((b.role, self._number(b.impl)) for b in impl.branches)
            decisions = impl.action, bool(impl.spec.ranges), below
            number = self._decisions.setdefault(decisions, len(self._decisions))
            self._numbers[id(impl)] = impl, number
        return self._numbers[id(impl)][1]

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
        key = self._number(impl), spec, table, loops
        make = functools.partial(self._program, impl, spec, table, loops)
        return self._once(self._programs, key, make)

    def _program(self, impl: Impl, spec: Spec, table: TableId, loops: bool) -> Impl:
        """The program of `program`, computed once."""
        if not spec.ranges:
            return self._settled(impl, spec, table)
        if isinstance(impl.action, Range) and not _parts(impl.action, spec):
            return self.program(_half(impl, spec), spec, table, loops)
        short = _without_trips(impl, spec)
        if short is not None:
            return self.program(short, spec, table, loops)
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
        short = _without_trips(impl, spec)
        if short is not None:
            return self.program(short, spec, table)
        expansion = impl.action.expand(Frame.of(spec), self.tables.target)
        below = {child.role: child for child in expansion.children}
        programs = {branch.role: branch.impl for branch in impl.branches}
        rewrite = impl.action.apply(spec, self.tables.target)
        branches = []
        for hole in rewrite.holes:
            under = self.tables.below(table, impl.action, below[hole.role])
            program = self.program(programs[hole.role], hole.spec, under)
            branches.append(Branch(hole.role, hole.times, program))
        costs = tuple(branch.impl.cost for branch in branches)
        return Impl(spec, impl.action, rewrite.total(costs), tuple(branches))

    def _decided(self, impl: Impl, spec: Spec, table: TableId, loops: bool) -> Impl:
        """The first decision of a program on a range, and programs of its holes."""
        below, rewrite = self._applied(impl.action, spec)
        programs = {branch.role: branch.impl for branch in impl.branches}
        loop = impl.action.loop_dim(spec.key)
        along = any(loop in one.dims for one in spec.ranges)
        branches = []
        for hole in rewrite.holes:
            under = self.tables.below(table, impl.action, below[hole.role])
            program = programs.get(hole.role)
            if hole.role == "remainder" and (along or program is None):
                ranged = self._remainder(hole.spec, under, loops, program)
            elif program is None:
                ranged = self._any(hole.spec, under, loops)
            else:
                ranged = self.program(program, hole.spec, under, loops)
            branches.append(Branch(hole.role, hole.times, ranged))
        return self._costs.at_greatest(Impl(spec, impl.action, 0, tuple(branches)))

    def _applied(self, action: Action, spec: Spec) -> tuple[dict[str, Child], Rewrite]:
        """An action on a range: its holes at the greatest size, and its rewrite.

        Raises:
            SizesError: it does not apply to every size.
        """

        def applied() -> tuple[dict[str, Child], Rewrite]:
            expansion = action.expand(Frame.of(spec), self.tables.target)
            below = {child.role: child for child in expansion.children}
            return below, action.apply(spec, self.tables.target)

        return self._once(self._rewrites, (action, spec), applied)

    def _any(self, spec: Spec, table: TableId, loops: bool) -> Impl:
        """The program of a hole of which no program is known; of a range without a loop
        one of each size."""
        looped = self.looped(spec, table) if loops and spec.ranges else None
        return self.each(spec, table, loops) if looped is None else looped

    def _remainder(
        self, spec: Spec, table: TableId, loops: bool, known: Impl | None
    ) -> Impl:
        """The program of what remains of a loop.

        Args:
            known: that of the loop on other sizes, taken where those of each were not
                searched.
        """
        if loops and math.prod(map(len, spec.every_size)) > MOST_EACH:
            return self._any(spec, table, loops)
        try:
            return self.each(spec, table, loops)
        except (ScheduleError, SearchError):
            if known is None:
                raise
            return self.program(known, spec, table, loops)

    def looped(self, spec: Spec, table: TableId) -> Impl | None:
        """The best program that begins with a loop along the range, or with what makes
        a reduction one that can be looped over; None if there is none."""
        key = spec, table
        if key not in self._looped:
            self._looped[key] = None  # while it is looked for
            loops = list(self._loops(spec, table))
            self._looped[key] = min(loops, key=self.score) if loops else None
        return self._looped[key]

    def beyond(self, spec: Spec, best: Iterable[Impl]) -> Impl:
        """The best program of sizes without end.

        Args:
            spec: with such a range.
            best: programs of single sizes, whose decisions are tried.

        Raises:
            SearchError: none is known.
        """
        programs = []
        looped = self.looped(spec, self.tables.root)
        for impl in best:
            with contextlib.suppress(ScheduleError, SearchError):
                programs.append(self.program(impl, spec, self.tables.root, True))
        programs += [] if looped is None else [looped]
        if not programs:
            raise SearchError(
                f"{spec} has no program of sizes without end: none begins with loops "
                "along them",
                "give the range an end: 1..512",
            )
        return min(programs, key=self.score)

    def _loops(self, spec: Spec, table: TableId) -> Iterator[Impl]:
        """Loops over tiles of several sizes."""
        actions: list[Action] = [
            action(spec.kind.dims[dim], size)
            for one, greatest in zip(spec.ranges, spec.greatest, strict=True)
            for dim in one.dims
            for action in (
                (Tile, Split) if spec.serial else (Tile, TileParallel, Split)
            )
            for size in TILES[:: len(spec.ranges)]
            if size <= greatest
        ]
        if spec.kind.reform is not None:
            actions.append(ToAccum())
        if spec.open_dims:
            axes = tuple((size,) for size in spec.sizes)
            for kind in ACTIONS:
                if kind.cuts_graphs:
                    actions += kind.candidates(spec.key, axes, self.tables.target)
        for action in actions:
            loop = Impl(spec.point(*spec.greatest), action, 0, ())
            try:
                yield self._decided(loop, spec, table, True)
            except (ScheduleError, SearchError):
                continue

    def score(self, impl: Impl) -> float:
        """The mean of the logarithms of the costs of all sizes, and what the code is
        worth."""
        mean = float(np.log(self.costs(impl, impl.spec)).mean())
        return mean + LEAF * impl.leaves

    def each(self, spec: Spec, table: TableId, loops: bool = False) -> Impl:
        """The best program of each size, chosen by comparisons; of two ranges, of each
        size of that with fewer.

        Raises:
            ScheduleError: there are too many, or one has none.
        """
        if not spec.ranges:
            return self.tables.program(spec, table)
        make = functools.partial(self._each, spec, table, loops)
        return self._once(self._programs, (spec, table, loops), make)

    def _each(self, spec: Spec, table: TableId, loops: bool) -> Impl:
        """The program of `each`, computed once."""
        every = spec.every_size
        ending = [axis for axis, one in enumerate(spec.ranges) if not one.is_open]
        if not ending:
            raise ScheduleError(f"{spec} has sizes without end")
        shorter = min(ending, key=lambda axis: len(every[axis]))
        if len(every[shorter]) > MOST_REMAINDERS:
            raise ScheduleError(f"{len(every[shorter])} sizes remain of a loop")
        first, last = [one[0] for one in every], [one[-1] for one in every]
        parts = []
        for size in every[shorter]:
            first[shorter] = last[shorter] = size
            box = Box(tuple(first), tuple(last))
            parts.append((box, self._best(spec.part(*box), table, loops)))
        return switch(spec, parts, self)

    def _best(self, spec: Spec, table: TableId, loops: bool) -> Impl:
        """The program that is best at the greatest sizes, on all."""
        try:
            best = self.tables.program(spec.point(*spec.greatest), table)
        except SearchError as error:
            raise ScheduleError(error.what) from error
        return self.program(best, spec, table, loops)

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

    def kernels(self, impl: Impl, spec: Spec) -> Iterator[Bools]:
        """Tell for each kernel of a program at which sizes of a Spec it runs."""
        return self._costs.kernels(impl, spec)


class Box(NamedTuple):
    """Sizes of calls: for each range those from a first to a last one."""

    first: tuple[int, ...]
    last: tuple[int, ...]

    def __contains__(self, call: object) -> bool:
        return isinstance(call, tuple) and all(
            first <= size <= last
            for first, size, last in zip(self.first, call, self.last, strict=True)
        )


def _parts(action: Range, spec: Spec) -> bool:
    """Whether a Spec has sizes on both sides."""
    dim = spec.kind.dims.index(action.dim)
    return any(
        sizes[0] <= action.last < sizes[-1]
        for one, sizes in zip(spec.ranges, spec.every_size, strict=True)
        if dim in one.dims
    )


def _without_trips(impl: Impl, spec: Spec) -> Impl | None:
    """The program of what remains of a loop that has no trip at a settled size of a
    Spec, or of its body where it has one and nothing remains; None of another
    program."""
    dim = impl.action.loop_dim(spec.key)
    if dim is None or any(dim in one.dims for one in spec.ranges):
        return None
    if spec.sizes[dim] > impl.action.loop_size:
        return None
    role = "main" if spec.sizes[dim] == impl.action.loop_size else "remainder"
    return next((b.impl for b in impl.branches if b.role == role), None)


def _half(impl: Impl, spec: Spec) -> Impl:
    """The program of a `Range` on the side on which a Spec is."""
    assert isinstance(impl.action, Range)
    size = spec.sizes[spec.kind.dims.index(impl.action.dim)]
    role = "low" if size <= impl.action.last else "high"
    return next(branch.impl for branch in impl.branches if branch.role == role)


def switch(
    spec: Spec,
    parts: list[tuple[Box, Impl]],
    over: Over,
    axes: tuple[int, ...] | None = None,
) -> Impl:
    """One program of programs for boxes that touch, chosen by as few comparisons as it
    takes.

    Args:
        spec: with ranges of all sizes.
        parts: the programs; some size of a range always parts the boxes into two.
        axes: the place in the boxes of each range of the Spec.
    """
    if len(parts) == 1:
        return parts[0][1]
    axes = tuple(range(len(spec.ranges))) if axes is None else axes
    number, last = _border(parts, axes)
    axis = axes[number]
    action = Range(spec.kind.dims[spec.ranges[number].dims[0]], last)
    rewrite = action.apply(spec, over.tables.target)
    halves = {
        "low": [part for part in parts if part[0].last[axis] <= last],
        "high": [part for part in parts if part[0].last[axis] > last],
    }
    branches = []
    for hole in rewrite.holes:
        left = tuple(axes[follows] for follows in hole.follows)
        chosen = switch(hole.spec, halves[hole.role], over, left)
        branches.append(Branch(hole.role, hole.times, chosen))
    cost = rewrite.cost + sum(b.times * b.impl.cost for b in branches)
    return Impl(spec, action, cost, tuple(branches))


def _border(parts: list[tuple[Box, Impl]], axes: tuple[int, ...]) -> tuple[int, int]:
    """The place in ``axes`` and the size after which boxes are parted into halves that
    are as even as may be."""
    borders = []
    for number, axis in enumerate(axes):
        for last in {box.last[axis] for box, _ in parts}:
            low = sum(box.last[axis] <= last for box, _ in parts)
            crossing = any(b.first[axis] <= last < b.last[axis] for b, _ in parts)
            if low < len(parts) and not crossing:
                borders.append((abs(2 * low - len(parts)), -low, number, last))
    *_, number, last = min(borders)
    return number, last
