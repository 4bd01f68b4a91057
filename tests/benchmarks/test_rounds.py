"""Turns and what is said of samples: order, ratios, roofs, exclusions."""

import dataclasses

import pytest

from benchmarks.harness.case import Case
from benchmarks.harness.measure import joined
from benchmarks.harness.results import (
    Entry,
    Roof,
    Row,
    arithmetic_roof,
    limit_roof,
    mark_above_roof,
    row_of,
)
from benchmarks.harness.roof_loops import DOT_BF16
from benchmarks.harness.rounds import interleave
from benchmarks.harness.worker import settling_calls

pytestmark = pytest.mark.quick

ROOF = Roof("fma f32", 100.0, 100.0, 10.0)


def row(*entries: Entry, flops: int = 1000, nbytes: int = 1) -> Row:
    origin = {"command": "c", "commit": "abc", "date": "today"}
    return Row("matmul:1x2x3:f32", 1, flops, nbytes, ROOF, entries, (0.5, 0.75), origin)


def test_everybody_has_a_turn_in_each_round_and_goes_first_in_turn() -> None:
    order: list[str] = []

    def sampler(name: str) -> float:
        order.append(name)
        return float(len(order))

    samplers = {name: lambda name=name: sampler(name) for name in "abc"}
    samples = interleave(samplers, seconds=0, least=4)
    assert "".join(order) == "abcbcacababc"
    assert samples["a"] == [1, 6, 8, 10]
    assert samples["c"] == [3, 5, 7, 12]


def test_rounds_end_with_the_time() -> None:
    now = iter(range(100))
    samplers = {"a": lambda: 1.0}
    samples = interleave(samplers, 7, least=2, clock=lambda: float(next(now)))
    # The clock is read once before, and before each round after the second.
    assert len(samples["a"]) == 2 + 6
    assert len(interleave(samplers, 9e9, least=1, most=5)["a"]) == 5


@pytest.mark.parametrize(
    ("once", "nbytes", "calls"),
    [(2.3e-3, 1 << 26, 40), (5e-6, 48 << 10, 24), (24e-3, 1 << 26, 6), (1, 1 << 30, 1)],
)
def test_calls_until_operands_stay(once: float, nbytes: int, calls: int) -> None:
    assert settling_calls(once, nbytes) == calls


def test_nobody_to_sample() -> None:
    assert interleave({}, seconds=0) == {}


def test_best_and_median() -> None:
    entry = Entry("a", "ok", samples=(3.0, 1.0, 2.0, 10.0))
    assert entry.best == 1.0
    assert entry.median == 2.5


def test_the_ratio_is_that_to_the_best_other() -> None:
    mine = Entry("mine", "ok", samples=(2.0, 4.0, 9.0))
    slow = Entry("slow", "ok", samples=(8.0, 8.0))
    fast = Entry("fast", "ok", samples=(1.0, 20.0, 30.0))
    table_row = row(mine, slow, fast)
    assert table_row.best_other("mine") == fast
    assert table_row.ratio("mine") == 0.5
    # By medians, another is the best.
    assert table_row.best_other("mine", median=True) == slow
    assert table_row.ratio("mine", median=True) == 2.0
    assert table_row.ratio("nobody") is None
    assert row(mine).ratio("mine") is None


def test_the_ratio_in_turns_is_of_one_round_at_a_time() -> None:
    # The clock halves in the second round: the peer is a fifth slower in both.
    mine = Entry("mine", "ok", samples=(1.0, 2.0, 5.0))
    peer = Entry("peer", "ok", samples=(1.2, 2.4, 1.0))
    slow = Entry("slow", "ok", samples=(1.3, 2.6, 6.5))
    fewer = Entry("fewer", "ok", samples=(0.1,))
    table_row = row(mine, slow, peer, fewer)
    assert table_row.ratio_in_turns("mine") == 1.2
    assert table_row.ratio_in_turns("nobody") is None
    assert row(mine).ratio_in_turns("mine") is None


def test_fractions_are_of_the_roof_of_their_round() -> None:
    entry = Entry("a", "ok", samples=(1.0, 2.0), fractions=(0.5, 0.25))
    assert entry.fraction == 0.375
    assert Entry("a", "ok", samples=(1.0,)).fraction is None
    assert joined(entry, entry).fractions == (0.5, 0.25, 0.5, 0.25)
    entry_again = row_of(row(entry).as_json()).entry("a")
    assert entry_again is not None
    assert entry_again.fractions == entry.fractions


@pytest.mark.parametrize(
    "changes",
    [
        {"above_roof": True},
        {"out_dtype": "bf16"},
        {"status": "wrong", "samples": ()},
        {"status": "unsupported", "samples": ()},
    ],
)
def test_who_does_not_count_is_not_compared_with(changes: dict[str, object]) -> None:
    mine = Entry("mine", "ok", samples=(2.0,))
    other = Entry("other", "ok", samples=(3.0,))
    out = dataclasses.replace(
        Entry("out", "ok", samples=(1.0,)),
        **changes,  # type: ignore[arg-type]
    )
    assert row(mine, other, out).best_other("mine") == other
    assert row(out, other).ratio("out") is None


def test_a_rate_above_the_roof_is_marked_within_the_tolerance_not() -> None:
    # 1000 operations at 100 G/s take 10 ns.
    entries = [
        Entry("impossible", "ok", samples=(20e-9, 9.7e-9)),
        Entry("lucky", "ok", samples=(9.9e-9,)),
        Entry("slow", "ok", samples=(11e-9,)),
        Entry("none", "unsupported"),
    ]
    marked = mark_above_roof(entries, 1000, ROOF)
    assert [e.above_roof for e in marked] == [True, False, False, False]


def test_the_roof_is_the_slower_of_arithmetic_and_reading() -> None:
    assert ROOF.seconds(1000, 1) == pytest.approx(10e-9)
    assert ROOF.bound(1000, 1) == "arithmetic"
    assert ROOF.seconds(1000, 400) == pytest.approx(40e-9)
    assert ROOF.bound(1000, 400) == "bandwidth"
    table_row = row(Entry("a", "ok", samples=(50e-9,)), nbytes=400)
    assert table_row.fraction(50e-9) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("dtypes", "arithmetic", "limit"),
    [
        (("f32", "f32", "f32"), "fma f32", "fma f32"),
        (("bf16", "bf16", "f32"), "fma f32", "fma f32"),
        (("u8", "s8", "s32"), "vpmaddubsw s32", "vpmaddubsw s16"),
        (("u8", "s8", "s16"), "vpmaddubsw s16", "vpmaddubsw s16"),
        (("s32", "s32", "s32"), "vpmulld s32", "vpmulld s32"),
    ],
)
def test_the_loop_that_bounds_a_dtype(
    dtypes: tuple[str, str, str], arithmetic: str, limit: str
) -> None:
    case = Case((1, 8, 8, 8), dtypes)
    assert arithmetic_roof(case) == arithmetic
    assert limit_roof(case) == limit


def test_products_that_may_flush_are_bounded_by_dot_products() -> None:
    case = Case.parse("matmul:8x8x8:bf16,bf16,f32:flushing=true")
    assert arithmetic_roof(case) == limit_roof(case) == DOT_BF16


def test_a_row_is_read_back() -> None:
    entries = (
        Entry("a", "ok", "note", (1.5, 0.25), 7, True, "bf16", True),
        Entry("b", "unsupported", "has no such product"),
    )
    table_row = row(*entries)
    data = table_row.as_json()
    assert row_of(data) == table_row
    assert data["entries"][0]["best_s"] == 0.25
