"""What tuning measured, in a file: all of a goal or nothing, and only if whole."""

import dataclasses
import sqlite3
from pathlib import Path

import pytest

from morello.actions import Tile
from morello.machine import AVX2
from morello.search import Solver
from morello.search.queries.measured import find_measured, measured_solution
from morello.search.queries.partial_program import HOLE, Partial
from morello.search.queries.pins import Pin, Pins
from morello.search.storage.database import Database
from morello.search.storage.overlay import open_database
from morello.spec import parse_spec
from tests.database.measured import TEXT, elsewhere, measured_database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tables.sqlite"


def test_what_was_put_is_found_and_replaced_as_a_whole(path: Path) -> None:
    rows = measured_database(path)
    database = Database(path)
    assert database.measured(rows[0].key) == tuple((row, True) for row in rows)
    database.put_measured(rows[:1], replace=False)
    assert len(database.measured()) == 3
    database.put_measured(rows[:1])
    assert database.measured() == ((rows[0], True),)
    database.delete_measured((rows[0].key,))
    assert database.measured() == ()


def test_a_lookup_gives_the_chosen_program(path: Path) -> None:
    rows = measured_database(path)
    spec = parse_spec(TEXT, AVX2.limits)
    solution = measured_solution(spec, AVX2, open_database(path), Pins())
    assert solution is not None
    assert solution.measured == rows
    assert solution.impl.spec == spec
    assert solution.impl.cost > 0


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "change",
    [
        "seconds = 1e-9",
        "program = '[]'",
        "cycles = 'many'",
        "chosen = 1",
        "features = x'ff'",
    ],
)
def test_a_damaged_row_makes_the_goal_a_miss(path: Path, change: str) -> None:
    rows = measured_database(path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE measured SET {change} WHERE place = 1")
    connection.close()
    assert find_measured(rows[0].key, open_database(path)) is None
    assert [whole for _, whole in Database(path).measured()] == [True, False, True]


@pytest.mark.parametrize("replace", [False, True])
def test_rows_that_are_damaged_give_way(path: Path, replace: bool) -> None:
    rows = measured_database(path)
    other = elsewhere(rows, cpu="another")
    database = Database(path)
    database.put_measured(other)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE measured SET seconds = 1e-9 WHERE place = 1 AND cpu = ?",
            (rows[0].key.cpu,),
        )
    connection.close()
    again = tuple(dataclasses.replace(row, features="new") for row in rows + other)
    database.put_measured(again, replace=replace)
    rows_after = again if replace else (*again[: len(rows)], *other)
    assert {*database.measured()} == {(row, True) for row in rows_after}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "program",
    ["null", "[]", '["select",["gemm_outer"],[]]', "x", '["tile",["m",2],[]]'],
)
def test_a_program_that_does_not_fit_is_a_miss(path: Path, program: str) -> None:
    rows = measured_database(path)
    wrong = dataclasses.replace(rows[2], program=program)
    Database(path).put_measured((*rows[:2], wrong))
    spec = parse_spec(TEXT, AVX2.limits)
    assert measured_solution(spec, AVX2, open_database(path), Pins()) is None


def test_other_machines_and_versions_have_rows_of_their_own(path: Path) -> None:
    rows = measured_database(path)
    other = elsewhere(rows, cpu="another")
    Database(path).put_measured(other)
    overlay = open_database(path)
    here, there = (find_measured(r[0].key, overlay) for r in (rows, other))
    assert here is not None
    assert there is not None
    assert (here.rows, there.rows) == (rows, other)
    assert find_measured(elsewhere(rows, context="old")[0].key, overlay) is None


def test_the_first_file_of_several_decides(tmp_path: Path) -> None:
    rows = measured_database(tmp_path / "first")
    quick = tuple(dataclasses.replace(row, seconds=1e-9) for row in rows)
    Database(tmp_path / "second").put_measured(quick)
    both = open_database(f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    measured = find_measured(rows[0].key, both)
    assert measured is not None
    assert measured.rows == rows


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("seconds", "cycles"),
    [(5e-324, 1e308), (1e-300, 1e-300), (1e-6, 1e-300), (1e300, 1e309), (-1.0, -3e9)],
)
def test_times_that_no_machine_has_are_a_miss(
    path: Path, seconds: float, cycles: float
) -> None:
    measured_database(path)
    database = Database(path)
    first, *rest = [row for row, _ in database.measured()]
    spoilt = dataclasses.replace(first, seconds=seconds, cycles=cycles)
    database.put_measured((spoilt, *rest))
    assert not database.measured()[0][1]


@pytest.mark.sampled(5)
def test_a_pin_that_is_made_after_tuning_is_followed(path: Path) -> None:
    measured_database(path)
    spec = parse_spec(TEXT, AVX2.limits)
    pins = Pins((Pin(spec, "avx2", Partial(Tile("m", 3), (HOLE, HOLE))),))
    assert measured_solution(spec, AVX2, open_database(path), pins) is None
    tuned = Solver(AVX2, open_database(path)).solve(spec)
    pinned = Solver(AVX2, open_database(path), pins=pins).solve(spec)
    assert tuned.impl.action != Tile("m", 3) == pinned.impl.action
