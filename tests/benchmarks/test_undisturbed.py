"""Parts of the peak in rounds that nobody disturbed: `benchmarks.undisturbed`."""

import json
from pathlib import Path

import pytest

from benchmarks.harness.roof_loops import ARITHMETIC
from benchmarks.undisturbed.__main__ import main
from benchmarks.undisturbed.measure import Part, RoofLoop
from morello.calibration.timing import Stopwatch, Time
from morello.machine import AVX2
from morello.spec import parse_spec

Capture = pytest.CaptureFixture[str]


def part(*rounds: tuple[float, float, bool]) -> Part:
    """Of cycles of the roof, of the program, and whether neither was disturbed."""
    pairs = tuple(
        (Time(a * 1e-9, a, good), Time(b * 1e-9, b, True)) for a, b, good in rounds
    )
    return Part("matmul:1x2x3:f32", "fma f32", 0.5, pairs)


def test_undisturbed_rounds_count() -> None:
    quiet, busy = (100, 62.5, True), (100, 80, False)
    measured = part(quiet, quiet, busy, busy, busy, busy, quiet)
    assert measured.undisturbed == 3
    assert measured.of_peak == pytest.approx(0.8)
    assert measured.of_peak_in_all == pytest.approx(0.625)
    assert measured.cycles == 62.5


def test_all_rounds_count_where_few_are_undisturbed() -> None:
    measured = part((100, 62.5, True), (100, 80, False), (100, 80, False))
    assert measured.undisturbed == 1
    assert measured.of_peak == pytest.approx(0.625)


@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_roof_does_what_it_counts(name: str) -> None:
    """At most two vectors of 32 bytes begin a cycle, so no roof is faster than that; a
    core's clock may rise by a half while it is measured."""
    roof, spec = RoofLoop(name), parse_spec("fill:64:f32", AVX2.limits)
    cycles = Stopwatch(0.002).time(spec, roof).cycles
    each = ARITHMETIC[name].operations
    assert roof.operations == 12 * 4000 * each
    assert 0.25 < roof.operations / each / cycles < 3


def test_a_record_is_written(tmp_path: Path, capsys: Capture) -> None:
    lock = tmp_path / "lock"
    words = ["matmul:8x8x8:f32", "--rounds", "2", "--seconds", "0.001"]
    assert main([*words, "--name", "x", "-o", str(tmp_path), "--lock", str(lock)]) == 0
    page = (tmp_path / "x.md").read_text()
    assert capsys.readouterr().out == page
    assert "| `matmul:8x8x8:f32` | 2 |" in page
    (row,) = json.loads((tmp_path / "x.json").read_text())["specs"]
    assert len(row["rounds"]) == 2
    assert 0 < row["of_peak"] < 1.2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["f64-squares"], "no suite is called 'f64-squares'"),
        (["matmul:8x8:f32"], "is no matmul"),
        (["--target", "z80", "matmul:8x8x8:f32"], "z80"),
    ],
)
def test_refusals(words: list[str], said: str, capsys: Capture) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert err.startswith("undisturbed: error: ")
    assert said in err
