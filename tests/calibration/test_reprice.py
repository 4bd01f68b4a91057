"""The cost of a program under other coefficients is what the search would say."""

import random
from collections.abc import Hashable

import numpy as np
import pytest

from morello.calibration.draw import Plan, draw
from morello.calibration.reprice import Ledger
from morello.calibration.sample import (
    MAX_EXCESS,
    MAX_NODES,
    Sampler,
    code_of,
    perturbed,
)
from morello.compiler.stages import build_stages
from morello.learned.ledger import FITTED, cost_of, decisions
from morello.machine import AVX2, Target, find_target
from morello.search import Impl, Solution, Solver, Statistics
from morello.spec import parse_spec
from tests.calibration.repriced import reprice

L1 = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"
TEXTS = (
    f"matmul_accum:7x20x17:f32:{L1}",
    f"matmul:5x12x9:s32:{L1}",
    "move:24x40:f32:dst=[1,0]",
    "max:20x17:f32",
    "fill:1000:f32:value=lowest",
    "move:40x1024:f32:dst=[1,0]",  # aliased
    "fill:3000x2048:f32",  # far and aliased
)


def price(impl: Impl, target: Target) -> float:
    return float(Ledger([impl], AVX2).costs(target)[0])


def solve(text: str, target: Target) -> Impl:
    spec = parse_spec(text, target.limits)
    return Solver(target.at(spec)).solve(spec).impl


@pytest.mark.parametrize("text", TEXTS)
def test_its_own_coefficients_give_the_cost_of_the_search(text: str) -> None:
    impl = solve(text, AVX2)
    assert reprice(impl, AVX2) == impl
    assert price(impl, AVX2) == impl.cost


@pytest.mark.parametrize("text", TEXTS)
def test_other_coefficients_give_the_cost_of_another_search(text: str) -> None:
    other = perturbed(AVX2, random.Random(text))
    assert other != AVX2
    here, there = solve(text, AVX2), solve(text, other)
    assert reprice(there, AVX2).cost == price(there, AVX2) >= here.cost
    assert reprice(here, other).cost == price(here, other) >= there.cost
    assert reprice(reprice(there, AVX2), other) == there


@pytest.mark.parametrize("text", TEXTS)
def test_decisions_are_counted_as_often_as_they_run(text: str) -> None:
    impl = solve(text, AVX2)
    total = sum(
        runs * (action.apply(spec, AVX2.at(impl.spec)).cost)
        for (spec, action), runs in decisions(impl).items()
    )
    assert total == impl.cost


@pytest.mark.parametrize("text", TEXTS)
def test_slopes_give_the_cost(text: str) -> None:
    """A cost is of degree 1 in the coefficients: slopes times those add up to it."""
    # Values without ties: where two parts of a kernel bind alike a slope is a mean.
    target = find_target("avx2{fma=507,load=491,store=1013,fma_latency=4801}")
    impl = solve(text, target)
    values = [cost_of(target, name) for name in FITTED]
    slopes = Ledger([impl], AVX2).slopes(target)[0]
    assert (slopes >= 0).all()
    assert float(slopes @ np.array(values)) == pytest.approx(impl.cost, rel=0.01)


def test_a_slope_is_how_often_a_cost_is_paid() -> None:
    impl = solve("fill:1000000:f32", AVX2)
    slopes = dict(zip(FITTED, Ledger([impl], AVX2).slopes(AVX2)[0], strict=True))
    # 125,000 vectors, and lines that go out of L1 and L2.
    assert slopes["store"] == pytest.approx(125000)
    assert slopes["store_mem"] >= 1
    assert slopes["fma"] == slopes["shuffle"] == slopes["fork"] == 0


@pytest.mark.parametrize("text", TEXTS)
def test_samples_are_legal_different_and_priced(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    programs = Sampler(spec, AVX2, random.Random(0)).programs(12)
    assert programs[0] == solve(text, AVX2)
    assert 3 <= len(programs) <= 12
    assert len({str(impl) for impl in programs}) == len(programs)
    for impl in programs:
        assert impl.spec == spec
        assert reprice(impl, AVX2) == impl  # every action applies
        assert programs[0].cost <= impl.cost <= MAX_EXCESS * programs[0].cost
        assert sum(1 for _ in impl.walk()) <= MAX_NODES


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "text", ["move:16x24:f32", "matmul:5x6x12:f32", "max:9x17:f32"]
)
def test_programs_that_do_the_same_are_the_same_code(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    by_code: dict[Hashable, list[Impl]] = {}
    programs = Sampler(spec, AVX2, random.Random(0)).programs(40)
    for impl in programs:
        by_code.setdefault(code_of(impl), []).append(impl)
    alike = [same for same in by_code.values() if len(same) > 1]
    assert alike
    for same in alike:
        solutions = (Solution(impl, Statistics(0, 0, 0.0)) for impl in same)
        assert len({build_stages(spec, AVX2, each).llvm for each in solutions}) == 1
    codes = [code_of(impl) for impl in draw(spec, AVX2, Plan(40))]
    assert len(set(codes)) == len(codes) >= 20


def test_samples_follow_from_the_seed() -> None:
    spec = parse_spec(TEXTS[2], AVX2.limits)
    one, two, three = (
        Sampler(spec, AVX2, random.Random(seed)).programs(10) for seed in (1, 1, 2)
    )
    assert one == two != three
