"""Costs are affine in the costs of holes, and grow with trips (C7)."""

import random

import pytest

from morello.actions import Split, Tile
from morello.machine import AVX2
from morello.search import Impl, Solver, best_program
from morello.spec import parse_spec
from tests.actions.walk import random_rewrite


@pytest.mark.parametrize("seed", range(20))
def test_a_cost_is_affine_in_the_costs_of_the_holes(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        _, _, rewrite = random_rewrite(rng)
        zero = tuple(0 for _ in rewrite.holes)
        costs = tuple(rng.randrange(1 << 40) for _ in rewrite.holes)
        assert rewrite.total(zero) == rewrite.cost >= 0
        total = rewrite.total(costs)
        for index, hole in enumerate(rewrite.holes):
            more = list(costs)
            more[index] += 1
            assert rewrite.total(tuple(more)) - total == hole.times >= 1


@pytest.mark.parametrize(
    "text", ["matmul:9x20x24:f32", "max:13x21:f32", "softmax:5x40:f32", "move:7x9:bf16"]
)
def test_a_program_costs_its_actions_and_what_they_leave(text: str) -> None:
    """From the leaves up, by the actions alone."""
    spec = parse_spec(text, AVX2.limits)

    def cost(impl: Impl) -> int:
        rewrite = impl.action.apply(impl.spec, AVX2.at(spec))
        parts = zip(rewrite.holes, impl.branches, strict=True)
        total = rewrite.cost
        for hole, branch in parts:
            assert branch.impl.spec == hole.spec
            total += hole.times * cost(branch.impl)
        assert total == impl.cost
        return total

    assert cost(Solver(AVX2.at(spec)).solve(spec).impl) > 0


def test_a_loop_costs_its_trips() -> None:
    unit = AVX2.coefficients
    for trips in (2, 3, 17, 1000):
        near = "src=[0,1]@L1:dst=[0,1]@L1"  # no rows to pay for
        spec = parse_spec(f"move:{trips * 8}x4:f32:{near}", AVX2.limits)
        rewrite = Tile("d0", 8).apply(spec, AVX2)
        assert rewrite.cost == (trips + 1) * unit.loop
        assert [h.times for h in rewrite.holes] == [trips]
        near = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"
        text = f"matmul_accum:4x{trips * 8 + 3}x4:f32:{near}"
        ragged = parse_spec(text, AVX2.limits)
        rewrite = Split("k", 8).apply(ragged, AVX2)
        assert rewrite.cost == (trips + 2) * unit.loop
        assert [h.times for h in rewrite.holes] == [trips, 1]


def test_costs_grow_with_sizes() -> None:
    last = 0
    for size in (1, 8, 64, 512, 4096, 32768):
        spec = parse_spec(f"move:{size}x64:f32", AVX2.limits)
        cost = best_program(spec, AVX2).impl.cost
        assert cost > last
        last = cost


def test_large_costs_are_exact() -> None:
    """Integers, not rounded floats: a cost is the sum that its parts make."""
    spec = parse_spec("max_accum:1048575x1048573:f32", AVX2.limits)
    impl = best_program(spec, AVX2).impl
    rewrite = impl.action.apply(impl.spec, AVX2)
    assert impl.cost > 1 << 42
    assert rewrite.total(tuple(b.impl.cost for b in impl.branches)) == impl.cost
