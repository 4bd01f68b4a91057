"""Costs of programs over ranges, at each of many sizes at once."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from morello.actions import Child
from morello.machine import Target
from morello.search.impl import Impl
from morello.spec import Limits, Spec
from morello.spec.frame import Frame

Costs = np.ndarray[Any, np.dtype[np.float64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]


class CostsAtSizes:
    """Costs of programs over ranges, at each size.

    Args:
        target: the machine as Specs below the goal see it.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._at_one: dict[tuple[int, Spec], tuple[Impl, float]] = {}
        """The cost at one size, by the number of a program, which is kept alive."""

    def cost(self, impl: Impl, spec: Spec) -> float:
        """The cost at one size; infinite where the program does not apply.

        Args:
            spec: of this size.
        """
        return float(self._costs(impl, Frame.of(spec), 1)[0])

    def costs(self, impl: Impl, spec: Spec) -> Costs:
        """The cost at each of `Spec.calls`; infinite where the program does not
        apply."""
        count = math.prod(map(len, spec.every_size))
        return self._costs(impl, Frame.over(spec), count)

    def kernels(self, impl: Impl, spec: Spec) -> Iterator[Bools]:
        """Tell for each kernel of a program at which of `Spec.calls` it runs."""
        count = math.prod(map(len, spec.every_size))
        return self._kernels(impl, Frame.over(spec), np.ones(count, bool))

    def _kernels(self, impl: Impl, frame: Frame, runs: Bools) -> Iterator[Bools]:
        """Tell where each kernel runs.

        Args:
            frame: of the Specs of those calls that run the program.
            runs: these calls, of all.
        """
        if not impl.branches:
            yield runs
            return
        programs = {branch.role: branch.impl for branch in impl.branches}
        for child in impl.action.expand(frame, self._target).children:
            there = np.broadcast_to(child.exists, int(runs.sum())) != 0
            if child.role in programs and there.any():
                below = runs.copy()
                below[runs] = there
                yield from self._kernels(
                    programs[child.role], _parts(child, there), below
                )

    def at_greatest(self, impl: Impl) -> Impl:
        """A program with its cost at the greatest size, at which less may remain of a
        loop than at others."""
        spec = impl.spec.point(*impl.spec.greatest)
        cost = float(self._whole(impl, Frame.of(spec), 1)[0])
        costing = dataclasses.replace(impl, cost=int(cost))
        self._at_one[id(costing), spec] = costing, cost
        return costing

    def _costs(self, impl: Impl, frame: Frame, count: int) -> Costs:
        settled = _settled(frame)
        if settled is None:
            return self._whole(impl, frame, count)
        if settled == impl.spec:
            return np.full(count, float(impl.cost))
        number = id(impl), settled
        if number not in self._at_one:
            self._at_one[number] = impl, float(self._whole(impl, frame, 1)[0])
        return np.full(count, self._at_one[number][1])

    def _whole(self, impl: Impl, frame: Frame, count: int) -> Costs:
        """The cost from what each action and hole of the program costs.

        Args:
            frame: of ``count`` Specs.
        """
        expansion = impl.action.expand(frame, self._target)
        programs = {branch.role: branch.impl for branch in impl.branches}
        total = np.broadcast_to(expansion.cost, count).astype(np.float64)
        varying = frozenset(dim for one in impl.spec.ranges for dim in one.dims)
        if varying:
            total += impl.action.varying_cost(frame, varying, self._target)
        if not impl.action.splits_sizes:
            for condition in expansion.conditions:
                if condition.is_of_settled and impl.spec.ranges:
                    continue
                total[~np.broadcast_to(np.asarray(condition.holds, bool), count)] = (
                    np.inf
                )
        for child in expansion.children:
            if np.ndim(child.exists) == 0 and child.exists and child.role in programs:
                cost = self._costs(programs[child.role], child.frame, count)
                total += child.times * cost
                continue
            there = np.broadcast_to(child.exists, count) != 0
            if child.role in programs and there.any():
                cost = self._costs(
                    programs[child.role], _parts(child, there), int(there.sum())
                )
                total[there] += np.broadcast_to(child.times, count)[there] * cost
            else:
                total[there] = np.inf
        return total


def _parts(child: Child, there: np.ndarray[Any, Any]) -> Frame:
    """The Specs of a hole where there is one."""
    frame = child.frame

    def where_it_is(value: Any) -> Any:
        if np.ndim(value) == 0:
            return value
        some = np.broadcast_to(value, there.shape)[there]
        return some[0] if (some == some[0]).all() else some

    free = tuple(map(where_it_is, frame.limits.free))
    sizes = tuple(map(where_it_is, frame.sizes))
    return Frame(frame.key, sizes, Limits(frame.limits.memories, free))


def _settled(frame: Frame) -> Spec | None:
    """The Spec of a frame of equal ones."""
    if any(map(np.ndim, (*frame.sizes, *frame.limits.free))):
        return None
    return frame.spec()
