"""Rows of what was measured, by themselves: which can be, and which make a choice."""

import dataclasses
from typing import Any

import pytest

from morello.search.queries.measured import find_measured, keep_measured
from morello.search.storage.measured_rows import MeasuredKey, MeasuredRow

pytestmark = pytest.mark.quick

KEY = MeasuredKey("fill:9", "avx2", 1, "a processor", "search-1")
ROW = MeasuredRow(KEY, 0, "[]", "fill_rows", 1e-6, 3e3, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("place", "0"),
        ("program", b"[]"),
        ("features", None),
        ("seconds", 1),
        ("seconds", "1e-6"),
        ("cycles", None),
        ("cycles", 3e13),  # of a core of 3e19 Hz
        ("seconds", 0.0),
        ("chosen", 2),
        ("chosen", -1),
        ("chosen", None),
        ("chosen", "1"),
    ],
)
def test_a_value_that_cannot_be_is_damage(name: str, value: Any) -> None:
    assert ROW.is_whole
    assert dataclasses.replace(ROW, chosen=0).is_whole
    assert not dataclasses.replace(ROW, **{name: value}).is_whole


@pytest.mark.parametrize("field", dataclasses.fields(MeasuredKey), ids=lambda f: f.name)
def test_a_key_of_another_type_is_damage(field: Any) -> None:
    key = dataclasses.replace(KEY, **{field.name: b"x"})
    assert not dataclasses.replace(ROW, key=key).is_whole


@pytest.mark.parametrize("name", ["place", "program", "features", "cycles", "chosen"])
def test_a_checksum_is_of_every_value(name: str) -> None:
    value: Any = {"program": "x", "features": "x"}.get(name, 7)
    assert dataclasses.replace(ROW, **{name: value}).checksum != ROW.checksum


@pytest.mark.parametrize(
    ("places", "chosen", "is_choice"),
    [
        ((0, 1, 2), (0, 0, 1), True),
        ((0, 1), (1, 0), True),
        ((0,), (1,), True),
        ((1, 2), (0, 1), False),  # the model's choice is missing
        ((0, 1), (0, 0), False),
        ((0, 1), (1, 1), False),
    ],
)
def test_one_of_all_is_chosen(
    places: tuple[int, ...], chosen: tuple[int, ...], is_choice: bool
) -> None:
    key = dataclasses.replace(KEY, context=f"{places} {chosen}")
    rows = tuple(
        dataclasses.replace(ROW, key=key, place=place, chosen=one)
        for place, one in zip(places, chosen, strict=True)
    )
    keep_measured(rows, None)
    found = find_measured(key, None)
    assert (found is not None) == is_choice
    if found is not None:
        assert found.chosen.chosen == 1
        assert found.model.place == 0
