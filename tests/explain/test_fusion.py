"""What fusing saves: temporaries of a program, and the nodes of a graph apart."""

import math

import pytest

from morello.actions import Cut, CutInPlace
from morello.explain import as_data, as_page, as_text, explain
from morello.explain.fusion import bytes_held, graph_parts, temporaries, unfused
from morello.explain.words import Clock
from morello.machine import AVX2
from morello.search import Impl, Solver
from morello.spec import MEM, parse_spec

CLOCK = Clock(3.0)


def left(impl: Impl) -> bool:
    """Whether a cut leaves more between its halves than outputs."""
    action, key = impl.action, impl.spec.key
    if isinstance(action, Cut):
        cutting = action.cutting(key, AVX2)
    else:
        assert isinstance(action, CutInPlace)
        cutting = action.cutting(key)
    assert not isinstance(cutting, str)
    return bool(cutting.temporaries)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", ["softmax:3x19:f32", "gelu_matmul:5x8x17:f32"])
def test_temporaries_are_those_of_the_cuts(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    explanation = explain(spec, Solver(AVX2))
    arrays = temporaries(explanation)
    cuts = {
        node.number: node
        for node in explanation.root.walk()
        if isinstance(node.impl.action, Cut | CutInPlace) and left(node.impl)
    }
    assert {one.node for one in arrays} == {*cuts}
    for one in arrays:
        assert one.runs == cuts[one.node].runs
        assert one.bytes == 4 * math.prod(one.shape)
        assert one.traffic == 2 * one.bytes * one.runs * (one.level is not MEM)
    apart = unfused(spec, lambda part: Solver(AVX2).solve(part).impl)
    assert apart is not None
    assert apart.cost > explanation.cost
    assert apart.cost == sum(Solver(AVX2).solve(p).impl.cost for p in apart.parts)
    shown = as_text(explanation, CLOCK, 3, apart=apart)
    assert "temporaries: what producers leave" in shown
    assert (
        f"node by node, each result through memory: {CLOCK.cost(apart.cost)}" in shown
    )
    assert "What is fused" in as_page(explanation, CLOCK, 3, apart=apart)
    data = as_data(explanation, 3.0, 3, apart)
    assert data["unfused_cost"] == apart.cost
    assert 0 < data["temporary_bytes"] <= sum(one.bytes for one in arrays)
    assert data["temporary_bytes"] <= data["bytes_between_nodes"]
    assert [t["value"] for t in data["temporaries"]] == [one.name for one in arrays]


def test_a_temporary_in_place_is_named_with_the_output() -> None:
    """Of a row that fills L2 half, exponentials lie where the result will."""
    explanation = explain(parse_spec("softmax:1x60000:f32", AVX2.limits), Solver(AVX2))
    placed = [one for one in temporaries(explanation) if one.place]
    assert [(one.name, one.place) for one in placed] == [("v1", "v4")]
    shown = as_text(explanation, CLOCK, 3)
    assert "L2 as v4" in shown
    assert "v1" not in shown[shown.index("at most") :].splitlines()[0]
    assert bytes_held(explanation) < placed[0].bytes


def test_parts_are_the_nodes() -> None:
    spec = parse_spec("attention:3x5x2x4:f32", AVX2.limits)
    graph = spec.kind.as_graph
    assert graph is not None
    parts = graph_parts(spec)
    assert len(parts) == len(graph.nodes)
    assert [part.kind.label for part in parts].count("matmul") == 2


def test_one_node_is_not_fused() -> None:
    spec = parse_spec("matmul:3x5x7:f32", AVX2.limits)
    assert unfused(spec, lambda part: Solver(AVX2).solve(part).impl) is None
    shown = as_text(explain(spec, Solver(AVX2)), CLOCK, 3)
    assert "temporaries" not in shown
    assert "What is fused" not in as_page(explain(spec, Solver(AVX2)), CLOCK, 3)
