"""Pinned Specs are done as their pins say, wherever they are met (by enumeration)."""

import contextlib
import random

import pytest

from morello.errors import MorelloError, ScheduleError
from morello.search import Solver
from morello.search.impl import Impl
from morello.search.queries.first_program import first_programs
from morello.search.queries.partial_program import Partial
from morello.search.queries.pins import Pin, Pins
from morello.spec import Kind, Spec
from tests.search.agreement import Agreement, compare
from tests.search.brute_force import BruteForce, BudgetError
from tests.search.goals import KINDS, PEELS, goals_of, random_goal
from tests.search.pinned import PinnedForce, random_program, spec_of

GOALS = {kind: goals_of(kind, few=6, many=18) for kind in KINDS}
BUDGET = 500


def pin_of(spec: Spec, program: Partial) -> Pin:
    return Pin(spec, PEELS.name, program)


def random_pins(rng: random.Random, goal: Spec) -> Pins:
    """One to three Specs that the search of a goal meets, decided at random."""
    met = BruteForce(PEELS, BUDGET)
    with contextlib.suppress(BudgetError):
        met.best(goal)
    specs = [
        spec_of(family, point)
        for family in met.families.values()
        for point, cost in family.costs.items()
        if cost is not None
    ]
    by_spec: dict[Spec, Pin] = {}
    for _ in range(rng.choice((1, 2, 3)) if specs else 0):
        spec = rng.choice((goal, *specs))
        pin = pin_of(spec, random_program(rng, spec, PEELS, rng.choice((1, 2, 4))))
        try:
            Solver(PEELS, pins=Pins((pin,))).pinned.check(pin)
        except MorelloError:
            continue
        by_spec[spec] = pin
    return Pins(tuple(by_spec.values()))


def _follows(impl: Impl, program: Partial) -> bool:
    """Whether a program begins with what is decided."""
    if program.action is None:
        return True
    pairs = zip(impl.branches, program.branches, strict=False)
    return impl.action == program.action and all(
        _follows(branch.impl, below) for branch, below in pairs
    )


def _parts(impl: Impl) -> list[Impl]:
    """A program and its holes' programs, at every depth."""
    return [impl, *(p for branch in impl.branches for p in _parts(branch.impl))]


@pytest.mark.sampled(6)
def test_first_programs_are_as_pins_say() -> None:
    met = 0
    for kind in KINDS:
        for seed in range(4):
            rng = random.Random(f"first {kind} {seed}")
            goal = random_goal(rng, kind)
            pins = Pins(random_pins(rng, goal).pins[:1])
            solver = Solver(PEELS, pins=pins)
            for first in first_programs(goal, solver, lambda: None):
                for part in _parts(first):
                    for pin in pins.pins:
                        if part.spec == pin.spec:
                            met += 1
                            assert _follows(part, pin.program), (goal, pin)
    assert met > len(KINDS)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_pins_are_respected_and_all_else_is_best(kind: Kind) -> None:
    agreement, met, pinned = Agreement(), 0, 0
    for seed in range(GOALS[kind]):
        rng = random.Random(f"pins {kind} {seed}")
        goal = random_goal(rng, kind)
        pins = random_pins(rng, goal)
        brute = PinnedForce(PEELS, pins, BUDGET)
        try:
            compare(goal, Solver(PEELS, pins=pins), brute, agreement)
        except ScheduleError:
            continue  # a program of two pins that do not go together
        met += brute.met
        pinned += len(pins.pins)
    assert agreement.mismatches == []
    assert met >= GOALS[kind] // 3
    assert pinned >= GOALS[kind] // 3
