"""The runner tells a test that passes from one that does not, in every way."""

import argparse
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, NoReturn

import numpy as np
import pytest

from morello.errors import CompileError
from tests.conformance.__main__ import _collected
from tests.conformance.outcomes import (
    CLASSES,
    Outcome,
    Row,
    checked_call,
    compared,
    difference,
    within_rounding,
)
from tests.conformance.processes import Limits, rows_of
from tests.conformance.suite import drawn
from tests.conformance.table import markdown, refused, rows_of_tsv, tsv_header, tsv_line

pytestmark = pytest.mark.quick


def _refuse() -> NoReturn:
    raise CompileError("no kernel takes this", "change it")


def _raise() -> NoReturn:
    raise KeyError("inside")


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _right() -> Callable[[], np.ndarray]:
    return lambda: np.ones(3)


class _Made:
    """A suite with one test of each outcome."""

    attempts = ("as given",)
    bodies: ClassVar[dict[str, Callable[[], Callable[[], np.ndarray]]]] = {
        "passed": _right,
        "wrong": lambda: lambda: np.full(3, 1.5),
        "refused": _refuse,
        "traceback": _raise,
        "crashed": lambda: lambda: _crash() or np.ones(3),
        "hung": lambda: lambda: time.sleep(60) or np.ones(3),
    }

    def kinds(self) -> dict[str, str]:
        return {name: name for name in self.bodies}

    def prepare(self, names: Sequence[str]) -> None:
        pass

    def rows(self, name: str) -> list[Row]:
        outcome = checked_call(self.bodies[name], (), [np.ones(3)], within_rounding)
        return [Row(name, {"as given": outcome}, ("made up",))]


@pytest.mark.parametrize("name", _Made.bodies)
def test_each_outcome_has_its_class(name: str) -> None:
    limit = 0.3 if name == "hung" else 30.0
    [[row]] = rows_of([name], _Made(), Limits(1, limit, 60.0))
    assert row.verdict == name
    assert (row.outcomes["as given"].note == "") == (name == "passed")


def test_what_is_not_done_in_time_has_no_row() -> None:
    start = time.monotonic()
    assert list(rows_of(["hung"], _Made(), Limits(1, 60.0, 0.3))) == []
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    ("result", "expected", "words"),
    [
        (np.ones(3), np.ones(4), "shape"),
        (np.ones(3, np.int8), np.ones(3, np.uint8), "dtype"),
        (np.array([1, 2]), np.array([1, 3]), "1 of 2"),
        (np.array([True, False]), np.array([True, True]), "1 of 2"),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0]), "1 of 2"),
        (np.array([np.inf, -np.inf]), np.array([np.inf, np.inf]), "1 of 2"),
        (np.array([1.0, 1.01]), np.array([1.0, 1.0]), "at (1,)"),
    ],
)
def test_differences(result: np.ndarray, expected: np.ndarray, words: str) -> None:
    assert words in difference(result, expected, 1e-3, 1e-7)
    assert difference(expected, expected.copy(), 1e-3, 1e-7) == ""


def test_a_number_of_results_is_compared() -> None:
    one = np.ones(3)
    assert compared([one], [one, one], within_rounding).verdict == "wrong"
    assert compared([one, one], [one, one], within_rounding).verdict == "passed"


def test_names_of_each_kind_come_before_second_ones() -> None:
    kinds = {f"{kind}{n}": kind for kind in "abc" for n in range(5)}
    order = drawn(kinds, 7)
    assert sorted(order) == sorted(kinds)
    for turn in range(5):
        assert {kinds[name] for name in order[3 * turn : 3 * turn + 3]} == set("abc")
    assert drawn(kinds, 7) == order
    assert drawn(kinds, 8) != order


def test_a_table_counts_attempts_one_after_another() -> None:
    passed, no = Outcome("passed"), Outcome("refused", "why")
    rows = [
        Row("a", {"first": passed}, ("g",)),
        Row("b", {"first": no, "second": passed}, ("g",)),
        Row("c", {"first": no, "second": no}),
        Row("d", {"first": no, "second": Outcome("wrong", "2, not 1")}),
        Row("e", {"first": Outcome("skipped")}),
    ]
    table = markdown("made", rows, ("first", "second"))
    assert table[0].count("|") == table[1].count("|") == 3 + 2 + len(CLASSES[1:])
    assert table[2].startswith("| made | 4 | 1 (25%) | 2 (50%) | 1 | 0 | 1 |")
    assert table[3].startswith("| … g | 2 | 1 (50%) | 2 (100%) | 0 | 0 | 0 |")
    assert refused(rows, {"c": "op"}) == "op 1"
    cells = tsv_line(rows[1], ("first", "second")).split("\t")
    assert cells[3:7] == ["refused", "why", "passed", ""]
    assert len(cells) == len(tsv_header(("first", "second")).split("\t"))


def test_a_run_that_was_ended_goes_on(tmp_path: Path) -> None:
    attempts = _Made.attempts
    known = Row("numpy: no such test", {"as given": Outcome("passed")}, ("a, b", "c"))
    lines = [tsv_header(attempts), tsv_line(known, attempts), "numpy: half a li"]
    out = tmp_path / "rows.tsv"
    out.write_text("\n".join(lines))
    with out.open() as file:
        assert rows_of_tsv(file, attempts) == [known]
    namespace = argparse.Namespace(
        out=out, resume=True, jobs=1, limit=30.0, seconds=60.0, only="", count=None
    )
    rows = _collected(_Made(), ["passed", "wrong"], namespace)
    again = _collected(_Made(), ["wrong", "passed", "refused"], namespace)
    assert [row.test for row in rows] == [known.test, "passed", "wrong"]
    assert [row.test for row in again] == [known.test, "passed", "wrong", "refused"]
    assert again[2].outcomes["as given"].note.startswith("0: 3 of 3 elements")
    assert len(out.read_text().splitlines()) == 5
