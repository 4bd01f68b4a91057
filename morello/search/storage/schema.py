"""Schema of a database beside its tables: pins, notes on searches, and an index of
tables.

All have tables of their own, which are made when they are first written, so that a
file without them is as good. Each row has a checksum of all that it says; one that does
not match, or that says what cannot be, is left out.
"""

import dataclasses
import hashlib
import math
import sqlite3
from collections.abc import Iterator

PINS_SCHEMA = """
CREATE TABLE IF NOT EXISTS pins (
    spec TEXT NOT NULL,
    target TEXT NOT NULL,
    program TEXT NOT NULL,
    schedule TEXT NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (spec, target)
) WITHOUT ROWID
"""

COVERS_SCHEMA = """
CREATE TABLE IF NOT EXISTS covers (
    base BLOB NOT NULL,
    key BLOB NOT NULL,
    sizes TEXT NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (base, key)
) WITHOUT ROWID
"""

SEARCHES_SCHEMA = """
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
    checksum BLOB NOT NULL,
    PRIMARY KEY (spec, family)
) WITHOUT ROWID
"""

OLD_SCHEMAS = tuple(
    schema.replace("    checksum BLOB NOT NULL,\n", "")
    for schema in (COVERS_SCHEMA, SEARCHES_SCHEMA)
)
"""Statements of files of format 2, which had no checksums here; such rows are not read.
"""


@dataclasses.dataclass(frozen=True)
class PinRow:
    """A Spec whose schedule a person has fixed, at rest."""

    spec: str
    """Text of the Spec, with every limit."""
    target: str
    """The name of the target."""
    program: str
    """The decisions, as `morello.search.queries.partial_program` writes them."""
    schedule: str
    """The module that they were read from, for people."""

    @property
    def checksum(self) -> bytes:
        """Hash of everything in the row."""
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
    """Effort of a search; only for people, nothing is decided by it."""

    spec: str
    """Text of the goal, with every limit."""
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
    def checksum(self) -> bytes:
        """Checksum of all other columns of the row."""
        return checksum_of(*(repr(v).encode() for v in dataclasses.astuple(self)))

    @property
    def is_whole(self) -> bool:
        """Whether every value can be: what is damaged is not shown, nor added to."""
        _, _, seconds, *counts, programs = dataclasses.astuple(self)
        texts = isinstance(self.spec, str) and isinstance(self.family, str)
        reals = [seconds] if programs is None else [seconds, programs]
        return (
            texts
            and len(self.family.split()) > 1
            and all(isinstance(n, int) and 0 <= n < _MANY for n in counts)
            and all(isinstance(x, float) and 0 <= x < math.inf for x in reals)
        )

    @property
    def machine(self) -> str:
        """The name of the target."""
        return self.family.split()[1]

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


_MANY = 1 << 53
"""More than any search does: sums stay numbers that SQLite has."""

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
    rows = connection.execute(
        f"SELECT {_PIN_COLUMNS} FROM pins ORDER BY spec, target"
    ).fetchall()
    return tuple((pin, pin.checksum == checksum) for pin, checksum in _pins(rows))


def write_pins(
    connection: sqlite3.Connection, pins: tuple[PinRow, ...], *, replace: bool
) -> int:
    """Add pins, and answer how many rows are new or changed."""
    connection.execute(PINS_SCHEMA)
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
    if not _has_checked(connection, "searches"):
        return ()
    cursor = connection.execute(
        f"SELECT {_SEARCH_COLUMNS}, checksum FROM searches ORDER BY spec, family"
    )
    rows = (_search(values) for values in cursor.fetchall())
    return tuple(row for row in rows if row is not None)


def _search(values: tuple[object, ...] | None) -> SearchRow | None:
    """Decode a note of a search; None if it is damaged or contradicts itself."""
    if values is None:
        return None
    *fields, checksum = values
    row = SearchRow(*fields)  # type: ignore[arg-type]
    return row if row.is_whole and row.checksum == checksum else None


