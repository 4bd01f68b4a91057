"""Borders between the programs of a range, by measurement."""

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from morello.compiler.tuning import Plan, cuts, measure
from morello.compiler.tuning.cuts import cheapest_ends
from morello.machine import AVX2
from morello.search.ranges.borders import Borders, taker
from morello.search.ranges.cover import cover
from morello.search.storage.overlay import open_database
from morello.spec import parse_spec
from tests.tool import Tool

TEXT = "matmul:9..15x8x16:f32"
"""A range of several programs, of which some take sizes of their neighbours, too."""


class Fixed:
    """A program that always takes as long."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Programs that take twice as long as the model says, by the number of the part;
    all others take what it says."""
    numbers: set[int] = set()

    def sample(bench: Any, size: int, seconds: float) -> None:
        for ends, _ in bench._kernels:
            part = taker(ends, size)
            place = bench._borders.sizes(*ends[part]).index(size)
            cost = bench._borders.costs(part, *ends[part])[place]
            times = 2 if part in numbers else 1
            bench._entries.setdefault((part, size), Fixed(times * cost * 1e-9))

    def beats(one: Fixed, other: Fixed, end: float) -> bool:
        return one.seconds * 1.02 < other.seconds

    monkeypatch.setattr(cuts._Bench, "_sample", sample)
    monkeypatch.setattr(cuts, "beats", beats)
    return numbers


def right_at_all_sizes(kernel: morello.Kernel, sizes: range, n: int, k: int) -> None:
    rng = np.random.default_rng(3)
    for m in sizes:
        a = rng.integers(-4, 5, (m, k)).astype(np.float32)
        b = rng.integers(-4, 5, (k, n)).astype(np.float32)
        np.testing.assert_array_equal(kernel(a, b), a @ b)


@pytest.mark.quick
def test_the_cheapest_ends_are_those_of_every_choice() -> None:
    rng = random.Random(5)
    for _ in range(300):
        count = rng.randint(1, 6)
        below, within, above = (
            np.array([rng.randint(1, 9) for _ in range(count)], float) for _ in "boa"
        )
        below[rng.randint(0, count) :] = np.inf
        above[: rng.randint(0, count)] = np.inf
        start, stop = cheapest_ends(below, within, above)

        def total(first: int, last: int, rows: Any = (below, within, above)) -> float:
            low, mid, high = rows
            return float(low[:first].sum() + mid[first:last].sum() + high[last:].sum())

        every = itertools.combinations_with_replacement(range(count + 1), 2)
        assert total(start, stop) == min(total(*pair) for pair in every)


@pytest.mark.sampled(3)
def test_the_neighbours_of_a_slow_program_take_its_sizes(
    slow: set[int], tmp_path: Path
) -> None:
    spec = parse_spec(TEXT, AVX2.limits)
    borders = Borders(cover(spec, AVX2))
    slow.add(1)
    assert borders.ends[1] == (10, 12)
    db = tmp_path / "own.db"
    measurement = measure(spec, AVX2, open_database(str(db)), Plan(0.1))
    assert [row.chosen for row in measurement.rows] == [0, 1]
    assert measurement.gain > 1
    ends = [int(last) for last in measurement.chosen.features.split("to")[1].split(",")]
    model = [int(last) for last in measurement.model.features.split("to")[1].split(",")]
    assert model == [last for _, last in borders.ends]
    assert ends == [last for last in model if last != 9]  # 9 takes 10 to 12, too

    kernel = morello.compile(TEXT, target="avx2", threads=1, db=db)
    assert kernel.solution.measured == measurement.rows
    right_at_all_sizes(kernel, range(9, 16), 16, 8)
    replayed = morello.compile(
        TEXT, target="avx2", threads=1, schedule=kernel.schedule, db=db
    )
    assert replayed.object == kernel.object
    untuned = morello.compile(TEXT, target="avx2", threads=1, db=db, tune=False)
    assert untuned.object != kernel.object
    assert untuned.impl == borders.cover.impl
    other = morello.compile(TEXT, target="avx2", threads=1, db=db, regret=50)
    assert not other.solution.measured


@pytest.mark.sampled(2)
def test_borders_stay_where_prices_are_right(slow: set[int]) -> None:
    spec = parse_spec(TEXT, AVX2.limits)
    assert [row.chosen for row in measure(spec, AVX2, None, Plan(0.1)).rows] == [1]


def test_a_program_takes_the_sizes_that_apply() -> None:
    borders = Borders(cover(parse_spec(TEXT, AVX2.limits), AVX2))
    sizes = borders.reach(0, 1)
    assert sizes == (9, 12)
    ends = borders.with_reach(borders.ends, 0, sizes)
    assert ends[:2] == ((9, 12), (13, 12))
    assert [taker(ends, size) for size in (9, 12, 13)] == [0, 0, 2]
    assert len(borders.costs(0, 9, 12)) == 4
    assert borders.joined(borders.ends) == borders.cover.impl


def test_a_wrong_program_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parse_spec("matmul:9..12x8x16:f32", AVX2.limits)
    is_right = cuts.Trial.is_right
    seen: set[Any] = set()

    def wrong(trial: Any, arguments: Any) -> bool:
        if trial.spec in seen:  # the model's choice comes first
            return False
        seen.add(trial.spec)
        return is_right(trial, arguments)

    monkeypatch.setattr(cuts.Trial, "is_right", wrong)
    with pytest.warns(RuntimeWarning, match="is wrong: .*please report"):
        measurement = measure(spec, AVX2, None, Plan(0.1))
    assert [row.chosen for row in measurement.rows] == [1]


@pytest.mark.sampled(2)
def test_tuning_a_range_by_its_command(tmp_path: Path, tool: Tool) -> None:
    text, db = "matmul:5..9x8x8:f32", str(tmp_path / "own.db")
    flags = ["--target", "avx2", "--threads", "1", "--db", db]
    printed = tool.out("tune", text, *flags, "--seconds", "0.1")
    assert "programs to 5, 6, 7, 8, 9" in printed
    assert printed.splitlines()[-1] in tool.out("explain", text, *flags)
    kernel = morello.compile(text, target="avx2", threads=1, db=db)
    assert kernel.solution.measured
    right_at_all_sizes(kernel, range(5, 10), 8, 8)


@pytest.mark.sampled(2)
def test_tuning_a_call_of_a_range() -> None:
    text = "softmax:2..5x24:f32"
    kernel = morello.compile(text, target="avx2", threads=1, tune=0.1)
    assert kernel.solution.measured[0].seconds > 0
    x = np.random.default_rng(0).standard_normal((4, 24)).astype(np.float32)
    wanted = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(kernel(x), wanted, rtol=1e-5)
