"""Databases over each other and into each other, and the remedies of errors."""

import dataclasses
import errno
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import pytest

from morello.search.storage.connection import DamageError, DatabaseError, error_of
from morello.search.storage.database import Database
from morello.search.storage.measured_rows import MeasuredKey, MeasuredRow
from morello.search.storage.overlay import DatabaseWarning, Overlay
from morello.search.storage.row_tables import checksum_of
from morello.search.storage.schema import Cover, PinRow, ProgramRow, SearchRow
from morello.search.storage.table_rows import Row
from morello.search.storage.transfer import copy_rows
from tests.database import small

pytestmark = pytest.mark.quick

PLACE = Path("/a/place")

CODES = {
    sqlite3.SQLITE_FULL: "free space",
    sqlite3.SQLITE_READONLY: "may be written",
    sqlite3.SQLITE_CANTOPEN: "may be written",
    sqlite3.SQLITE_PERM: "may be written",
    sqlite3.SQLITE_BUSY: "another process holds it",
    sqlite3.SQLITE_LOCKED: "another process holds it",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
    sqlite3.SQLITE_ERROR: "damaged",
    sqlite3.SQLITE_IOERR: "check the disk",
    sqlite3.SQLITE_NOMEM: "check the disk",
}


@pytest.mark.parametrize("extended", [0, 1 << 8, 5 << 8])
@pytest.mark.parametrize("code", CODES)
def test_an_error_of_sqlite_has_a_remedy(code: int, extended: int) -> None:
    """By its primary code; of one that shows damage something may yet be read."""
    error = sqlite3.OperationalError("it fails")
    error.sqlite_errorcode = code | extended
    used, opened = (error_of(PLACE, error, opens=opens) for opens in (False, True))
    is_damage = CODES[code] == "damaged"
    for one in (used, opened):
        assert CODES[code] in str(one)
        assert "the database /a/place cannot be used: it fails" in str(one)
    assert isinstance(used, DamageError) == is_damage
    assert not isinstance(opened, DamageError)
    assert ("db export" in str(used)) == is_damage
    assert ("nothing of it can be read" in str(opened)) == is_damage


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOLCK, "no locks"), "another file system"),
        (PermissionError(errno.EACCES, "no"), "may be read and written"),
        (OverflowError("large"), "rescue what is whole"),
        (UnicodeDecodeError("utf8", b"x", 0, 1, "odd"), "rescue what is whole"),
        (sqlite3.DataError("odd"), "rescue what is whole"),
    ],
)
def test_other_errors_have_remedies(error: Exception, words: str) -> None:
    assert words in str(error_of(PLACE, error, opens=False))


KEY = MeasuredKey("fill:9", "avx2", 1, "a processor", "search-1")
MEASURED = tuple(
    MeasuredRow(KEY, place, "[]", "rows", 1e-6, 3e3, int(place == 0))
    for place in (0, 1)
)


class Memory:
    """A database in memory: what it has, or a failure at each use."""

    def __init__(self, name: str, *, fails: bool = False, **has: Any) -> None:
        self.path, self.has, self.fails = Path(name), has, fails
        self.written: list[Any] = []

    def _got(self, name: str, *key: Any) -> Any:
        if self.fails:
            raise DatabaseError(f"{self.path} fails", "mend it")
        return self.has.get(name)

    def get(self, key: bytes) -> Any:
        return self._got("get")

    def decisions(self, key: bytes) -> Any:
        return self._got("decisions")

    def program(self, spec: str, family: str) -> Any:
        return self._got("program")

    def measured(self, key: Any) -> Any:
        return self._got("measured") or ()

    def pins(self) -> Any:
        return self._got("pins") or ()

    def covers(self, base: Any = None) -> Any:
        return self._got("covers") or ()

    def put_all(self, rows: Any, covers: Any = ()) -> int:
        self._got("put_all")
        self.written.append((rows, covers))
        return len(rows)

    def put_programs(self, rows: Any) -> None:
        self._got("put_programs")
        self.written.append(rows)

    def put_measured(self, rows: Any) -> None:
        self._got("put_measured")
        self.written.append(rows)

    def add_search(self, row: Any) -> None:
        self._got("add_search")
        self.written.append(row)


def over(*databases: Memory, is_written: bool = True) -> Any:
    every: Any = databases
    return Overlay(every[0], every[1:]) if is_written else Overlay(None, every)


