"""Tables of larger goals are read for smaller ones, and hold what those would solve."""

import dataclasses
import random
import sqlite3
from pathlib import Path

import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.axes import size_axis
from morello.search.dp.table import Table
from morello.search.storage.cache_key import base_key, family
from morello.search.storage.database import Database
from morello.search.storage.overlay import Overlay
from morello.search.storage.packed_table import Packed
from morello.search.storage.schema import Cover
from morello.spec import MEM, Kind, Spec
from morello.tools.morello import main
from tests.database.small import forget_programs, spec
from tests.search.agreement import searched
from tests.search.goals import KINDS, goals_of, random_goal
from tests.search.test_contexts import common, same

GOALS = {kind: goals_of(kind, few=3, many=8) for kind in KINDS}

LARGER = {1: (2, 3, 4, 8), 2: (3, 4, 6), 3: (4, 6, 12), 4: (6, 8, 12), 6: (8, 12, 16)}
LARGER |= {8: (12, 16, 24), 12: (16, 24), 16: (24, 32)}
"""Sizes whose ladders begin with that of a smaller one."""


def grown(rng: random.Random, spec: Spec) -> Spec:
    """A goal with longer axes, which begin with those of ``spec``."""
    sizes = tuple(rng.choice((s, *LARGER.get(s, ()))) for s in spec.sizes)
    for small, large in zip(spec.sizes, sizes, strict=True):
        assert size_axis(large)[: len(size_axis(small))] == size_axis(small)
    return dataclasses.replace(spec, sizes=sizes)


def spread(rng: random.Random, spec: Spec) -> Spec:
    """Mostly with operands in memory of which nothing is known to be contiguous: those
    that are have one size each, and those in a cache may take what is there."""
    if rng.random() < 0.2:
        return spec
    forms = (
        dataclasses.replace(t, contiguous=False, level=MEM, vector_width=0)
        for t in spec.tensors
    )
    return dataclasses.replace(spec, tensors=tuple(forms), serial=True)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_tables_of_a_larger_goal_hold_those_of_a_smaller(
    kind: Kind, tmp_path: Path
) -> None:
    parts = points = 0
    for seed in range(GOALS[kind]):
        rng = random.Random(f"parts {kind} {seed}")
        goal = spread(rng, random_goal(rng, kind))
        overlay = Overlay(Database(tmp_path / f"{seed}.sqlite"))
        searched(Solver(AVX2, overlay), grown(rng, goal))
        forget_programs(overlay.readable[0])
        cold, warm = Solver(AVX2), Solver(AVX2, overlay)
        assert searched(warm, goal) == searched(cold, goal), goal
        store, run = warm.run_of(goal).store, cold.run_of(goal)
        for packed in store.packed():
            whole = run.table(packed.id)
            assert same(packed.expand(), whole), packed.id.key
            check_points(rng, packed, whole)
            points += whole.costs.size
        parts += store.parts
        if searched(cold, goal) is not None:
            assert warm.solve(goal).impl == cold.solve(goal).impl
        overlay.close()
    assert parts >= max(1, GOALS[kind] // 4)
    assert points > parts


def check_points(rng: random.Random, packed: Packed, whole: Table) -> None:
    """Points that are looked up one by one are those of the arrays."""
    decisions, costs = (
        array[common(whole, packed.expand())]
        for array in (whole.decisions, whole.costs)
    )
    for _ in range(min(5, costs.size)):
        point = tuple(rng.randrange(extent) for extent in costs.shape)
        number = packed.decisions.at(point)
        chosen = whole.actions.get(int(decisions[point]))
        assert packed.actions.get(number) == chosen
        assert packed.costs.at(point) == costs[point]


def test_an_index_that_lies_is_not_believed(tmp_path: Path) -> None:
    """The row that it names must be that of the very table that it says."""
    small, large = (spec(f"fill:{n}x{n}:f32:out=[0,1]/strided") for n in (16, 32))
    path = tmp_path / "tables.sqlite"
    overlay = Overlay(Database(path))
    Solver(AVX2, overlay).solve(large)
    overlay.close()
    with sqlite3.connect(path) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM covers")]
        connection.execute("DELETE FROM covers WHERE key != ?", (keys[0],))
        connection.execute("UPDATE covers SET key = ?", (keys[1],))
    connection.close()
    warm = Solver(AVX2, Overlay(Database(path)))
    assert warm.solve(small).impl == Solver(AVX2).solve(small).impl
    assert warm.run_of(small).store.parts == 0


@pytest.mark.parametrize("sizes", ["", "[[1,2]]", "{}", "[1]", '[["a"]]', "null"])
def test_an_index_that_cannot_be_read_is_a_miss(sizes: str, tmp_path: Path) -> None:
    goal = spec("fill:16x16:f32:out=[0,1]/strided")
    overlay = Overlay(Database(tmp_path / "tables.sqlite"))
    solver = Solver(AVX2, overlay)
    store, table = solver.run_of(goal).store, solver.goal_table(goal)
    base = base_key(table, store.limits, store.room, family(AVX2))
    assert overlay.top is not None
    overlay.top.put_all((), (Cover(base, b"key", sizes),))
    assert solver.solve(goal).impl == Solver(AVX2).solve(goal).impl


def test_parts_are_found_in_merged_files_and_gone_after_gc(tmp_path: Path) -> None:
    small, large = (spec(f"fill:{n}x{n}:f32:out=[0,1]/strided") for n in (16, 32))
    paths = [tmp_path / f"{name}.sqlite" for name in "ab"]
    Solver(AVX2, Overlay(Database(paths[0]))).solve(large)
    assert main(["db", "merge", str(paths[0]), "--db", str(paths[1])]) == 0
    merged = Solver(AVX2, Overlay(Database(paths[1])))
    merged.solve(small)
    assert merged.run_of(small).store.parts > 0
    database = Database(paths[1])
    database.delete(tuple(row.key for row, _ in database.rows()))
    assert database.covers() == ()
