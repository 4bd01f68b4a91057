"""The cheapest program of each class: enumeration agrees, and every one is legal."""

import dataclasses
import itertools
import math
import random
import types

import pytest

from morello.errors import SearchError
from morello.machine import AVX2, Target
from morello.search import Impl, Solver
from morello.search.queries import k_best as k_best_module
from morello.search.queries.hypergraph import Node
from morello.search.queries.k_best import Derived, KBest, k_best
from morello.search.queries.program_class import class_of
from morello.spec import Kind, Spec, parse_spec
from tests.search.brute_force import BudgetError
from tests.search.class_enumeration import ClassEnumeration
from tests.search.goals import KINDS, PEELS, random_goal

BUDGET = 200
"""Specs of a goal; of larger ones another is drawn."""

TRIES = 30
GOALS = 2

CORES = dataclasses.replace(PEELS, threads=2)

EVERY = 10_000
"""More classes than any goal here has."""


def _cost(impl: Impl, target: Target) -> int:
    """The cost of a program, action by action; an action that does not apply raises."""
    rewrite = impl.action.apply(impl.spec, target)
    holes = [(hole.role, hole.spec) for hole in rewrite.holes]
    assert holes == [(branch.role, branch.impl.spec) for branch in impl.branches]
    return rewrite.total(tuple(_cost(b.impl, target) for b in impl.branches))


def _check(programs: tuple[Derived, ...], spec: Spec, solver: Solver) -> None:
    """What holds of candidates whatever the goal."""
    target = solver.target
    costs = [one.impl.cost for one in programs]
    assert costs == sorted(costs)
    assert len({one.features for one in programs}) == len(programs)
    assert programs[0].impl == solver.solve(spec).impl
    for one in programs:
        assert one.impl.spec == spec
        assert _cost(one.impl, target) == one.impl.cost
        assert class_of(one.impl, target) == one.features


def _compare(spec: Spec, target: Target, budget: int = BUDGET) -> int:
    """Compare with the enumeration; how many classes there are.

    Raises:
        BudgetError: the goal is too large.
    """
    wanted = ClassEnumeration(target, budget).classes(spec)
    solver = Solver(target)
    try:
        programs = k_best(solver, spec, EVERY)
    except SearchError:
        assert not wanted
        return 0
    _check(programs, spec, solver)
    first, *others = programs
    assert wanted.pop(first.features, first.impl.cost) >= first.impl.cost
    assert {one.features: one.impl.cost for one in others} == wanted
    few = k_best(solver, spec, 3)
    assert [one.impl.cost for one in few] == [one.impl.cost for one in programs[:3]]
    return len(programs)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_classes_are_those_of_the_enumeration(kind: Kind) -> None:
    classes = goals = 0
    for seed in range(TRIES):
        rng = random.Random(f"classes {kind} {seed}")
        spec, target = random_goal(rng, kind), rng.choice((AVX2, PEELS, CORES))
        try:
            classes += _compare(spec, target)
        except BudgetError:
            continue
        goals += 1
        if goals >= GOALS and classes > GOALS:
            break
    assert goals >= GOALS
    assert classes > GOALS


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("text", "target"),
    [("matmul:2x5x1:f32:l1=64:l2=64", PEELS), ("conv:1x1x2x1x1x2x1:f32", AVX2)],
)
def test_reductions_that_are_peeled_and_graphs(text: str, target: Target) -> None:
    assert _compare(parse_spec(text, target.limits), target, 6000) > 1


def test_finding_ends_in_time_with_what_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = itertools.count()  # a second for each look at the clock
    clock = types.SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr(k_best_module, "time", clock)
    spec = parse_spec("matmul:4x8x16:f32", AVX2.limits)
    solver = Solver(AVX2.at(spec))
    counts = []
    for seconds in (-1, 20, 100, EVERY):
        programs = k_best(solver, spec, 8, next(ticks) + seconds)
        _check(programs, spec, solver)
        counts.append(len(programs))
    assert counts[0] == 1
    assert counts == sorted(counts)
    assert 1 < counts[2] < counts[3] == 8


def test_the_clock_is_looked_at_before_each_table_and_edges_are_added_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, derived = itertools.count(), []
    clock = types.SimpleNamespace(perf_counter=lambda: next(looks))
    monkeypatch.setattr(k_best_module, "time", clock)
    derive = k_best_module.KBest._derive_table

    def told(self: KBest, node: Node, slack: float) -> None:
        derived.append(next(looks))
        derive(self, node, slack)

    monkeypatch.setattr(k_best_module.KBest, "_derive_table", told)
    spec = parse_spec("matmul:4x8x16:f32", AVX2.limits)
    search = KBest(Solver(AVX2.at(spec)), spec)
    search.programs(6, math.inf)  # with several bounds
    assert len(derived) > 20
    assert min(b - a for a, b in itertools.pairwise(derived)) > 1
    for node in search._graph.nodes.values():
        edges = [(edge.index, edge.leading) for edge in node.edges]
        assert len(edges) == len({*edges})
        loops = [*node.loops, *(below.loops for below in node.below)]
        codes = [code for loop in loops for code in loop.codes.tolist()]
        assert len(codes) == len({*codes})
