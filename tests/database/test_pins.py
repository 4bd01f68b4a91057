"""Pins at rest: they outlive every way that a database takes, and mix with nothing."""

import functools
import random
import sqlite3
import warnings
from pathlib import Path

import pytest

from morello.actions import Tile
from morello.machine import AVX2
from morello.search import Solver
from morello.search.queries.partial_program import HOLE, Partial
from morello.search.queries.pins import Pin, Pins
from morello.search.storage.database import Database
from morello.search.storage.overlay import DatabaseWarning, Overlay
from morello.search.storage.schema import PinRow
from morello.tools.morello import main
from tests.database.small import cold, program, spec
from tests.database.test_damage import mutate, opened

GOAL = "move:7x9:f32"

TILE = Partial(Tile("d1", 5), (HOLE, HOLE))
"""What no search does: a size that is on no ladder."""

INNER = "move:7x8:f32:src=[0,1]@L1/strided:dst=[0,1]@L1/strided:l1=128:l2=4096"

NEAR = Partial(Tile("d0", 5), (HOLE, HOLE))


def row(text: str, program: Partial) -> PinRow:
    """A pin at rest."""
    return PinRow(Pin(spec(text), AVX2.name, program).text, "avx2", str(program), "…")


@functools.cache
def pinned(*rows: PinRow) -> str:
    """The program of the goal with these pins, found without a database, once."""
    pins = Pins(tuple(map(Pin.of, rows)))
    return str(Solver(AVX2, pins=pins).solve(spec(GOAL)).impl)


MUTATIONS = 100

SETS = (
    (),
    (row(GOAL, TILE),),
    (row(INNER, NEAR),),
    (row(GOAL, TILE), row(INNER, NEAR)),
)


def test_the_sets_differ() -> None:
    assert pinned() == cold(GOAL)
    assert len({pinned(*rows) for rows in SETS}) >= 3
    assert "tile(d1, 5)" in pinned(*SETS[1])


def test_tables_of_other_pins_are_not_read(tmp_path: Path) -> None:
    """One file, pinned and unpinned in turn: cold, then warm."""
    path = tmp_path / "tables.sqlite"
    for rows in (*SETS, *reversed(SETS), *SETS):
        database = Database(path)
        for pin, _ in database.pins():
            assert database.unpin(pin.spec, pin.target)
        assert database.pin(rows, replace=False) == len(rows)
        assert program(GOAL, Overlay(database)) == pinned(*rows)
        database.close()


def test_another_schedule_of_the_same_spec_is_another_pin(tmp_path: Path) -> None:
    goal, path = "fill:5x7:f32", tmp_path / "tables.sqlite"
    programs = [Partial(Tile(dim, 3), (HOLE, HOLE)) for dim in ("d0", "d1")]
    for decided in (*programs, *programs):
        database = Database(path)
        assert database.pin((row(goal, decided),), replace=True) == 1
        text = program(goal, Overlay(database))
        assert f": {decided.action} [" in text.splitlines()[0]
        database.close()


def test_a_digest_is_of_all_that_pins_decide() -> None:
    pins = [
        Pin(spec(goal), target, program)
        for goal in (GOAL, INNER)
        for target in ("avx2", "avx512")
        for program in (TILE, NEAR)
    ]
    assert len({pin.digest for pin in pins}) == len(pins)
    assert len({pin.action for pin in pins}) == len(pins)
    sets = [(), *((pin,) for pin in pins), (pins[0], pins[7]), tuple(pins)]
    assert len({Pins(members).digest for members in sets}) == len(sets)
    assert Pins(tuple(pins)).digest == Pins(tuple(reversed(pins))).digest


def test_a_pinned_program_is_the_same_warm_half_filled_merged_and_reopened(
    tmp_path: Path,
) -> None:
    rows = SETS[3]
    first, second = Database(tmp_path / "a.sqlite"), Database(tmp_path / "b.sqlite")
    first.pin(rows, replace=False)
    assert program(GOAL, Overlay(first)) == pinned(*rows)
    tables = [r for r, _ in first.rows()]
    second.pin(rows, replace=False)
    second.put_all(tuple(tables[::2]))
    assert program(GOAL, Overlay(second)) == pinned(*rows)
    third = tmp_path / "c.sqlite"
    for name in ("a", "b"):
        assert (
            main(["db", "merge", str(tmp_path / f"{name}.sqlite"), "--db", str(third)])
            == 0
        )
    before = {r for r, _ in Database(third).rows()}
    assert before >= set(tables)
    assert program(GOAL, Overlay(Database(third))) == pinned(*rows)
    assert {r for r, _ in Database(third).rows()} == before


