"""What is read of the nodes of programs, and networks as numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

import morello
from benchmarks.training.data_set import Entry, Timed, programs
from morello.learned.model import LearnedModel
from morello.learned.network import Network, Networks
from morello.learned.nodes import Nodes, nodes_of
from morello.learned.priced import Priced
from morello.machine import AVX2
from morello.search import Impl
from tests.learned.made_up import stump

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def priced() -> Priced:
    """Programs of a product, each of another class."""
    candidates = morello.candidates("matmul:12x8x64:f32", 6, target=AVX2)
    return Priced([one.impl for one in candidates], AVX2)


def _column(nodes: Nodes, name: str) -> np.ndarray:
    return nodes.columns((name,))[:, 0]


def test_the_nodes_of_a_program_are_its_cost(priced: Priced) -> None:
    nodes = nodes_of(priced)
    assert nodes.programs == len(priced.impls)
    shares = np.bincount(nodes.program, nodes.shares, nodes.programs)
    assert shares == pytest.approx(np.ones(nodes.programs), abs=0.01)
    took = nodes.shares * priced.costs[nodes.program]
    runs, costs = _column(nodes, "runs"), _column(nodes, "own cost")
    assert 2 ** (runs + costs) == pytest.approx(took)
    assert _column(nodes, "share") == pytest.approx(nodes.shares)
    kinds = [name for name in nodes.names if name.startswith("is ")]
    assert nodes.columns(kinds).sum(axis=1).tolist() == [1.0] * len(nodes.rows)
    assert (_column(nodes, "no such") == 0).all()


def _tiled(*dims: tuple[str, int]) -> Impl:
    """12x8x64, tiled by some dimensions, the outermost first; out begins as 0."""
    program: object = ["select", ["gemm_tile"], []]
    for name in ("out", "rhs", "lhs"):
        program = ["move", [name, "L1", "[0,1,2]", ""], [program]]
    for dim, size in reversed(dims):
        program = ["tile", [dim, size], [program]]
    for name in ("out", "rhs", "lhs"):
        program = ["move", [name, "L2", "[0,1,2]", ""], [program]]
    timed = Timed(json.dumps(program), (), 1.0)
    ((impl, _),) = programs(
        Entry("matmul:12x8x64:f32", "avx2", "here", 1.0, (timed,)), AVX2
    )
    return impl


@pytest.mark.parametrize(
    ("dims", "reuse", "walked", "lines"),
    [
        # Tiles are 6x8 of lhs (6 lines), 8x16 of rhs (8) and 6x16 of out (6).
        (
            (("m", 6), ("n", 16)),
            (2.0, 0.0, 0.0),
            {"along 1", "along 2"},
            (6 + 4 * (8 + 6), 2 * 6 + 4 * 8 + 8 * 6),
        ),
        (
            (("n", 16), ("m", 6)),
            (0.0, 1.0, 0.0),
            {"across 0", "across 2"},
            (2 * 6 + 8 + 2 * 6, 2 * 6 + 4 * 8 + 8 * 6),
        ),
    ],
)
def test_loops_around_a_kernel_and_its_operands(
    dims: tuple[tuple[str, int], ...],
    reuse: tuple[float, ...],
    walked: set[str],
    lines: tuple[int, int],
) -> None:
    nodes = nodes_of(Priced([_tiled(*dims)], AVX2))
    kernel = _column(nodes, "is gemm_tile") > 0
    assert kernel.sum() == 1

    def of_kernel(name: str) -> float:
        return float(_column(nodes, name)[kernel][0])

    assert tuple(of_kernel(f"reuse {index}") for index in range(3)) == reuse
    ways = {f"{way} {i}" for way in ("along", "across") for i in range(3)}
    assert {way for way in ways if of_kernel(way)} == walked
    assert 2 ** of_kernel("bytes in 1 loops") == pytest.approx(64 * lines[0])
    for depth in (2, 3):  # there are two
        assert 2 ** of_kernel(f"bytes in {depth} loops") == pytest.approx(64 * lines[1])
    assert of_kernel("below move") == 1
    assert of_kernel("depth") == 8
    assert of_kernel("runs") == 3


def _nodes(rows: list[list[float]], shares: list[float], program: list[int]) -> Nodes:
    return Nodes(
        ("a", "b"),
        np.array(rows),
        np.array(shares),
        np.array(program),
        max(program) + 1,
    )


def _network(*last: float) -> Network:
    """The inputs, where above 0, times weights: logarithms of factors."""
    return Network(
        (np.eye(2), np.array(last).reshape(2, 1)), (np.zeros(2), np.zeros(1))
    )


def test_a_program_takes_the_sum_of_its_nodes() -> None:
    nodes = _nodes([[1, 5], [-9, 5], [0, 0]], [0.25, 0.75, 1.0], [0, 0, 1])
    one = Networks(("a",), (Network((np.ones((1, 1)),), (np.zeros(1),)),))
    log = np.log(0.25 * np.e + 0.75 * np.exp(-3))  # factors are bounded
    assert one.predict(nodes) == pytest.approx([log, 0.0], abs=1e-5)
    both = Networks(("a", "b"), (_network(1.0, 0.0), _network(0.0, 0.1)))
    log = (np.log(0.25 * np.e + 0.75) + 0.5) / 2
    assert both.predict(nodes) == pytest.approx([log, 0.0], abs=1e-5)
    again = Networks.of(both.names, both.arrays())
    assert again.predict(nodes) == pytest.approx(both.predict(nodes), abs=1e-4)


def test_a_model_with_networks_is_the_mean_of_both_halves(
    priced: Priced, tmp_path: Path
) -> None:
    path = tmp_path / "model.npz.xz"
    share = np.array([[1.0]])
    networks = Networks(("share",), (Network((share,), (np.zeros(1),)),))
    LearnedModel("avx2", "both", ("nodes",), stump(0.5, 0.5), networks).save(path)
    impls, costs = priced.impls, np.array([impl.cost for impl in priced.impls])
    predicted = LearnedModel.load(path).predict(impls, AVX2)
    half = networks.predict(nodes_of(priced))
    assert predicted == pytest.approx(costs * np.exp((half + 0.5) / 2))
    trees = LearnedModel("avx2", "trees", ("nodes",), stump(0.5, 0.5))
    assert trees.predict(impls, AVX2) == pytest.approx(costs * np.exp(0.5))


_ONE = {"0.0.weight": np.array([[1.0]]), "0.0.bias": np.array([0.0])}


@pytest.mark.parametrize(
    ("names", "arrays", "message"),
    [
        ((), {}, "there is no network"),
        (("a",), {"0.0.weight": np.array([[1.0]])}, "not as many weights as biases"),
        (
            ("a",),
            {**_ONE, "0.1.weight": np.array([[1.0]]), "0.2.bias": np.array([0.0])},
            "not as many weights as biases",
        ),
        ((), _ONE, "does not fit the one before it"),
        (
            ("a",),
            {"0.0.weight": np.array([[1.0, 2.0]]), "0.0.bias": np.zeros(2)},
            "not one output",
        ),
        (("a",), {**_ONE, "0.0.bias": np.array([np.nan])}, "a weight that is no"),
    ],
)
def test_networks_that_do_not_fit_together_are_refused(
    names: tuple[str, ...], arrays: dict[str, np.ndarray], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Networks.of(names, arrays)
