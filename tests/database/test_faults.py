"""A disk that fails: the search answers all the same, with one warning (D3)."""

import os
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from morello.search.storage import database as module
from morello.search.storage.database import Database
from morello.search.storage.overlay import DatabaseWarning, Overlay, open_database
from tests.database.small import TEXTS, cold, filled, program

pytestmark = pytest.mark.quick

FAULTS = {
    "database or disk is full": sqlite3.SQLITE_FULL,
    "disk I/O error": sqlite3.SQLITE_IOERR,
    "attempt to write a readonly database": sqlite3.SQLITE_READONLY,
    "database is locked": sqlite3.SQLITE_BUSY,
    "unable to open database file": sqlite3.SQLITE_CANTOPEN,
}
POINTS = 12
"""The statement that fails: the first, the second, …"""


class Failing:
    """A connection whose statements fail from the nth on."""

    def __init__(self, inner: sqlite3.Connection, after: int, fault: str) -> None:
        self.inner = inner
        self.left = after
        self.fault = fault

    def execute(self, *arguments: Any) -> Any:
        if self.left == 0:
            error = sqlite3.OperationalError(self.fault)
            error.sqlite_errorcode = FAULTS[self.fault]
            raise error
        self.left -= 1
        return self.inner.execute(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _answer(
    overlay: Callable[[], Overlay | None], text: str = TEXTS[1]
) -> tuple[str, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        solution = program(text, overlay())
    assert all(w.category is DatabaseWarning for w in said)
    return solution, [str(w.message) for w in said]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_statement_that_fails_costs_one_warning(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = cold(TEXTS[1])
    real = module.connect
    for after in range(POINTS):
        path = tmp_path / f"{after}.sqlite"

        def connect(path: Path, is_writable: bool, after: int = after) -> Any:
            return Failing(real(path, is_writable), after, fault)

        monkeypatch.setattr(module, "connect", connect)
        solution, said = _answer(lambda path=path: Overlay(Database(path)))  # type: ignore[misc]
        assert solution == wanted, f"after {after}"
        assert len(said) == 1, f"after {after}: {said}"
        assert str(path) in said[0]
        assert fault in said[0]


def test_a_real_limit_of_space(tmp_path: Path) -> None:
    database = Database(tmp_path / "tables.sqlite")
    database._connected().execute("PRAGMA max_page_count = 1")
    solution, said = _answer(lambda: Overlay(database), TEXTS[0])
    assert solution == cold(TEXTS[0])
    assert len(said) == 1
    assert "free space on its disk" in said[0]


@pytest.mark.parametrize("what", ["in a file", "a folder", "a pipe"])
def test_a_path_that_is_no_file(what: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    match what:
        case "in a file":
            path.write_text("")
            path /= "tables.sqlite"
        case "a folder":
            path.mkdir()
        case _:
            os.mkfifo(path)
    solution, said = _answer(lambda: open_database(path))
    assert solution == cold(TEXTS[1])
    assert len(said) == 1
    assert str(path) in said[0]
    assert "may be read and written" in said[0]


def test_a_file_that_is_read_only_is_noticed_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.sqlite"
    filled(path, TEXTS[1]).close()
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda file, mode: mode != os.W_OK and real(file, mode)
    )
    with pytest.warns(DatabaseWarning, match="the file is read-only"):
        overlay = open_database(path)
    assert overlay is not None
    assert overlay.top is None  # who needs it refuses to begin
    assert len(overlay.readable) == 1
    assert program(TEXTS[1], overlay) == cold(TEXTS[1])


def test_a_layer_that_is_missing(tmp_path: Path) -> None:
    top, below = tmp_path / "top.sqlite", tmp_path / "below.sqlite"
    solution, said = _answer(lambda: open_database(f"{top}:{below}"))
    assert solution == cold(TEXTS[1])
    assert said == [text for text in said if str(below) in text]
    assert len(said) == 1
    assert len(list(Database(top).rows())) > 1


def test_a_lower_layer_is_read_and_not_written(tmp_path: Path) -> None:
    below = tmp_path / "below.sqlite"
    filled(below, TEXTS[1]).close()
    before = below.read_bytes()
    solution, said = _answer(
        lambda: open_database(f"{tmp_path / 'top.sqlite'}:{below}")
    )
    assert (solution, said) == (cold(TEXTS[1]), [])
    assert list(Database(tmp_path / "top.sqlite").rows()) == []
    assert below.read_bytes() == before
