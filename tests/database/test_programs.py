"""However a table comes, it gives the same program: cold, warm, half-filled, merged,
reopened; and rows of another target or space are never read."""

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from morello.machine import AVX2
from morello.search import Solver
from morello.search.storage import cache_key
from morello.search.storage.database import Database
from morello.search.storage.overlay import (
    Overlay,
    default_path,
    named_paths,
    open_database,
)
from morello.search.storage.table_store import TableStore
from morello.spec.tensors.memories import L1
from tests.database.small import TEXTS, cold, filled, forget_programs, program, spec

MATMUL = "matmul:5x4x9:f32"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", [*TEXTS, MATMUL])
def test_cold_warm_half_filled_and_merged_agree(text: str, tmp_path: Path) -> None:
    wanted = cold(text)
    overlay = filled(tmp_path / "a.sqlite", text)
    assert program(text, overlay) == wanted
    assert overlay.top is not None
    forget_programs(overlay.top)
    assert program(text, overlay) == wanted
    rows = [r for r, _ in overlay.top.rows()]
    rng = random.Random(text)
    for trial in range(6):
        some = tuple(rng.sample(rows, rng.randrange(len(rows))))
        half = Database(tmp_path / f"half {trial}.sqlite")
        half.put_all(some)
        assert program(text, Overlay(half)) == wanted
        rest = Database(tmp_path / f"rest {trial}.sqlite")
        rest.put_all(tuple(r for r in rows if r not in some))
        upper = Overlay(Database(tmp_path / f"top {trial}.sqlite"), (half, rest))
        assert program(text, upper) == wanted
    overlay.close()
    assert program(text, Overlay(Database(tmp_path / "a.sqlite"))) == wanted


def test_a_warm_search_solves_nothing(tmp_path: Path) -> None:
    overlay = filled(tmp_path / "a.sqlite", MATMUL)
    assert overlay.top is not None
    forget_programs(overlay.top)
    solution = Solver(AVX2, overlay).solve(spec(MATMUL))
    assert solution.statistics.specs == 0
    before = len(list(overlay.top.rows()))
    assert 0 < solution.statistics.tables < before
    assert solution.statistics.goals == ((MATMUL, solution.statistics.tables),)
    assert solution.statistics.stored == solution.statistics.tables
    program(MATMUL, overlay)
    assert len(list(overlay.top.rows())) == before


def test_stored_rows_are_the_solved_tables_to_the_byte(tmp_path: Path) -> None:
    first, second = (filled(tmp_path / n, MATMUL) for n in ("a.sqlite", "b.sqlite"))
    assert first.top is not None
    assert second.top is not None
    assert list(first.top.rows()) == list(second.top.rows())


def test_another_target_finds_no_rows(tmp_path: Path) -> None:
    dear = dataclasses.replace(AVX2.ops, store=AVX2.ops.store * 3)
    other = dataclasses.replace(AVX2, ops=dear)
    overlay = filled(tmp_path / "a.sqlite")
    solution = Solver(other, overlay).solve(spec(TEXTS[0]))
    assert solution.statistics.specs > 0
    assert solution.impl == Solver(other).solve(spec(TEXTS[0])).impl


def test_another_space_finds_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = filled(tmp_path / "a.sqlite")
    monkeypatch.setattr(cache_key, "space", lambda: "another")
    assert Solver(AVX2, overlay).solve(spec(TEXTS[0])).statistics.specs > 0


def test_other_limits_find_no_rows(tmp_path: Path) -> None:
    overlay = filled(tmp_path / "a.sqlite")
    less = dataclasses.replace(spec(TEXTS[0]), limits=AVX2.limits.replace(L1, 64))
    solution = Solver(AVX2, overlay).solve(less)
    assert solution.statistics.specs > 0
    assert solution.impl == Solver(AVX2).solve(less).impl


def test_where_a_database_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_path() == tmp_path / "morello" / "tables.sqlite"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == tmp_path / ".local/share/morello/tables.sqlite"
    monkeypatch.setenv("MORELLO_DB", "none")
    assert open_database() is None
    assert open_database(default=lambda: tmp_path / "x") is None
    monkeypatch.setenv("MORELLO_DB", f"a:~/b:{tmp_path}")
    assert named_paths(None) == (Path("a"), tmp_path / "b", tmp_path)
    assert named_paths("c") == (Path("c"),)
    monkeypatch.delenv("MORELLO_DB")
    assert open_database() is None
    database = open_database(default=lambda: tmp_path / "x")
    assert database is not None
    assert (database.top is not None and database.top.path) == tmp_path / "x"


@pytest.mark.sampled(5)
def test_an_interrupted_search_keeps_what_it_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever table is being solved, those before it are stored; the search can be
    taken up by the same solver and by another."""
    wanted = cold(MATMUL)
    put = TableStore.put
    for stop in (1, 7, 20):
        left = [stop]

        def interrupted(store: TableStore, *args: Any, left: list[int] = left) -> None:
            put(store, *args)
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt

        overlay = Overlay(Database(tmp_path / f"{stop}.sqlite"))
        solver = Solver(AVX2, overlay)
        monkeypatch.setattr(TableStore, "put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            solver.solve(spec(MATMUL))
        monkeypatch.setattr(TableStore, "put", put)
        assert overlay.top is not None
        assert len(list(overlay.top.rows())) == stop
        assert program(MATMUL, overlay) == wanted
        assert str(solver.solve(spec(MATMUL)).impl) == wanted
