"""Rows of programs, and what a file may have beside our tables, by themselves."""

import dataclasses
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from morello.search.storage.database import Database
from morello.search.storage.measured_rows import MEASURED
from morello.search.storage.schema import PROGRAMS, ProgramRow
from morello.search.storage.strangers import bounded_json, foreign_parts
from morello.search.storage.transfer import copy_rows

pytestmark = pytest.mark.quick

ROWS = (ProgramRow("a", "family", "[]"), ProgramRow("b", "family", "[1]"))


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
    yield made
    made.close()


def test_a_row_is_read_as_it_was_written(connection: sqlite3.Connection) -> None:
    assert PROGRAMS.one(connection, "a", "family") is None
    assert PROGRAMS.read(connection) == ()
    PROGRAMS.write(connection, ROWS)
    assert PROGRAMS.read(connection) == tuple((row, True) for row in ROWS)
    assert [PROGRAMS.one(connection, r.spec, "family") for r in ROWS] == [*ROWS]
    assert PROGRAMS.one(connection, "a", "another") is None
    PROGRAMS.delete(connection, [ROWS[0].key])
    assert PROGRAMS.read(connection) == ((ROWS[1], True),)


@pytest.mark.parametrize(
    "change",
    [
        "program = '[2]'",
        "program = x'5b5d'",
        "checksum = x'00'",
        "checksum = (SELECT checksum FROM programs WHERE spec = 'b')",
    ],
)
def test_a_row_that_was_changed_is_none(
    connection: sqlite3.Connection, change: str
) -> None:
    PROGRAMS.write(connection, ROWS)
    connection.execute(f"UPDATE programs SET {change} WHERE spec = 'a'")
    assert PROGRAMS.one(connection, "a", "family") is None
    assert [whole for _, whole in PROGRAMS.read(connection)] == [False, True]
    PROGRAMS.write(connection, ROWS[:1])
    assert PROGRAMS.one(connection, "a", "family") == ROWS[0]


@pytest.mark.parametrize("place", ["spec", "family"])
def test_a_row_for_another_goal_is_none(
    connection: sqlite3.Connection, place: str
) -> None:
    """One that was moved to another key has the checksum of the first."""
    PROGRAMS.write(connection, ROWS)
    connection.execute(f"UPDATE programs SET {place} = 'c' WHERE spec = 'a'")
    moved = dataclasses.replace(ROWS[0], **{place: "c"})
    assert PROGRAMS.one(connection, moved.spec, moved.family) is None


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_damaged_rows_are_counted_and_left_out(tmp_path: Path, damaged: int) -> None:
    source, target = (Database(tmp_path / name) for name in ("a", "b"))
    source.put_programs(ROWS)
    with sqlite3.connect(tmp_path / "a") as connection:
        for row in ROWS[:damaged]:
            where = "UPDATE programs SET program = 'x' WHERE spec = ?"
            connection.execute(where, (row.spec,))
    connection.close()
    assert copy_rows(source, target) == (0, damaged)
    assert target.programs() == tuple((row, True) for row in ROWS[damaged:])


OURS = (PROGRAMS.schema, MEASURED.schema)


def test_our_tables_are_not_foreign(connection: sqlite3.Connection) -> None:
    for statement in OURS:
        connection.execute(statement)
    assert foreign_parts(connection, OURS) == ()
    assert foreign_parts(connection, OURS[:1]) == ("table 'measured'",)
    plain = "CREATE TABLE plain (name TEXT PRIMARY KEY)"  # with an index of its own
    connection.execute(plain)
    assert foreign_parts(connection, (*OURS, plain)) == ()


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("CREATE INDEX i ON programs (program)", "index 'i'"),
        ("CREATE INDEX i ON programs (abs(program))", "index 'i'"),
        ("CREATE UNIQUE INDEX i ON programs (family)", "index 'i'"),
        ("CREATE VIEW v AS SELECT 1", "view 'v'"),
        ("CREATE TABLE t (a)", "table 't'"),
        (
            "CREATE TRIGGER g AFTER INSERT ON programs BEGIN SELECT 1; END",
            "trigger 'g'",
        ),
    ],
)
def test_all_else_is_foreign(
    connection: sqlite3.Connection, statement: str, found: str
) -> None:
    connection.execute(PROGRAMS.schema)
    connection.execute(statement)
    assert foreign_parts(connection, OURS) == (found,)


def test_a_table_of_ours_with_more_in_it_is_foreign(
    connection: sqlite3.Connection,
) -> None:
    other = PROGRAMS.schema.replace("family TEXT", "family TEXT DEFAULT (random())")
    connection.execute(other)
    assert foreign_parts(connection, OURS) == ("table 'programs'",)


def test_deep_json_is_refused() -> None:
    assert bounded_json("[[1]]") == [[1]]
    with pytest.raises(ValueError, match="nested too deeply"):
        bounded_json("[" * 100_000)
