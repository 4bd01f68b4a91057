"""Opening a database file: what is ours, what is new, what is a stranger's.

`connect` opens a file, makes it a database if it is new, brings one of the format
before up to date, and refuses every other. `error_of` says what a person should do
about an error of SQLite.
"""

import errno
import os
import sqlite3
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from morello.errors import MorelloError
from morello.search.storage import file_locks
from morello.search.storage.measured_rows import MEASURED
from morello.search.storage.program_boxes import BOXES
from morello.search.storage.row_tables import RowTable
from morello.search.storage.schema import COVERS, PINS, PROGRAMS, SEARCHES
from morello.search.storage.strangers import foreign_parts, harden

FORMAT = 3
"""The version of the file's tables."""

OLD_FORMAT = 2
"""The previous format: its notes and index have no checksums, all else is the same."""

APPLICATION = 0x4D6F7265
"""Number in SQLite's header that marks a file as ours (``More``)."""

BUSY_SECONDS = 60.0
"""How long a writer waits for the others."""

ASKING_SECONDS = 1.0
"""How long opening a file waits until it asks whether files can be locked there."""

_SCHEMA = """
CREATE TABLE tables (
    key BLOB PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    family TEXT NOT NULL,
    points INTEGER NOT NULL,
    boxes INTEGER NOT NULL,
    cost_boxes INTEGER NOT NULL,
    checksum BLOB NOT NULL,
    costs_checksum BLOB NOT NULL,
    decisions BLOB NOT NULL,
    costs BLOB NOT NULL
)
"""
"""Costs come last: SQLite does not read what is behind the columns that are wanted.
Keys have an index of their own: rows found by key would be read whole on the way.
"""


_TABLES: tuple[RowTable[Any], ...] = (
    *(PROGRAMS, BOXES, MEASURED, PINS),
    *(COVERS, SEARCHES),
)

OLD_SCHEMAS = tuple(table.old_schema for table in _TABLES[-2:])
"""Statements of files of format 2."""


class DatabaseError(MorelloError):
    """A database that cannot be opened, read or written."""


class DamageError(DatabaseError):
    """A file that can be opened, but not read to its end: some of it may be whole."""


DAMAGE = (OverflowError, UnicodeError, sqlite3.DataError)
"""Errors of Python on values and messages that are damaged."""


def absolute(path: Path) -> Path:
    """The path from the root; as it is where the working folder is gone, and then no
    file is opened by it."""
    try:
        return path.absolute()
    except FileNotFoundError:
        return path


def _from_root(path: Path) -> Path:
    """The path from the root.

    Raises:
        FileNotFoundError: it is relative, and the working folder is gone.
    """
    whole = absolute(path)
    if not whole.is_absolute():
        raise FileNotFoundError("the working folder is gone, and the path is relative")
    return whole


def connect(path: Path, is_writable: bool) -> sqlite3.Connection:
    """Open a file, and make it a database of ours if it is new.

    Raises:
        DatabaseError: the file is another program's or another version's.
        sqlite3.Error, OSError: it cannot be opened.
    """
    _check_file(path, is_writable)
    if is_writable:
        folder = _from_root(path).parent
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no folder {folder}")
        connection = _open(path, "mode=rwc")
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection
    return _open_to_read(path)


def _check_file(path: Path, is_writable: bool) -> None:
    """Refuse what is no file: SQLite waits for a pipe without end. Refuse a file, too,
    that SQLite would open, but only to read: what is to be stored would be lost, and
    only after the work that it is the result of.

    Raises:
        OSError: it is no file, or the file may not be written.
    """
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a device or a pipe"
        raise OSError(f"it is {kind}, not a file")
    if is_writable and path.is_file() and not os.access(path, os.W_OK):
        raise PermissionError("the file is read-only")


