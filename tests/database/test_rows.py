"""Rows of a database beside its tables, by themselves; and what files may have beside
them."""

import dataclasses
import math
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from morello.search.queries.measured import find_measured, keep_measured
from morello.search.storage.measured_rows import MEASURED, MeasuredKey, MeasuredRow
from morello.search.storage.program_boxes import BOXES, ProgramBoxes
from morello.search.storage.row_tables import RowTable
from morello.search.storage.schema import (
    COVERS,
    PINS,
    PROGRAMS,
    SEARCHES,
    Cover,
    PinRow,
    ProgramRow,
    SearchRow,
)
from morello.search.storage.strangers import bounded_json, foreign_parts

pytestmark = pytest.mark.quick

KEY = MeasuredKey("fill:9", "avx2", 1, "a processor", "search-1")
SEARCH = SearchRow("s", "space avx2 pins", 1.5, 20, 3, 60, 7, 10, 5, 4.25)
BEFORE = SearchRow("t", "space avx2", 0.25, 30, 2, 1, 100, 2000, 30000, 9.0)
MEASUREMENT = MeasuredRow(KEY, 0, "[]", "fill_rows", 1e-6, 3e3, 1)

TABLES: dict[str, tuple[RowTable[Any], tuple[Any, Any]]] = {
    table.name: (table, rows)
    for table, rows in (
        (PROGRAMS, (ProgramRow("a", "f x", "[]"), ProgramRow("b", "f x", "[1]"))),
        (PINS, (PinRow("a", "avx2", "[]", "m"), PinRow("b", "avx2", "[1]", "n"))),
        (SEARCHES, (SEARCH, BEFORE)),
        (COVERS, (Cover(b"a", b"k", "[]"), Cover(b"b", b"l", "[1]"))),
        (
            MEASURED,
            (MEASUREMENT, dataclasses.replace(MEASUREMENT, place=1, cycles=4e3)),
        ),
        (
            BOXES,
            (ProgramBoxes(b"a", "f", "s", b"x"), ProgramBoxes(b"b", "f", "t", b"")),
        ),
    )
}


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(":memory:")
    yield database
    database.close()


@pytest.mark.parametrize("name", TABLES)
def test_rows_are_read_as_they_were_written(
    name: str, connection: sqlite3.Connection
) -> None:
    table, rows = TABLES[name]
    keys = [row.values[: table.keys] for row in rows]
    assert table.one(connection, *keys[0]) is None
    assert table.read(connection) == ()
    assert table.delete(connection, keys) == 0
    assert table.write(connection, rows) == 2
    assert table.write(connection, rows, replace=False) == 0
    assert table.read(connection) == tuple((row, True) for row in rows)
    assert [table.one(connection, *key) for key in keys] == [*rows]
    assert table.delete(connection, keys[:1]) == 1
    assert table.read(connection) == ((rows[1], True),)


OTHERS = {str: "other words", bytes: b"other", int: 2, float: 7.5, float | None: None}


@pytest.mark.parametrize(
    ("name", "column"), [(n, c) for n in TABLES for c in TABLES[n][0].columns]
)
def test_a_row_with_another_value_is_not_whole(
    name: str, column: str, connection: sqlite3.Connection
) -> None:
    """Values of its type or not; one of another key has the checksum of the first."""
    table, rows = TABLES[name]
    kind = table.columns[column]
    for value in (OTHERS[kind], 9 if kind in (str, bytes) else "x"):
        table.write(connection, rows)
        connection.execute(
            f"UPDATE {name} SET {column} = ? WHERE checksum = ?",
            (value, rows[0].checksum),
        )
        wholes = [is_whole for _, is_whole in table.read(connection)]
        assert sorted(wholes) == [False, True], value
        connection.execute(f"DELETE FROM {name}")


def test_a_damaged_row_gives_way(connection: sqlite3.Connection) -> None:
    rows = TABLES["programs"][1]
    for change in ("x'00'", "(SELECT checksum FROM programs WHERE spec = 'b')"):
        PROGRAMS.write(connection, rows)
        connection.execute(f"UPDATE programs SET checksum = {change} WHERE spec = 'a'")
        assert PROGRAMS.one(connection, *rows[0].key) is None
        PROGRAMS.write(connection, rows[:1])
        assert PROGRAMS.one(connection, *rows[0].key) == rows[0]


