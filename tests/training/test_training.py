"""A data set that is made and goes on, and verdicts on predictions."""

import dataclasses
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import morello
from benchmarks.training.__main__ import main
from benchmarks.training.collect import in_turns
from benchmarks.training.data_set import Entry, Timed, append, entries, programs
from benchmarks.training.distinct import Distinct
from benchmarks.training.fit import Sample, Settings, train
from benchmarks.training.judge import Fusion, cross_validated, judge
from benchmarks.training.report import fusions, sort_of, table
from benchmarks.training.specs import TEXTS, specs
from morello.compiler.tuning.contest import Entry as Turn
from morello.errors import MorelloError
from morello.learned.model import LearnedModel
from morello.learned.nodes import Nodes
from morello.machine import AVX2
from morello.search.queries.partial_program import Partial

pytestmark = pytest.mark.quick

FEW = ["--classes", "3", "--drawn", "2", "--seconds", "1e-3", "--target", "avx2"]
GRAPH = "compose:4x8x16:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=relu(t)"


def _entry(text: str = "fill:8:f32") -> Entry:
    return Entry(text, "avx2", "here", 1e-9, (Timed("null", ("a",), 1e-6),))


def test_a_data_set_is_made_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "data.jsonl"
    words = ["collect", *FEW, str(path)]
    assert main([*words, "matmul:4x8x16:f32", "matmul:1x1x1:f32:vrf=0:l1=0:l2=0"]) == 0
    said = capsys.readouterr().err
    assert "vrf=0:l1=0:l2=0 is left out: no program exists" in said
    assert main([*words, "matmul:4x8x16:f32", GRAPH]) == 0
    product, graph = entries(path)
    assert (product.spec, graph.spec) == ("matmul:4x8x16:f32", GRAPH)
    for entry in (product, graph):
        samples = programs(entry, AVX2)
        assert len(samples) == len(entry.programs) >= 2
        assert samples[0][0].cost == min(impl.cost for impl, _ in samples)
        assert all(0 < timed.seconds < 1e-2 for _, timed in samples)
    capsys.readouterr()
    assert main([*words, "fill:8:f32", "--mebibytes", "1e-6"]) == 0
    assert "nothing more is timed" in capsys.readouterr().err
    assert len(list(entries(path))) == 2


def test_a_line_that_was_cut_short_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    assert list(entries(path)) == []
    append(path, _entry())
    with path.open("a") as file:
        file.write(_entry("fill:9:f32").line()[:20])
    assert [entry.spec for entry in entries(path)] == ["fill:8:f32"]
    append(path, _entry("fill:10:f32"))
    append(path, dataclasses.replace(_entry("fill:11:f32"), space="another"))
    assert list(entries(path)) == [_entry(), _entry("fill:10:f32")]
    assert [e.spec for e in entries(path, older=True)][2:] == ["fill:11:f32"]
    assert programs(_entry(), AVX2) == []  # its program has a hole
    path.write_text('{"format": 9}\n')
    with pytest.raises(MorelloError, match=r"data\.jsonl:1 is no line of a data set"):
        list(entries(path))


@dataclasses.dataclass
class Slow(Turn):
    """A program that was interrupted in the first rounds, or that is slow."""

    first: float = 1.0
    later: float = 1.0

    def sample(self, placement: int) -> float:
        self.times = self.times or [[]]
        seconds = self.first if len(self.times[0]) < 2 else self.later
        self.times[0].append(seconds)
        return seconds


def test_an_interruption_at_first_leaves_nobody_out() -> None:
    turns = [Slow([]), Slow([], first=9.0), Slow([], first=9.0, later=9.0)]
    for turn in turns:
        turn.calls = [lambda: None]
    in_turns(turns, 1e-4)
    assert [round(turn.seconds, 6) for turn in turns] == [1.0, 1.0, 9.0]
    assert len(turns[2].times[0]) == 4


def _sample(text: str = "softmax:2x2") -> Sample:
    """Four programs: two fused ones take 1 and 3, others 2 and 4."""
    times = np.array([2.0, 1.0, 4.0, 3.0])
    fused = (False, True, False, True)
    nodes = Nodes((), np.zeros((0, 0)), np.zeros(0), np.zeros(0, np.int64), 4)
    return Sample(text, ({},) * 4, nodes, times, times, fused)


