"""Rows on disk: what is put is got, by any process, and outlives a killed one (D1, D5).

Writers are forked processes; one that is killed says on a pipe which rows were stored.
"""

import contextlib
import os
import signal
import sys
import time
import traceback
from pathlib import Path

import pytest

from morello.search.storage.connection import FORMAT, OLD_FORMAT, DatabaseError
from morello.search.storage.database import Database
from morello.search.storage.overlay import default_path
from morello.search.storage.schema import Cover
from morello.search.storage.table_rows import Row
from tests.database.small import key, row

KILLS = 100
WRITERS, ROWS = 8, 500


def _write(path: Path, writer: int) -> int:
    """The id of a forked process that writes its rows and those of all, and reads."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        database = Database(path)
        for number in range(ROWS):
            database.put(row(number, writer))
            database.put(row(number, 99))
            assert database.get(row(number // 2, writer).key) is not None
        code = 0
    except BaseException:  # noqa: BLE001 - a fork must not go on as the test
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "tables.sqlite")


def test_a_row_is_got_as_it_was_put(database: Database) -> None:
    assert database.get(row(1).key) is None
    database.put(row(1))
    database.put(row(1))
    assert database.put_all((row(1), row(2))) == 1
    assert database.get(row(1).key) == row(1)
    database.close()
    assert database.get(row(2).key) == row(2)
    assert [(r, whole) for r, whole in Database(database.path).rows()] == [
        (row(1), True),
        (row(2), True),
    ]
    assert database.check() == ()


def test_keys_are_those_of_all_writers(database: Database) -> None:
    """Keys that another connection, or a file in place of this one, adds are seen."""
    cover = Cover(b"base", row(1).key, "[]")
    assert database.keys() == set()
    database.put(row(1), cover)
    assert database.keys() == {row(1).key, b"base"}
    other = Database(database.path)
    other.put(row(2))
    other.delete((row(1).key,))
    assert database.keys() == other.keys() == {row(2).key}
    other.close()
    database.path.unlink()
    assert database.keys() == set()


def test_the_first_row_of_a_key_stays(database: Database) -> None:
    database.put(row(1))
    other = Row(row(1).key, "other", "family", 0, 0, 0, b"", b"")
    database.put(other)
    assert database.get(row(1).key) == row(1)


def test_a_deleted_row_is_gone(database: Database) -> None:
    database.put_all((row(1), row(2)))
    database.delete((row(1).key,))
    assert database.get(row(1).key) is None
    assert database.get(row(2).key) == row(2)


def test_a_child_may_use_the_parents_database(database: Database) -> None:
    database.put(row(1))
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            database.put(row(2))
            os._exit(0 if database.get(row(1).key) == row(1) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert database.get(row(2).key) == row(2)


def test_a_database_that_is_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "tables.sqlite"
    Database(path).put(row(1))
    reader = Database(path, is_writable=False)
    assert reader.get(row(1).key) == row(1)
    with pytest.raises(DatabaseError, match="readonly"):
        reader.put(row(2))
    with pytest.raises(DatabaseError, match=r"there is no file .*none\.sqlite"):
        Database(tmp_path / "none.sqlite", is_writable=False)


def test_a_database_in_a_folder_without_writing_is_read(tmp_path: Path) -> None:
    path = tmp_path / "shipped" / "tables.sqlite"
    path.parent.mkdir()
    writer = Database(path)
    writer.put(row(1))
    writer.close()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert Database(path, is_writable=False).get(row(1).key) == row(1)
    finally:
        path.parent.chmod(0o755)


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "typo" / "tables.sqlite"
    with pytest.raises(DatabaseError, match=f"there is no folder {path.parent}; check"):
        Database(path)
    assert not path.parent.exists()


def test_the_default_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = default_path()
    assert path == tmp_path / "data" / "morello" / "tables.sqlite"
    Database(path).close()
    assert path.exists()


def test_other_versions_are_named(tmp_path: Path) -> None:
    for version, age in ((FORMAT + 1, "a newer"), (OLD_FORMAT - 1, "an older")):
        path = tmp_path / f"{version}.sqlite"
        database = Database(path)
        database._connected().execute(f"PRAGMA user_version = {version}")
        database.close()
        with pytest.raises(DatabaseError, match=f"{path} is from {age} version"):
            Database(path)


@pytest.mark.sampled(5)
def test_killed_writers_lose_nothing_that_they_acknowledged(tmp_path: Path) -> None:
    """D1: one file, a hundred writers killed one after another."""
    path = tmp_path / "tables.sqlite"
    Database(path).close()
    acknowledged = []
    for kill in range(KILLS):
        acknowledged.append(_write_until_killed(path, kill))
        database = Database(path)
        for number in range(acknowledged[kill]):
            stored_row = database.get(key(number, kill))
            assert stored_row == row(number, kill), f"kill {kill}"
        database.close()
    rows = list(Database(path).rows())
    assert all(is_whole for _, is_whole in rows)
    stored = {r.key: r for r, _ in rows}
    for kill, count in enumerate(acknowledged):
        for number in range(count):
            assert stored[key(number, kill)] == row(number, kill), f"kill {kill}"
    assert stored.keys() <= {key(n, k) for k in range(KILLS) for n in range(2000)}
    assert Database(path).check() == ()


def _write_until_killed(path: Path, kill: int) -> int:
    """Rows that a forked writer said were stored before it was killed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            database = Database(path)
            for number in range(2000):
                database.put(row(number, kill))
                os.write(write, b".")
        os._exit(0)
    os.close(write)
    os.read(read, 1)
    time.sleep(0.0002 * (kill % 37))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    acknowledged = 1
    while part := os.read(read, 4096):
        acknowledged += len(part)
    os.close(read)
    return acknowledged


def test_processes_share_a_file(tmp_path: Path) -> None:
    """D5: eight writers make the file together, and write rows of their own and some
    that all write."""
    path = tmp_path / "tables.sqlite"
    writers = [_write(path, number) for number in range(WRITERS)]
    assert [os.waitpid(writer, 0)[1] for writer in writers] == [0] * WRITERS
    by_key = {r.key: r for r, whole in Database(path).rows() if whole}
    wanted = [row(n, w) for w in (*range(WRITERS), 99) for n in range(ROWS)]
    assert by_key == {r.key: r for r in wanted}
