"""What is read of programs, trees as numbers, and which model is found."""

import dataclasses
import io
import json
import lzma
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello
from benchmarks.training.collect import both_ways
from benchmarks.training.pruning import NEAR, pruned
from morello.calibration.sample import Sampler
from morello.compiler.candidates import find_candidates
from morello.compiler.tuning import order
from morello.compiler.tuning.order import learned_solution, tried_order
from morello.errors import CompileError, MorelloError
from morello.learned.features import features_of, is_fused, matrix
from morello.learned.model import LearnedModel, find_model, shipped_models
from morello.learned.priced import Priced
from morello.learned.trees import Trees
from morello.machine import AVX2, find_target
from morello.search import Solver
from morello.search.storage.overlay import open_database
from morello.spec import parse_spec
from tests.learned.listing import FILE, listing
from tests.learned.made_up import model_file, stump
from tests.tables import check_table

pytestmark = pytest.mark.quick

TEXT = "matmul:6x8x16:f32"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was searched, so that it is searched once."""
    return tmp_path_factory.mktemp("learned") / "searched.sqlite"


def test_features_are_as_listed(db: Path) -> None:
    check_table(FILE, listing(db), "tests.learned.listing")


def test_counts_are_those_of_the_program(db: Path) -> None:
    impls = [one.impl for one in morello.candidates(TEXT, 6, target=AVX2, db=db)]
    features = features_of(Priced(impls, AVX2))
    for one, impl in zip(features, impls, strict=True):
        parts = {name: v for name, v in one.items() if name.startswith("part ")}
        kinds = {n: v for n, v in one.items() if n.startswith("part of ")}
        parts = {name: v for name, v in parts.items() if name not in kinds}
        assert sum(parts.values()) == pytest.approx(1)
        assert sum(kinds.values()) == pytest.approx(1)
        # All things one after another take as long as the program does, or longer.
        serial = impl.cost / one["overlap"]
        assert one["overlap"] <= 1
        fmas = parts["part fma"] * serial / AVX2.ops.fma
        assert fmas > 6 * 8 * 16 / 8 - 1e-6
        assert one["excess"] == pytest.approx(np.log2(impl.cost / impls[0].cost))
    assert features[0] != features[1]
    assert matrix(features, ["nodes", "no such"]).tolist() == [
        [one["nodes"], 0.0] for one in features
    ]


def test_whether_parts_take_turns(db: Path) -> None:
    text = "compose:8x16x16:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=relu(t)"
    candidates = morello.candidates(text, 12, target=AVX2)
    assert {is_fused(one.impl) for one in candidates} == {True, False}
    (product,) = morello.candidates(TEXT, 1, target=AVX2, db=db)
    assert is_fused(product.impl) is None
    (rows,) = morello.candidates("sum:4x9:f32", 1, target=AVX2)
    assert is_fused(rows.impl) is None


def test_a_row_in_place_is_fused() -> None:
    spec = parse_spec("softmax:4x60000:f32", AVX2.limits)
    impl = Solver(AVX2).solve(spec).impl
    assert "cut_in_place" in {node.action.name for node in impl.walk()}
    assert is_fused(impl)


def test_the_best_of_each_way_is_found() -> None:
    text = "compose:8x16x16:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=relu(t)"
    sampler = Sampler(parse_spec(text, AVX2.limits), AVX2, random.Random(0))
    apart, fused = both_ways(sampler)
    assert (is_fused(apart), is_fused(fused)) == (False, True)
    assert min(apart.cost, fused.cost) == sampler.best.cost
    unit = parse_spec(text.replace("8x16x16", "1x16x16"), AVX2.limits)
    sampler = Sampler(unit, AVX2, random.Random(0))
    assert [is_fused(one) for one in both_ways(sampler)][:1] == [False]
    product = parse_spec(TEXT, AVX2.limits)
    assert both_ways(Sampler(product, AVX2, random.Random(0))) == []


def _forest(*trees: Trees) -> Trees:
    """The sum of trees."""
    return Trees(
        *(np.concatenate(parts) for parts in zip(*map(_nodes, trees), strict=True))
    )


def _nodes(trees: Trees) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return trees.feature, trees.threshold, trees.value


def test_trees_add_their_leaves_and_are_read_again() -> None:
    other = stump(10.0, 20.0, threshold=3.0)
    other = Trees(np.where(other.feature < 0, -1, 1), other.threshold, other.value)
    both = _forest(stump(1.0, 2.0), other)
    rows = np.array([[0.5, 3.0], [0.6, 3.0], [0.5, 3.1], [9.0, 9.0]])
    assert (both.depth, both.roots.tolist()) == (1, [0, 3])
    assert both.predict(rows).tolist() == [11.0, 12.0, 21.0, 22.0]
    again = Trees.of(both.arrays())
    assert again.predict(rows).tolist() == both.predict(rows).tolist()


def test_a_tree_goes_left_up_to_its_threshold_at_every_depth() -> None:
    # x <= 1 ? (x <= 0 ? 1 : 2) : (x <= 2 ? (x <= 1.5 ? 3 : 4) : 5)
    feature = np.array([0, 0, -1, -1, 0, 0, -1, -1, -1])
    threshold = np.array([1.0, 0, 0, 0, 2, 1.5, 0, 0, 0])
    tree = Trees(feature, threshold, np.array([0.0, 0, 1, 2, 0, 0, 3, 4, 5]))
    rows = np.array([[-1.0], [0], [0.5], [1], [1.25], [1.5], [1.75], [2], [3]])
    assert tree.depth == 3
    assert tree.predict(rows).tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert tree.right.tolist() == [4, 3, 0, 0, 8, 7, 0, 0, 0]
    assert _nodes(pruned(tree))[0].tolist() == feature.tolist()


def test_leaves_that_differ_little_are_one_with_their_mean() -> None:
    feature = np.array([0, 0, -1, -1, -1])
    value = np.array([0.0, 0.0, 1.0, 1.0 + NEAR / 2, 1.0 + NEAR])
    whole = Trees(feature, np.array([2.0, 1.0, 0, 0, 0]), value)
    assert pruned(whole).value.tolist() == [1.0 + NEAR / 2]
    apart = Trees(feature, whole.threshold, value + NEAR * (np.arange(5) == 4))
    forest = pruned(_forest(apart, stump(0.0, 1.0)))
    assert forest.feature.tolist() == [0, -1, -1, 0, -1, -1]
    assert forest.threshold.tolist() == [2.0, 0, 0, 0.5, 0, 0]
    expected = [0.0, 1.0 + NEAR / 4, 1.0 + 2 * NEAR, 0.0, 0.0, 1.0]
    assert forest.value.tolist() == expected


def _stored(path: Path) -> dict[str, Any]:
    with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as file:
        return dict(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 9}, "another version of Morello wrote it"),
        ({"names": []}, "a feature without a name"),
        ({"node_names": ["a"]}, "there is no network"),
    ],
)
def test_what_is_no_model_is_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = model_file(tmp_path / "model.npz.xz", "avx2", "nodes")
    arrays = _stored(path)
    header = {**json.loads(str(arrays["header"])), **change}
    stream = io.BytesIO()
    np.savez(stream, **{**arrays, "header": np.array(json.dumps(header))})
    path.write_bytes(lzma.compress(stream.getvalue()))
    with pytest.raises(MorelloError, match=f"is no learned model: .*{message}"):
        LearnedModel.load(path)


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = model_file(tmp_path / "model.npz.xz", "avx2", "nodes")
    whole = path.read_bytes()
    truncated = lzma.compress(lzma.decompress(whole)[:-50])
    for broken in (whole[:-9], whole[:20], b"{}", b"", lzma.compress(b""), truncated):
        path.write_bytes(broken)
        with pytest.raises(MorelloError, match="is no learned model: "):
            LearnedModel.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"is_leaf": np.array([False, False, True])}, "not one number for each"),
        ({"value": np.array([1], np.int16)}, "not one number for each"),
        ({"feature": np.array([0, 0])}, "not one number for each"),
        ({"threshold": np.array([])}, "not one number for each"),
        ({"is_leaf": np.array([True, True, False])}, "without two children"),
    ],
)
def test_trees_that_do_not_fit_together_are_refused(
    change: dict[str, np.ndarray], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Trees.of({**stump(0.0, 1.0).arrays(), **change})


def test_a_given_model_chooses_and_orders(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered = morello.candidates(TEXT, 8, target=AVX2, db=db)
    feature = f"has {next(f for f in ordered[0].features if '@' not in f)}"
    path = model_file(tmp_path / "model.npz.xz", "avx2", feature)
    monkeypatch.setenv("MORELLO_LEARNED", str(path))
    impls = [one.impl for one in ordered]
    slow = [feature in one for one in features_of(Priced(impls, AVX2))]
    assert slow[0]
    assert not all(slow)
    order = tried_order(ordered, AVX2)
    assert order[0] == ordered[0]  # what is to be beaten
    tried = [slow[ordered.index(one)] for one in order[1:]]
    assert tried == sorted(tried)
    kernel = morello.compile(TEXT, target=AVX2, threads=1, tune="learned", db=db)
    assert kernel.solution.impl == order[1].impl
    a, b = np.ones((6, 8), np.float32), np.ones((8, 16), np.float32)
    assert (kernel(a, b) == 8).all()
    plain = morello.compile(TEXT, target=AVX2, threads=1, db=db)
    assert plain.solution.impl == ordered[0].impl


def test_a_program_that_is_hardly_faster_is_not_chosen(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "CANDIDATES", 8)
    goal = parse_spec(TEXT, AVX2.limits)
    solver = Solver(AVX2.at(goal), open_database(db))
    candidates = find_candidates(goal, AVX2, solver, 8)
    impls = [one.impl for one in candidates]
    feature = f"has {next(f for f in candidates[0].features if '@' not in f)}"
    slow = [feature in one for one in features_of(Priced(impls, AVX2))]
    other = impls[slow.index(False)]
    for faster, wanted in ((1.01, impls[0]), (1.03, other)):
        times = faster * other.cost / impls[0].cost
        path = tmp_path / f"{faster}.json"
        model_file(path, "avx2", feature, times=times)
        monkeypatch.setenv("MORELLO_LEARNED", str(path))
        assert learned_solution(goal, AVX2, solver).impl == wanted


def test_fusion_is_left_to_the_cost_model_unless_a_model_decides_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "compose:8x16x16:f32:graph=t[m,n]=sum(a[m,k]*w[k,n]);y[m,n]=relu(t)"
    feature = "temporary@VRF"
    path = model_file(tmp_path / "model.npz.xz", "avx2", feature)
    monkeypatch.setenv("MORELLO_LEARNED", str(path))
    db = tmp_path / "searched.sqlite"
    impls = [one.impl for one in morello.candidates(text, 12, target=AVX2, db=db)]
    slow = [feature in one for one in features_of(Priced(impls, AVX2))]
    fused = [is_fused(impl) for impl in impls]
    assert all(is_one for is_one, held in zip(fused, slow, strict=True) if held)
    assert slow[0]
    kernel = morello.compile(text, target=AVX2, threads=1, tune="learned", db=db)
    assert is_fused(kernel.solution.impl) == fused[0]
    path = model_file(tmp_path / "other.json", "avx2", feature, decides_fusion=True)
    monkeypatch.setenv("MORELLO_LEARNED", str(path))
    kernel = morello.compile(text, target=AVX2, threads=1, tune="learned", db=db)
    (chosen,) = features_of(Priced([kernel.solution.impl], AVX2))
    assert feature not in chosen


def test_where_there_is_no_model_nothing_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model_file(tmp_path / "model.npz.xz", "another", "nodes")
    monkeypatch.setenv("MORELLO_LEARNED", str(path))
    assert find_model(AVX2) is None
    with pytest.raises(CompileError, match="no learned model for avx2; there are"):
        morello.compile(TEXT, target=AVX2, threads=1, tune="learned")
    with pytest.raises(CompileError, match="for avx2 with 2 threads"):
        morello.compile(TEXT, target=AVX2, threads=2, tune="learned")
    monkeypatch.setenv("MORELLO_LEARNED", str(tmp_path / "gone.npz.xz"))
    with pytest.raises(MorelloError, match=r"gone\.npz\.xz"):
        find_model(AVX2)
    monkeypatch.delenv("MORELLO_LEARNED")
    assert find_model(dataclasses.replace(AVX2, name="new")) is None


@pytest.mark.parametrize("name", shipped_models())
def test_shipped_models_predict(name: str) -> None:
    target = find_target(name)
    model = find_model(target)
    assert model is not None
    assert model.target == name
    assert find_model(dataclasses.replace(target, threads=2)) is None
    text = "matmul:2x8x16:f32"
    impls = [one.impl for one in morello.candidates(text, 6, target=target)]
    times = model.predict(impls, target)
    # Millicycles of 256 multiply-adds, by 8 and two at once, and what is around them.
    assert (times > 256 / 16 * 1000).all()
    assert times[0] < 50 * 256 / 16 * 1000
    assert len(set(times.tolist())) > 1
