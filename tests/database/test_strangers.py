"""Files that somebody made on purpose: checksums are right, what they cover is not.

A file whose schema is not ours is refused. A row that cannot be costs a search of that
row; the program is always the one that a search without the file finds.
"""

import dataclasses
import json
import sqlite3
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.search.dp.box import Box
from morello.search.dp.table import TableId
from morello.search.storage import cache_key, codec
from morello.search.storage import deflated as parts
from morello.search.storage.cache_key import family
from morello.search.storage.connection import (
    FORMAT,
    OLD_FORMAT,
    OLD_SCHEMAS,
    DatabaseError,
)
from morello.search.storage.database import Database
from morello.search.storage.overlay import DatabaseWarning, Overlay
from morello.search.storage.schema import Cover, PinRow, ProgramRow, SearchRow
from morello.search.storage.table_rows import Row
from morello.search.storage.table_store import TableStore
from morello.tools.morello import main
from tests.database.small import TEXTS, cold, filled, forget_programs, program, spec
from tests.guarded import check_in_child
from tests.tool import Tool

pytestmark = pytest.mark.quick

GOAL = TEXTS[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The contents of a file that has the tables of `GOAL`, and no program."""
    path = tmp_path_factory.mktemp("whole") / "tables.sqlite"
    overlay = filled(path)
    forget_programs(overlay.readable[0])
    overlay.close()
    return path.read_bytes()


@pytest.fixture
def path(whole: bytes, tmp_path: Path) -> Path:
    """A copy of it."""
    path = tmp_path / "tables.sqlite"
    path.write_bytes(whole)
    return path


def change(path: Path, statement: str, *values: object) -> None:
    """Run a statement of SQL on a file."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


FOREIGN = {
    "trigger": "CREATE TRIGGER x AFTER INSERT ON tables BEGIN DELETE FROM tables; END",
    "view": "CREATE VIEW x AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
    "FROM n) SELECT i FROM n",
    "index": "CREATE INDEX x ON tables (length(decisions))",
    "table": "CREATE TABLE x (a)",
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("is_writable", [True, False])
def test_what_is_added_to_a_schema_is_refused(
    kind: str, is_writable: bool, path: Path
) -> None:
    change(path, FOREIGN[kind])
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match=f"has: {kind} 'x'; do not use it"):
        Database(path, is_writable=is_writable)
    assert path.read_bytes() == before


def test_a_table_of_ours_that_is_another_is_refused(path: Path) -> None:
    change(path, "DROP TABLE programs")
    change(path, "CREATE TABLE programs (spec, n AS (length(zeroblob(1 << 30))))")
    with pytest.raises(DatabaseError, match="has: table 'programs'"):
        Database(path)
    change(path, "DROP TABLE programs")
    change(path, "CREATE VIEW pins AS SELECT 1")
    with pytest.raises(DatabaseError, match="has: view 'pins'"):
        Database(path)


def rows_of(path: Path) -> list[Row]:
    """Its tables."""
    database = Database(path)
    rows = [row for row, _ in database.rows()]
    database.close()
    return rows


def rewrite(path: Path, rows: list[Row]) -> None:
    """Put others in the place of its tables, with checksums that are right."""
    database = Database(path)
    database.delete(tuple(row.key for row, _ in database.rows()))
    database.put_all(tuple(rows))
    database.close()


Header = dict[str, Any]


def deflated(header: bytes, body: bytes) -> bytes:
    """A part of a row."""
    return zlib.compress(struct.pack("<I", len(header)) + header + body)


def header_of(data: bytes) -> Header:
    """The header of a part."""
    raw = zlib.decompress(data)
    header: Header = json.loads(raw[4 : 4 + struct.unpack_from("<I", raw)[0]])
    return header


def with_header(data: bytes, edit: Callable[[Header], object]) -> bytes:
    """A part whose header is changed."""
    raw = zlib.decompress(data)
    (length,) = struct.unpack_from("<I", raw)
    header = json.loads(raw[4 : 4 + length])
    edit(header)
    return deflated(json.dumps(header).encode(), raw[4 + length :])


def in_header(edit: Callable[[Header], object]) -> Callable[[Row], Row]:
    """A change of the header of decisions."""
    return lambda row: dataclasses.replace(
        row, decisions=with_header(row.decisions, edit)
    )


def raw_header(text: str) -> Callable[[Row], Row]:
    """Another header of decisions, as text."""
    return lambda row: dataclasses.replace(
        row, decisions=deflated(text.encode(), b"\0" * 64)
    )


def actions(*data: Any) -> Callable[[Row], Row]:
    """The same action in the place of each."""
    return in_header(lambda h: h.update(actions=[[a[0], *data] for a in h["actions"]]))


def costs(number: int) -> Callable[[Row], Row]:
    """One number in the place of each cost."""

    def edit(row: Row) -> Row:
        raw = zlib.decompress(row.costs)
        count = header_of(row.costs)["counts"][2]
        told = np.full(count, number, "<i8").tobytes()
        changed = raw[: len(raw) - len(told)] + told
        return dataclasses.replace(row, costs=zlib.compress(changed))

    return edit


def beyond_the_table(part: str) -> Callable[[Row], Row]:
    """Ends of boxes of decisions or of costs that lie far outside of a table."""

    def edit(row: Row) -> Row:
        dims = len(header_of(row.decisions)["axes"])
        raw = zlib.decompress(getattr(row, part))
        start = 4 + struct.unpack_from("<I", raw)[0]
        count = header_of(getattr(row, part))["counts"][0]
        ends = np.frombuffer(raw, "<u2", count, start).copy()
        ends.reshape(-1, 2, dims)[:, 1] = 60_000
        changed = raw[:start] + ends.tobytes() + raw[start + ends.nbytes :]
        return dataclasses.replace(row, **{part: zlib.compress(changed)})

    return edit


def without_boxes(row: Row) -> Row:
    """A table that says that nothing has a program."""
    header = header_of(row.decisions) | {"counts": [0, 0], "actions": []}
    return dataclasses.replace(
        row, decisions=deflated(json.dumps(header).encode(), b"")
    )


DEEP = "[" * 100_000 + "]" * 100_000

FORM: dict[str, Callable[[Row], Row]] = {
    "a deep header": raw_header(f'{{"counts": [0, 0], "axes": {DEEP}}}'),
    "a header that is a list": raw_header("[]"),
    "a header that is no JSON": raw_header("{"),
    "a number of many digits": raw_header(f'{{"counts": [{"9" * 5000}]}}'),
    "too many counts": in_header(lambda h: h.update(counts=[1, 1, 1])),
    "negative counts": in_header(lambda h: h.update(counts=[-1, -1])),
    "counts above 2^63": in_header(lambda h: h.update(counts=[1 << 64, 1 << 64])),
    "counts that are text": in_header(lambda h: h.update(counts=["1", "1"])),
    "counts that are true": in_header(lambda h: h.update(counts=[True, True])),
    "no boxes": without_boxes,
    "bytes behind the end": lambda row: dataclasses.replace(
        row, decisions=row.decisions + b"more"
    ),
    "no bytes": lambda row: dataclasses.replace(row, decisions=b"", costs=b""),
    "other numbers of boxes": lambda row: dataclasses.replace(
        row, points=(1 << 63) - 1, boxes=-1, cost_boxes=0
    ),
}
"""What no table has, whichever it is: `db verify` sees it."""

MEANING: dict[str, Callable[[Row], Row]] = {
    "actions that are none": actions("fold", []),
    "actions with too few fields": actions("tile", []),
    "actions with deep fields": actions("tile", [[[]], {}]),
    "actions that are no candidates": actions("tile", ["d1", 5]),
    "a size above 2^63": actions("tile", ["d1", 1 << 70]),
    "a size of many digits": actions("tile", ["d1", 10**400]),
    "a kernel that there is not": actions("select", ["x\x1b[31m"]),
    "a kernel of other Specs": actions("select", ["gemm_rows"]),
    "a pin that there is not": actions("pinned", ["0" * 24]),
    "actions without a number": in_header(
        lambda h: h.update(actions=[[None, *a[1:]] for a in h["actions"]])
    ),
    "numbers of actions above 2^63": in_header(
        lambda h: h.update(actions=[[1 << 70, *a[1:]] for a in h["actions"]])
    ),
    "numbers of actions below 0": in_header(
        lambda h: h.update(actions=[[-1, *a[1:]] for a in h["actions"]])
    ),
    "boxes of decisions outside": beyond_the_table("decisions"),
    "boxes of costs outside": beyond_the_table("costs"),
    "costs below 0": costs(-1),
    "costs above 2^53": costs(1 << 60),
}
"""What only a search can see, which knows the table."""

CRAFTED = FORM | MEANING


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_table_never_changes_a_program(
    name: str, path: Path, tool: Tool
) -> None:
    rewrite(path, [CRAFTED[name](row) for row in rows_of(path)])
    assert main(["db", "verify", "--db", str(path)]) == (name in FORM)
    assert program(GOAL, Overlay(Database(path))) == cold(GOAL)
    assert main(["db", "info", "--db", str(path)]) == 0
    assert "\x1b" not in tool.out("db", "gc", "--db", str(path))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_parts_never_change_a_program(name: str, path: Path) -> None:
    """Without the table of the goal itself, its search reads costs of all others."""
    root = str(Solver(AVX2).goal_table(spec(GOAL)).key)
    parts = [row for row in rows_of(path) if row.name != root]
    assert len(parts) == len(rows_of(path)) - 1
    rewrite(path, [CRAFTED[name](row) for row in parts])

    def check() -> None:
        assert program(GOAL, Overlay(Database(path))) == cold(GOAL)

    check_in_child(check)  # what is believed may write anywhere


def test_one_bad_row_costs_a_search_of_that_row(path: Path) -> None:
    rows = rows_of(path)
    solver = Solver(AVX2)
    solver.solve(spec(GOAL))
    root = str(solver.goal_table(spec(GOAL)).key)
    (bad,) = (row for row in rows if row.name == root)
    changed = CRAFTED["actions that are none"](bad)
    rewrite(path, [changed if row is bad else row for row in rows])
    solution = Solver(AVX2, Overlay(Database(path))).solve(spec(GOAL))
    assert str(solution.impl) == cold(GOAL)
    assert solution.statistics.specs == bad.points
    assert solution.statistics.read == solution.statistics.tables - 1


def test_a_candidate_that_does_not_apply_at_a_point_is_solved_again(path: Path) -> None:
    """Each decision becomes the action of another: all are candidates of the table."""

    def rotate(header: Header) -> None:
        numbers = [a[0] for a in header["actions"]]
        header["actions"] = [
            [n, *a[1:]]
            for n, a in zip(numbers[1:] + numbers[:1], header["actions"], strict=True)
        ]

    rewrite(path, [in_header(rotate)(row) for row in rows_of(path)])
    solution = Solver(AVX2, Overlay(Database(path))).solve(spec(GOAL))
    assert solution.impl.cost >= Solver(AVX2).solve(spec(GOAL)).impl.cost
    for impl in solution.impl.walk():
        impl.action.apply(impl.spec, AVX2)


def test_few_bytes_that_stand_for_many_are_a_miss(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_BYTES", 1 << 20)
    bomb = zlib.compress(bytes(1 << 24), 9)
    assert len(bomb) < 1 << 15
    rows = [dataclasses.replace(r, decisions=bomb, costs=bomb) for r in rows_of(path)]
    rewrite(path, rows)
    assert program(GOAL, Overlay(Database(path))) == cold(GOAL)
    with pytest.raises(parts.CodecError, match="longer than any table"):
        codec.summary(bomb, bomb)


AXES = [list(axis) for axis in Solver(AVX2).goal_table(spec(GOAL)).sizes]

COVERS = {
    "deep": DEEP,
    "no axes": "{}",
    "numbers": "[1, 2]",
    "text": '["ab", "c"]',
    "sizes above 2^63": json.dumps([[*axis, 1 << 70] for axis in AXES]),
    "sizes that descend": json.dumps([[*axis, 3, 1] for axis in AXES]),
    "sizes that are true": json.dumps([[True, *axis[1:]] for axis in AXES]),
    "many sizes": json.dumps([[*axis, *range(99, 1 << 17)] for axis in AXES]),
}


@pytest.mark.parametrize("name", COVERS)
def test_a_crafted_index_is_not_followed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The axes of the goal, and more; the key is what would be asked for."""
    bad = Cover(b"", b"k" * 32, COVERS[name])
    monkeypatch.setattr(cache_key, "row_key", lambda *args: bad.key)
    monkeypatch.setattr(TableStore, "_may_be", lambda self, key: True)
    monkeypatch.setattr(Overlay, "covers", lambda self, base: (bad,))
    overlay = Overlay(Database(tmp_path / "new.sqlite"))
    solver = Solver(AVX2, overlay)
    run, table = solver.run_of(spec(GOAL)), solver.goal_table(spec(GOAL))
    asked: list[TableId] = []

    def box_of(identity: TableId) -> Box:
        asked.append(identity)
        return run.whole_box(identity)

    whole = run.whole_box(table)
    assert not run.store.fetch_part(table, whole, box_of, run.candidates)
    assert asked == [table]


NOTES = {
    "a time that is none": {"seconds": float("inf")},
    "counts below 0": {"tables": -1},
    "counts above 2^53": {"impls": (1 << 63) - 1},
    "a family of one word": {"family": "search-1"},
    "text for a number": {"boxes": "x"},
}


@pytest.mark.parametrize("name", NOTES)
def test_a_crafted_note_gives_way_to_the_next(name: str, path: Path) -> None:
    database = Database(path)
    (row,) = database.searches()
    bad = dataclasses.replace(row, **NOTES[name])  # type: ignore[arg-type]
    connection = database._connected()
    connection.execute("DELETE FROM searches")
    marks = ", ".join("?" * 11)
    connection.execute(
        f"INSERT INTO searches VALUES ({marks})",
        (*dataclasses.astuple(bad), bad.checksum),
    )
    assert database.searches() == ()
    database.add_search(row)
    assert database.searches() == (row,)
    assert main(["db", "info", "--db", str(path)]) == 0


def tiles(count: int) -> str:
    """A program that tiles again and again."""
    text = "null"
    for size in range(count, 0, -1):
        text = f'["tile",["d1",{1 << 20 | size}],[{text},null]]'
    return text


PROGRAMS = {
    "deep": DEEP,
    "a deep program": tiles(300),
    "a size above 2^63": f'["tile",["d1",{1 << 70}],[null]]',
    "a number": "7",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_crafted_program_is_a_miss(name: str, path: Path) -> None:
    database = Database(path)
    text = "move:7x9:f32:vrf=16:l1=512:l2=8192"
    kin = family(AVX2.at(spec(GOAL)))
    database.put_programs((ProgramRow(text, kin, PROGRAMS[name]),))
    assert database.program(text, kin) is not None
    solver = Solver(AVX2.at(spec(GOAL)), Overlay(database))
    assert str(solver.solve(spec(GOAL)).impl) == str(
        Solver(AVX2.at(spec(GOAL))).solve(spec(GOAL)).impl
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_pin_that_cannot_be_respected_is_left_out(name: str, path: Path) -> None:
    text = "move:7x9:f32:vrf=16:l1=512:l2=8192"
    database = Database(path)
    database.pin((PinRow(text, "avx2", PROGRAMS[name], ""),), replace=True)
    with pytest.warns(DatabaseWarning, match=r"pinned for move:7x9.*not respected"):
        assert program(GOAL, Overlay(database)) == cold(GOAL)
    assert main(["db", "info", "--db", str(path)]) == 0


def test_control_characters_of_a_file_are_not_printed(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b]0;owned\x07\x9b31m\u202e"
    database = Database(path)
    rows = [r for r, _ in database.rows()]
    bad = [dataclasses.replace(r, name=r.name + evil, decisions=b"x") for r in rows]
    database.delete(tuple(r.key for r in rows))
    database.put_all(tuple(bad))
    database.pin((PinRow(f"move{evil}", f"avx2{evil}", "x", ""),), replace=True)
    database.put_programs((ProgramRow(f"s{evil}", rows[0].family, evil),))
    (note,) = database.searches()
    database.add_search(dataclasses.replace(note, spec=evil))
    database.close()
    for command in ("info", "verify"):
        main(["db", command, "--db", str(path)])
    output = capsys.readouterr()
    printed = output.out + output.err
    assert r"\x1b]0;owned\x07\x9b31m\u202e" in printed
    assert not set(evil) & set(printed) - set("owned31m;0]")


def test_text_that_is_not_utf8_is_damage_of_its_row_alone(path: Path) -> None:
    change(path, "UPDATE tables SET name = CAST(x'ff' AS TEXT) WHERE rowid = 1")
    database = Database(path)
    damaged = [is_whole for _, is_whole in database.rows()].count(False)
    assert damaged == 1
    assert program(GOAL, Overlay(database)) == cold(GOAL)


def test_a_file_of_the_format_before_keeps_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "tables.sqlite"
    filled(path).close()
    rows, programs = rows_of(path), Database(path).programs()
    for name, schema in zip(("covers", "searches"), OLD_SCHEMAS, strict=True):
        change(path, f"DROP TABLE {name}")
        change(path, schema)
    change(path, "INSERT INTO covers VALUES (x'00', x'01', '[]')")
    change(path, f"PRAGMA user_version = {OLD_FORMAT}")
    below = Database(path, is_writable=False)
    assert (below.covers(), below.searches()) == ((), ())
    assert program(GOAL, Overlay(None, (below,))) == cold(GOAL)
    below.close()
    database = Database(path)
    assert [r for r, _ in database.rows()] == rows
    assert database.programs() == programs
    assert (database.covers(), database.searches()) == ((), ())
    version = database._connected().execute("PRAGMA user_version").fetchone()
    assert version == (FORMAT,)
    row = SearchRow("s", "f avx2", 0.5, 1, 2, 3, 4, 5, 6)
    database.add_search(row)
    assert database.searches() == (row,)
    cover = Cover(b"base", rows[0].key, "[]")
    database.put_all((), (cover,))
    assert database.covers() == (cover,)
