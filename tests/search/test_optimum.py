"""The search's cost is the least of all programs: enumeration agrees (C1)."""

import dataclasses
import random

import pytest

from morello.actions import Peel
from morello.machine import AVX2
from morello.machine.operand_context import OperandContext
from morello.machine.target import Target
from morello.machine.targets.avx2_golden_cove import AVX2_GOLDEN_COVE as GOLDEN_COVE
from morello.machine.targets.avx512_vnni_bf16 import AVX512_VNNI_BF16 as AVX512
from morello.search import Solver
from morello.search.dp.axes import size_axis
from morello.spec import Kind, Limits, parse_spec
from tests.search.agreement import Agreement, compare, searched
from tests.search.brute_force import BruteForce, ladder_sizes, shares
from tests.search.goals import KINDS, PEELS, goals_of, random_goal

ALONE = [kind for kind in KINDS if kind.has_element]
"""Graphs are enumerated in `tests/graphs/test_optimum.py`."""

GOALS = {kind: goals_of(kind, few=18, many=64) for kind in KINDS}
BUDGET = 1000
"""Specs enumerated for a goal. What was finished is compared if it does not suffice."""

FEW_LIMITS = (Limits.of(vrf=7, l1=16, l2=1024), Limits.of(vrf=16, l1=0, l2=8))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", ALONE, ids=str)
def test_no_program_is_better(kind: Kind) -> None:
    agreement = Agreement()
    for seed in range(GOALS[kind]):
        spec = random_goal(random.Random(f"{kind} {seed}"), kind)
        compare(spec, Solver(AVX2), BruteForce(AVX2, BUDGET), agreement)
    label = kind.label
    assert agreement.mismatches == []
    assert agreement.goals[label] >= GOALS[kind] * 3 // 5
    assert agreement.goals[label] + agreement.points[label] >= 500
    assert agreement.programs[label] >= 150


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "kind", [k for k in ALONE if k.reductions and not k.accumulates], ids=str
)
def test_no_program_is_better_where_short_reductions_are_peeled(kind: Kind) -> None:
    agreement = Agreement()
    for seed in range(GOALS[kind] // 2):
        spec = random_goal(random.Random(f"peel {kind} {seed}"), kind)
        compare(spec, Solver(PEELS), BruteForce(PEELS, BUDGET), agreement)
    assert agreement.mismatches == []
    assert agreement.goals[kind.label] >= GOALS[kind] // 4
    assert agreement.points[kind.label] >= 100


@pytest.mark.sampled(12)
@pytest.mark.parametrize("other", [GOLDEN_COVE, AVX512], ids=lambda t: t.name)
@pytest.mark.parametrize("kind", ALONE, ids=str)
def test_no_program_is_better_on_a_target_with_other_kernels(
    kind: Kind, other: Target
) -> None:
    agreement = Agreement()
    for seed in range(GOALS[kind] // 6 + 1):
        spec = random_goal(random.Random(f"golden cove {kind} {seed}"), kind)
        target = other.in_context(OperandContext(near=seed % 2 == 1))
        compare(spec, Solver(target), BruteForce(target, BUDGET), agreement)
    assert agreement.mismatches == []
    assert agreement.points[kind.label] + agreement.goals[kind.label] >= 50


@pytest.mark.parametrize("rows", [8, 40])
def test_no_transpose_is_better(rows: int) -> None:
    """Into memory, by a kernel that asks for lines ahead or by blocks."""
    spec = parse_spec(f"move:{rows}x8:f32:dst=[1,0]:l1=64:l2=0", GOLDEN_COVE.limits)
    agreement, solver = Agreement(), Solver(GOLDEN_COVE)
    compare(spec, solver, BruteForce(GOLDEN_COVE), agreement)
    assert agreement.mismatches == []
    assert agreement.goals[spec.kind.label] == 1


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("text", "peeled"),
    [
        ("matmul:1x16x8:f32:rhs=[0,1,2]/strided", [16, 4]),
        ("matmul:2x23x12:f32:rhs=[0,1,2]/strided", [23, 16]),
        ("matmul:1x70x8:f32:rhs=[0,1,2]/strided:l2=0", [70, 16]),
    ],
)
def test_first_parts_are_peeled_again(text: str, peeled: list[int]) -> None:
    """Without a fill and with at most 8 rows of rhs at a time, nothing else is left."""
    target = dataclasses.replace(PEELS, kernels=("gemm_tile",))
    spec = parse_spec(text, target.limits)
    agreement, solver = Agreement(), Solver(target)
    compare(spec, solver, BruteForce(target), agreement)
    assert agreement.mismatches == []
    nodes = solver.solve(spec).impl.walk()
    assert [n.spec.sizes[2] for n in nodes if isinstance(n.action, Peel)] == peeled


@pytest.mark.parametrize(
    "text",
    [
        # A contiguous operand takes fewer lines than the rows of its tiles seem to.
        "matmul_accum:16x1x1:f32:rhs=[0,1,2]@L1:out=[0,1,2]@L1:l1=1",
        "max_accum:16x1:f32:x0=[0,1]@L2:v0=[0]@L1:l1=1:l2=8",
        # A change of layout within a cache takes room there.
        "matmul_accum:4x8x16:f32:lhs=[0,1,2]@L1:rhs=[0,2,1]@L1:out=[0,1,2]@L2:l1=8",
        "matmul_accum:4x8x16:f32:lhs=[0,1,2]@L1:rhs=[0,2,1]@L1:out=[0,1,2]@L2:l1=64",
        "matmul_accum:4x2x2:f32:lhs=[0,1,2]@L1:rhs=[0,2,1,2p16]@L1"
        ":out=[0,1,2]@VRFv8:l1=0:vrf=8",
        # Operands that lie in a cache at first need none of what is free.
        "fill:6:f32:out=[0]@L1:l1=0",
        "max:17x12:s32:x0=[0,1,0p6]@L1:v0=[0,0p4]@L1:l1=0:l2=8",
        # Registers that the output occupies are not free.
        "matmul_accum:6x2x16:f32:lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@VRFv8:vrf=4",
        "matmul_accum:6x2x16:f32:lhs=[0,1,2]@L1:rhs=[0,1,2]@L1:out=[0,1,2]@VRFv8:vrf=2",
    ],
)
def test_where_it_was_wrong_or_could_be(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    agreement = Agreement()
    compare(spec, Solver(AVX2), BruteForce(AVX2), agreement)
    assert agreement.mismatches == []
    assert agreement.goals[spec.kind.label] == 1


def test_tables_that_other_goals_left_give_the_same_costs() -> None:
    rng = random.Random(3)
    shared = Solver(AVX2)
    for _ in range(30):
        goal = random_goal(rng, rng.choice(KINDS))
        spec = dataclasses.replace(goal, limits=rng.choice(FEW_LIMITS))
        assert searched(shared, spec) == searched(Solver(AVX2), spec)


def test_sizes_that_a_dimension_takes() -> None:
    assert ladder_sizes(1) == (1,)
    assert ladder_sizes(7) == (1, 2, 3, 4, 6, 7)
    assert ladder_sizes(37) == (1, 2, 3, 4, 5, 6, 8, 12, 13, 16, 24, 32, 37)
    for size in (*range(1, 130), 257, 1000, 1023):
        assert size_axis(size) == ladder_sizes(size)
        for threads in (2, 3, 16):
            for even in (False, True):
                more = shares(size, threads, even)
                assert size_axis(size, threads, even) == ladder_sizes(size, more)
