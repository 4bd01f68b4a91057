"""The programs of goals that were searched, at rest: one row a goal.

A lookup of a goal needs no table then. What a row says is applied to the goal action by
action, so that one that does not fit is as good as missing.
"""

import dataclasses
import sqlite3

from morello.search.storage.schema import checksum_of, has_table

PROGRAMS_SCHEMA = """
CREATE TABLE IF NOT EXISTS programs (
    spec TEXT NOT NULL,
    family TEXT NOT NULL,
    program TEXT NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (spec, family)
) WITHOUT ROWID
"""


@dataclasses.dataclass(frozen=True)
class ProgramRow:
    """The best program of a goal, at rest."""

    spec: str
    """Text of the Spec, with every limit."""
    family: str
    """The target, the version of the space and the pins, as of the tables."""
    program: str
    """The decisions, as `morello.search.queries.partial_program` writes them."""

    @property
    def checksum(self) -> bytes:
        """Hash of everything in the row."""
        return checksum_of(*(text.encode() for text in dataclasses.astuple(self)))


def read_program(
    connection: sqlite3.Connection, spec: str, family: str
) -> ProgramRow | None:
    """The row of a goal; None if there is none, or it is damaged."""
    if not has_table(connection, "programs"):
        return None
    fields = connection.execute(
        "SELECT program, checksum FROM programs WHERE (spec, family) = (?, ?)",
        (spec, family),
    ).fetchone()
    if fields is None or not isinstance(fields[0], str):
        return None
    row = ProgramRow(spec, family, fields[0])
    return row if row.checksum == fields[1] else None


def read_programs(
    connection: sqlite3.Connection,
) -> tuple[tuple[ProgramRow, bool], ...]:
    """Every row by Spec, and whether it is whole."""
    if not has_table(connection, "programs"):
        return ()
    cursor = connection.execute(
        "SELECT spec, family, program, checksum FROM programs ORDER BY spec, family"
    )
    rows = []
    for *fields, checksum in cursor.fetchall():
        texts = [field if isinstance(field, str) else repr(field) for field in fields]
        row = ProgramRow(*texts)
        rows.append((row, row.checksum == checksum))
    return tuple(rows)


def write_programs(
    connection: sqlite3.Connection, rows: tuple[ProgramRow, ...]
) -> None:
    """Add rows; one that is there gives way, since it may be damaged."""
    connection.execute(PROGRAMS_SCHEMA)
    connection.executemany(
        "INSERT OR REPLACE INTO programs (spec, family, program, checksum) "
        "VALUES (?, ?, ?, ?)",
        [(*dataclasses.astuple(row), row.checksum) for row in rows],
    )


def delete_programs(
    connection: sqlite3.Connection, rows: tuple[ProgramRow, ...]
) -> None:
    """Take rows out."""
    if rows:
        connection.executemany(
            "DELETE FROM programs WHERE (spec, family) = (?, ?)",
            [(row.spec, row.family) for row in rows],
        )
