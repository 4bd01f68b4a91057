"""Alternatives cost what enumeration says, and are all there."""

import random

import pytest

from morello.actions import candidates
from morello.errors import SearchError
from morello.machine import AVX2
from morello.search import Solver
from morello.search.queries.alternatives import Explorer, Place
from morello.spec import Spec, parse_spec
from morello.spec.frame import Frame
from tests.search.brute_force import BruteForce, BudgetError
from tests.search.goals import KINDS, random_goal


def enumerated(place: Place, brute: BruteForce) -> dict[str, int | None]:
    """The best cost by first action, of those that apply; None without a program."""
    assert place.table is not None
    key, axes = place.spec.key, place.table.sizes
    family = brute._family(key, axes)
    costs = {}
    for action in candidates(key, axes, AVX2):
        if not action.expand(Frame.of(place.spec), AVX2).refusal():
            costs[str(action)] = brute._total(family, Frame.of(place.spec), action)
    return costs


def compare(explorer: Explorer, place: Place, brute: BruteForce) -> int:
    """Compare one node with enumeration; how many alternatives it has."""
    alternatives = explorer.alternatives(place)
    expected = enumerated(place, brute)
    costs = {str(alternatives.chosen.action): alternatives.chosen.cost}
    costs |= {str(a.action): a.impl.cost for a in alternatives.rejected}
    assert costs == {n: c for n, c in expected.items() if c is not None}
    assert alternatives.dead_ends == sum(c is None for c in expected.values())
    assert alternatives.applicable == len(expected)
    excesses = [a.excess for a in alternatives.rejected]
    assert excesses == sorted(excesses)
    assert all(e >= 0 for e in excesses)
    assert alternatives.ties == excesses.count(0)
    return len(alternatives.rejected)


def check(spec: Spec, budget: int) -> int:
    """Compare every node of a program; how many alternatives there were."""
    explorer = Explorer(Solver(AVX2), spec)
    brute = BruteForce(AVX2, budget)
    pending, count = [explorer.root], 0
    while pending:
        place = pending.pop()
        count += compare(explorer, place, brute)
        chosen = explorer.alternatives(place).chosen
        pending += explorer.below(place, chosen)
    return count


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(4))
def test_alternatives_of_random_programs_cost_what_enumeration_says(seed: int) -> None:
    rng = random.Random(seed)
    compared = 0
    for _ in range(9):
        spec = random_goal(rng, rng.choice(KINDS))
        try:
            compared += check(spec, 800)
        except (SearchError, BudgetError):
            continue
    assert compared >= 15


def test_a_program_of_a_node_is_that_of_the_whole() -> None:
    spec = parse_spec("max:9x20:f32:l1=64", AVX2.limits)
    explorer = Explorer(Solver(AVX2), spec)
    impl = explorer.solution.impl
    pending = [(explorer.root, impl)]
    seen = 0
    while pending:
        place, expected = pending.pop()
        assert explorer.alternatives(place).chosen == expected
        below = explorer.below(place, expected)
        pending += zip(below, (b.impl for b in expected.branches), strict=True)
        seen += 1
    assert seen == len(list(impl.walk()))


def test_the_parts_of_an_alternative_add_up() -> None:
    spec = parse_spec("move:24x24:f32:dst=[1,0]", AVX2.limits)
    explorer = Explorer(Solver(AVX2), spec)
    alternatives = explorer.alternatives(explorer.root)
    assert len(alternatives.rejected) > 5
    assert alternatives.ties
    for alternative in alternatives.rejected:
        rewrite = alternative.action.apply(spec, AVX2)
        costs = tuple(b.impl.cost for b in alternative.impl.branches)
        assert rewrite.total(costs) == alternative.impl.cost
        assert alternative.excess == alternative.impl.cost - alternatives.chosen.cost


def test_a_goal_without_a_program_is_refused() -> None:
    spec = parse_spec("matmul:4x4x4:f32:l1=0", AVX2.limits)
    with pytest.raises(SearchError, match="no program exists"):
        Explorer(Solver(AVX2), spec)
