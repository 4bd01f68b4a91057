"""The least cost where some Specs are pinned, by enumeration; and random pins."""

import dataclasses
import random

from morello.actions import candidates
from morello.machine import Target
from morello.search.dp.axes import matters
from morello.search.queries.partial_program import HOLE, Partial
from morello.search.queries.pins import Pin, Pins
from morello.spec import L1, L2, MEMORIES, VRF, Limits, Memory, Spec
from morello.spec.frame import Frame
from tests.search.axes_of import axes_of
from tests.search.brute_force import BruteForce, Family, plain_frame

LEVELS = (VRF, L1, L2)


class PinnedForce(BruteForce):
    """Enumerates programs of which some parts are decided."""

    def __init__(self, target: Target, pins: Pins, budget: int) -> None:
        super().__init__(target, budget)
        self.pins = pins
        self.met = 0
        """How many Specs were found that are pinned."""

    def _best(self, family: Family, frame: Frame) -> int | None:
        point = (frame.sizes, frame.limits.free)
        if point not in family.costs:
            for pin in self.pins.of(frame.key):
                if self._holds(pin, frame):
                    self.met += 1
                    family.costs[point] = self.total(pin.program, frame)
        return super()._best(family, frame)

    def total(self, program: Partial, frame: Frame) -> int | None:
        """The cost of a program whose holes are filled; None if it does not apply."""
        if program.action is None:
            return self.best(frame.spec())
        expansion = program.action.expand(frame, self.target)
        if not all(bool(c.holds) for c in expansion.conditions):
            return None
        total = int(expansion.cost)
        holes = [child for child in expansion.children if int(child.exists)]
        for child, below in zip(holes, program.branches, strict=True):
            cost = self.total(below, plain_frame(child.frame))
            if cost is None:
                return None
            total += int(child.times) * cost
        return total

    def _holds(self, pin: Pin, frame: Frame) -> bool:
        """Whether it is the pinned Spec, but for limits that decide nothing."""
        if pin.spec.sizes != frame.sizes:
            return False
        return all(
            frame.limits[level] == pin.spec.limits[level] or self._idle(pin, level)
            for level in LEVELS
        )

    def _idle(self, pin: Pin, level: Memory) -> bool:
        """Whether a memory decides nothing for a pinned Spec."""
        if matters(pin.spec.key, level, self.target):
            return False
        if level is not VRF:
            return True
        limits = pin.spec.limits
        bare = dataclasses.replace(pin.spec, limits=limits.replace(level, 0))
        costs = {self.total(pin.program, Frame.of(spec)) for spec in (pin.spec, bare)}
        return len(costs) == 1


def random_program(
    rng: random.Random, spec: Spec, target: Target, depth: int
) -> Partial:
    """Decisions to some depth, holes below them."""
    if depth == 0 or rng.random() < 0.2:
        return HOLE
    axes = axes_of(spec, target.threads)
    known = list(candidates(spec.key, axes, target))
    legal = [a for a in known if not a.expand(Frame.of(spec), target).refusal()]
    if not legal:
        return HOLE
    action = rng.choice(legal)
    holes = action.apply(spec, target).holes
    below = (random_program(rng, hole.spec, target, depth - 1) for hole in holes)
    return Partial(action, tuple(below))


def spec_of(family: Family, point: tuple[tuple[int, ...], tuple[int, ...]]) -> Spec:
    """The Spec of a point of an enumeration."""
    sizes, left = point
    key = family.key
    return Spec(key.kind, sizes, key.tensors, Limits(MEMORIES[:-1], left), key.serial)
