"""Damaged and foreign files: a miss or an error that names the file; the program that a
search finds is always the right one (D4)."""

import random
import shutil
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.search.storage.connection import DatabaseError
from morello.search.storage.database import Database
from morello.search.storage.overlay import DatabaseWarning, Overlay, open_database
from tests.database.small import (
    TEXTS,
    cold,
    filled,
    forget_programs,
    program,
    row,
    spec,
)

MUTATIONS = 500


@pytest.fixture(scope="module", params=["tables", "program"])
def whole(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Path:
    """A file whose lookups read tables, and one whose lookups read a program."""
    path = tmp_path_factory.mktemp("whole") / "tables.sqlite"
    overlay = filled(path)
    if request.param == "tables":
        forget_programs(overlay.readable[0])
    overlay.close()
    return path


def mutate(data: bytes, rng: random.Random) -> bytes:
    """A file with some bits, a cut, noise or zeros."""
    changed = bytearray(data)
    match rng.randrange(4):
        case 0:
            for _ in range(rng.choice((1, 8, 200))):
                place = rng.randrange(len(changed))
                changed[place] ^= 1 << rng.randrange(8)
        case 1:
            del changed[rng.randrange(len(changed)) :]
        case 2:
            start = rng.randrange(len(changed))
            length = rng.randrange(1, 4096)
            changed[start : start + length] = rng.randbytes(length)
        case _:
            start = rng.randrange(len(changed))
            length = rng.randrange(1, 4096)
            changed[start : start + length] = bytes(length)
    return bytes(changed)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("part", range(5))
def test_a_damaged_file_never_changes_a_program(
    whole: Path, tmp_path: Path, part: int
) -> None:
    wanted = cold(TEXTS[0])
    data = whole.read_bytes()
    for number in range(MUTATIONS // 10):  # of either file
        seed = part * MUTATIONS // 10 + number
        path = tmp_path / f"{seed}.sqlite"
        path.write_bytes(mutate(data, random.Random(seed)))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            overlay = opened(path)
            assert program(TEXTS[0], overlay) == wanted, f"seed {seed}"
        assert all(str(path) in str(w.message) for w in said), f"seed {seed}"
        assert all(w.category is DatabaseWarning for w in said), f"seed {seed}"
        assert len(said) <= 2, f"seed {seed}"
        if overlay is not None:
            overlay.close()


def opened(path: Path) -> Overlay | None:
    """The database; None if it is refused, by an error that names it and says what to
    do."""
    refused: DatabaseError | None = None
    overlay = None
    try:
        overlay = open_database(path)
    except DatabaseError as error:
        refused = error
    if refused is not None:
        assert str(path) in refused.what
        assert refused.remedy
    return overlay


def test_a_row_with_another_contents_is_a_miss(whole: Path, tmp_path: Path) -> None:
    """Contents of one table under the key of another, with a checksum that is wrong."""
    path = tmp_path / "tables.sqlite"
    shutil.copy(whole, path)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE tables SET decisions = "
            "(SELECT decisions FROM tables ORDER BY points LIMIT 1)"
        )
    connection.close()
    database = Database(path)
    assert not all(is_whole for _, is_whole in list(database.rows())[1:])
    assert program(TEXTS[0], Overlay(database)) == cold(TEXTS[0])


def test_another_programs_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DatabaseError, match="is not a database of Morello") as caught:
        open_database(path)
    assert "--db" in caught.value.remedy
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader,\n" * 100)
    with pytest.warns(DatabaseWarning, match="not a database"):
        overlay = open_database(path)
    assert program(TEXTS[1], overlay) == cold(TEXTS[1])
    assert path.read_text() == "Dear reader,\n" * 100


def test_costs_that_are_gone_are_solved_again(whole: Path, tmp_path: Path) -> None:
    """Decisions are read without costs; a search that needs those solves the table."""
    path = tmp_path / "tables.sqlite"
    shutil.copy(whole, path)
    goal = spec(TEXTS[0])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE tables SET costs = zeroblob(length(costs))")
    connection.close()
    database = Database(path)
    assert not any(is_whole for _, is_whole in database.rows())
    forget_programs(database)
    known, fresh = Solver(AVX2, Overlay(database)), Solver(AVX2)
    wanted = fresh.solve(goal)
    solution = known.solve(goal)
    assert (solution.impl, solution.statistics.specs) == (wanted.impl, 0)
    table = known.goal_table(goal)
    costs = known.run_of(goal).costs(table)
    assert np.array_equal(costs.dense, fresh.run_of(goal).costs(table).dense)
    for one, other in zip(known.tables(goal), fresh.tables(goal), strict=True):
        assert one.id == other.id
        assert np.array_equal(one.costs, other.costs)


def test_a_key_that_leads_to_another_row_is_a_miss(tmp_path: Path) -> None:
    """The index of keys is not believed: a checksum is of the key, too."""
    path = tmp_path / "tables.sqlite"
    database = Database(path)
    one, other = row(1), row(2)
    database.put_all((one, other))
    database.close()
    data = path.read_bytes()
    assert data.count(one.key) == data.count(other.key) == 2
    misses = 0
    for find in (data.index, data.rindex):  # in the index, and in the rows themselves
        first, second = find(one.key), find(other.key)
        changed = bytearray(data)
        changed[first : first + 32], changed[second : second + 32] = other.key, one.key
        path.write_bytes(changed)
        damaged = Database(path)
        for whole in (one, other):
            assert damaged.get(whole.key) in (None, whole)
            assert damaged.decisions(whole.key) in (None, whole.decisions)
            misses += damaged.get(whole.key) is None
        damaged.close()
    assert misses >= 2
