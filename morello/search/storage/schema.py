"""Rows of a database beside its tables: programs, pins, notes on searches, and an index
of tables."""

import dataclasses
import math
import sqlite3

from morello.search.storage.row_tables import NumberedRow, RowTable, StoredRow


@dataclasses.dataclass(frozen=True)
class ProgramRow(StoredRow):
    """The best program of a goal, at rest.

    A lookup of a goal needs no table then. What a row says is applied to the goal
    action by action, so that one that does not fit is as good as missing.
    """

    spec: str
    """Text of the Spec, with every limit."""
    family: str
    """The target, the version of the space and the pins, as of the tables."""
    program: str
    """The decisions, as `morello.search.queries.partial_program` writes them."""

    @property
    def key(self) -> tuple[str, str]:
        """The columns that no other row has."""
        return self.spec, self.family


@dataclasses.dataclass(frozen=True)
class PinRow(StoredRow):
    """A Spec whose schedule a person has fixed, at rest."""

    spec: str
    """Text of the Spec, with every limit."""
    target: str
    """The name of the target."""
    program: str
    """The decisions, as `morello.search.queries.partial_program` writes them."""
    schedule: str
    """The module that they were read from, for people."""


@dataclasses.dataclass(frozen=True)
class SearchRow(NumberedRow):
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
    def is_possible(self) -> bool:
        """Whether values can be: what is damaged is not shown, nor added to."""
        numbers = [value for value in self.values[2:] if value is not None]
        return len(self.family.split()) > 1 and all(
            0 <= n < (_MANY if isinstance(n, int) else math.inf) for n in numbers
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
        added = ("seconds", "specs", "impls", "boxes", "cost_boxes")
        sums = {name: getattr(self, name) + getattr(before, name) for name in added}
        peak = max(self.peak_bytes, before.peak_bytes)
        tables = max(self.tables, before.tables)
        return dataclasses.replace(
            self, **sums, peak_bytes=peak, tables=tables, programs=programs
        )


_MANY = 1 << 53
"""More than any search does: sums stay numbers that SQLite has."""


@dataclasses.dataclass(frozen=True)
class Cover(StoredRow):
    """Index entry by which goals of other sizes find a table."""

    base: bytes
    """A hash of all that the table depends on but its axes."""
    key: bytes
    """Key of the table's row."""
    sizes: str
    """The axes of its goal, as JSON."""


PROGRAMS = RowTable("programs", ProgramRow, 2)
PINS = RowTable("pins", PinRow, 2)
SEARCHES = RowTable("searches", SearchRow, 2)
COVERS = RowTable("covers", Cover, 2)


def check_pins(connection: sqlite3.Connection) -> None:
    """Check the pages of the pins.

    Raises:
        sqlite3.DatabaseError: they are damaged. A page can lose rows without an error
            of SQLite's own when it is read, and a pin that is missing is not seen by a
            checksum of rows; there are few pins, so this is quick.
    """
    if not PINS.is_in(connection):
        return
    problems = connection.execute("PRAGMA quick_check(pins)").fetchall()
    if problems != [("ok",)]:
        raise sqlite3.DatabaseError(
            f"the pinned schedules are damaged: {problems[0][0]}"
        )


def write_search(connection: sqlite3.Connection, row: SearchRow) -> None:
    """Add a note, to what is noted of the same goal."""
    connection.execute(SEARCHES.schema)
    before = SEARCHES.one(connection, row.spec, row.family)
    SEARCHES.write(connection, (row if before is None else row.after(before),))


def read_keys(connection: sqlite3.Connection) -> set[bytes]:
    """The keys of all rows of tables, and the bases of the index."""
    keys = connection.execute("SELECT key FROM tables").fetchall()
    if COVERS.is_in(connection):
        keys += connection.execute("SELECT DISTINCT base FROM covers").fetchall()
    return {key for (key,) in keys}


def clean_covers(connection: sqlite3.Connection) -> None:
    """Take tables that are gone out of the index."""
    if COVERS.is_in(connection):
        connection.execute(
            "DELETE FROM covers WHERE key NOT IN (SELECT key FROM tables)"
        )
