"""Points that no program of a goal comes to are not solved, and those it comes to are.

What enumerations come to is compared in `agreement.py`, in every test that uses it.
"""

import dataclasses
import math
import random
from collections import deque
from pathlib import Path

import pytest

from morello.errors import SearchError
from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp import reachable
from morello.search.dp.box import (
    Box,
    all_of,
    is_within,
    part_of,
    spans_in,
    united,
)
from morello.search.dp.run import Run
from morello.search.dp.table import TableId, position
from morello.search.storage.shelf import Shelf
from morello.spec import Kind, Spec, parse_spec
from morello.spec.frame import Frame
from tests.database.test_parts import spread
from tests.search.goals import KINDS, PEELS, goals_of, random_goal
from tests.search.test_contexts import common, same
from tests.search.test_shared import STORES, program

GOALS = {kind: goals_of(kind, few=2, many=8) for kind in KINDS}

SPECS = 1500
"""Specs below a goal that are looked at."""

CONVOLUTION = "conv:1x4x8x8x4x2x2:f32:layout=nhwc"


@pytest.fixture(autouse=True)
def small_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small goals are followed as large ones are, and no table is solved whole unless
    all of it is needed."""
    monkeypatch.setattr(reachable, "FEW_SIZES", 0)
    monkeypatch.setattr(reachable, "WORTH", 0)


def whole(target: object, goal: Spec) -> Solver:
    """A solver of whole tables."""
    solver = Solver(target)  # type: ignore[arg-type]
    solver.run_of(goal).reaches = False
    return solver


def left_out(run: Run, root: TableId, goal: Spec) -> list[str]:
    """Specs below a goal that are points of their tables, but not solved: each Spec is
    expanded by itself."""
    waiting, seen, missing = deque([(root, goal)]), {(root, goal)}, []
    while waiting:
        table, spec = waiting.popleft()
        table = run.wholes.get(table, table)
        values = spec.sizes, spec.limits
        if position(run.whole_box(table), *values) is None:
            continue
        if position(run.box(table), *values) is None:
            missing.append(f"{spec}")
            continue
        for action in run.candidates(table):
            expansion = action.expand(Frame.of(spec), run.target)
            if expansion.refusal():
                continue
            for child in expansion.children:
                if not int(child.exists):
                    continue
                place = run.hole_id(table, action, child), child.frame.spec()
                if place not in seen and len(seen) < SPECS:
                    seen.add(place)
                    waiting.append(place)
    return missing


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_programs_come_to_is_solved(kind: Kind) -> None:
    """All that is below a goal is in the boxes; costs and choices are those of whole
    tables, at every point."""
    for seed in range(GOALS[kind]):
        rng = random.Random(f"reachable {kind} {seed}")
        goal = random_goal(rng, kind)
        if rng.random() < 0.5:
            goal = spread(rng, goal)
        target = rng.choice((AVX2, PEELS))
        part, every = Solver(target), whole(target, goal)
        assert program(part, goal) == program(every, goal), goal
        run = part.run_of(goal)
        assert left_out(run, part.goal_table(goal), goal) == [], goal
        points = 0
        for table in part.tables(goal):
            of_all = every.run_of(goal).table(table.id)
            inside = of_all.costs[common(of_all, table)]
            assert inside.shape == table.costs.shape
            assert same(table, of_all), (str(table.id.key), goal)
            points += table.costs.size if table.id not in run.wholes else 0
        solved = [table for table in run.store if table not in run.wholes]
        assert (points, run.beyond + points) == (
            run.points,
            sum(run.whole_box(table).size for table in solved),
        )


@pytest.mark.sampled(36)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_goals_that_need_other_points_share_a_store(
    kind: Kind, store: str, tmp_path: Path
) -> None:
    """Goals whose tables are of the same axes: Specs below one, with less of a memory
    or smaller, before it and after it."""
    for seed in range(max(1, GOALS[kind] // 2)):
        rng = random.Random(f"other points {kind} {seed}")
        goal = spread(rng, random_goal(rng, kind))
        fewer = tuple(rng.choice((1, size)) for size in goal.sizes)
        goals = [goal, dataclasses.replace(goal, sizes=fewer)]
        alone = {one: program(whole(AVX2, one), one) for one in goals}
        for turn, order in enumerate((goals, goals[::-1])):
            make = STORES[store](tmp_path / f"{seed} {turn}.sqlite")
            for one in (*order, order[0]):
                assert program(make(AVX2), one) == alone[one], one


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_solver_of_several_goals_solves_what_is_missing(kind: Kind) -> None:
    """Specs below a goal are goals of the same tables."""
    for seed in range(max(1, GOALS[kind] // 2)):
        rng = random.Random(f"several {kind} {seed}")
        goal = random_goal(rng, kind)
        solver, every = Solver(AVX2), whole(AVX2, goal)
        if program(every, goal) is None:
            continue
        run, of_all = solver.run_of(goal), every.run_of(goal)
        tables = [t for t in of_all.store if of_all.box(t).size]
        for identity in rng.sample(tables, min(6, len(tables))):
            spec = some_spec(rng, of_all, identity)
            assert best(run, identity, spec) == best(of_all, identity, spec), spec
        assert program(solver, goal) == program(every, goal)


def some_spec(rng: random.Random, run: Run, identity: TableId) -> Spec:
    """A Spec of a table that has a program, if one is met."""
    table = run.table(identity)
    spec = None
    for _ in range(10):
        point = tuple(rng.randrange(extent) for extent in table.costs.shape)
        axes = zip(table.box.axes, point, strict=True)
        values = [axis[place] for axis, place in axes]
        count = len(table.box.sizes)
        left = [
            limit if value < 0 else value
            for value, limit in zip(values[count:], run.limits.free, strict=True)
        ]
        limits = dataclasses.replace(run.limits, free=tuple(left))
        key = identity.key
        spec = Spec(key.kind, tuple(values[:count]), key.tensors, limits, key.serial)
        if math.isfinite(table.costs[point]):
            break
    assert spec is not None
    return spec


def best(run: Run, identity: TableId, spec: Spec) -> str:
    try:
        return str(run.best(spec, identity))
    except SearchError:
        return "none"


def test_a_convolution_has_few_points_that_are_needed() -> None:
    goal = parse_spec(CONVOLUTION, AVX2.limits)
    statistics = Solver(AVX2).solve(goal).statistics
    assert 0 < 2 * statistics.specs < statistics.beyond


def test_a_part_of_another_table_is_cut_from_it_and_leads_nowhere() -> None:
    goal = parse_spec(CONVOLUTION, AVX2.limits)
    solver = Solver(AVX2)
    solver.solve(goal)
    run = solver.run_of(goal)
    parts = [table for table in run.store if table in run.wholes]
    assert parts
    assert not {*parts} & {*run.wholes.values()}
    for part in parts:
        table, other = run.table(part), run.table(run.wholes[part])
        assert table.id.key is other.id.key
        assert same(table, other)


def test_a_goal_that_needs_less_reads_what_one_that_needs_more_has_solved() -> None:
    goal = parse_spec(CONVOLUTION, AVX2.limits)
    shelf = Shelf()
    whole_tables = Solver(AVX2, shelf=shelf)
    whole_tables.run_of(goal).reaches = False
    first = whole_tables.solve(goal)
    again = Solver(AVX2, shelf=shelf).solve(goal)
    assert (again.impl, again.statistics.specs) == (first.impl, 0)
    assert again.statistics.read == again.statistics.tables


def test_parts_of_boxes() -> None:
    box = Box(((1, 2, 3), (4, 8)), ((0, 5, 6),), 1)
    spans = ((1, 3), (0, 1), (2, 3))
    part = part_of(box, spans)
    assert part == Box(((2, 3), (4,)), ((6,),), 1)
    assert spans_in(box, part) == spans
    assert spans_in(part, box) is None
    assert spans_in(box, Box(((1, 3), (4,)), ((6,),), 1)) is None
    assert all_of(box) == ((0, 3), (0, 2), (0, 3))
    nowhere = part_of(box, ())
    assert (nowhere.size, spans_in(box, nowhere), all_of(nowhere)) == (0, (), ())
    assert is_within(spans, all_of(box))
    assert not is_within(all_of(box), spans)
    assert is_within((), spans)
    assert not is_within(spans, ())
    assert united(spans, ((0, 1), (1, 2), (2, 3))) == ((0, 3), (0, 2), (2, 3))
    assert united((), spans) == united(spans, ()) == spans
