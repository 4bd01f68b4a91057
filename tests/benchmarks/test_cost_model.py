"""``python -m benchmarks.cost_model``: its statistics, and a run of it."""

import itertools
import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.cost_model.__main__ import SPECS, main
from benchmarks.cost_model.ablation import main as ablation
from benchmarks.cost_model.measure import Sample
from benchmarks.cost_model.plot import plot
from benchmarks.cost_model.statistics import (
    geometric_mean,
    ranks,
    ratios,
    regret,
    spearman,
)
from morello.calibration.timing import Time
from morello.machine import AVX2
from morello.machine.costs import Coefficients, names
from morello.spec import parse_spec

Capture = pytest.CaptureFixture[str]


def test_ranks_share_ties() -> None:
    assert ranks([30, 10, 20]).tolist() == [3, 1, 2]
    assert ranks([5, 7, 5, 7, 7]).tolist() == [1.5, 4, 1.5, 4, 4]


def test_spearman_of_all_orders_is_the_formula() -> None:
    one = (1.0, 10.0, 100.0, 1000.0)
    for order in itertools.permutations(range(4)):
        squares = sum((i - place) ** 2 for i, place in enumerate(order))
        wanted = 1 - 6 * squares / (4 * (16 - 1))
        assert spearman(one, order) == pytest.approx(wanted)


def test_spearman_sees_order_only() -> None:
    values = [3.0, 1.0, 4.0, 1.5, 9.0]
    assert spearman(values, [v**3 for v in values]) == pytest.approx(1)
    assert spearman(values, [1 / v for v in values]) == pytest.approx(-1)
    # Worked by hand: ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4.
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9486833)
    assert spearman([1, 1], [1, 2]) is None


def times(cycles: Sequence[float], disturbed: Sequence[int] = ()) -> list[Time]:
    """Times of one round."""
    return [Time(c * 1e-9, c, i not in disturbed) for i, c in enumerate(cycles)]


def test_regret_is_that_of_the_first() -> None:
    assert regret([times([12, 8, 10])]) == 1.5
    assert regret([times([8, 9])]) == 1
    # A slow round is slow for all; once is luck.
    assert regret([times([3, 2]), times([6, 4]), times([30, 20])]) == 1.5
    assert regret([times([3, 3]), times([3, 1]), times([3, 3])]) == 1
    assert geometric_mean([1, 4]) == pytest.approx(2)


def test_what_was_disturbed_does_not_count() -> None:
    rounds = [
        times([2, 6, 4], [1]),
        times([9, 6, 4], [0]),
        times([2, 3, 4]),
        times([2, 9, 5]),
        times([2, 1, 8], [2]),
    ]
    assert ratios(rounds).tolist() == [1, 1.5, 2]
    # Of fewer than three, the luck of one would count.
    few = [1, (3 + 2 / 3) / 2, (2 + 4 / 9) / 2]
    assert ratios(rounds[:2]).tolist() == pytest.approx(few)


def test_the_plot_has_a_point_a_program() -> None:
    sample = Sample(
        "a<b:1x2",
        (10.0, 20.0, 4000.0),
        (11.0, 25.0, 900.0),
        (1, 2, 3),
        (tuple(times([11])),),
    )
    root = ET.fromstring(plot(sample))
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    assert [c.get("class") for c in circles] == ["p", "p", "c"]
    across = [float(c.get("cx", "")) for c in circles]
    assert across == sorted(across, reverse=True)
    assert "a<b:1x2: rank correlation 1.00, regret 1.000" in "".join(root.itertext())


@pytest.mark.sampled(5)
def test_a_run(tmp_path: Path, capsys: Capture) -> None:
    words = ["--spec", "fill:100:f32", "--spec", "max:9x17:f32", "--samples", "6"]
    assert main([*words, "--seconds", "0.002", "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out == (tmp_path / "cost-model.md").read_text()
    assert "| `max:9x17:f32` | " in out
    data = json.loads((tmp_path / "cost-model.json").read_text())
    assert {"command", "commit", "machine", "date", "target", "load"} <= set(data)
    assert data["command"].startswith("python -m benchmarks.cost_model --spec fill:100")
    assert [entry["spec"] for entry in data["specs"]] == words[1:4:2]
    for entry in data["specs"]:
        assert entry["predicted_cycles"][0] == min(entry["predicted_cycles"])
        assert len(entry["measured_cycles"]) == entry["programs"] >= 3
        assert entry["regret"] >= 1
        assert 15 <= len(entry["rounds"]) == len(entry["undisturbed"]) <= 45
        assert {len(cycles) for cycles in entry["rounds"]} == {entry["programs"]}
    assert len(list((tmp_path / "cost-model").glob("*.svg"))) == 2


def test_refusals(tmp_path: Path, capsys: Capture) -> None:
    assert main(["--spec", "vax:1", "-o", str(tmp_path)]) == 2
    assert "error: Spec column 1: unknown kind 'vax'" in capsys.readouterr().err
    assert main(["--quick", "--target", "vax", "-o", str(tmp_path)]) == 2
    assert "error: unknown target 'vax'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_specs_are_many_and_different() -> None:
    parsed = {parse_spec(text, AVX2.limits) for text in SPECS}
    assert len(parsed) == len(SPECS) >= 12


def test_the_ablation_has_a_row_a_coefficient(capsys: Capture, tmp_path: Path) -> None:
    output = tmp_path / "table.md"
    words = ["--spec", "fill:100:f32", "--samples", "3", "--seconds", "0.001"]
    assert ablation([*words, "-o", str(output)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert output.read_text().splitlines() == rows
    assert [row.split("`")[1] for row in rows[3:]] == list(names(Coefficients))


@pytest.mark.sampled(5)
def test_the_ablation_fits_the_others_anew(capsys: Capture) -> None:
    sample = ["--samples", "3", "--seconds", "0.001"]
    words = ["--spec", "fill:100:f32", "--refit", "3", "--fit-spec", "max:16x100:f32"]
    folds = ["--fit-spec", "fill:64x64:f32", "--folds"]
    assert ablation([*sample, *words, *folds, "2"]) == 0
    tables = capsys.readouterr().out.strip().split("\n\n")
    assert len(tables) == 3
    for rows in tables:
        named = [row.split("`")[1] for row in rows.splitlines()[3:]]
        assert named == list(names(Coefficients))
    assert ablation([*sample, *words, *folds, "9"]) == 2
    assert "2 Specs do not make 9 parts" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        ablation([*folds, "2"])