def test_verdicts() -> None:
    right = judge(_sample(), np.array([2.0, 1.0, 4.0, 3.0]))
    assert (right.error, right.tau, right.clear_tau) == (0, 1, 1)
    assert (right.first, right.best_of_four) == (1, 1)
    assert right.fusion == Fusion(2.0, is_fused=True)
    assert right.fusion.is_right is True
    wrong = judge(_sample(), np.array([4.0, 8.0, 1.0, 2.0]))
    assert wrong.tau == wrong.clear_tau == -1
    assert (wrong.first, wrong.best_of_four) == (4, 1)
    assert wrong.fusion is not None
    assert wrong.fusion.is_right is False
    assert Fusion(1.04, is_fused=False).is_right is None
    assert wrong.error == pytest.approx((1 + 7 + 3 / 4 + 1 / 3) / 4)
    level = judge(dataclasses.replace(_sample(), fused=(None,) * 4), np.ones(4))
    assert (level.tau, level.fusion) == (0, None)
    maps = judge(_sample("exp:4"), np.ones(4))
    page = table({"right": [right, maps]})
    graphs = next(line for line in page.splitlines() if "softmax (1)" in line)
    assert graphs.split("|")[3:] == [
        *(" 0% ", " 1.00 ", " 1.00 ", " 1.000 ", " 1.000 ", " 1.00 "),
        *(" 1 of 1 ", ""),
    ]
    assert "| all (2) | right |" in page
    assert "maps (1)" in page
    page = fusions({"one": [right], "other": [wrong]})
    assert "| `softmax:2x2` | 2.00 | fused | apart: wrong |" in page
    assert page.endswith("| right where it makes 5% |  | 1 of 1 | 0 of 1 |")


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("matmul_accum:4x4x4:f32", "products f32"),
        ("matmul:4x4x4:u8,s8,s32", "products u8"),
        ("matmul:4x4x4:bf16,bf16,f32:rhs=[0,2,1]", "products bf16"),
        ("mean:4x4:f32:axis=0", "reductions"),
        ("exp:4:f32", "maps"),
        (GRAPH, "products with more"),
        ("compose:4x4:f32:graph=s[n]=sum(x[m,n]);y[m,n]=x-s[n]", "other graphs"),
        (
            "compose:4x4x4x4:f32:graph=t[m,j]=sum(a[m,k]*b[k,j]);"
            "y[m,n]=sum(t[m,j]*c[j,n])",
            "chains",
        ),
        ("compose:4x2:f32:graph=y[i]=sum(x[i+j]*w[j])", "convolutions"),
        ("compose:4x4:f32:graph=y[m,n]=x[m,n]+x", "other graphs"),
    ],
)
def test_kinds_of_specs(text: str, sort: str) -> None:
    assert sort_of(text) == sort


def test_the_specs_are_of_every_sort() -> None:
    every = specs(TEXTS, AVX2)
    assert len(every) == len(set(every.values())) >= 60
    assert len({spec.kind.label for spec in every.values()}) >= 12


