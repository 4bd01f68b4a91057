"""The number of programs is that of an enumeration."""

import dataclasses
import itertools
import math
import random
from collections.abc import Iterator

import pytest

from morello.actions import candidates
from morello.machine import AVX2, Target
from morello.search.queries.counting import count_programs
from morello.spec import Spec, SpecKey, parse_spec
from morello.spec.frame import Frame
from tests.search.axes_of import axes_of
from tests.search.brute_force import Axes, hole_axes, plain_frame
from tests.search.goals import KINDS, PEELS, random_goal

BUDGET = 1500
"""Specs below a random goal; of larger ones another is drawn."""

GOALS = 20

CORES = dataclasses.replace(PEELS, threads=2)


class Enumeration:
    """Every program of a Spec: counted exactly, or listed."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.counts: dict[tuple[SpecKey, Axes, object], int] = {}

    def count(self, spec: Spec) -> int:
        """How many programs there are."""
        return self._count(Frame.of(spec), axes_of(spec, self.target.threads))

    def _count(self, frame: Frame, axes: Axes) -> int:
        key = frame.key, axes, (frame.sizes, frame.limits)
        if key not in self.counts:
            if len(self.counts) > BUDGET:
                raise OverflowError
            self.counts[key] = sum(
                math.prod(self._count(hole, below) for hole, below in holes)
                for _, holes in self._choices(frame, axes)
            )
        return self.counts[key]

    def programs(self, spec: Spec) -> Iterator[str]:
        """Every one of them, as text."""
        axes = axes_of(spec, self.target.threads)
        return self._programs(Frame.of(spec), axes)

    def _programs(self, frame: Frame, axes: Axes) -> Iterator[str]:
        for name, holes in self._choices(frame, axes):
            parts = [list(self._programs(hole, below)) for hole, below in holes]
            for chosen in itertools.product(*parts):
                yield f"{name}[{';'.join(chosen)}]"

    def _choices(
        self, frame: Frame, axes: Axes
    ) -> Iterator[tuple[str, list[tuple[Frame, Axes]]]]:
        """Each action that applies, and the holes that it leaves."""
        for action in candidates(frame.key, axes, self.target):
            expansion = action.expand(frame, self.target)
            if not all(bool(c.holds) for c in expansion.conditions):
                continue
            holes = []
            for child in expansion.children:
                if int(child.exists):
                    hole, threads = plain_frame(child.frame), self.target.threads
                    below = hole_axes(hole.key, child.dims, axes, threads)
                    holes.append((hole, below))
            if all(
                size in axis
                for hole, below in holes
                for size, axis in zip(hole.sizes, below, strict=True)
            ):
                yield str(action), holes


def goals() -> list[Spec]:
    """Small goals of every kind, some of them not serial."""
    rng = random.Random(5)
    specs: list[Spec] = []
    while len(specs) < GOALS:
        goal = random_goal(rng, KINDS[len(specs) % len(KINDS)])
        try:
            Enumeration(CORES).count(goal)
        except OverflowError:
            continue
        specs.append(goal)
    return specs


@pytest.mark.sampled(5)
def test_small_counts_are_exact() -> None:
    kinds, largest = set(), 0
    for goal in goals():
        exact = Enumeration(CORES).count(goal)
        counts = count_programs(goal, CORES)
        if not exact:
            assert counts == -math.inf, goal
            continue
        kinds.add(goal.kind.label)
        largest = max(largest, exact)
        assert math.isclose(counts, math.log2(exact), rel_tol=1e-12, abs_tol=1e-12), (
            goal
        )
        if exact < 1 << 40:
            assert round(2**counts) == exact, goal
    assert len(kinds) >= 4
    assert largest > 1 << 60


@pytest.mark.parametrize(
    "text", ["fill:2:f32", "fill:4:f32", "fill:2x2:s32:l2=0", "move:2:f32:l2=0"]
)
def test_each_counted_program_is_another(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    programs = list(Enumeration(AVX2).programs(spec))
    assert len(set(programs)) == len(programs) > 1
    assert round(2 ** count_programs(spec, AVX2)) == len(programs)


def test_a_spec_without_a_program_has_none() -> None:
    spec = parse_spec("matmul:2x2x2:f32:l1=0", AVX2.limits)
    assert count_programs(spec, AVX2) == -math.inf
