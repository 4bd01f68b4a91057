"""The layouts that are chosen beside a search of each."""

import dataclasses

import pytest

from morello.machine import AVX2
from morello.search import Patience, best_program, best_settled
from morello.search.queries.layout_choice import _settlements
from morello.spec import parse_open_spec

pytestmark = pytest.mark.quick

GOAL = parse_open_spec("matmul:6x8x32:f32:rhs=any", AVX2.limits)


def test_the_chosen_layouts_cost_least() -> None:
    target = AVX2.at(GOAL.spec)
    every = list(_settlements(GOAL, target))
    assert len(every) > 1
    assert len({*every}) == len(every)
    assert every[0] == GOAL.spec
    costs = {spec: best_program(spec, target).impl.cost for spec in every}
    spec, solution = best_settled(GOAL, AVX2)
    assert solution.impl.spec == spec
    assert solution.impl.cost == costs[spec] == min(costs.values())
    assert solution.complete


def test_without_time_the_first_layouts_are_taken() -> None:
    spec, solution = best_settled(GOAL, AVX2, patience=Patience(0.0))
    assert spec == GOAL.spec
    assert not solution.complete
    assert solution.impl.spec == spec


def test_a_search_that_ends_late_is_not_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first layouts have a program; there is no time for others."""
    times = iter((0.0, 0.0, 100.0))
    clock = dataclasses.make_dataclass("Clock", [])
    clock.perf_counter = staticmethod(lambda: next(times))
    monkeypatch.setattr("morello.search.queries.layout_choice.time", clock)
    spec, solution = best_settled(GOAL, AVX2, patience=Patience(50.0))
    assert spec == GOAL.spec
    assert solution.impl.cost == best_program(spec, AVX2.at(spec)).impl.cost
    assert not solution.complete


def test_what_scales_integers_is_packed_with_them_before_maps() -> None:
    """The layouts of a product by itself, also where a map follows it."""
    product = "v0[d0]=sum(x0[d1]*(x1[d1//32,d0]*(x2[d1/2,d0]-8.0)))"
    goals = [
        parse_open_spec(f"compose:64x64:{dtypes}:graph={graph}", AVX2.limits)
        for dtypes, graph in (
            ("f32,f32,u8,f32", f"out {product}:x1=any:x2=any"),
            ("f32,f32,u8,f32", f"{product};out v1[d0]=relu(v0):x1=any:x2=any"),
        )
    ]
    alone, followed = (
        [[t.layout for t in spec.tensors[1:3]] for spec in _settlements(goal, AVX2)]
        for goal in goals
    )
    assert len(alone) > 1
    assert alone == followed
