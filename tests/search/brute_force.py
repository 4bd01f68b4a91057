"""The best cost of a Spec by enumeration of every program in the space.

One Spec at a time, by recursion over what `Action.expand` leaves, with a dict as memo.
Nothing of `morello.search` is used: only the actions' definitions, and the rule that
says which sizes a dimension can take.
"""

import dataclasses
import math
from collections.abc import Iterable

from morello.actions import Action, candidates
from morello.machine import Target
from morello.spec import Limits, Spec, SpecKey
from morello.spec.frame import Frame
from morello.spec.structure import is_batch

Axes = tuple[tuple[int, ...], ...]
Point = tuple[tuple[int, ...], tuple[int, int, int]]
"""Sizes, and what is left of registers, L1 and L2."""


class BudgetError(Exception):
    """The enumeration is larger than a test can afford."""


def goal_sizes(spec: Spec, threads: int) -> Axes:
    """The sizes of each dimension; of the output's, and of reductions 8 times as long
    as all of these together, with the shares of threads.

    A batch is whole, one of its elements, or the share of a thread.
    """
    axes = []
    of_outputs = [s for d, s in enumerate(spec.sizes) if d not in spec.kind.reductions]
    for dim, size in enumerate(spec.sizes):
        more: set[int] = set()
        is_long = dim not in spec.kind.reductions or size >= 8 * math.prod(of_outputs)
        if not spec.serial and is_long:
            more = shares(size, threads, dim not in neighbours(spec))
        if is_batch(spec.kind, dim):
            axes.append(tuple(sorted({1, size, *more})))
        else:
            axes.append(ladder_sizes(size, more))
    return tuple(axes)


def neighbours(spec: Spec | SpecKey) -> set[int]:
    """The dimensions that outputs have last in memory."""
    outputs = [i for i, o in enumerate(spec.kind.operands) if o.is_written]
    return {
        spec.kind.operands[i].dims[spec.tensors[i].layout.dims[-1].dim] for i in outputs
    }


def shares(size: int, threads: int, even: bool = False) -> set[int]:
    """What one of many threads has of a dimension, and what the last of them has.

    From 17 on, a multiple of 16. So many as the threads or a number that divides them.
    If ``even``, the least that will do as well, unless 65 64ths of it are as many.
    """
    sizes = set()
    for part in range(2, threads + 1):
        if threads % part == 0:
            enough = [s for s in range(1, size + 1) if s * part >= size]
            share = next((s for s in enough if s <= 16 or s % 16 == 0), size)
            sizes |= {share, size % share}
            if even and 64 * share >= 65 * enough[0]:
                sizes |= {enough[0], size % enough[0]}
    return sizes - {0}


def ladder_sizes(size: int, more: Iterable[int] = ()) -> tuple[int, ...]:
    """{2^x}, {3·2^x}, the size, and whatever remains when one of them tiles another.

    So do ``more`` sizes, the shares of threads.
    """
    rungs = [r for r in range(1, size + 1) if is_rung(r)]
    sizes = {size, *rungs, *more}
    while True:
        rests = {s % r for s in sizes for r in rungs if r < s} - {0}
        if rests <= sizes:
            return tuple(sorted(sizes))
        sizes |= rests


def is_rung(number: int) -> bool:
    """Whether it is 2^x or 3·2^x."""
    while number % 2 == 0:
        number //= 2
    return number in (1, 3)


@dataclasses.dataclass
class Family:
    """All Specs of one key whose dimensions take the sizes of ``axes``."""

    key: SpecKey
    axes: Axes
    actions: tuple[Action, ...]
    costs: dict[Point, int | None]
    """The best cost of each Spec that was asked for; None if it has no program."""


class BruteForce:
    """Enumerates programs; Specs that were enumerated once are remembered."""

    def __init__(self, target: Target, budget: int = 1 << 60) -> None:
        self.target = target
        self.budget = budget
        """How many more Specs may be enumerated."""
        self.families: dict[tuple[SpecKey, Axes], Family] = {}

    def best(self, spec: Spec, axes: Axes | None = None) -> int | None:
        """The least cost of any program of ``spec``; None if it has none.

        Raises:
            BudgetError: more Specs than the budget had to be enumerated.
        """
        axes = axes or goal_sizes(spec, self.target.threads)
        return self._best(self._family(spec.key, axes), Frame.of(spec))

    def _family(self, key: SpecKey, axes: Axes) -> Family:
        family = self.families.get((key, axes))
        if family is None:
            actions = candidates(key, axes, self.target)
            family = self.families[key, axes] = Family(key, axes, actions, {})
        return family

    def _best(self, family: Family, frame: Frame) -> int | None:
        left = frame.limits
        point = (frame.sizes, left.free)
        if point in family.costs:
            return family.costs[point]
        if self.budget <= 0:
            raise BudgetError
        self.budget -= 1
        totals = (self._total(family, frame, a) for a in family.actions)
        best = min((t for t in totals if t is not None), default=None)
        family.costs[point] = best
        return best

    def _total(self, family: Family, frame: Frame, action: Action) -> int | None:
        """The cost of the best program that starts with an action; None if none."""
        expansion = action.expand(frame, self.target)
        if not all(bool(c.holds) for c in expansion.conditions):
            return None
        total = int(expansion.cost)
        for child in expansion.children:
            times = int(child.times)
            if not int(child.exists):
                continue
            plain = plain_frame(child.frame)
            axes = hole_axes(plain.key, child.dims, family.axes, self.target.threads)
            if any(s not in axis for s, axis in zip(plain.sizes, axes, strict=True)):
                return None
            if not is_whole(plain, axes):
                return None
            cost = self._best(self._family(plain.key, axes), plain)
            if cost is None:
                return None
            total += times * cost
        return total


def is_whole(frame: Frame, axes: Axes) -> bool:
    """Whether what has no gaps is all of it, but for its outermost dimension: buffers
    of padded tiles are not in the space where they are less."""
    return all(
        frame.sizes[dim] == axes[dim][-1]
        for operand, tensor in zip(
            frame.key.kind.operands, frame.key.tensors, strict=True
        )
        if tensor.contiguous
        for dim in operand.dims
        if operand.axis(dim) != tensor.layout.dims[0].dim
    )


def hole_axes(key: SpecKey, dims: tuple[int, ...], axes: Axes, threads: int) -> Axes:
    """The sizes of each dimension of a hole.

    Args:
        key: of the hole.
        dims: the parent's dimensions that its own are parts of (`Child.dims`).
        axes: the parent's.
    """
    return tuple(
        _new_axis(key, dim, -1 - d, threads) if d < 0 else axes[d]
        for dim, d in enumerate(dims)
    )


def _new_axis(key: SpecKey, dim: int, size: int, threads: int) -> tuple[int, ...]:
    """The sizes of a dimension that a hole has, and its parent has not."""
    if key.serial or dim in key.kind.reductions:
        return ladder_sizes(size)
    even = dim not in neighbours(key)
    return ladder_sizes(size, shares(size, threads, even))


def plain_frame(frame: Frame) -> Frame:
    """The frame with Python integers, which can be keys of a dict."""
    limits = Limits(frame.limits.memories, tuple(map(int, frame.limits.free)))
    return Frame(frame.key, tuple(int(s) for s in frame.sizes), limits)
