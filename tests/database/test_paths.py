"""Which file a path means, and files that go away or cannot be locked."""

import errno
import fcntl
import os
import sqlite3
import subprocess
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import morello
from morello.errors import TargetError
from morello.machine.file import read_target_file
from morello.search.storage import connection, file_locks
from morello.search.storage.connection import DatabaseError
from morello.search.storage.database import Database
from morello.search.storage.overlay import (
    DatabaseWarning,
    default_path,
    named_paths,
    open_database,
)
from tests.child import python
from tests.database.small import row

pytestmark = pytest.mark.quick


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``morello`` in a new process."""
    return python("-m", "morello", *words, env=environment, errors="surrogateescape")


def test_a_relative_path_is_of_the_folder_at_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        morello.compile("fill:3x5", db="t.sqlite")
        assert (tmp_path / name / "t.sqlite").exists()


def test_a_relative_path_keeps_its_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    database = Database(Path("t.sqlite"))
    database.close()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    database.put(row(1))
    assert list((tmp_path / "other").iterdir()) == []
    assert Database(tmp_path / "t.sqlite").get(row(1).key) == row(1)


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_goes_away_is_made_again(how: str, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "t.sqlite"
    path.parent.mkdir()
    database = Database(path)
    database.put(row(1))
    if how == "replaced":
        other = Database(tmp_path / "other.sqlite")
        other.put(row(3))
        other.close()
    for file in list(path.parent.iterdir()):
        file.unlink()
    if how == "replaced":
        (tmp_path / "other.sqlite").rename(path)
    database.put(row(2))
    assert database.get(row(1).key) is None
    again = {one.key for one, _ in Database(path).rows()}
    assert again == {row(2).key} | ({row(3).key} if how == "replaced" else set())


def test_rows_are_read_on_while_others_replace_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    database = Database(path)
    database.put_all(tuple(row(number) for number in range(200)))
    rows = database.rows()
    next(rows)
    path.unlink()
    database.put(row(1))
    assert len(list(rows)) == 199


def test_bytes_are_a_path(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    morello.compile("fill:3x5", db=os.fsencode(path))
    assert Database(path, is_writable=False).programs()
    assert named_paths(b"a:b") == (Path("a"), Path("b"))


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (123, "'db' is int, not a path; give the path of a file, or 'none'"),
        (True, "'db' is bool"),
        (["a"], "'db' is list"),
        ("a\0b", "has a zero byte"),
        ("~nosuchuser0/t", "there is no home directory for '~nosuchuser0'"),
        ("a:~nosuchuser0", "there is no home directory for '~nosuchuser0'"),
    ],
)
def test_what_is_no_path(
    wanted: Any, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatabaseError, match=reason):
        morello.compile("fill:3x5", db=wanted)
    assert list(tmp_path.iterdir()) == []


def test_target_files_of_users_that_are_not_known() -> None:
    with pytest.raises(TargetError, match="cannot be read: Could not determine home"):
        read_target_file("~nosuchuser0/t")


def test_without_a_home_nothing_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def nobody(uid: int) -> Any:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "XDG_DATA_HOME", "MORELLO_DB"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DatabaseError, match="HOME is not set, and the user has none"):
        default_path()
    with pytest.warns(DatabaseWarning, match="what is solved is not stored"):
        assert open_database(default=default_path) is None


def test_a_name_that_is_not_ascii_in_the_c_locale(tmp_path: Path) -> None:
    c_locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for name in ("bücher 100%23?x".encode(), b"b\xfccher"):
        path = os.fsdecode(os.path.join(os.fsencode(tmp_path), name))  # noqa: PTH118
        done = run("run", "fill:3x5", "--db", path, **c_locale)
        assert (done.returncode, done.stderr) == (0, "")
        assert name in os.listdir(os.fsencode(tmp_path))  # noqa: PTH208


def test_a_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite calls it busy; that would be waited for."""

    def refuse(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    path = tmp_path / "t.sqlite"
    Database(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(connection, "ASKING_SECONDS", 0.05)
    monkeypatch.setattr(fcntl, "lockf", refuse)
    start = time.monotonic()
    with pytest.warns(DatabaseWarning, match="cannot be locked: No locks available"):
        morello.compile("fill:3x7", db=path)
    assert time.monotonic() - start < connection.BUSY_SECONDS / 2
    other.close()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_locks_are_not_refused_here(tmp_path: Path) -> None:
    assert file_locks.are_refused(tmp_path / "t.sqlite") is None
    assert file_locks.are_refused(tmp_path / "none" / "t.sqlite") is None
    assert list(tmp_path.iterdir()) == []


def test_a_log_is_switched_on_when_other_processes_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    ours = sqlite3.connect(path, timeout=0, isolation_level=None)
    later = threading.Timer(0.1, other.execute, ["COMMIT"])
    later.start()
    connection._patiently(ours, "PRAGMA journal_mode = WAL")
    later.join()
    assert ours.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.05)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        connection._patiently(ours, "PRAGMA journal_mode = DELETE")
    ours.close()
    other.close()


def test_no_connection_is_open_across_a_fork(tmp_path: Path) -> None:
    """The child would take the parent's locks for its own."""
    database = Database(tmp_path / "t.sqlite")
    database.put(row(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(0 if database._connection is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert database.get(row(1).key) == row(1)
