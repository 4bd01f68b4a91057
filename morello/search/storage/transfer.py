"""Databases into each other, and over a network: as the bytes of a file.

`copy_rows` is what export and merge are made of. `to_bytes` and `merge_bytes` need no
file system that both sides see.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from morello.errors import MorelloError
from morello.search.storage.database import Database, Row

_BATCH = 64
"""Rows that are copied in one transaction."""


def copy_rows(
    source: Database,
    target: Database,
    *,
    tables: bool = True,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[int, int]:
    """Copy every whole row; how many tables are new, and how many rows were damaged.

    Args:
        source: is read.
        target: is written; rows and pins that it has stay.
        tables: whether to copy solved tables, besides programs and pins.
        tell: is given a sentence where a damaged file cannot be read to its end.

    Raises:
        DatabaseError: nothing can be read, or the target cannot be written.
    """
    new = damaged = 0
    batch: list[Row] = []
    try:
        for row, is_whole in source.rows() if tables else ():
            damaged += not is_whole
            if is_whole:
                batch.append(row)
            if len(batch) == _BATCH:
                new += target.put_all(tuple(batch))
                batch.clear()
    except MorelloError as error:
        if not new and not batch:
            raise
        tell(f"{source.path}: what follows cannot be read: {error.what}")
    new += target.put_all(tuple(batch))
    pins = source.pins()
    damaged += sum(not is_whole for _, is_whole in pins)
    whole = tuple(pin for pin, is_whole in pins if is_whole)
    if whole:
        target.pin(whole, replace=False)
    if tables:
        target.put_all((), source.covers())
    programs = source.programs()
    damaged += sum(not is_whole for _, is_whole in programs)
    target.put_programs(tuple(row for row, is_whole in programs if is_whole))
    return new, damaged


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
