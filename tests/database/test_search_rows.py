"""What is kept of searches, in numbers."""

import dataclasses
import math
from typing import Any

import pytest

from morello.search.storage.schema import SearchRow

pytestmark = pytest.mark.quick

ROW = SearchRow("s", "space avx2 pins", 1.5, 20, 3, 60, 7, 10, 5, 4.25)
BEFORE = SearchRow("t", "space avx2", 0.25, 30, 2, 1, 100, 2000, 30000, 9.0)


def test_specs_a_box() -> None:
    assert ROW.compression == 4.0
    assert ROW.compression_decisions == 6.0
    none = dataclasses.replace(ROW, boxes=0, cost_boxes=0)
    assert none.compression is None
    assert none.compression_decisions is None
    assert dataclasses.replace(ROW, boxes=0).compression == 12.0
    assert ROW.machine == "avx2"


def test_a_search_that_goes_on_counts_what_was_done_before() -> None:
    whole = ROW.after(BEFORE)
    assert whole == SearchRow(
        "s", "space avx2 pins", 1.75, 30, 3, 61, 107, 2010, 30005, 4.25
    )
    assert BEFORE.after(ROW).peak_bytes == 30
    assert dataclasses.replace(ROW, programs=None).after(BEFORE).programs == 9.0


def test_rows_differ_by_each_value() -> None:
    changed = [
        dataclasses.replace(ROW, **{f.name: getattr(BEFORE, f.name)})
        for f in dataclasses.fields(SearchRow)
    ]
    assert len({ROW.checksum, *(row.checksum for row in changed)}) == 11
    assert SearchRow(*dataclasses.astuple(ROW)).checksum == ROW.checksum


MOST = 2**53


@pytest.mark.parametrize(
    ("field", "whole", "damaged"),
    [
        ("spec", ["", "x"], [None, b"s", 1]),
        ("family", ["a b", "a b c"], ["", "one", b"a b", None]),
        ("seconds", [0.0, 1e300], [-1e-9, math.inf, math.nan, 1, None]),
        ("specs", [0, MOST - 1], [-1, MOST, 1.0, None, "1"]),
        ("cost_boxes", [0, MOST - 1], [-1, MOST, 1.0, None]),
        ("programs", [None, 0.0], [-1.0, math.inf, 1]),
    ],
)
def test_a_row_is_whole_where_each_value_can_be(
    field: str, whole: list[Any], damaged: list[Any]
) -> None:
    rows = {
        is_whole: [dataclasses.replace(ROW, **{field: value}) for value in values]
        for is_whole, values in ((True, whole), (False, damaged))
    }
    assert all(row.is_whole for row in rows[True])
    assert not any(row.is_whole for row in rows[False])
