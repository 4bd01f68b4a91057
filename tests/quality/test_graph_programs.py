"""A1, A2, B1, B3 of graphs, a few of each; the soak goes on (`tests/soak`)."""

import random

import pytest

from morello.spec.elements.dtypes import FLOATS
from morello.spec.graphs.scaled import scaled_part
from morello.spec.text.labels import REDUCTIONS
from tests.quality.graph_programs import (
    NAMES,
    SCHEDULES,
    check_graph_programs,
    check_searched_graphs,
    random_graph_spec,
    random_text,
    rounds_no_integer,
)
from tests.quality.scaled_products import random_scaled_spec


def test_random_programs_of_graphs_are_within_the_bound() -> None:
    assert check_graph_programs(range(14, 16)) > SCHEDULES


def test_searched_programs_of_graphs_are_within_the_bound() -> None:
    assert check_searched_graphs(range(14, 16)) == 2


@pytest.mark.quick
def test_every_form_of_graph_is_drawn() -> None:
    drawn = [random_graph_spec(seed) for seed in range(400)]
    assert len({str(spec.kind) for spec in drawn}) > 80
    graphs = [spec.kind.as_graph for spec in drawn]
    assert any(graph is not None and graph.padded_dims for graph in graphs)
    assert any(graph is not None and len(graph.contractions) > 1 for graph in graphs)
    assert any(spec.kind.as_graph and rounds_no_integer(spec) for spec in drawn)


@pytest.mark.quick
def test_every_name_is_drawn_in_f32_and_maps_and_products_in_narrow_floats() -> None:
    texts = [random_text(seed, random.Random(seed)) for seed in range(400)]
    names = [text.split(":")[0] for text in texts]
    for dtype in FLOATS:
        drawn = {
            name
            for seed, name in enumerate(names)
            if random_graph_spec(seed).dtypes[0] is dtype
        }
        apart = {*REDUCTIONS} if dtype.computes_in else set()
        assert drawn >= {*NAMES} - apart
    options = {option for text in texts for option in text.split(":")[3:]}
    wanted = {"causal=true", "gelu=erf", "layout=nhwc", "axis=all", "axis=0", "pad=1"}
    assert options >= wanted | {"stride=2", "dilation=2", "groups=3"}


@pytest.mark.quick
def test_scaled_products_are_drawn_with_and_without_each_part() -> None:
    graphs = [random_scaled_spec(seed).kind.as_graph for seed in range(60)]
    are_scaled = [g is not None and scaled_part(g) is not None for g in graphs]
    assert 20 < sum(are_scaled) < len(are_scaled)
    assert len({str(graph) for graph in graphs}) > len(graphs) // 2
