"""Tables beside that of solved tables: each is a `RowTable` of dataclasses.

A table is made when it is first written, so that a file without it is as good. Each row
has a checksum of all that it says; one that does not match, or that says what cannot
be, is not whole.
"""

import dataclasses
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from morello.lazy import cached_property


def checksum_of(*parts: bytes) -> bytes:
    """A hash of some fields, each with its length."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


class StoredRow:
    """Base of rows: dataclasses, each field of which is a column, or several."""

    @property
    def values(self) -> tuple[Any, ...]:
        """The columns, but for the checksum."""
        return tuple(_flat(self))

    @property
    def checksum(self) -> bytes:
        """Hash of everything in the row."""
        return checksum_of(*map(_bytes, self.values))

    @property
    def is_whole(self) -> bool:
        """Whether every value is of its type, and they are possible."""
        kinds = columns_of(type(self)).values()
        return all(map(isinstance, self.values, kinds)) and self.is_possible

    @property
    def is_possible(self) -> bool:
        """Whether the values are plausible; their types are right."""
        return True


class NumberedRow(StoredRow):
    """Base of rows with numbers: their checksums are of what Python prints."""

    @property
    def checksum(self) -> bytes:
        """Hash of everything in the row."""
        return checksum_of(*(repr(value).encode() for value in self.values))


Kind = TypeVar("Kind", bound=StoredRow)

_TYPES = {bytes: "BLOB NOT NULL", float: "REAL NOT NULL", int: "INTEGER NOT NULL"} | {
    float | None: "REAL",
    str: "TEXT NOT NULL",
}
"""The type of a column, by that of a field."""


@dataclasses.dataclass(frozen=True)
class RowTable(Generic[Kind]):
    """A table, and the statements that read and write it.

    Args:
        name: of the table.
        kind: of its rows.
        keys: how many columns, the first ones, no two rows have in common.
    """

    name: str
    kind: type[Kind]
    keys: int

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The names of the columns but for the checksum, with their types."""
        return columns_of(self.kind)

    @cached_property
    def schema(self) -> str:
        """The statement that makes it."""
        kinds = [f"{name} {_TYPES[kind]}" for name, kind in self.columns.items()]
        kinds += ["checksum BLOB NOT NULL", f"PRIMARY KEY ({self._names(self.keys)})"]
        parts = ",\n    ".join(kinds)
        return (
            f"CREATE TABLE IF NOT EXISTS {self.name} (\n    {parts}\n) WITHOUT ROWID\n"
        )

    @property
    def old_schema(self) -> str:
        """The statement of files in which it had no checksums: rows are not read."""
        return self.schema.replace("    checksum BLOB NOT NULL,\n", "")

    def is_in(self, connection: sqlite3.Connection) -> bool:
        """Whether the table has been made, with checksums."""
        cursor = connection.execute(
            "SELECT 1 FROM pragma_table_info(?) WHERE name = 'checksum'", (self.name,)
        )
        return bool(cursor.fetchall())

    def read(
        self, connection: sqlite3.Connection, *key: Any
    ) -> tuple[tuple[Kind, bool], ...]:
        """Rows by their keys, and whether each is whole.

        Args:
            key: the first columns of the rows; all rows if there are none.
        """
        try:
            cursor = connection.execute(self._select(len(key)), key)
        except sqlite3.OperationalError:
            if self.is_in(connection):
                raise
            return ()
        return tuple(map(self._row, cursor.fetchall()))

    def one(self, connection: sqlite3.Connection, *key: Any) -> Kind | None:
        """The row of a key; None if there is none, or it is damaged."""
        rows = self.read(connection, *key)
        return rows[0][0] if rows and rows[0][1] else None

    def write(
        self,
        connection: sqlite3.Connection,
        rows: Iterable[Kind],
        *,
        replace: bool = True,
    ) -> int:
        """Add rows, and answer how many are new or changed.

        Args:
            replace: whether one that is there gives way, since it may be damaged.
        """
        connection.execute(self.schema)
        before = connection.total_changes
        marks = ", ".join("?" * (len(self.columns) + 1))
        connection.executemany(
            f"INSERT OR {'REPLACE' if replace else 'IGNORE'} INTO {self.name} "
            f"({self._names()}, checksum) VALUES ({marks})",
            [(*row.values, row.checksum) for row in rows],
        )
        return connection.total_changes - before

    def delete(
        self, connection: sqlite3.Connection, keys: Iterable[tuple[Any, ...]]
    ) -> int:
        """Take out the rows that begin with some columns, and answer how many."""
        before = connection.total_changes
        wanted = list(keys)
        if wanted and self.is_in(connection):
            where = self._where(len(wanted[0]))
            connection.executemany(f"DELETE FROM {self.name}{where}", wanted)
        return connection.total_changes - before

    def _row(self, values: tuple[Any, ...]) -> tuple[Kind, bool]:
        """A row, and whether it is whole; a text that is none is as it prints."""
        *fields, checksum = values
        kinds = list(self.columns.values())
        is_whole = all(map(isinstance, fields, kinds))
        if not is_whole:
            fields = [
                repr(field) if kind is str and not isinstance(field, str) else field
                for field, kind in zip(fields, kinds, strict=True)
            ]
        row = _dataclass(self.kind, iter(fields))
        return row, is_whole and row.is_possible and row.checksum == checksum

    def _select(self, keys: int) -> str:
        return (
            f"SELECT {self._names()}, checksum FROM {self.name}{self._where(keys)} "
            f"ORDER BY {self._names(self.keys)}"
        )

    def _where(self, keys: int) -> str:
        marks = ", ".join("?" * keys)
        return f" WHERE ({self._names(keys)}) = ({marks})" if keys else ""

    def _names(self, count: int | None = None) -> str:
        return ", ".join([*self.columns][:count])


def columns_of(kind: Any) -> dict[str, Any]:
    """The names of the columns of a row, with the types of their values."""
    columns: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        is_one = not dataclasses.is_dataclass(field.type)
        columns |= {field.name: field.type} if is_one else columns_of(field.type)
    return columns


def _flat(row: Any) -> Iterator[Any]:
    for value in vars(row).values():
        if dataclasses.is_dataclass(value):
            yield from _flat(value)
        else:
            yield value


def _dataclass(kind: type[Any], values: Iterator[Any]) -> Any:
    """A dataclass of some columns."""
    return kind(
        *(
            _dataclass(field.type, values)  # type: ignore[arg-type]
            if dataclasses.is_dataclass(field.type)
            else next(values)
            for field in dataclasses.fields(kind)
        )
    )


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else repr(value).encode()
