"""Costs are affine in the costs of holes, and grow with trips (C7)."""

import dataclasses
import random

import pytest

from morello.actions import Move, Split, Tile
from morello.cost.operand_context import OperandContext
from morello.machine import AVX2, Target
from morello.search import best_program
from morello.spec import Layout, Level, parse_spec
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


def test_a_loop_costs_its_trips() -> None:
    unit = AVX2.coefficients
    for trips in (2, 3, 17, 1000):
        near = "src=[0,1]@L1:dst=[0,1]@L1"  # no rows to pay for
        spec = parse_spec(f"move:{trips * 8}x4:f32:{near}", AVX2.limits)
        rewrite = Tile("d0", 8).apply(spec, AVX2)
        assert rewrite.cost == trips * unit.loop_trip + unit.loop_setup
        assert [h.times for h in rewrite.holes] == [trips]
        near = "lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@L1"
        text = f"matmul_accum:4x{trips * 8 + 3}x4:f32:{near}"
        ragged = parse_spec(text, AVX2.limits)
        rewrite = Split("k", 8).apply(ragged, AVX2)
        assert rewrite.cost == trips * unit.loop_trip + 2 * unit.loop_setup
        assert [h.times for h in rewrite.holes] == [trips, 1]


@pytest.mark.parametrize(
    ("dst", "streams", "free"),
    [("[0,1]", 8, 4), ("[0,1]", 32, 16), ("[1,0]", 8, 8), ("[1,0]", 32, 32)],
)
@pytest.mark.parametrize("aliased", [False, True])
def test_a_few_rows_are_followed_for_nothing(
    dst: str, streams: int, free: int, aliased: bool
) -> None:
    """Of both operands together.

    Where a copy turns rows of the same sets, no more than L1 has ways.
    """
    around = OperandContext(aliased=("src", "dst") if aliased else ())
    target = dataclasses.replace(AVX2, streams=streams, operand_context=around)
    unit = target.coefficients
    operands, row = 1 + (dst == "[0,1]"), unit.row_aliased if aliased else unit.row_gl
    if aliased and dst == "[1,0]":
        free = min(free, target.l1_ways)
    for rows, paid in ((free, 0), (free + 1, operands * (free + 1) * row)):
        spec = parse_spec(f"move:{rows}x40:f32:dst={dst}", target.limits)
        loop = rows * unit.loop_trip + unit.loop_setup
        assert Tile("d0", 1).apply(spec, target).cost == loop + paid


def test_rows_that_a_copy_writes_across_have_a_price_of_their_own() -> None:
    prices = dataclasses.replace(AVX2.coefficients, row_turned=10**6)
    target = dataclasses.replace(AVX2, coefficients=prices)
    tile = "src=[0,1]/strided:dst={}/strided"

    def paid(dim: str, dst: str, columns: int = 40, where: Target = target) -> int:
        sizes = f"64x{columns}" if dim == "d0" else f"{columns}x64"
        spec = parse_spec(f"move:{sizes}:f32:{tile.format(dst)}", where.limits)
        return Tile(dim, 8).apply(spec, where).cost // 10**6

    assert paid("d1", "[1,0]") == 64  # rows of dst lie along d0
    assert paid("d1", "[1,0]", 4) == 64 // 4  # one of four pieces begins a line
    assert paid("d0", "[1,0]") == 0  # of src, which is read
    assert paid("d0", "[0,1]") == 0  # read and written along
    assert paid("d1", "[1,0]", 40, target.in_context(OperandContext(near=True))) == 0


def test_rows_in_turn_cost_more_where_nothing_is_read_between() -> None:
    prices = dataclasses.replace(AVX2.coefficients, turn_gl=10**9, turn_copy=10**6)
    target = dataclasses.replace(AVX2, coefficients=prices)
    row_major = Layout.row_major(2)

    def lines_in_turn(text: str, operand: str, price: int) -> int:
        spec = parse_spec(text, target.limits)
        to_l2 = Move(operand, Level.L2, row_major)
        return to_l2.apply(spec, target).cost // price

    assert lines_in_turn("fill:2x32:f32", "out", 10**9) == 4
    assert lines_in_turn("move:2x32:f32", "dst", 10**9) == 0
    assert lines_in_turn("move:2x32:f32", "dst", 10**6) == 4
    assert lines_in_turn("move:2x32:f32:dst=[0,1]:src=[1,0]", "dst", 10**9) == 4
    assert lines_in_turn("move:1x32:f32", "dst", 10**6) == 0


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


def test_a_line_costs_more_where_it_is_waited_for() -> None:
    """From each level to the next; from beyond L2 it pays for both."""
    for what in ("line", "hidden", "stream", "store", "row"):
        costs = [AVX2.cost(what, level) for level in Level]
        assert costs[Level.VRF] == costs[Level.L1] == 0
        assert min(costs[Level.L2], costs[Level.MEM]) > 0
    for level in (Level.L2, Level.MEM):
        kinds = [AVX2.cost(what, level) for what in ("stream", "hidden", "line")]
        assert kinds == sorted(kinds)
    with pytest.raises(dataclasses.FrozenInstanceError):
        AVX2.coefficients.load = 0  # type: ignore[misc]
