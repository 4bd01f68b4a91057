"""Numbers and their units."""

import pytest

from morello.explain.words import (
    Clock,
    counted,
    cycle_count,
    excess,
    percent,
    searched_text,
    title,
)
from morello.machine import AVX2
from morello.search import Statistics
from morello.spec import parse_spec
from morello.spec.graphs.names import SHORT_NAMES

pytestmark = pytest.mark.quick


def test_cycles_are_a_thousandth_of_a_cost() -> None:
    assert cycle_count(2_310_220_000) == "2,310,220"
    assert cycle_count(62_500) == "62.5"
    assert cycle_count(6_000) == "6"
    assert cycle_count(0) == "0"
    assert Clock(3).cycles(99_950) == "100.0 cycles"


@pytest.mark.parametrize(
    ("cost", "clock", "text"),
    [
        (3_000, 3.0, "1 ns"),
        (3_000_000, 3.0, "1 µs"),
        (10_438_160_000, 3.0, "3.48 ms"),
        (10_438_160_000, 1.0, "10.4 ms"),
        (10**13, 5.0, "2 s"),
        (0, 3.0, "0 ns"),
    ],
)
def test_times_are_at_a_clock(cost: int, clock: float, text: str) -> None:
    assert Clock(clock).micros(cost) == text


def test_shares_and_excesses() -> None:
    assert [percent(s) for s in (0, 0.0001, 0.0005, 0.5, 1)] == [
        "0.0%",
        "<0.1%",
        "0.1%",
        "50.0%",
        "100.0%",
    ]
    assert excess(0, 100) == "tie"
    assert excess(1, 10_000) == "+<0.1%"
    assert excess(3, 100) == "+3.0%"
    assert excess(9_900, 100) == "100 times"


def test_titles_show_the_batch() -> None:
    assert title(parse_spec("matmul:2x3x4:f32", AVX2.limits)) == "matmul 1x2x3x4"
    assert title(parse_spec("matmul:5x2x3x4:f32", AVX2.limits)) == "matmul 5x2x3x4"


@pytest.mark.parametrize("label", sorted({*SHORT_NAMES} - {"conv"}))
def test_titles_have_the_names_of_graphs(label: str) -> None:
    # A convolution is printed as a graph: windows decide its sizes.
    shape = "x".join(["8"] * len(SHORT_NAMES[label].dims))
    spec = parse_spec(f"{label}:{shape}:f32", AVX2.limits)
    assert title(spec) == f"{label} {shape}"


def test_one_of_something_is_not_several() -> None:
    assert (counted(1, "table"), counted(2000, "table")) == ("1 table", "2,000 tables")
    assert searched_text(Statistics(1, 1, 1.0)) == "found among 1 Spec in 1 table"


def test_where_tables_were_read_and_whose_they_are() -> None:
    goals = tuple((f"matmul:{n}x8x8:f32", 10 - n) for n in (4, 5, 6, 7, 8))
    one = Statistics(9, 5, 1.0, read=6, stored=6, parts=2, goals=goals[:1])
    assert searched_text(one) == (
        "found among 5 Specs in 9 tables, of which 6 were read from the database, 2 "
        "as parts of larger ones: 6 of matmul:4x8x8:f32"
    )
    many = Statistics(20, 0, 1.0, read=20, stored=3, goals=goals)
    assert searched_text(many) == (
        "read from 20 tables of the database and this process: 6 of "
        "matmul:4x8x8:f32, 5 of matmul:5x8x8:f32, 4 of matmul:6x8x8:f32, 5 of 2 "
        "other goals"
    )
    unknown = Statistics(1, 0, 1.0, read=1, stored=1, goals=(("", 1),))
    assert searched_text(unknown) == "read from 1 table of the database"
    odd = Statistics(1, 0, 1.0, read=1, stored=1, goals=(("a\x1b", 1),))
    assert searched_text(odd).endswith(r"1 of a\x1b")


def test_what_a_program_was_chosen_from() -> None:
    assert searched_text(Statistics(0, 0, 0.1)) == (
        "read from the database as it was found before"
    )
    assert (
        searched_text(Statistics(7, 9000, 1.0)) == "found among 9,000 Specs in 7 tables"
    )
    assert searched_text(Statistics(7, 9, 1.0, beyond=1000)) == (
        "found among 9 Specs in 7 tables; no program comes to 1,000 more in them"
    )


def test_what_a_pin_rules_out_costs_less() -> None:
    assert excess(-25, 100) == "-25.0%"
