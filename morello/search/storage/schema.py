"""What a database holds beside tables: pins, notes on searches, and an index of tables.

All have tables of their own, which are made when they are first written, so that a
file without them is as good.
"""

import dataclasses
import hashlib
import sqlite3
from collections.abc import Iterator

_PINS = """
CREATE TABLE IF NOT EXISTS pins (
    spec TEXT NOT NULL,
    target TEXT NOT NULL,
    program TEXT NOT NULL,
    schedule TEXT NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (spec, target)
) WITHOUT ROWID
"""

_COVERS = """
CREATE TABLE IF NOT EXISTS covers (
    base BLOB NOT NULL,
    key BLOB NOT NULL,
    sizes TEXT NOT NULL,
    PRIMARY KEY (base, key)
) WITHOUT ROWID
"""

_SEARCHES = """
CREATE TABLE IF NOT EXISTS searches (
    spec TEXT NOT NULL,
    family TEXT NOT NULL,
    seconds REAL NOT NULL,
    peak_bytes INTEGER NOT NULL,
    tables INTEGER NOT NULL,
    specs INTEGER NOT NULL,
    impls INTEGER NOT NULL,
    boxes INTEGER NOT NULL,
    cost_boxes INTEGER NOT NULL,
    programs REAL,
    PRIMARY KEY (spec, family)
) WITHOUT ROWID
"""


@dataclasses.dataclass(frozen=True)
class PinRow:
    """A Spec whose schedule a person has fixed, at rest."""

    spec: str
    """Its text, with every limit."""
    target: str
    """The name of the target."""
    program: str
    """The decisions, as `morello.search.queries.partial_program` writes them."""
    schedule: str
    """The module that they were read from, for people."""

    @property
    def checksum(self) -> bytes:
        """Of everything in the row."""
        return checksum_of(*(text.encode() for text in dataclasses.astuple(self)))