def test_pins_are_exported_merged_verified_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copy = tmp_path / "tables.sqlite", tmp_path / "copy.sqlite"
    Database(path).pin((row(GOAL, TILE),), replace=False)
    Database(copy).pin((row(GOAL, NEAR), row(INNER, NEAR)), replace=False)
    assert main(["db", "export", str(tmp_path / "x.sqlite"), "--db", str(path)]) == 0
    assert Database(tmp_path / "x.sqlite").pins() == Database(path).pins()
    assert main(["db", "merge", str(copy), "--db", str(path)]) == 0
    wanted = {(row(GOAL, TILE), True), (row(INNER, NEAR), True)}
    assert set(Database(path).pins()) == wanted
    assert main(["db", "gc", "--db", str(path)]) == 0
    assert main(["db", "verify", "--db", str(path)]) == 0
    assert set(Database(path).pins()) == wanted
    capsys.readouterr()
    assert main(["db", "info", "--db", str(path)]) == 0
    assert f"{row(GOAL, TILE).spec} on avx2, 2 holes" in capsys.readouterr().out


def test_gc_keeps_the_tables_of_the_pins_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "tables.sqlite"
    counts = []
    for rows in SETS[:3]:
        database = Database(path)
        for pin, _ in database.pins():
            database.unpin(pin.spec, pin.target)
        database.pin(rows, replace=False)
        program(GOAL, Overlay(database))
        counts.append(len(list(database.rows())))
    assert main(["db", "gc", "--db", str(path)]) == 0
    last = counts[2] - counts[1]
    assert len(list(Database(path).rows())) == counts[0] + last


def test_of_two_layers_the_first_decides(tmp_path: Path) -> None:
    top, below = Database(tmp_path / "a.sqlite"), Database(tmp_path / "b.sqlite")
    top.pin((row(GOAL, TILE),), replace=False)
    below.pin((row(GOAL, NEAR), row(INNER, NEAR)), replace=False)
    assert program(GOAL, Overlay(top, (below,))) == pinned(*SETS[3])


def test_a_damaged_pin_is_one_warning(tmp_path: Path) -> None:
    path = tmp_path / "tables.sqlite"
    Database(path).pin((row(GOAL, TILE),), replace=False)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE pins SET program = replace(program, '5', '3')")
    connection.close()
    assert main(["db", "verify", "--db", str(path)]) == 1
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        overlay = Overlay(Database(path))
        assert program(GOAL, overlay) == program(GOAL, overlay) == cold(GOAL)
    assert len(said) == 1
    assert said[0].category is DatabaseWarning
    assert str(path) in str(said[0].message)
    assert "is damaged" in str(said[0].message)


def test_pins_of_another_target_are_not_looked_at(tmp_path: Path) -> None:
    database = Database(tmp_path / "tables.sqlite")
    pin = PinRow(row(GOAL, TILE).spec, "vax", "never read", "")
    database.pin((pin,), replace=False)
    assert program(GOAL, Overlay(database)) == cold(GOAL)


def pinned_and_solved(path: Path) -> bytes:
    """The contents of a file with a pin and the tables that respect it."""
    overlay = Overlay(Database(path))
    assert overlay.top is not None
    overlay.top.pin(SETS[1], replace=False)
    program(GOAL, overlay)
    overlay.close()  # the last to close writes the log into the file
    return path.read_bytes()


def test_a_page_that_lost_its_pins_is_damaged(tmp_path: Path) -> None:
    """The page says that it has no rows: to read it is no error of SQLite's."""
    path = tmp_path / "tables.sqlite"
    data = bytearray(pinned_and_solved(path))
    with sqlite3.connect(path) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        find = "SELECT rootpage FROM sqlite_schema WHERE name = 'pins'"
        root = connection.execute(find).fetchone()[0]
    connection.close()
    count = (root - 1) * size + 3  # of rows, two bytes in the header of a leaf
    assert data[count : count + 2] == b"\0\1"
    data[count + 1] = 0
    path.write_bytes(data)
    overlay = Overlay(Database(path))
    with pytest.warns(DatabaseWarning, match="pinned schedules are damaged"):
        assert program(GOAL, overlay) == cold(GOAL)


def test_a_damaged_file_gives_the_pinned_program_or_says_why_not(
    tmp_path: Path,
) -> None:
    data = pinned_and_solved(tmp_path / "whole.sqlite")
    seen = set()
    for seed in range(MUTATIONS):
        path = tmp_path / f"{seed}.sqlite"
        path.write_bytes(mutate(data, random.Random(seed)))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            damaged = opened(path)
            text = program(GOAL, damaged)
        if text != pinned(*SETS[1]):
            assert text == cold(GOAL), f"seed {seed}"
            assert said or damaged is None, f"seed {seed}"
        seen.add(text)
        if damaged is not None:
            damaged.close()
    assert len(seen) == 2