@pytest.mark.sampled(4)
def test_train_and_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn", reason="the extra learned is not installed")
    pytest.importorskip("torch", reason="the extra learned is not installed")
    path, model = tmp_path / "data.jsonl", tmp_path / "model.json"
    products = ("matmul:6x16x32:f32", "matmul:6x8x32:f32", "matmul:12x8x32:f32")
    graph = GRAPH.replace("4x8x16", "8x16x16")  # which both ways have programs of
    for text in (*products, graph):
        samples = morello.candidates(text, 12, target=AVX2)
        timed = tuple(  # programs that copy take twice as long as they should
            Timed(
                str(Partial.of(one.impl)),
                one.features,
                1e-12 * one.cost * (1 + any("@" in f for f in one.features)),
            )
            for one in samples
        )
        append(path, Entry(text, "avx2", "here", 1e-9, timed))
    words = [str(path), "--target", "avx2"]
    assert main(["train", *words, "-o", str(model)]) == 0
    learned = LearnedModel.load(model)
    for entry in entries(path):
        if entry.spec not in products:
            continue
        samples = programs(entry, AVX2)
        predicted = learned.predict([impl for impl, _ in samples], AVX2)
        costs = np.array([impl.cost for impl, _ in samples])
        slow = np.array([any("@" in f for f in one.features) for _, one in samples])
        ratio = predicted / costs
        assert ratio[slow].min() > 1.1 * ratio[~slow].max()
    capsys.readouterr()
    assert main(["judge", *words, "--parts", "2"]) == 0
    assert "| products f32 (3) | learned |" in capsys.readouterr().out
    assert main(["fusion", *words, "--parts", "2"]) == 0
    page = capsys.readouterr().out
    assert f"| `{graph}` |" in page
    assert "| right where it makes 5% |  | " in page
    assert main(["judge", *words]) == 2
    assert "has 4 Specs for avx2, and there are 10 parts" in capsys.readouterr().err
    assert main(["train", str(tmp_path / "no"), "-o", str(model)]) == 2
    assert "has no programs for" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "name"), [("sklearn.ensemble", "scikit-learn"), ("torch", "PyTorch")]
)
def test_without_the_extra_there_is_a_sentence(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = types.SimpleNamespace(ensemble=None)
    for package in ("sklearn", "sklearn.ensemble"):
        monkeypatch.setitem(sys.modules, package, there)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MorelloError, match=f"{name} cannot be imported"):
        train([_sample()], Settings())


def test_programs_of_one_class_and_cost_are_one() -> None:
    candidates = morello.candidates("matmul:6x8x32:f32", 4, target=AVX2)
    distinct = Distinct()
    assert all(distinct.is_new(one.impl, one.features) for one in candidates)
    assert not any(distinct.is_new(one.impl, one.features) for one in candidates)
    first = candidates[0]
    for factor, is_new in ((1.004, False), (1.02, True), (0.98, True)):
        other = dataclasses.replace(first.impl, cost=int(factor * first.impl.cost))
        assert distinct.is_new(other, first.features) is is_new
    assert distinct.is_new(first.impl, (*first.features, "another"))


def test_programs_of_the_specs_that_are_predicted_are_not_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    samples = [_sample(text) for text in ("a", "b", "a", "c")]
    seen: list[set[str]] = []

    class Nothing:
        def predict(self, sample: Sample) -> object:
            assert sample.spec not in seen[-1]
            return sample.times

    def trained(some: list[Sample], _: Settings) -> Nothing:
        seen.append({one.spec for one in some})
        return Nothing()

    monkeypatch.setattr("benchmarks.training.judge.train", trained)
    predicted = cross_validated(samples, Settings(), 3)
    assert all(
        (one == sample.times).all()
        for one, sample in zip(predicted, samples, strict=True)
    )
    assert sorted(map(len, seen)) == [2, 2, 2]


@pytest.mark.sampled(2)
def test_programs_are_drawn_from_all_over_the_space(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    few = ["--classes", "2", "--drawn", "6", "--seconds", "1e-3", "--target", "avx2"]
    assert main(["collect", *few, str(path), "matmul:24x32x48:f32"]) == 0
    (entry,) = entries(path)
    costs = np.array([impl.cost for impl, _ in programs(entry, AVX2)])
    assert len(costs) > 6
    assert 1.5 < costs.max() / costs.min() <= 4


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b"3",
        b"[1]",
        b'{"format": 2}',
        _entry().line().strip().encode().replace(b": 1e-06", b": NaN"),
        _entry().line().strip().encode().replace(b": 1e-06", b": 0.0"),
        _entry().line().strip().encode().replace(b'"cycle": ', b'"cycle": -'),
        _entry().line().strip().encode().replace(b'"fill:8:f32"', b"5"),
    ],
)
def test_a_line_that_no_collection_writes_is_one_sentence(
    line: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "timed.jsonl"
    path.write_bytes(line + b"\n")
    assert main(["judge", str(path), "--target", "avx2"]) == 2
    assert f"{path}:1 is no line of a data set: " in capsys.readouterr().err