def _open(path: Path, query: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(_from_root(path)))}?{query}",
        uri=True,
        timeout=ASKING_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            reason = file_locks.are_refused(path)
            if reason is not None:
                connection.close()
                raise OSError(
                    errno.ENOLCK, f"files cannot be locked: {reason}"
                ) from error
    except sqlite3.Error:
        pass  # what is wrong with it is found when it is used
    connection.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY_SECONDS)}")
    harden(connection)
    return connection


def _open_to_read(path: Path) -> sqlite3.Connection:
    """A file in a folder that may not be written has no place for the shared memory of
    the log: it is read as one that nobody changes."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    for query in ("mode=ro", "mode=ro&immutable=1"):
        connection = _open(path, query)
        try:
            _check_header(connection, path)
        except sqlite3.OperationalError:
            connection.close()
            if "immutable" in query:
                raise
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise FileNotFoundError(f"{path} cannot be opened")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Check the header, or write it where the file is empty."""
    if _is_empty(connection):
        _patiently(connection, "PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        if _is_empty(connection):
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    if _check_header(connection, path) == OLD_FORMAT:
        _upgrade(connection)
    connection.execute("PRAGMA synchronous = NORMAL")


def _upgrade(connection: sqlite3.Connection) -> None:
    """Delete the rows without checksums from a file of the previous format."""
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have been first.
    if connection.execute("PRAGMA user_version").fetchone()[0] == OLD_FORMAT:
        connection.execute("DROP TABLE IF EXISTS covers")
        connection.execute("DROP TABLE IF EXISTS searches")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Switch the database to write-ahead logging; retry while other processes hold it,
    for which SQLite itself does not wait."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _is_empty(connection: sqlite3.Connection) -> bool:
    count: int = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    return not (count or version or application)


def _check_header(connection: sqlite3.Connection, path: Path) -> int:
    """The format of a file.

    Raises:
        DatabaseError: it is another program's or another version's, or a stranger has
            added to it.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise DatabaseError(
            f"{path} is not a database of Morello",
            "give the path of another file with --db or MORELLO_DB",
        )
    if version not in (FORMAT, OLD_FORMAT):
        age = "a newer" if version > FORMAT else "an older"
        raise DatabaseError(
            f"the database {path} is from {age} version of Morello: it has format "
            f"{version}, this version has {FORMAT}",
            "move it away, or give another path with --db or MORELLO_DB",
        )
    more = OLD_SCHEMAS if version == OLD_FORMAT else ()
    foreign = foreign_parts(
        connection, (_SCHEMA, *(table.schema for table in _TABLES), *more)
    )
    if foreign:
        raise DatabaseError(
            f"the database {path} has what no database of Morello has: "
            f"{', '.join(foreign)}",
            "do not use it: what is added to a schema runs when rows are read",
        )
    connection.execute("SELECT key FROM tables LIMIT 1")
    return int(version)


def error_of(path: Path, error: Exception, *, opens: bool) -> DatabaseError:
    """Explain an error of SQLite or the system to a person.

    Args:
        opens: whether it came as the file was opened: nothing of it can be read then.
    """
    what = f"the database {path} cannot be used: {error}"
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    damaged = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    match code:
        case sqlite3.SQLITE_FULL:
            remedy = "free space on its disk"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            remedy = "check that the file and its folder may be written"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            remedy = "another process holds it; try again when that has ended"
        case 0 if isinstance(error, OSError) and error.errno == errno.ENOLCK:
            remedy = "give a path on another file system with --db or MORELLO_DB"
        case 0 if isinstance(error, OSError):
            remedy = "check that the file and its folder may be read and written"
        case _ if code in damaged or isinstance(error, DAMAGE):
            if not opens:
                return DamageError(
                    what,
                    "the file is damaged: move it away, or rescue what is whole with "
                    "'morello db export'",
                )
            remedy = (
                "the file is another program's, or so damaged that nothing of it can "
                "be read: move it away"
            )
        case _:
            remedy = "check the disk, or give another path with --db or MORELLO_DB"
    return DatabaseError(what, remedy)
