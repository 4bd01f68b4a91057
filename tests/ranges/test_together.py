"""Goals that are searched together have the programs that each of them has alone."""

import dataclasses
import itertools
import random
from pathlib import Path

import pytest

from morello.errors import SearchError
from morello.machine import AVX2, Target
from morello.search import Solver
from morello.search.queries.partial_program import Partial
from morello.search.ranges.together import (
    Group,
    groups_of,
    search_together,
    solve_together,
)
from morello.search.storage.database import Database
from morello.search.storage.overlay import Overlay
from morello.search.storage.shelf import Shelf
from morello.spec import Kind, Spec, parse_spec
from tests.search.goals import KINDS, PEELS, random_goal
from tests.search.test_shared import FEW_SETS

Program = tuple[int, str] | None
"""Cost and decisions; None of a goal that has no program."""


def alone(goal: Spec, target: Target) -> Program:
    try:
        impl = Solver(target.at(goal)).solve(goal).impl
    except SearchError:
        return None
    return impl.cost, str(Partial.of(impl))


def together(group: Group, target: Target, shelf: Shelf) -> list[Program]:
    """The programs of a group; nothing where one of its goals has none."""
    try:
        impls = [impl for impl, _ in search_together(group, target, shelf)]
    except SearchError:
        return []
    assert [impl.spec for impl in impls] == list(group.goals)
    return [(impl.cost, str(Partial.of(impl))) for impl in impls]


def family(text: str, *sizes: tuple[int, ...]) -> list[Spec]:
    """The Specs with all combinations of some sizes."""
    every = ("x".join(map(str, one)) for one in itertools.product(*sizes))
    return [parse_spec(text.format(one), AVX2.limits) for one in every]


def check(goals: list[Spec], target: Target, rng: random.Random, most: int) -> int:
    """Compare some goals; how many groups of several had programs."""
    shelf, count = Shelf(), 0
    groups = groups_of(goals, target)
    assert sorted(goals, key=str) == sorted(
        (goal for group in groups for goal in group.goals), key=str
    )
    by_goal = {}
    for group in groups:
        assert group.is_one_search == (len(group.goals) > 1)
        programs = together(group, target, shelf)
        if not programs:
            assert any(alone(goal, target) is None for goal in group.goals)
        count += len(programs) > 1
        by_goal |= zip(group.goals, programs, strict=False)
    for goal in rng.sample(sorted(by_goal, key=str), min(most, len(by_goal))):
        assert by_goal[goal] == alone(goal, target), goal
    return count


@pytest.mark.sampled(18)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_goals_of_every_kind_are_as_alone(kind: Kind) -> None:
    rng = random.Random(f"together {kind}")
    goal = dataclasses.replace(random_goal(rng, kind), serial=True)
    axes = [tuple({size, max(1, size // 2), size + 1}) for size in goal.sizes]
    if len(axes) > 3:
        axes = [axis[: 1 + (dim % 2)] for dim, axis in enumerate(axes)]
    sizes = itertools.product(*axes)
    goals = [dataclasses.replace(goal, sizes=one) for one in sizes]
    check(goals, rng.choice((AVX2, PEELS)), rng, 4)


FAMILIES = {
    "products": ("matmul:{}:f32", (3, 8, 32), (2, 16, 64), (1, 12, 32)),
    "products of bf16": ("matmul:{}:bf16,bf16,f32", (2, 9), (4, 16), (16, 24)),
    "fills, which collapse": ("fill:{}:f32", (2, 3, 8), (3, 5, 96)),
    "fills of equal axes": ("fill:{}:f32", (1, 2, 4), (1, 2, 4)),
    "moves": ("move:{}:f32:dst=[1,0]", (4, 7, 16), (6, 8)),
    "rows": ("softmax:{}:f32", (1, 4, 6), (8, 20)),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", FAMILIES)
def test_goals_of_a_family_are_as_alone(name: str) -> None:
    """On a machine on which small products are what large ones are elsewhere."""
    rng = random.Random(name)
    assert check(family(*FAMILIES[name]), FEW_SETS, rng, 5) > 0


def test_programs_are_stored_and_read(tmp_path: Path) -> None:
    database = Overlay(Database(tmp_path / "x.sqlite")).of_programs()
    goals = family("matmul:{}:f32", (4, 6), (8,), (8, 16))
    (group,) = groups_of(goals[1:], AVX2)
    first = list(solve_together(group.goals, AVX2, database))
    assert sum(count.specs for _, count in first) > 0
    (group,) = groups_of(goals, AVX2)
    again = dict(
        zip(group.goals, solve_together(group.goals, AVX2, database), strict=True)
    )
    assert {goal for goal, (_, count) in again.items() if count.tables} == {goals[0]}
    impl, _ = again[goals[1]]
    assert (impl.cost, str(Partial.of(impl))) == alone(goals[1], AVX2)
    for goal in goals:
        assert Solver(AVX2.at(goal), database).solve(goal).statistics.tables == 0