def checksum_of(*parts: bytes) -> bytes:
    """A hash of some fields, each with its length."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


@dataclasses.dataclass(frozen=True)
class SearchRow:
    """What a search took; only for people, nothing is decided by it."""

    spec: str
    """Its goal, with every limit."""
    family: str
    """The target, the version of the space and the pins, as of the tables."""
    seconds: float
    peak_bytes: int
    """The most memory that its process has had."""
    tables: int
    specs: int
    impls: int
    """Implementations that were compared."""
    boxes: int
    cost_boxes: int
    programs: float | None = None
    """The binary logarithm of how many programs there are, if they were counted."""

    @property
    def is_whole(self) -> bool:
        """Whether every value is of its type: what is damaged is not shown."""
        numbers = dataclasses.astuple(self)[2:-1]
        texts = isinstance(self.spec, str) and isinstance(self.family, str)
        return texts and all(isinstance(n, (int, float)) for n in numbers)

    @property
    def compression(self) -> float | None:
        """Specs a box, of decisions and of costs together; None of none."""
        boxes = self.boxes + self.cost_boxes
        return self.specs / boxes if boxes else None

    @property
    def compression_decisions(self) -> float | None:
        """Specs a box of decisions; None of none."""
        return self.specs / self.boxes if self.boxes else None

    def after(self, before: "SearchRow") -> "SearchRow":
        """The sum of a search that was stopped and this, which went on from there."""
        programs = self.programs if self.programs is not None else before.programs
        return SearchRow(
            self.spec,
            self.family,
            self.seconds + before.seconds,
            max(self.peak_bytes, before.peak_bytes),
            max(self.tables, before.tables),
            self.specs + before.specs,
            self.impls + before.impls,
            self.boxes + before.boxes,
            self.cost_boxes + before.cost_boxes,
            programs,
        )


_PIN_COLUMNS = "spec, target, program, schedule, checksum"
_SEARCH_COLUMNS = ", ".join(f.name for f in dataclasses.fields(SearchRow))


def read_pins(connection: sqlite3.Connection) -> tuple[tuple[PinRow, bool], ...]:
    """Every pin by Spec, and whether its row is whole.

    Raises:
        sqlite3.DatabaseError: the pages of the table are damaged. A page can lose rows
            without an error of SQLite's own when it is read, and a pin that is missing
            is not seen by a checksum of rows; there are few pins, so this is quick.
    """
    if not has_table(connection, "pins"):
        return ()
    problems = connection.execute("PRAGMA quick_check(pins)").fetchall()
    if problems != [("ok",)]:
        raise sqlite3.DatabaseError(
            f"the pinned schedules are damaged: {problems[0][0]}"
        )
    found = connection.execute(
        f"SELECT {_PIN_COLUMNS} FROM pins ORDER BY spec, target"
    ).fetchall()
    return tuple((pin, pin.checksum == checksum) for pin, checksum in _pins(found))


def write_pins(
    connection: sqlite3.Connection, pins: tuple[PinRow, ...], *, replace: bool
) -> int:
    """Add pins, and answer how many rows are new or changed."""
    connection.execute(_PINS)
    before = connection.total_changes
    verb = "REPLACE" if replace else "IGNORE"
    for pin in pins:
        connection.execute(
            f"INSERT OR {verb} INTO pins ({_PIN_COLUMNS}) VALUES (?, ?, ?, ?, ?)",
            (*dataclasses.astuple(pin), pin.checksum),
        )
    return connection.total_changes - before


def delete_pin(connection: sqlite3.Connection, spec: str, target: str) -> bool:
    """Take a pin out; whether there was one."""
    if not has_table(connection, "pins"):
        return False
    before = connection.total_changes
    connection.execute("DELETE FROM pins WHERE (spec, target) = (?, ?)", (spec, target))
    return connection.total_changes > before


def read_searches(connection: sqlite3.Connection) -> tuple[SearchRow, ...]:
    """The notes on searches, by Spec."""
    if not has_table(connection, "searches"):
        return ()
    found = connection.execute(
        f"SELECT {_SEARCH_COLUMNS} FROM searches ORDER BY spec, family"
    )
    rows = (SearchRow(*values) for values in found.fetchall())
    return tuple(row for row in rows if row.is_whole)


def write_search(connection: sqlite3.Connection, row: SearchRow) -> None:
    """Add a note, to what is noted of the same goal."""
    connection.execute(_SEARCHES)
    found = connection.execute(
        f"SELECT {_SEARCH_COLUMNS} FROM searches WHERE (spec, family) = (?, ?)",
        (row.spec, row.family),
    ).fetchone()
    before = None if found is None else SearchRow(*found)
    whole = row.after(before) if before is not None and before.is_whole else row
    marks = ", ".join("?" * len(dataclasses.fields(SearchRow)))
    connection.execute(
        f"INSERT OR REPLACE INTO searches ({_SEARCH_COLUMNS}) VALUES ({marks})",
        dataclasses.astuple(whole),
    )


@dataclasses.dataclass(frozen=True)
class Cover:
    """Where a table is found by goals of other sizes."""

    base: bytes
    """A hash of all that the table depends on but its axes."""
    key: bytes
    """Of its row."""
    sizes: str
    """The axes of its goal, as JSON."""


def read_covers(
    connection: sqlite3.Connection, base: bytes | None = None
) -> tuple[Cover, ...]:
    """The index, or the part of it with one base; damaged rows are left out."""
    if not has_table(connection, "covers"):
        return ()
    which = "" if base is None else " WHERE base = ?"
    found = connection.execute(
        f"SELECT base, key, sizes FROM covers{which} ORDER BY base, key",
        () if base is None else (base,),
    )
    kinds = (bytes, bytes, str)
    rows = [row for row in found.fetchall() if all(map(isinstance, row, kinds))]
    return tuple(Cover(*row) for row in rows)


def write_covers(connection: sqlite3.Connection, covers: tuple[Cover, ...]) -> None:
    """Add to the index."""
    connection.execute(_COVERS)
    connection.executemany(
        "INSERT OR IGNORE INTO covers (base, key, sizes) VALUES (?, ?, ?)",
        [dataclasses.astuple(cover) for cover in covers],
    )


def clean_covers(connection: sqlite3.Connection) -> None:
    """Take tables that are gone out of the index."""
    if has_table(connection, "covers"):
        connection.execute(
            "DELETE FROM covers WHERE key NOT IN (SELECT key FROM tables)"
        )


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a table has been made."""
    found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,))
    return bool(found.fetchall())


def _pins(rows: list[tuple[object, ...]]) -> Iterator[tuple[PinRow, bytes]]:
    """Pins and their checksums; a row whose values are not of the right types has none
    that fits."""
    for *fields, checksum in rows:
        texts = [field if isinstance(field, str) else repr(field) for field in fields]
        yield PinRow(*texts), checksum if isinstance(checksum, bytes) else b""
