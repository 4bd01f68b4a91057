"""Programs of every size of a range in a database: found again without a search."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.search.ranges import cover as covers
from morello.tools.morello import main
from morello.tools.subcommands.db import info


def compiled(text: str, db: Path, **options: Any) -> morello.Kernel:
    return morello.compile(text, target="avx2", threads=1, db=db, **options)


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let searches fail from now on."""

    def fail(*args: Any) -> None:
        raise AssertionError("it is searched again")

    return lambda: monkeypatch.setattr(covers, "cover", fail)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", ["softmax:2..5x24:f32", "sum:3..27/4x40:f32"])
def test_a_range_is_searched_once(
    text: str, tmp_path: Path, no_search: Callable[[], None]
) -> None:
    db = tmp_path / "own.db"
    first = compiled(text, db)
    no_search()
    again = compiled(text, db)
    assert again.impl == first.impl
    assert again.object == first.object
    assert again.solutions[0] is not None
    assert again.solutions[0].statistics.specs == 0


@pytest.mark.sampled(2)
def test_parts_have_rows_as_the_range_has(tmp_path: Path) -> None:
    # Rows of 1024 alone are further apart than those of 512, which costs more.
    text, db = "matmul:24x512..1024/512x8:f32", tmp_path / "own.db"
    first = compiled(text, db)
    assert "morello_transform.range" in first.schedule
    assert first.impl is not None
    assert first.cost() == first.impl.cost
    assert compiled(text, db).impl == first.impl
    again = morello.compile(text, target="avx2", threads=1, schedule=first.schedule)
    assert again.object == first.object
    assert again.cost() == first.cost()


@pytest.mark.sampled(2)
def test_another_regret_is_another_row(
    tmp_path: Path, no_search: Callable[[], None]
) -> None:
    db = tmp_path / "own.db"
    text = "matmul:1..9x8x16:f32"
    least, more = compiled(text, db), compiled(text, db, regret=100)
    no_search()
    assert len(more.object) < len(least.object)
    assert compiled(text, db).object == least.object
    assert compiled(text, db, regret=100).object == more.object
    contents = info(db)
    assert contents.programs == 2
    assert contents.goals == {"matmul": 2}
    assert [row["spec"].split(":")[1] for row in contents.searches] == ["1..9x8x16"] * 2
    assert main(["db", "verify", "--db", str(db)]) == 0
    copy = tmp_path / "copy.db"
    assert main(["db", "export", str(copy), "--db", str(db)]) == 0
    assert compiled(text, copy, regret=100).object == more.object


@pytest.mark.sampled(2)
def test_a_row_that_does_not_fit_is_searched_anew(tmp_path: Path) -> None:
    db, other = tmp_path / "own.db", tmp_path / "other.db"
    compiled("matmul:1..3x4x8:f32", db)
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE programs SET program = replace(program, '4', '5')")
    kernel = compiled("matmul:1..3x4x8:f32", db)
    assert kernel.object == compiled("matmul:1..3x4x8:f32", other).object
    a, b = np.ones((3, 4), np.float32), np.ones((4, 8), np.float32)
    assert (kernel(a, b) == 4).all()


@pytest.mark.sampled(2)
def test_ranges_are_precomputed(tmp_path: Path) -> None:
    db = str(tmp_path / "own.db")
    text = "sum:1..5x16:f32"
    flags = ["--target", "avx2", "--jobs", "1", "--threads", "1", "--programs"]
    assert main(["precompute", text, "--db", db, *flags]) == 0
    (solution,) = compiled(text, Path(db)).solutions
    assert solution is not None
    assert solution.statistics.specs == 0
