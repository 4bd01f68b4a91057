"""Cold = warm = half-filled = merged = reopened (C3): 1,000 databases, each with some
rows of a few goals, give the programs that are found without one."""

import functools
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from morello.search.storage.database import Database
from morello.search.storage.overlay import Overlay
from morello.search.storage.table_rows import Row
from tests.database.small import cold, filled, forget_programs, program

EXAMPLES = 200
MEMORY = Path("/dev/shm")

TEXTS = (
    "fill:4:f32", "fill:6:s32:out=[0]@L2", "fill:2x3:f32:value=lowest",
    "move:2:f32:l2=0", "move:3:f32:src=[0]@L2:dst=[0]@L2",
    "move:2x9:f32:src=[1,0]@L1:dst=[0,1]@L1", "max:3x4:f32:x0=[0,1]@L1:v0=[0]@L1",
    "max_accum:2x9:s32:x0=[0,1]@L1:v0=[0]@L1",
)  # fmt: skip


@functools.cache
def rows(folder: Path) -> dict[str, tuple[Row, ...]]:
    """The rows that each goal stores."""
    by_key = {}
    for number, text in enumerate(TEXTS):
        overlay = filled(folder / f"{number}.sqlite", text)
        by_key[text] = tuple(row for row, _ in overlay.readable[0].rows())
        overlay.close()
    return by_key


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """In memory, if that is there: writing to a disk is waited for at each commit."""
    if MEMORY.is_dir():
        with tempfile.TemporaryDirectory(dir=MEMORY) as name:
            yield Path(name)
    else:
        yield tmp_path_factory.mktemp("ways")


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(
    text=st.sampled_from(TEXTS),
    other=st.sampled_from(TEXTS),
    choice=st.integers(0, (1 << 32) - 1),
    way=st.sampled_from(("file", "overlay", "reopened", "merged")),
)
def test_however_rows_come_the_program_is_the_same(
    folder: Path, text: str, other: str, choice: int, way: str
) -> None:
    every = (*rows(folder)[text], *rows(folder)[other])
    some = tuple(row for bit, row in enumerate(every) if choice >> bit & 1)
    rest = tuple(row for bit, row in enumerate(every) if not choice >> bit & 1)
    number = next(_numbers)
    paths = [folder / f"{number} {name}.sqlite" for name in ("top", "below")]
    top, below = map(Database, paths)
    top.put_all(some)
    if way == "merged":
        top.put_all(rest)
    elif way == "overlay":
        below.put_all(rest)
    overlay = Overlay(top, (below,))
    assert program(text, overlay) == _cold(text)
    if way == "reopened":
        forget_programs(top)
        overlay.close()
        again = Overlay(Database(paths[0]))
        assert program(text, again) == _cold(text)
        again.close()
    assert {row for row, _ in top.rows()} >= set(some)
    assert set(every) | {row for row, _ in top.rows()} == set(every)
    overlay.close()
    for path in paths:
        path.unlink()


_numbers = itertools.count()
_cold = functools.cache(cold)
