"""Goals that share tables have the programs that each of them has alone, in any order,
in memory as on disk."""

import dataclasses
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from morello.machine import AVX2, Target
from morello.search import Solver
from morello.search.queries.partial_program import Partial
from morello.search.storage.database import Database
from morello.search.storage.overlay import Overlay
from morello.search.storage.shelf import Shelf
from morello.spec import Kind, Spec, parse_spec
from tests.database.small import forget_programs, spec
from tests.database.test_parts import grown, spread
from tests.search.agreement import searched
from tests.search.goals import KINDS, goals_of, random_goal, random_sizes
from tests.search.test_contexts import random_context, same

GOALS = {kind: goals_of(kind, few=1, many=4) for kind in KINDS}

Make = Callable[[Target], Solver]
"""Makes solvers that share a store."""


def in_memory(_path: Path) -> Make:
    shelf = Shelf()
    return lambda target: Solver(target, shelf=shelf)


def on_disk(path: Path) -> Make:
    overlay = Overlay(Database(path))

    def solver(target: Target) -> Solver:
        forget_programs(overlay.readable[0])
        return Solver(target, overlay)

    return solver


def both(path: Path) -> Make:
    overlay, shelf = Overlay(Database(path)), Shelf()
    return lambda target: Solver(target, overlay, shelf=shelf)


STORES = {"memory": in_memory, "disk": on_disk, "both": both}


def program(solver: Solver, goal: Spec) -> tuple[int, str] | None:
    """The cost and the decisions of the best program; None if there is none."""
    cost = searched(solver, goal)
    return None if cost is None else (cost, str(Partial.of(solver.solve(goal).impl)))


@pytest.mark.sampled(36)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_pairs_of_goals_are_as_alone(kind: Kind, store: str, tmp_path: Path) -> None:
    for seed in range(GOALS[kind]):
        rng = random.Random(f"shared {kind} {seed}")
        goal = spread(rng, random_goal(rng, kind))
        others = grown(rng, goal), dataclasses.replace(goal, serial=True)
        goals = [
            (one, AVX2.in_context(context))
            for one in (goal, rng.choice(others))
            for context in {random_context(rng, one), random_context(rng, one)}
        ]
        solvers = {pair: Solver(pair[1]) for pair in goals}
        alone = {pair: program(solvers[pair], pair[0]) for pair in goals}
        for turn, order in enumerate((goals, goals[::-1])):
            make = STORES[store](tmp_path / f"{seed} {turn}.sqlite")
            for one, target in order:
                solver = make(target)
                assert program(solver, one) == alone[one, target], (one, target)
                run = solvers[one, target].run_of(one)
                for table in solver.tables(one):
                    whole = run.table(table.id)
                    assert same(table, whole), (str(table.id.key), one)


@pytest.mark.sampled(36)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_goals_of_any_sizes_are_as_alone(
    kind: Kind, store: str, tmp_path: Path
) -> None:
    """Axes that begin alike, and go on otherwise, share the tables of small sizes."""
    for seed in range(GOALS[kind]):
        rng = random.Random(f"any sizes {kind} {seed}")
        goal = dataclasses.replace(spread(rng, random_goal(rng, kind)), serial=True)
        sizes = (random_sizes(rng, kind) for _ in range(2))
        goals = [goal, *(dataclasses.replace(goal, sizes=s) for s in sizes)]
        make = STORES[store](tmp_path / f"{seed}.sqlite")
        for one in goals:
            alone, solver = Solver(AVX2), make(AVX2)
            assert program(solver, one) == program(alone, one), one
            for table in solver.tables(one):
                whole = alone.run_of(one).table(table.id)
                assert same(table, whole), (str(table.id.key), one)


def test_a_row_of_a_few_more_elements_shares_small_tiles() -> None:
    shelf = Shelf()
    for size in (44, 40):  # neither axis is the beginning of the other
        goal = parse_spec(f"matmul:{size}x8x8:f32", AVX2.limits)
        solver = Solver(AVX2, shelf=shelf)
        assert program(solver, goal) == program(Solver(AVX2), goal)
    assert solver.run_of(goal).store.parts > 0


PRODUCTS = ["matmul:8x64x32:f32", "matmul:4x64x32:f32", "matmul:6x24x32:f32"]
"""The goals of a model in small: of other sizes, and with rows some of which are apart
by a multiple of 256 bytes."""

