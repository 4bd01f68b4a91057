"""Databases into each other, and over a network: as the bytes of a file.

`copy_rows` is what export and merge are made of. `to_bytes` and `merge_bytes` need no
file system that both sides see.
"""

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from morello.errors import MorelloError
from morello.search.storage.connection import DamageError, DatabaseError
from morello.search.storage.database import Database
from morello.search.storage.schema import Cover, PinRow, ProgramRow
from morello.search.storage.table_rows import Row

_BATCH = 64
"""Rows that are copied in one transaction."""


def copy_rows(
    source: Database,
    target: Database,
    *,
    tables: bool = True,
    has_more: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[int, int]:
    """Copy every whole row; how many tables are new, and how many rows were damaged.

    Args:
        source: is read.
        target: is written; rows and pins that it has stay.
        tables: whether to copy solved tables, besides programs and pins.
        has_more: whether something else was copied from the source, so that tables
            which cannot be read are no reason to give up.
        tell: is given a sentence where a damaged file cannot be read to its end.

    Raises:
        DatabaseError: nothing can be read, or the target cannot be written.
    """
    new, damaged, fault = _copy_tables(source, target) if tables else (0, 0, None)
    # A file whose tables cannot be read may yet have what nothing can solve again.
    pins: tuple[tuple[PinRow, bool], ...] = ()
    programs: tuple[tuple[ProgramRow, bool], ...] = ()
    covers: tuple[Cover, ...] = ()
    try:
        pins = source.pins()
        programs = source.programs()
        covers = source.covers() if tables else ()
    except MorelloError as error:
        fault = fault or error
    if fault is not None:
        if not (new or pins or programs or has_more):
            raise _of_nothing_whole(fault)
        tell(f"{source.path}: not all can be read: {fault.what}")
    whole = tuple(pin for pin, is_whole in pins if is_whole)
    if whole:
        target.pin(whole, replace=False)
    if covers:
        target.put_all((), covers)
    target.put_programs(tuple(row for row, is_whole in programs if is_whole))
    damaged += sum(not is_whole for _, is_whole in (*pins, *programs))
    return new, damaged


def _of_nothing_whole(fault: MorelloError) -> MorelloError:
    """Reword a fault where nothing could be copied: export can rescue nothing."""
    if isinstance(fault, DamageError):
        return DatabaseError(fault.what, "nothing of it can be read: move it away")
    return fault


def _copy_tables(
    source: Database, target: Database
) -> tuple[int, int, MorelloError | None]:
    """Copy whole tables; how many are new, how many rows were damaged, and why what
    follows cannot be read.

    Raises:
        DatabaseError: the target cannot be written.
    """
    new = damaged = 0
    fault: MorelloError | None = None
    rows = source.rows()
    while fault is None:
        page: list[tuple[Row, bool]] = []
        try:  # of the source alone: a target that fails ends the copy
            for row in itertools.islice(rows, _BATCH):
                page.append(row)
        except MorelloError as error:
            fault = error
        if not page:
            break
        new += target.put_all(tuple(row for row, is_whole in page if is_whole))
        damaged += sum(not is_whole for _, is_whole in page)
    return new, damaged, fault


def merge_bytes(data: bytes, target: Database) -> int:
    """Add the rows of a database that came as bytes; how many tables are new.

    Rows whose checksum is wrong are left out.

    Raises:
        DatabaseError: the bytes are not a database of this version, or the target
            cannot be written.
    """
    with (
        tempfile.TemporaryDirectory(prefix="morello-") as folder,
        opened(bytes_file(data, Path(folder) / "came.sqlite")) as source,
    ):
        return copy_rows(source, target)[0]


def bytes_file(data: bytes, path: Path) -> Path:
    """A database that came as bytes, as a file."""
    path.write_bytes(data)
    return path


@contextlib.contextmanager
def opened(path: Path, *, is_writable: bool = False) -> Iterator[Database]:
    """A database that is closed at the end.

    Raises:
        DatabaseError: as of `Database`.
    """
    database = Database(path, is_writable=is_writable)
    try:
        yield database
    finally:
        database.close()
