"""Goals that differ in their rows alone share the tables of contiguous operands."""

import contextlib
import dataclasses
import math
import random
from collections.abc import Iterator

import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp import axes
from morello.search.dp.axes import goal_axes, goal_dims
from morello.search.storage.shelf import Shelf
from morello.spec import Kind, parse_spec
from tests.database.test_parts import grown
from tests.search.agreement import searched
from tests.search.brute_force import BruteForce, BudgetError
from tests.search.goals import KINDS, goals_of, random_goal
from tests.search.test_contexts import same
from tests.search.test_shared import program

GOALS = {kind: goals_of(kind, few=1, many=6) for kind in KINDS}


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Small goals share tables as large ones do."""
    goal_dims.cache_clear()
    monkeypatch.setattr(axes, "LEAST_GOAL", 2)
    yield
    goal_dims.cache_clear()


def own_dims(text: str) -> list[str]:
    spec = parse_spec(text, AVX2.limits)
    dims = goal_dims(spec.key, goal_axes(spec, 1))
    return [spec.kind.dims[dim] for dim in sorted(dims)]


@pytest.mark.parametrize(
    ("text", "dims"),
    [
        ("matmul:64x16x16:f32", ["m"]),
        ("matmul:2x64x16x16:f32", []),  # a tile of rows has gaps, and two may be taken
        ("matmul:48x16x16:f32", []),  # few rows
        ("matmul:64x64x64:f32:lhs=[0,2,1]", []),
        ("matmul:64x16x16:f32:serial=false", []),
        ("matmul:64x16x16:f32:lhs=[0,1,2]/strided:out=[0,1,2]/strided", []),
    ],
)
def test_rows_of_contiguous_operands_are_those_of_several_goals(
    text: str, dims: list[str]
) -> None:
    assert own_dims(text) == dims


@pytest.mark.sampled(2)
def test_a_product_of_fewer_rows_is_read() -> None:
    large, small = (parse_spec(f"matmul:{m}x32x32:f32", AVX2.limits) for m in (192, 96))
    shelf = Shelf()
    Solver(AVX2, shelf=shelf).solve(large)
    shared, alone = Solver(AVX2, shelf=shelf), Solver(AVX2)
    assert program(shared, small) == program(alone, small)
    assert shared.run_of(small).points == 0


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_other_goals_of_a_table_change_none(kind: Kind, few_rows: None) -> None:
    """Programs and tables are those of a goal alone, also of one whose tables have no
    other goals."""
    for seed in range(GOALS[kind]):
        rng = random.Random(f"own {kind} {seed}")
        goal = dataclasses.replace(random_goal(rng, kind), serial=True)
        shelf = Shelf()
        program(Solver(AVX2, shelf=shelf), grown(rng, goal))
        alone, shared = Solver(AVX2), Solver(AVX2, shelf=shelf)
        best = program(alone, goal)
        assert program(shared, goal) == best, goal
        for table in shared.tables(goal):
            whole = alone.run_of(goal).table(table.id)
            assert same(table, whole), (str(table.id.key), goal)
        goal_dims.cache_clear()
        with pytest.MonkeyPatch.context() as usual:
            usual.setattr(axes, "LEAST_GOAL", axes.ALL)
            assert program(Solver(AVX2), goal) == best, goal
        goal_dims.cache_clear()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_tables_of_several_goals_are_the_enumeration(
    kind: Kind, few_rows: None
) -> None:
    """Every goal of a table costs what the enumeration of this goal alone says."""
    for seed in range(GOALS[kind]):
        rng = random.Random(f"own enumerated {kind} {seed}")
        goal = dataclasses.replace(random_goal(rng, kind), serial=True)
        solver = Solver(AVX2)
        searched(solver, goal)
        identity = solver.goal_table(goal)
        table = solver.run_of(goal).table(identity)
        for dim in goal_dims(goal.key, identity.sizes):
            for size in table.box.sizes[dim]:
                sizes = (*goal.sizes[:dim], size, *goal.sizes[dim + 1 :])
                point = table.point(sizes, goal.limits)
                assert point is not None
                cost = float(table.costs[point])
                with contextlib.suppress(BudgetError):
                    one = dataclasses.replace(goal, sizes=sizes)
                    best = BruteForce(AVX2, budget=3000).best(one)
                    assert cost == (math.inf if best is None else best), (goal, size)