FEW_SETS = dataclasses.replace(AVX2, l1_lines=64, l2_lines=256, l3_lines=300)
"""A machine on which small products are what large ones are elsewhere."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("store", STORES)
def test_products_of_a_model_are_as_alone(store: str, tmp_path: Path) -> None:
    goals = [parse_spec(text, FEW_SETS.limits) for text in PRODUCTS]
    contexts = {FEW_SETS.at(goal).operand_context for goal in goals}
    assert len(contexts) > 1
    alone = {goal: program(Solver(FEW_SETS.at(goal)), goal) for goal in goals}
    for turn, order in enumerate((goals, goals[::-1])):
        make = STORES[store](tmp_path / f"{turn}.sqlite")
        for goal in order:
            assert program(make(FEW_SETS.at(goal)), goal) == alone[goal], goal


@pytest.mark.sampled(5)
@pytest.mark.parametrize("store", STORES)
def test_threads_on_one_store_find_what_each_finds_alone(
    store: str, tmp_path: Path
) -> None:
    """Searches of a model beside each other: they solve, keep and read the tables of
    each other in any order, and none reads half a table."""
    goals = [parse_spec(text, FEW_SETS.limits) for text in PRODUCTS[1:]]
    alone = {goal: program(Solver(FEW_SETS.at(goal)), goal) for goal in goals}
    make = STORES[store](tmp_path / "x.sqlite")
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            twice = [*goals, *goals]
            solvers = [make(FEW_SETS.at(goal)) for goal in twice]
            programs = list(threads.map(program, solvers, twice))
    finally:
        sys.setswitchinterval(usual)
    assert programs == [alone[goal] for goal in twice]


def test_what_was_solved_is_not_solved_again() -> None:
    """A goal of a smaller batch reads the tables of the larger; a goal that was
    searched reads one."""
    large, small = (parse_spec(f"matmul:{m}x16x16:f32", AVX2.limits) for m in (16, 8))
    shelf = Shelf()
    Solver(AVX2, shelf=shelf).solve(large)
    again, smaller, alone = (Solver(AVX2, shelf=s) for s in (shelf, shelf, None))
    assert again.solve(large).statistics.specs == 0
    few = smaller.solve(small).statistics.specs
    assert few < alone.solve(small).statistics.specs / 20
    assert set(smaller.run_of(small).store.goals) == {again.run_of(large).store.goal}


@pytest.mark.sampled(36)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_tables_with_less_left_have_those_with_more(kind: Kind) -> None:
    """A table of which nothing was taken from a memory is a part of one where something
    may have been: it is cut, and not solved."""
    for seed in range(GOALS[kind]):
        rng = random.Random(f"left {kind} {seed}")
        goal = random_goal(rng, kind)
        alone, sharing = Solver(AVX2), Solver(AVX2, shelf=Shelf())
        assert program(sharing, goal) == program(alone, goal), goal
        whole, statistics = alone.run_of(goal), sharing.run_of(goal).statistics(0)
        assert not statistics.read, goal
        for table in sharing.tables(goal):
            assert same(table, whole.table(table.id)), (str(table.id.key), goal)


def test_norms_have_tables_that_are_parts_of_others() -> None:
    goal = parse_spec("layer_norm:8x16:f32", AVX2.limits)
    alone, sharing = Solver(AVX2), Solver(AVX2, shelf=Shelf())
    assert sharing.solve(goal).impl == alone.solve(goal).impl
    specs = [s.run_of(goal).statistics(0).specs for s in (sharing, alone)]
    assert specs[0] < specs[1]


@pytest.mark.sampled(5)
def test_what_is_in_the_database_is_not_packed_again(tmp_path: Path) -> None:
    """Packing takes longer than all else of a table that another goal has solved."""
    goal, fused = map(spec, ("matmul:8x16x16:f32", "gelu_matmul:8x16x16:f32"))
    overlay, shelf = Overlay(Database(tmp_path / "t.sqlite")), Shelf()
    first, second = (Solver(AVX2, overlay, shelf=shelf) for _ in range(2))
    first.solve(goal)
    assert not first.run_of(goal).store._unpacked
    assert second.solve(fused).impl == Solver(AVX2).solve(fused).impl
    store = second.run_of(fused).store
    assert 0 < len(store._unpacked) < len(store)


def test_the_shelf_lets_go_of_what_was_not_read_for_longest() -> None:
    goals = [parse_spec(f"matmul:{n}x8x8:f32", AVX2.limits) for n in (5, 7, 9)]
    shelf = Shelf(most_points=20_000)
    for goal in goals:
        Solver(AVX2, shelf=shelf).solve(goal)
    alone = Solver(AVX2).solve(goals[0])
    assert len(shelf) > 0
    again = Solver(AVX2, shelf=shelf).solve(goals[0])
    assert again.impl == alone.impl
    assert 0 < again.statistics.specs <= alone.statistics.specs


def test_longer_tables_are_solved_first() -> None:
    """Products below a convolution have reductions of several lengths: tables of the
    shorter ones are parts of others."""
    goal = parse_spec("conv:1x8x6x6x8x3x3:f32", AVX2.limits)
    statistics = Solver(AVX2.at(goal), shelf=Shelf()).solve(goal).statistics
    assert statistics.parts >= 10
