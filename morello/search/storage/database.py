"""Solved tables on disk: one SQLite file, one row a table; programs; and pins.

Rows of tables are never changed: a key says everything that a table depends on, so two
writers of one key write the same. A row carries a checksum of its key and contents; one
that does not match is as good as missing. Readers and writers of one file, in any
number of processes, do not disturb each other (write-ahead log). A process that is
killed leaves every row whose `Database.put` had returned.

`Database` is one file and raises; `overlay.py` puts files over each other and goes on
without a file that fails.
"""

import ctypes
import dataclasses
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from morello.processes.forks import before_forks, defer_forks
from morello.processes.interrupts import defer_sigint
from morello.python_api import python_function
from morello.search.storage.connection import DAMAGE, absolute, connect, error_of
from morello.search.storage.measured_rows import (
    MEASURED,
    MeasuredKey,
    MeasuredRow,
    write_measured,
)
from morello.search.storage.program_boxes import (
    BOXES,
    ProgramBoxes,
    delete_programs,
    fold,
    program_of,
    read_all,
)
from morello.search.storage.schema import (
    COVERS,
    PINS,
    PROGRAMS,
    SEARCHES,
    Cover,
    PinRow,
    ProgramRow,
    SearchRow,
    check_pins,
    clean_covers,
    read_keys,
    write_search,
)
from morello.search.storage.table_rows import (
    GET,
    GET_DECISIONS,
    INSERT,
    SELECT,
    Row,
    fields_of,
    row_of,
    typed_row,
)

ROW_FORMAT = 2
"""The version of the bytes of a row: rows of another are never read."""


_PAGE = 64
"""Rows that are read at a time."""


