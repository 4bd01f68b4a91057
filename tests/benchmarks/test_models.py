"""``python -m benchmarks.models``: tiny layers beside a peer that is made up."""

import json
from pathlib import Path

import pytest

from benchmarks.harness.process import Command
from benchmarks.models import __main__ as command
from benchmarks.models import layers, report
from benchmarks.models.layers import MODELS, Layer, shapes
from benchmarks.models.plot import plot
from benchmarks.models.record import Record, Shape
from benchmarks.peers.registry import PEERS
from morello.machine import AVX2
from morello.spec import parse_spec

QUICK = ["--seconds", "1e-3", "--rounds", "2", "--sample", "1e-4", "--loads", "1"]
TINY = {
    "one": (Layer("product", "matmul:2x3x4:f32", 3), Layer("rows", "exp:2x8:f32")),
    "two": (Layer("again", "matmul:2x3x4:f32"),),
}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two small models, and a peer that answers at once."""
    for module in (layers, report, command):
        monkeypatch.setattr(module, "MODELS", TINY)
    monkeypatch.setitem(
        PEERS, "fake", lambda place: Command("tests.benchmarks.fake:Fake", 1)
    )


@pytest.mark.sampled(5)
@pytest.mark.usefixtures("tiny")
def test_models_beside_a_peer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--models", "one,two", "--peers", "fake", "--tune", "0.1", *QUICK]
    place = ["--folder", str(tmp_path / "none"), "-o", str(tmp_path), "--name", "run"]
    assert command.main([*words, *place]) == 0
    page = capsys.readouterr().out
    assert page == (tmp_path / "run.md").read_text()
    data = json.loads((tmp_path / "run.json").read_text())
    product, rows = data["shapes"]
    assert product["spec"] == "matmul:2x3x4:f32"
    assert set(product["samples"]) == {"morello", "tuned", "fake"}, product["failed"]
    assert set(rows["samples"]) == {"morello", "tuned"}, rows["failed"]
    assert rows["failed"] == {"torch": "missing: it is not wanted"}
    assert "| one | 2 | 1 |" in page
    assert "| all products | 1 | 1 |" in page
    assert "| all graphs | 1 | 0 |" in page
    assert "| all shapes | 2 | 1 |" in page
    assert page.count("`matmul:2x3x4:f32`") == 4  # twice in all layers, once as worst
    picture = (tmp_path / "run.svg").read_text()
    assert picture.count('<circle class="morello"') == 2
    assert picture.count('<circle class="tuned"') == 2
    again = ["--models", "one", "--peers", "none", "--add", *QUICK, *place]
    assert command.main(again) == 0
    assert json.loads((tmp_path / "run.json").read_text()) == data


def test_the_page_has_means_times_and_the_worst() -> None:
    origin = {"command": "c", "commit": "d", "date": "e"}

    def shape(layer: Layer, **samples: float) -> Shape:
        both = {name: (2 * s, s) for name, s in samples.items()}
        return Shape(layer.spec, both, {}, 0.5, origin)

    up, down = MODELS["mixer"][0], MODELS["mixer"][1]
    by_spec = {
        up.spec: shape(up, morello=2.0, tuned=1.0, mkl=1.0, openblas=3.0),
        down.spec: shape(down, morello=1.0, tuned=1.0, mkl=9.0, openblas=2.0),
    }
    page = report.markdown(Record("r", "m", 1, by_spec))
    # Ratios 1/2 and 2; the peers take 1 + 2, ours 2 + 1.
    assert "| mixer | 2 | 2 | 1.000 | 0.500 | 1.000 | 1.414 | 1.000 | 1.500 |" in page
    worst = page.split("## Worst layers of morello")[1]
    assert worst.index(up.spec) < worst.index(down.spec)
    assert "mkl | 0.500" in worst
    assert "Nothing." in page
    assert plot(Record("r", "m", 1, by_spec)).count("<circle") == 4


def test_layers_are_specs_and_shapes_are_there_once() -> None:
    texts = [layer.spec for model in MODELS.values() for layer in model]
    for text in texts:
        parse_spec(text, AVX2.limits)
    for model in MODELS.values():
        assert len({layer.spec for layer in model}) == len(model)
        assert all(layer.times > 0 for layer in model)
    assert list(shapes(list(MODELS))) == list(dict.fromkeys(shapes(list(MODELS))))
    assert set(shapes(list(MODELS))) == set(texts)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--models", "gpt"], "no model is called gpt; there are bert, vit"),
        (["--peers", "eigen"], "no peer is called eigen"),
    ],
)
def test_unknown_names_are_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(words)
    assert said in capsys.readouterr().err


def test_a_record_is_added_to_in_its_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--add"]) == 2
    assert "--add needs the folder" in capsys.readouterr().err