MOST = 2**53


@pytest.mark.parametrize(
    ("row", "field", "whole", "damaged"),
    [
        (SEARCH, "spec", ["", "x"], [None, b"s", 1]),
        (SEARCH, "family", ["a b", "a b c"], ["", "one", b"a b", None]),
        (SEARCH, "seconds", [0.0, 1e300], [-1e-9, math.inf, math.nan, 1, None]),
        (SEARCH, "specs", [0, MOST - 1], [-1, MOST, 1.0, None, "1"]),
        (SEARCH, "cost_boxes", [0, MOST - 1], [-1, MOST, 1.0, None]),
        (SEARCH, "programs", [None, 0.0], [-1.0, math.inf, 1]),
        (MEASUREMENT, "place", [1], ["0"]),
        (MEASUREMENT, "program", ["x"], [b"[]"]),
        (MEASUREMENT, "features", [""], [None]),
        (MEASUREMENT, "seconds", [2e-6], [1, "1e-6", 0.0]),
        (MEASUREMENT, "cycles", [4e3], [None, 3e13]),  # of a core of 3e19 Hz
        (MEASUREMENT, "chosen", [0], [2, -1, None, "1"]),
        (MEASUREMENT, "key", [], [MeasuredKey("s", "t", 1.5, "c", "x")]),  # type: ignore[arg-type]
    ],
)
def test_a_row_is_whole_where_each_value_can_be(
    row: Any, field: str, whole: list[Any], damaged: list[Any]
) -> None:
    assert row.is_whole
    for is_whole, values in ((True, whole), (False, damaged)):
        rows = [dataclasses.replace(row, **{field: value}) for value in values]
        assert [one.is_whole for one in rows] == [is_whole] * len(values)


def test_specs_a_box() -> None:
    assert SEARCH.compression == 4.0
    assert SEARCH.compression_decisions == 6.0
    none = dataclasses.replace(SEARCH, boxes=0, cost_boxes=0)
    assert none.compression is None
    assert none.compression_decisions is None
    assert dataclasses.replace(SEARCH, boxes=0).compression == 12.0
    assert SEARCH.machine == "avx2"


def test_a_search_that_goes_on_counts_what_was_done_before() -> None:
    whole = SEARCH.after(BEFORE)
    assert whole == SearchRow(
        "s", "space avx2 pins", 1.75, 30, 3, 61, 107, 2010, 30005, 4.25
    )
    assert BEFORE.after(SEARCH).peak_bytes == 30
    assert dataclasses.replace(SEARCH, programs=None).after(BEFORE).programs == 9.0


@pytest.mark.parametrize(
    ("places", "chosen", "is_choice"),
    [
        ((0, 1, 2), (0, 0, 1), True),
        ((0, 1), (1, 0), True),
        ((0,), (1,), True),
        ((1, 2), (0, 1), False),  # the model's choice is missing
        ((0, 1), (0, 0), False),
        ((0, 1), (1, 1), False),
    ],
)
def test_one_of_all_is_chosen(
    places: tuple[int, ...], chosen: tuple[int, ...], is_choice: bool
) -> None:
    key = dataclasses.replace(KEY, context=f"{places} {chosen}")
    rows = tuple(
        dataclasses.replace(MEASUREMENT, key=key, place=place, chosen=one)
        for place, one in zip(places, chosen, strict=True)
    )
    keep_measured(rows, None)
    measured = find_measured(key, None)
    assert (measured is not None) == is_choice
    if measured is not None:
        assert measured.chosen.chosen == 1
        assert measured.model.place == 0


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
    ("statement", "message"),
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
    connection: sqlite3.Connection, statement: str, message: str
) -> None:
    connection.execute(PROGRAMS.schema)
    connection.execute(statement)
    assert foreign_parts(connection, OURS) == (message,)


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
