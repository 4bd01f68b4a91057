"""A1, A2, B1, B3 of graphs, a few of each; the soak goes on (`tests/soak`)."""

import random

import pytest

from tests.quality.graph_programs import (
    SCHEDULES,
    check_graph_programs,
    check_searched_graphs,
    random_graph_spec,
)


def test_random_programs_of_graphs_are_within_the_bound() -> None:
    assert check_graph_programs(range(1000, 1002)) > SCHEDULES


def test_searched_programs_of_graphs_are_within_the_bound() -> None:
    assert check_searched_graphs(range(1000, 1002)) >= 1


@pytest.mark.quick
def test_every_form_of_graph_is_drawn() -> None:
    drawn = [random_graph_spec(random.Random(seed)) for seed in range(200)]
    assert len({str(spec.kind) for spec in drawn}) > 80
    graphs = [spec.kind.as_graph for spec in drawn]
    assert any(graph is not None and graph.padded_dims for graph in graphs)
    assert any(graph is not None and len(graph.contractions) > 1 for graph in graphs)