class Database:
    """A database file; safe to share between threads, and after a fork.

    A file that is deleted or replaced is noticed at the next use: the new one is used,
    and made if it is to be written.

    Args:
        path: the file; it is made if it is not there, in a folder that is. A relative
            path keeps its meaning where the working directory changes.
        is_writable: else the file must exist and is not touched.

    Raises:
        DatabaseError: the file is not a database of this version, or cannot be opened;
            of every method: it cannot be read, or written.
    """

    def __init__(self, path: Path, *, is_writable: bool = True) -> None:
        self.path = path
        self.is_writable = is_writable
        self._place = absolute(path)
        self._lock = threading.RLock()
        self._process = 0
        self._file = (0, 0)
        """Device and number of the open file."""
        self._readers = 0
        """How many iterations over rows go on."""
        self._connection: sqlite3.Connection | None = None
        self._keys: tuple[int, set[bytes]] | None = None
        """Keys and bases in the file, and what SQLite calls the state in which others
        had left it."""
        with self._reporting(opens=True):
            self._connected()
        _databases.add(self)

    def get(self, key: bytes) -> Row | None:
        """The row of a key; None if there is none, or it is damaged."""
        with self._reporting():
            fields = self._connected().execute(GET, (key,)).fetchone()
        if fields is None:
            return None
        row, is_whole = row_of((key, *fields))
        return row if is_whole else None

    def decisions(self, key: bytes) -> bytes | None:
        """The decisions of a row; None if there is none, or they are damaged."""
        with self._reporting():
            values = self._connected().execute(GET_DECISIONS, (key,)).fetchone()
        if values is None:
            return None
        *fields, checksum = values
        row = typed_row((key, *fields, b""))
        return row.decisions if row is not None and row.checksum == checksum else None

    def keys(self) -> set[bytes]:
        """The keys of all rows of tables, and the bases of the index. They are read
        again where another connection has written; what this one adds, they have.
        """
        with self._reporting():
            connection = self._connected()
            state = connection.execute("PRAGMA data_version").fetchone()[0]
            if self._keys is None or self._keys[0] != state:
                self._keys = state, read_keys(connection)
            return self._keys[1]

    def covers(self, base: bytes | None = None) -> tuple[Cover, ...]:
        """The index of tables for goals of other sizes, or a part of it."""
        with self._reporting():
            key = () if base is None else (base,)
            rows = COVERS.read(self._connected(), *key)
        return tuple(cover for cover, is_whole in rows if is_whole)

    def put(self, row: Row, cover: Cover | None = None) -> None:
        """Store a row; when this returns, the row outlives the process."""
        self.put_all((row,), () if cover is None else (cover,))

    def put_all(self, rows: tuple[Row, ...], covers: tuple[Cover, ...] = ()) -> int:
        """Store rows, all or none, and answer how many are new."""
        with self._reporting(), self._writing() as connection:
            before = connection.total_changes
            connection.executemany(INSERT, map(fields_of, rows))
            new = connection.total_changes - before
            if covers:
                COVERS.write(connection, covers)
            if self._keys is not None:
                self._keys[1].update(row.key for row in rows)
                self._keys[1].update(cover.base for cover in covers)
            return new

    def rows(self) -> Iterator[tuple[Row, bool]]:
        """Every row by key, and whether it is whole."""
        with self._reporting():
            cursor = self._connected().execute(f"{SELECT} ORDER BY key")
        self._readers += 1
        try:
            while True:
                with self._reporting():  # nothing stays locked between two pages
                    page = cursor.fetchmany(_PAGE)
                if not page:
                    return
                for values in page:
                    row, is_whole = row_of(values)
                    if row is not None:
                        yield row, is_whole
        finally:
            self._readers -= 1

    def delete(
        self, keys: tuple[bytes, ...], programs: tuple[ProgramRow, ...] = ()
    ) -> None:
        """Take rows of tables and of programs out, and give their space back."""
        with self._reporting():
            with self._writing() as connection:
                connection.executemany(
                    "DELETE FROM tables WHERE key = ?", [(key,) for key in keys]
                )
                clean_covers(connection)
                delete_programs(connection, programs)
            self._connected().execute("VACUUM")

    def program(self, spec: str, family: str) -> ProgramRow | None:
        """The program of a goal; None if there is none, or it is damaged."""
        with self._reporting():
            return program_of(self._connected(), spec, family)

    def programs(self) -> tuple[tuple[ProgramRow, bool], ...]:
        """Every program that is a row, then those in boxes; and whether each is whole.
        A row of boxes that is not has one for all.
        """
        with self._reporting():
            return read_all(self._connected())

    def program_boxes(self) -> tuple[tuple[ProgramBoxes, bool], ...]:
        """The programs in boxes, and whether each row is whole."""
        with self._reporting():
            return BOXES.read(self._connected())

    def fold_programs(self) -> None:
        """Put the programs of goals that differ in their sizes alone into boxes."""
        with self._reporting():
            with self._writing() as connection:
                fold(connection)
            self._connected().execute("VACUUM")

    def put_programs(self, rows: tuple[ProgramRow, ...]) -> None:
        """Store programs, all or none."""
        with self._reporting(), self._writing() as connection:
            PROGRAMS.write(connection, rows)

    def measured(
        self, key: MeasuredKey | None = None
    ) -> tuple[tuple[MeasuredRow, bool], ...]:
        """Read the measurements of a goal, or of all; and whether each row is
        whole.
        """
        with self._reporting():
            values = () if key is None else dataclasses.astuple(key)
            return MEASURED.read(self._connected(), *values)

    def put_measured(
        self, rows: tuple[MeasuredRow, ...], *, replace: bool = True
    ) -> None:
        """Store what tuning measured, all or none; all rows of a goal at once.

        Args:
            replace: whether it replaces what was measured of the same goals.
        """
        with self._reporting(), self._writing() as connection:
            write_measured(connection, rows, replace=replace)

    def delete_measured(self, keys: tuple[MeasuredKey, ...]) -> None:
        """Forget what tuning measured of some goals."""
        with self._reporting(), self._writing() as connection:
            MEASURED.delete(connection, map(dataclasses.astuple, keys))

    def pins(self) -> tuple[tuple[PinRow, bool], ...]:
        """Every pinned schedule by Spec, and whether its row is whole."""
        with self._reporting():
            check_pins(self._connected())
            return PINS.read(self._connected())

    def pin(self, pins: tuple[PinRow, ...], *, replace: bool) -> int:
        """Pin schedules, all or none, and answer how many rows are new or changed.

        Args:
            pins: what to pin.
            replace: whether to replace the schedules of Specs that are pinned already.
        """
        with self._reporting(), self._writing() as connection:
            return PINS.write(connection, pins, replace=replace)

    def unpin(self, spec: str, target: str) -> bool:
        """Take a pinned schedule out; whether there was one."""
        with self._reporting(), self._writing() as connection:
            return bool(PINS.delete(connection, [(spec, target)]))

    def searches(self) -> tuple[SearchRow, ...]:
        """Read the notes on the searches that filled the file, by Spec."""
        with self._reporting():
            rows = SEARCHES.read(self._connected())
        return tuple(row for row, is_whole in rows if is_whole)

    def add_search(self, row: SearchRow) -> None:
        """Note a search; what it adds to an earlier one is summed up."""
        with self._reporting(), self._writing() as connection:
            write_search(connection, row)

    def check(self) -> tuple[str, ...]:
        """Check the file with SQLite: the faults; nothing if it is sound."""
        with self._reporting():
            faults = self._connected().execute("PRAGMA integrity_check").fetchall()
        return tuple(text for (text,) in faults if text != "ok")

    def to_bytes(self) -> bytes:
        """The file as bytes, with what is still in its log."""
        with self._reporting():
            return self._connected().serialize()

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        with defer_sigint(), self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def _close_for_fork(self) -> None:
        """A connection must not cross a fork: SQLite would take the locks of the parent
        for those of the child."""
        if not self._readers:
            self.close()

    def _connected(self) -> sqlite3.Connection:
        """The connection of this process to the file that is there now."""
        with self._lock:
            if self._connection is not None and self._process != os.getpid():
                # The parent's. To close it would touch the parent's files.
                _keep(self._connection)
                self._connection = None
            if self._connection is not None and _identity(self._place) != self._file:
                self._connection = None
            if self._connection is None:
                self._connection = connect(self._place, self.is_writable)
                self._keys = None
                self._file = _identity(self._place)
                self._process = os.getpid()
            return self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _reporting(self, *, opens: bool = False) -> Iterator[None]:
        with defer_sigint(), defer_forks(), self._lock:
            try:
                yield
            except (sqlite3.Error, OSError, *DAMAGE) as error:
                raise error_of(self.path, error, opens=opens) from error


_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()
"""All that are in use."""

_keep = python_function("Py_IncRef", None, ctypes.py_object)


@before_forks
def _close_all() -> None:
    for database in tuple(_databases):
        database._close_for_fork()


def _identity(path: Path) -> tuple[int, int]:
    """Device and number of a file; zeros if it is not there."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
