"""Measurements of tuning in a database: one row for each program that was timed.

A goal has the rows of one tuning at a time. They are keyed by the target's name and by
the processor: what one machine measured says nothing of another.
"""

import dataclasses
import sqlite3

from morello.search.storage.schema import checksum_of, has_table

MEASURED_SCHEMA = """
CREATE TABLE IF NOT EXISTS measured (
    spec TEXT NOT NULL,
    target TEXT NOT NULL,
    threads INTEGER NOT NULL,
    cpu TEXT NOT NULL,
    context TEXT NOT NULL,
    place INTEGER NOT NULL,
    program TEXT NOT NULL,
    features TEXT NOT NULL,
    seconds REAL NOT NULL,
    cycles REAL NOT NULL,
    chosen INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (spec, target, threads, cpu, context, place)
) WITHOUT ROWID
"""


@dataclasses.dataclass(frozen=True, order=True)
class MeasuredKey:
    """Key of a measured choice: the goal, the target and the machine."""

    spec: str
    """The goal, with every limit."""
    target: str
    """The name of the target."""
    threads: int
    cpu: str
    """The processor: LLVM's name for it, and the system's."""
    context: str
    """The version of the space, and the digest of the pins."""


@dataclasses.dataclass(frozen=True, order=True)
class MeasuredRow:
    """A program that was timed."""

    key: MeasuredKey
    place: int
    """Among those that were tried: 0 is the model's choice."""
    program: str
    """The decisions, as `morello.search.queries.partial_program` writes them."""
    features: str
    """The class, for people."""
    seconds: float
    """Seconds of a call."""
    cycles: float
    """Cycles of the core in a call."""
    chosen: int
    """1 for the program that is used."""

    @property
    def values(self) -> tuple[str | int | float, ...]:
        """The columns, but for the checksum."""
        return *dataclasses.astuple(self.key), *dataclasses.astuple(self)[1:]

    @property
    def checksum(self) -> bytes:
        """Hash of everything in the row."""
        return checksum_of(*(repr(value).encode() for value in self.values))

    @property
    def is_whole(self) -> bool:
        """Whether every value can be."""
        key = dataclasses.astuple(self.key)
        return (
            all(map(isinstance, key, (str, str, int, str, str)))
            and isinstance(self.place, int)
            and isinstance(self.program, str)
            and isinstance(self.features, str)
            and self.chosen in (0, 1)
            and all(isinstance(x, float) for x in (self.seconds, self.cycles))
            and _SECONDS[0] <= self.seconds <= _SECONDS[1]
            and _HERTZ[0] <= self.cycles / self.seconds <= _HERTZ[1]
        )


_SECONDS = 1e-12, 1e9
_HERTZ = 1e6, 1e12
"""Bounds of the clock rate of a core, as `_SECONDS` of a call: a file may come from
anyone, and a number beyond these would spoil what is fitted to it."""

_KEY = "spec, target, threads, cpu, context"
_COLUMNS = f"{_KEY}, place, program, features, seconds, cycles, chosen"


def read_measured(
    connection: sqlite3.Connection, key: MeasuredKey | None = None
) -> tuple[tuple[MeasuredRow, bool], ...]:
    """The rows of a goal, or all rows, by place; and whether each is whole."""
    if not has_table(connection, "measured"):
        return ()
    which = "" if key is None else f" WHERE ({_KEY}) = (?, ?, ?, ?, ?)"
    cursor = connection.execute(
        f"SELECT {_COLUMNS}, checksum FROM measured{which} ORDER BY {_KEY}, place",
        () if key is None else dataclasses.astuple(key),
    )
    rows = []
    for *fields, checksum in cursor.fetchall():
        row = MeasuredRow(MeasuredKey(*fields[:5]), *fields[5:])
        rows.append((row, row.is_whole and row.checksum == checksum))
    return tuple(rows)


def write_measured(
    connection: sqlite3.Connection, rows: tuple[MeasuredRow, ...], *, replace: bool
) -> None:
    """Add the rows of goals, each with all of its rows.

    Args:
        replace: whether they take the place of rows of the same goals; else goals that
            have rows are left out, if all of these are whole.
    """
    connection.execute(MEASURED_SCHEMA)
    keys = {row.key for row in rows}
    if not replace:
        there = read_measured(connection)
        broken = {row.key for row, is_whole in there if not is_whole}
        keys -= {row.key for row, _ in there} - broken
    delete_measured(connection, tuple(keys))
    marks = ", ".join("?" * 12)
    connection.executemany(
        f"INSERT INTO measured ({_COLUMNS}, checksum) VALUES ({marks})",
        [(*row.values, row.checksum) for row in rows if row.key in keys],
    )


def delete_measured(
    connection: sqlite3.Connection, keys: tuple[MeasuredKey, ...]
) -> None:
    """Take the rows of goals out."""
    if keys and has_table(connection, "measured"):
        connection.executemany(
            f"DELETE FROM measured WHERE ({_KEY}) = (?, ?, ?, ?, ?)",
            [dataclasses.astuple(key) for key in keys],
        )
