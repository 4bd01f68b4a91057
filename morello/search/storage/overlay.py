"""Databases over each other, and what to do when one fails.

`open_database` reads what a person asked for: a path, several, or none. The first is
read and written, the others are only read. A file that is not ours is refused when it
is opened; a disk that is full, gone or read-only is not: there is one warning, and the
search goes on without it.
"""

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any, TypeVar

from morello.search.storage.connection import DatabaseError, absolute
from morello.search.storage.database import Database
from morello.search.storage.measured_rows import MeasuredKey, MeasuredRow
from morello.search.storage.schema import Cover, PinRow, ProgramRow, SearchRow
from morello.search.storage.table_rows import Row

VARIABLE = "MORELLO_DB"
"""The environment variable that names the databases."""

NONE = "none"
"""Name that stands for no database at all."""


PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]

Found = TypeVar("Found")


class DatabaseWarning(UserWarning):
    """A database that the search goes on without."""


class _Everything:
    """A container of all keys."""

    def __contains__(self, key: object) -> bool:
        return True


class Overlay:
    """Databases, the first of which is written.

    Args:
        top: the file that is read and written; None if it failed.
        below: files that are read where those before them have no row.
        keeps_tables: whether solved tables are written, too, or programs alone.
    """

    def __init__(
        self,
        top: Database | None,
        below: tuple[Database, ...] = (),
        *,
        keeps_tables: bool = True,
    ) -> None:
        self.top = top
        self.keeps_tables = keeps_tables
        self._failed: dict[Path, object] = {}
        """Databases that a warning was given of."""
        self.readable: tuple[Database, ...] = (*((top,) if top else ()), *below)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the names of the files, which are opened again."""
        below = [d.path for d in self.readable if d is not self.top]
        top = None if self.top is None else self.top.path
        return _open_again, (top, below, self.keeps_tables)

    def get(self, key: bytes) -> Row | None:
        """The row of a key from the first database that has it whole."""
        return self._first(lambda database: database.get(key))

    def decisions(self, key: bytes) -> bytes | None:
        """The decisions of a row from the first database that has them whole."""
        return self._first(lambda database: database.decisions(key))

    def keys(self) -> Container[bytes]:
        """The keys and bases that any database has by now; all, where one cannot say:
        what is whole in a damaged file is yet read."""
        try:
            sets = [database.keys() for database in self.readable]
        except DatabaseError:
            return _Everything()
        return sets[0] if len(sets) == 1 else frozenset[bytes]().union(*sets)

    def program(self, spec: str, family: str) -> ProgramRow | None:
        """The program of a goal from the first database that has it whole."""
        return self._first(lambda database: database.program(spec, family))

    def measured(self, key: MeasuredKey) -> tuple[MeasuredRow, ...]:
        """Read the measurements of a goal, from the first database that has it
        whole."""

        def read(database: Database) -> tuple[MeasuredRow, ...] | None:
            rows = database.measured(key)
            whole = rows and all(is_whole for _, is_whole in rows)
            return tuple(row for row, _ in rows) if whole else None

        return self._first(read) or ()

    def keep_measured(self, rows: tuple[MeasuredRow, ...]) -> bool:
        """Store what tuning measured of a goal, if there is a database that can be
        written; whether it is stored."""
        return self._write(lambda top: top.put_measured(rows))

    def pins(self) -> tuple[PinRow, ...]:
        """The pinned schedules; of one Spec that of the first database that has it.

        One that is damaged is left out, with a warning.
        """
        by_goal: dict[tuple[str, str], PinRow] = {}
        for database in self.readable:
            try:
                rows = database.pins()
            except DatabaseError as error:
                self._lose(database, error)
                continue
            for pin, is_whole in rows:
                if is_whole:
                    by_goal.setdefault((pin.spec, pin.target), pin)
                else:
                    self._warn(database, _damaged(database, pin), "it is not respected")
        return tuple(by_goal.values())

    def covers(self, base: bytes) -> tuple[Cover, ...]:
        """The tables of all databases for goals of other sizes, with one base."""
        tables: list[Cover] = []
        for database in self.readable:
            try:
                tables += database.covers(base)
            except DatabaseError as error:
                self._lose(database, error)
        return tuple(tables)

    def put_all(self, rows: tuple[Row, ...], covers: tuple[Cover, ...]) -> None:
        """Store rows, if there is a database that can be written."""
        self._write(lambda top: top.put_all(rows, covers))

    def keep(self, rows: tuple[ProgramRow, ...]) -> None:
        """Store programs, if there is a database that can be written."""
        self._write(lambda top: top.put_programs(rows))

    def note(self, row: SearchRow) -> None:
        """Note a search, if there is a database that can be written and has tables."""
        if self.keeps_tables:
            self._write(lambda top: top.add_search(row))

    def of_programs(self) -> "Overlay":
        """The databases, of which the first is given programs alone, and no tables."""
        below = self.readable[1:] if self.top is not None else self.readable
        return Overlay(self.top, below, keeps_tables=False)

    def close(self) -> None:
        """Close every file."""
        for database in self.readable:
            database.close()

    def _first(self, read: Callable[[Database], Found | None]) -> Found | None:
        """Read from the first database that has an answer."""
        for database in self.readable:
            try:
                answer = read(database)
            except DatabaseError as error:
                self._lose(database, error)
            else:
                if answer is not None:
                    return answer
        return None

    def _write(self, change: Callable[[Database], object]) -> bool:
        """Change the database that can be written; whether that was done."""
        top = self.top  # another thread may lose it meanwhile
        if top is None:
            return False
        try:
            change(top)
        except DatabaseError as error:
            self._warn(top, error, "what is solved is not stored")
            self.top = None
            return False
        return True

    def _lose(self, database: Database, error: DatabaseError) -> None:
        self._warn(database, error, "the search goes on without it")
        self.readable = tuple(d for d in self.readable if d is not database)
        if database is self.top:
            self.top = None

    def _warn(self, database: Database, error: DatabaseError, consequence: str) -> None:
        mark = object()  # one thread finds its own
        if self._failed.setdefault(database.path, mark) is mark:
            warn(error, consequence)


def _damaged(database: Database, pin: PinRow) -> DatabaseError:
    return DatabaseError(
        f"the schedule that is pinned for {pin.spec} in {database.path} is damaged",
        "pin it again with 'morello db pin'",
    )


def warn(error: DatabaseError, consequence: str) -> None:
    """Say once what is wrong with a database and what follows from it."""
    warnings.warn(f"{error} ({consequence})", DatabaseWarning, stacklevel=2)


def default_path() -> Path:
    """Path of the tools' database (the XDG rules); its folder is made.

    A relative ``XDG_DATA_HOME`` is invalid by those rules and is not looked at.

    Raises:
        DatabaseError: the user has no home directory.
    """
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    if not home.is_absolute():
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 (does not raise)
        if not home.is_absolute():
            raise DatabaseError(
                "there is no home directory for a database: HOME is not set, and the "
                "user has none",
                f"give a path with --db or {VARIABLE}",
            )
        home = home / ".local" / "share"
    folder = home / "morello"
    with contextlib.suppress(OSError):  # whoever opens the file says why not
        folder.mkdir(parents=True, exist_ok=True)
    return folder / "tables.sqlite"


def open_database(
    wanted: "PathLike | Overlay | None" = None,
    *,
    default: Callable[[], Path] | None = None,
) -> Overlay | None:
    """The databases that a call should use.

    Args:
        wanted: a path; several with ``:`` between them, of which the first is written
            and the others are read; ``none``; or databases that are open. Nothing
            means what ``MORELLO_DB`` says.
        default: gives the path if that says nothing; where it raises, there is a
            warning and no database.

    Returns:
        None if there is to be no database.

    Raises:
        DatabaseError: no path, or a file is not a database of this version.
    """
    if isinstance(wanted, Overlay):
        return wanted
    paths = named_paths(wanted)
    if paths == () and default is not None:
        try:
            paths = (default(),)
        except DatabaseError as error:
            warn(error, "what is solved is not stored")
    return _open(tuple(map(absolute, paths))) if paths else None


def named_paths(wanted: PathLike | None) -> tuple[Path, ...] | None:
    """The files that a person or ``MORELLO_DB`` names; None if it is to be none.

    Raises:
        DatabaseError: no path, or in the home directory of a user who is not known.
    """
    if wanted is not None and not isinstance(wanted, (str, bytes, os.PathLike)):
        raise DatabaseError(
            f"'db' is {type(wanted).__name__}, not a path",
            "give the path of a file, or 'none'",
        )
    text = os.fsdecode(wanted) if wanted else os.environ.get(VARIABLE, "")
    if text == NONE:
        return None
    return tuple(_expanded(path) for path in text.split(os.pathsep) if path)


def _expanded(text: str) -> Path:
    """The path of a database, ``~`` expanded.

    Raises:
        DatabaseError: in the home directory of a user who is not known; no path.
    """
    if "\0" in text:
        raise DatabaseError(
            f"{text!r} is not the path of a database: it has a zero byte",
            "give the path of a file",
        )
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise DatabaseError(
            f"there is no home directory for '{text.partition(os.sep)[0]}' in the path "
            f"of the database '{text}'",
            f"give a path that begins with {os.sep} or .{os.sep}",
        ) from None


@functools.lru_cache(maxsize=64)
def _open(paths: tuple[Path, ...]) -> Overlay:
    """Open once a process: what fails is said once."""
    below = [_try(path, is_writable=False) for path in paths[1:]]
    top = _try(paths[0], is_writable=True) or _try_to_read(paths[0])
    if top is not None and not top.is_writable:
        below.insert(0, top)
        top = None
    return Overlay(top, tuple(d for d in below if d is not None))


def _open_again(top: Path | None, below: list[Path], keeps_tables: bool) -> Overlay:
    read = [_try(path, is_writable=False) for path in below]
    written = None if top is None else _try(top, is_writable=True)
    return Overlay(
        written, tuple(d for d in read if d is not None), keeps_tables=keeps_tables
    )


def _try(path: Path, *, is_writable: bool) -> Database | None:
    try:
        return Database(path, is_writable=is_writable)
    except DatabaseError as error:
        if error.__cause__ is None:
            raise  # not ours: what is in the file must not be touched
        consequence = (
            "what is solved is not stored" if is_writable else "it is not read"
        )
        warn(error, consequence)
        return None


def _try_to_read(path: Path) -> Database | None:
    """A file that cannot be written may yet be read."""
    try:
        return Database(path, is_writable=False)
    except DatabaseError:
        return None  # the reason was said when it was opened to be written