def write_search(connection: sqlite3.Connection, row: SearchRow) -> None:
    """Add a note, to what is noted of the same goal."""
    connection.execute(SEARCHES_SCHEMA)
    fields = connection.execute(
        f"SELECT {_SEARCH_COLUMNS}, checksum FROM searches "
        "WHERE (spec, family) = (?, ?)",
        (row.spec, row.family),
    ).fetchone()
    before = _search(fields)
    whole = row if before is None else row.after(before)
    marks = ", ".join("?" * (1 + len(dataclasses.fields(SearchRow))))
    connection.execute(
        f"INSERT OR REPLACE INTO searches ({_SEARCH_COLUMNS}, checksum) "
        f"VALUES ({marks})",
        (*dataclasses.astuple(whole), whole.checksum),
    )


@dataclasses.dataclass(frozen=True)
class Cover:
    """Index entry by which goals of other sizes find a table."""

    base: bytes
    """A hash of all that the table depends on but its axes."""
    key: bytes
    """Key of the table's row."""
    sizes: str
    """The axes of its goal, as JSON."""

    @property
    def checksum(self) -> bytes:
        """Checksum of all other columns of the row."""
        return checksum_of(self.base, self.key, self.sizes.encode())


def read_covers(
    connection: sqlite3.Connection, base: bytes | None = None
) -> tuple[Cover, ...]:
    """The index, or the part of it with one base; damaged rows are left out."""
    which = "" if base is None else " WHERE base = ?"
    try:
        cursor = connection.execute(
            f"SELECT base, key, sizes, checksum FROM covers{which} ORDER BY base, key",
            () if base is None else (base,),
        )
    except sqlite3.OperationalError:
        if _has_checked(connection, "covers"):
            raise
        return ()
    return tuple(_covers(cursor.fetchall()))


def read_keys(connection: sqlite3.Connection) -> set[bytes]:
    """The keys of all rows of tables, and the bases of the index."""
    keys = connection.execute("SELECT key FROM tables").fetchall()
    if has_table(connection, "covers"):
        keys += connection.execute("SELECT DISTINCT base FROM covers").fetchall()
    return {key for (key,) in keys}


def _covers(rows: list[tuple[object, ...]]) -> Iterator[Cover]:
    for *fields, checksum in rows:
        if all(map(isinstance, fields, (bytes, bytes, str))):
            cover = Cover(*fields)  # type: ignore[arg-type]
            if cover.checksum == checksum:
                yield cover


def write_covers(connection: sqlite3.Connection, covers: tuple[Cover, ...]) -> None:
    """Add to the index."""
    connection.execute(COVERS_SCHEMA)
    connection.executemany(
        "INSERT OR REPLACE INTO covers (base, key, sizes, checksum) "
        "VALUES (?, ?, ?, ?)",
        [(*dataclasses.astuple(cover), cover.checksum) for cover in covers],
    )


def clean_covers(connection: sqlite3.Connection) -> None:
    """Take tables that are gone out of the index."""
    if has_table(connection, "covers"):
        connection.execute(
            "DELETE FROM covers WHERE key NOT IN (SELECT key FROM tables)"
        )


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a table has been made."""
    cursor = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (name,))
    return bool(cursor.fetchall())


def _has_checked(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a table has been made, with checksums."""
    cursor = connection.execute(
        "SELECT 1 FROM pragma_table_info(?) WHERE name = 'checksum'", (name,)
    )
    return bool(cursor.fetchall())


def _pins(rows: list[tuple[object, ...]]) -> Iterator[tuple[PinRow, bytes]]:
    """Pins and their checksums; a row whose values are not of the right types has none
    that fits."""
    for *fields, checksum in rows:
        texts = [field if isinstance(field, str) else repr(field) for field in fields]
        yield PinRow(*texts), checksum if isinstance(checksum, bytes) else b""
