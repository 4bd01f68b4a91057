"""Programs of goals that differ in their sizes alone, as boxes."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from morello.machine import AVX2
from morello.search.dp.solver import Solver
from morello.search.queries.pins import full_text
from morello.search.storage.database import Database
from morello.search.storage.deflated import SMALL, encode_part
from morello.search.storage.overlay import Overlay
from morello.search.storage.program_boxes import ProgramBoxes, base_of, folded
from morello.search.storage.schema import ProgramRow
from morello.spec import parse_spec

pytestmark = pytest.mark.quick

SIZES = [(m, n) for m in (3, 4, 8) for n in (5, 7, 64)]


def row(sizes: tuple[int, int], program: str, family: str = "x") -> ProgramRow:
    text = full_text(parse_spec("fill:{}x{}:f32".format(*sizes), AVX2.limits))
    return ProgramRow(text, family, program)


def test_rows_in_boxes_and_back() -> None:
    """Neighbours with one program and with many; some goals of the grid are missing."""
    rows = [row(s, str(min(s[0], 4))) for s in SIZES if s != (4, 7)]
    (boxes,), rest = folded([*rows, row((1, 1), "alone", "y")])
    assert [r.family for r in rest] == ["y"]
    assert sorted(boxes.rows(), key=str) == sorted(rows, key=str)
    assert boxes.program((4, 64)) == "4"
    assert boxes.program((4, 7)) is None
    assert boxes.program((5, 7)) is None
    assert boxes.program((4,)) is None


def test_neighbours_with_one_program_are_one_box() -> None:
    few = folded([row((m, n), "same") for m in range(1, 40) for n in range(1, 40)])
    assert len(few[0][0].boxes) < 400


def test_families_and_limits_are_grids_of_their_own() -> None:
    rows = [row(s, s[0] * "x", family) for s in SIZES for family in ("one", "other")]
    other = parse_spec("fill:3x5:f32:l1=64", AVX2.limits)
    boxes, rest = folded([*rows, ProgramRow(full_text(other), "one", "")])
    assert {box.family for box in boxes} == {"one", "other"}
    assert [r.spec for r in rest] == [full_text(other)]


def test_a_grid_with_few_of_its_points_stays_rows() -> None:
    rows = [row((m, 10_000 - m), "x") for m in range(1, 3000)]
    assert folded(rows) == ((), tuple(rows))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of programs alone, in boxes."""
    database = Database(tmp_path / "x.sqlite")
    overlay = Overlay(database).of_programs()
    for m, n in SIZES:
        goal = parse_spec(f"fill:{m}x{n}:f32", AVX2.limits)
        Solver(AVX2.at(goal), overlay).solve(goal)
    assert not tuple(database.rows())
    database.fold_programs()
    assert database.program_boxes()
    database.close()
    return tmp_path / "x.sqlite"


def test_each_goal_is_answered_without_a_table(path: Path) -> None:
    overlay = Overlay(None, (Database(path, is_writable=False),))
    for m, n in SIZES:
        goal = parse_spec(f"fill:{m}x{n}:f32", AVX2.limits)
        solution = Solver(AVX2.at(goal), overlay).solve(goal)
        assert solution.statistics.tables == 0
        assert solution.impl == Solver(AVX2.at(goal)).solve(goal).impl


def test_a_goal_in_a_box_that_is_taken_out_leaves_the_others(path: Path) -> None:
    database = Database(path)
    rows = [r for r, is_whole in database.programs() if is_whole]
    assert len(rows) == len(SIZES)
    database.delete((), (rows[2],))
    assert {r for r, _ in database.programs()} == {*rows[:2], *rows[3:]}
    assert database.program(rows[2].spec, rows[2].family) is None
    assert database.program(rows[3].spec, rows[3].family) == rows[3]


def test_rows_come_before_boxes(path: Path) -> None:
    database = Database(path)
    old = database.programs()[0][0]
    new = dataclasses.replace(old, program="new")
    database.put_programs((new,))
    assert database.program(old.spec, old.family) == new
    assert [r for r, _ in database.programs() if r.spec == old.spec] == [new]
    database.fold_programs()
    assert database.program(old.spec, old.family) == new


@pytest.mark.parametrize(
    ("header", "ends", "labels"),
    [
        ({"axes": [[3], [5]], "programs": []}, [0, 0, 1, 1], [0]),
        ({"axes": [[3], [5]], "programs": ["x"]}, [0, 0, 2, 1], [0]),
        ({"axes": [[3], [5]], "programs": ["x"]}, [0, 0, 1, 1], []),
        ({"axes": [[3], [5]], "programs": [7]}, [0, 0, 1, 1], [0]),
        ({"axes": [[5, 3], [5]], "programs": ["x"]}, [0, 0, 1, 1], [0]),
        ({"axes": [[3, "4"], [5]], "programs": ["x"]}, [0, 0, 1, 1], [0]),
        ({"axes": [list(range(1, 9000))] * 2, "programs": ["x"]}, [0, 0, 1, 1], [0]),
        ({"programs": ["x"]}, [0, 0, 1, 1], [0]),
    ],
)
def test_odd_boxes_are_a_miss(
    header: dict[str, object], ends: list[int], labels: list[int], tmp_path: Path
) -> None:
    arrays = np.asarray(ends, "<u2"), np.asarray(labels, "<u4")
    spec = parse_spec("fill:3x5:f32", AVX2.limits)
    fields = {name: json.dumps(value) for name, value in header.items()}
    data = encode_part(fields, *arrays, level=SMALL)
    boxes = ProgramBoxes(base_of(spec), "x", full_text(spec), data)
    assert boxes.program((3, 5)) is None
    good = folded([row(s, "x") for s in SIZES])[0][0]
    assert good.program((3, 5)) == "x"