def test_the_first_database_that_has_a_row_answers() -> None:
    program = ProgramRow("s", "f", "[]")
    top = Memory("top", decisions=b"top", measured=((MEASURED[0], False),))
    low = Memory(
        "low",
        decisions=b"low",
        get="row",
        program=program,
        measured=tuple((row, True) for row in MEASURED),
        covers=(Cover(b"b", b"k", "[]"),),
    )
    overlay = over(top, low)
    assert overlay.decisions(b"key") == b"top"
    assert overlay.get(b"key") == "row"
    assert overlay.program("s", "f") == program
    assert overlay.measured(KEY) == MEASURED  # all of a goal, or none
    assert over(top).measured(KEY) == ()
    assert over(top).get(b"key") is None
    assert overlay.covers(b"b") == low.has["covers"]
    again = Memory("again", covers=(Cover(b"b", b"other", "[]"),))
    assert over(low, again).covers(b"b") == (*low.has["covers"], *again.has["covers"])


def test_pins_of_the_first_database_hold() -> None:
    def pin(spec: str, target: str, program: str) -> PinRow:
        return PinRow(spec, target, program, "")

    high, low = pin("a", "avx2", "high"), pin("a", "avx2", "low")
    other, broken = pin("a", "avx512", "other"), pin("b", "avx2", "broken")
    top = Memory("top", pins=((high, True), (broken, False)))
    below = Memory("low", pins=((low, True), (other, True)))
    with pytest.warns(DatabaseWarning, match="pinned for b in top is damaged") as told:
        assert over(top, below).pins() == (high, other)
    assert len(told) == 1


READS = {
    "get": lambda overlay: overlay.get(b"key"),
    "decisions": lambda overlay: overlay.decisions(b"key"),
    "program": lambda overlay: overlay.program("s", "f"),
    "pins": lambda overlay: overlay.pins(),
    "covers": lambda overlay: overlay.covers(b"b"),
    "measured": lambda overlay: overlay.measured(KEY),
}


@pytest.mark.parametrize("name", READS)
def test_a_database_that_cannot_be_read_is_left_out_with_one_warning(name: str) -> None:
    low = Memory("low")
    overlay = over(Memory("top", fails=True), low)
    with pytest.warns(DatabaseWarning, match="top fails.*goes on without it") as told:
        READS[name](overlay)
    assert len(told) == 1
    for read in READS.values():
        read(overlay)
    assert overlay.readable == (low,)
    assert overlay.top is None
    below = over(Memory("whole"), Memory("low", fails=True))
    with pytest.warns(DatabaseWarning, match="low fails"):
        READS[name](below)
    assert below.top is not None
    assert below.readable == (below.top,)


WRITES: dict[str, tuple[Any, Any]] = {
    "keep": (lambda o: o.keep(("program",)), ("program",)),
    "put_all": (lambda o: o.put_all(("row",), ("cover",)), (("row",), ("cover",))),
    "note": (lambda o: o.note("search"), "search"),
    "keep_measured": (lambda o: o.keep_measured(MEASURED), MEASURED),
}


@pytest.mark.parametrize("name", WRITES)
def test_the_top_alone_is_written_while_it_can_be(name: str) -> None:
    write, written = WRITES[name]
    top, low = Memory("top"), Memory("low")
    assert write(over(top, low)) in (None, True)
    assert (top.written, low.written) == ([written], [])
    nowhere = over(low, is_written=False)
    assert write(nowhere) in (None, False)
    failing = over(Memory("top", fails=True), low)
    with pytest.warns(DatabaseWarning, match="what is solved is not stored") as told:
        assert write(failing) in (None, False)
    assert len(told) == 1
    assert write(failing) in (None, False)
    assert low.written == []
    assert failing.top is None
    assert len(failing.readable) == 2  # it may yet be read


def test_a_checksum_is_of_each_part() -> None:
    parts = [(), (b"",), (b"", b""), (b"ab", b"c"), (b"a", b"bc"), (b"abc",)]
    assert len({checksum_of(*one) for one in parts}) == len(parts)


def test_checksums_of_a_row_are_of_each_value() -> None:
    row = small.row(3)
    for field in dataclasses.fields(Row):
        value = getattr(row, field.name)
        other = value + (1 if isinstance(value, int) else type(value)(value)[:1])
        changed = dataclasses.replace(row, **{field.name: other})
        differ = (
            changed.checksum != row.checksum,
            changed.costs_checksum != row.costs_checksum,
        )
        assert differ == (field.name != "costs", field.name in ("key", "costs")), (
            field.name
        )


