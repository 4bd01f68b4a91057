"""The search on tiny goals, in seconds: enumeration agrees, costs are as recorded."""

import random

import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.spec import Kind
from tests.search.agreement import Agreement, compare
from tests.search.brute_force import BruteForce
from tests.search.goals import KINDS, random_goal
from tests.search.golden import REMEDY, goals
from tests.search.golden import compare as compare_costs

GOALS = 3
BUDGET = 300
"""Specs enumerated for a goal: `test_optimum.py` has more of both."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_program_of_a_tiny_goal_is_better(kind: Kind) -> None:
    agreement = Agreement()
    for seed in range(GOALS):
        spec = random_goal(random.Random(f"{kind} {seed}"), kind)
        compare(spec, Solver(AVX2), BruteForce(AVX2, BUDGET), agreement)
    assert agreement.mismatches == []
    assert agreement.goals[kind.label] + agreement.points[kind.label] > 0


@pytest.mark.sampled(5)
def test_costs_of_goals_without_products_have_not_changed() -> None:
    wrong = compare_costs([goal for goal in goals() if goal.is_quick][::3])
    assert not wrong, "\n".join([*wrong, REMEDY])
