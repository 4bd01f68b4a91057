"""Costs from what tuning measured: nearer to the truth, and to better choices."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from morello.calibration.from_database import refit
from morello.errors import MorelloError
from morello.learned.ledger import with_costs
from morello.machine import AVX2, find_target
from morello.search.queries.measured import program_of
from morello.search.storage.measured_rows import MeasuredRow
from morello.search.storage.overlay import Overlay, open_database
from morello.spec import parse_spec
from tests.calibration.repriced import reprice
from tests.database.measured import elsewhere, measured_rows
from tests.tool import Tool

TRUTH = with_costs(AVX2, {"store_l2": 5 * AVX2.coefficients.store_l2})
GOALS = (
    "matmul:3x5x8:f32",
    "matmul:8x4x16:f32",
    "max:4x9:f32",
    "move:5x8:f32:dst=[1,0]",
)


def _timed(text: str) -> Iterator[MeasuredRow]:
    """Rows with the cycles that another machine would take."""
    rows = measured_rows(text, count=6)
    spec = parse_spec(text, AVX2.limits)
    costs = [reprice(program_of(row, spec, AVX2), TRUTH).cost for row in rows]
    best = costs.index(min(costs))
    for row, cost in zip(rows, costs, strict=True):
        yield dataclasses.replace(
            row, cycles=cost / 1e3, seconds=cost / 3e12, chosen=int(row.place == best)
        )


@pytest.fixture(scope="module")
def timed() -> dict[str, tuple[MeasuredRow, ...]]:
    return {text: tuple(_timed(text)) for text in GOALS}


def _database(path: Path, *goals: tuple[MeasuredRow, ...]) -> Overlay:
    overlay = open_database(path)
    assert overlay is not None
    assert overlay.top is not None
    for rows in goals:
        overlay.top.put_measured(rows)
    return overlay


@pytest.mark.sampled(2)
def test_costs_come_nearer_to_the_truth(
    tmp_path: Path, timed: dict[str, tuple[MeasuredRow, ...]]
) -> None:
    refitted = refit(_database(tmp_path / "db", *timed.values()), AVX2)
    assert len(refitted.measured) == sum(map(len, timed.values()))
    assert refitted.fit.median_after < refitted.fit.median_before
    before, after = refitted.trials
    assert after.score <= before.score
    old = AVX2.coefficients.store_l2
    assert old < refitted.fit.after.coefficients.store_l2 <= 6 * old
    assert refitted.gigahertz == pytest.approx(3.0)


def test_what_others_measured_does_not_count(
    tmp_path: Path, timed: dict[str, tuple[MeasuredRow, ...]]
) -> None:
    every = tuple(timed.values())
    foreign = [elsewhere(rows, cpu="another") for rows in every]
    overlay = _database(tmp_path / "db", *foreign, every[0][:3])
    with pytest.raises(MorelloError, match="has 3 programs that were measured"):
        refit(overlay, AVX2)


def test_the_command_writes_a_target(
    tmp_path: Path, timed: dict[str, tuple[MeasuredRow, ...]], tool: Tool
) -> None:
    _database(tmp_path / "db", *timed.values())
    file = tmp_path / "here.target"
    words = ["calibrate", "--from-database", "--db", str(tmp_path / "db")]
    assert "median relative error" in tool.out(*words, "-o", str(file))
    target = find_target(f"@{file}")
    assert target.name == "avx2"
    assert target.coefficients.store_l2 > AVX2.coefficients.store_l2