def test_all_whole_rows_are_copied(tmp_path: Path) -> None:
    """More than a page of them, with the damaged counted."""
    source, target = (Database(tmp_path / name) for name in ("a.sqlite", "b.sqlite"))
    rows = tuple(small.row(number) for number in range(130))
    source.put_all(rows, tuple(Cover(b"base", row.key, "[]") for row in rows[:3]))
    programs = tuple(ProgramRow(f"s{i}", "f", "[]") for i in range(3))
    source.put_programs(programs)
    pins = tuple(PinRow(f"s{i}", "avx2", "[]", "") for i in range(3))
    source.pin(pins, replace=True)
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute("UPDATE tables SET boxes = 9 WHERE rowid IN (1, 70, 71)")
        connection.execute("UPDATE programs SET program = 'x' WHERE spec = 's1'")
        connection.execute("UPDATE pins SET program = 'x' WHERE spec = 's2'")
    target.pin((dataclasses.replace(pins[0], program="own"),), replace=True)
    target.put(small.row(100))
    assert copy_rows(source, target) == (130 - 3 - 1, 3 + 1 + 1)
    assert sum(is_whole for _, is_whole in target.rows()) == 127
    assert target.programs() == tuple((row, True) for row in programs[::2])
    assert [(p.spec, p.program) for p, _ in target.pins()] == [
        ("s0", "own"),
        ("s1", "[]"),
    ]
    assert len(target.covers()) == 3
    none = Database(tmp_path / "c.sqlite")
    assert copy_rows(source, none, tables=False) == (0, 2)
    assert (list(none.rows()), none.covers()) == ([], ())
    assert len(none.programs()) == 2
    assert copy_rows(source, target) == (0, 5)


def test_a_file_that_breaks_off_is_copied_as_far_as_it_goes(tmp_path: Path) -> None:
    rows = [(small.row(number), True) for number in range(70)]

    class Broken:
        """A database whose tables end with an error."""

        path = PLACE
        pins = programs = covers = staticmethod(lambda: ())

        def __init__(self, count: int) -> None:
            self.count = count

        def rows(self) -> Any:
            yield from rows[: self.count]
            raise DamageError("the file ends", "rescue it")

    told: list[str] = []
    for number, count in enumerate((70, 5)):
        target = Database(tmp_path / f"{number}.sqlite")
        source: Any = Broken(count)
        assert copy_rows(source, target, tell=told.append) == (count, 0)
        assert len(list(target.rows())) == count
    assert told == ["/a/place: not all can be read: the file ends"] * 2
    empty: Any = Broken(0)
    with pytest.raises(DatabaseError, match="nothing of it can be read") as raised:
        copy_rows(empty, target)
    assert not isinstance(raised.value, DamageError)
    assert copy_rows(empty, target, has_more=True, tell=told.append) == (0, 0)


def test_measurements_of_a_goal_come_and_go_together(tmp_path: Path) -> None:
    database = Database(tmp_path / "a.sqlite")
    other = tuple(
        dataclasses.replace(row, key=dataclasses.replace(KEY, threads=2))
        for row in MEASURED
    )
    assert database.measured(KEY) == ()
    database.put_measured((*MEASURED, *other))
    assert database.measured(KEY) == tuple((row, True) for row in MEASURED)
    assert len(database.measured()) == 4
    one = dataclasses.replace(MEASURED[0], program="[1]")
    database.put_measured((one,), replace=False)
    assert database.measured(KEY) == tuple((row, True) for row in MEASURED)
    database.put_measured((one,))
    assert database.measured(KEY) == ((one, True),)
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute("UPDATE measured SET cycles = 4e3 WHERE threads = 1")
    assert database.measured(KEY)[0][1] is False
    database.put_measured(MEASURED, replace=False)  # what is broken gives way
    assert database.measured(KEY) == tuple((row, True) for row in MEASURED)
    database.delete_measured((KEY,))
    assert database.measured() == tuple((row, True) for row in other)


def test_notes_of_a_search_add_up(tmp_path: Path) -> None:
    row = SearchRow("s", "space avx2", 1.5, 20, 3, 60, 7, 10, 5, None)
    database = Database(tmp_path / "a.sqlite")
    assert database.searches() == ()
    database.add_search(row)
    database.add_search(dataclasses.replace(row, family="space avx512"))
    database.add_search(row)
    assert [note.specs for note in database.searches()] == [120, 60]


def test_nothing_warns_where_nothing_fails() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        overlay = over(Memory("top"), Memory("low"))
        for read in READS.values():
            assert not read(overlay)
