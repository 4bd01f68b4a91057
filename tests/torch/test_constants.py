"""Values that depend on no argument become constants of a graph, and of its groups."""

from typing import Any

import pytest
import torch
from torch.fx import GraphModule

from morello.torch.constants import folded, fused
from morello.torch.lowering import constants_by_id
from tests.tables import rows
from tests.torch.test_rules import numbers, same, traced

pytestmark = pytest.mark.quick

X = numbers(4, 4)


def names(graph: GraphModule) -> list[str]:
    """The ops that are left, in order."""
    nodes = graph.graph.find_nodes
    calls = [n for n in graph.graph.nodes if n.op == "call_function"]
    assert len(nodes(op="placeholder")) == 1
    return [str(node.target).split(".")[1] for node in calls]


def masked(x: Any) -> Any:
    mask = torch.ones(4, 4, dtype=torch.bool).triu(1)
    return x.masked_fill(mask, 0.0) + torch.where(mask, 1.0, x)


def buckets(x: Any) -> Any:
    places = torch.bucketize(torch.arange(4) * 2, torch.tensor([1, 3]))
    return x[places.expand(2, 4)]


def random(x: Any) -> Any:
    return x + torch.rand(4, generator=None)


CASES = {name: line for name, *line in rows(__file__, "constants")}
"""Functions, and the ops that are left."""


@pytest.mark.parametrize("name", CASES)
def test_what_depends_on_nothing_is_computed_once(name: str) -> None:
    text, wanted = CASES[name]
    function = eval(text)
    graph = traced(function, X)
    folded(graph)
    assert names(graph) == wanted.split()
    same(graph(X), function(X))


def test_random_numbers_are_new_in_each_call() -> None:
    graph = traced(random, X)
    folded(graph)
    assert names(graph) == ["rand", "add"]
    assert not torch.equal(graph(X), graph(X))


def test_results_are_new_tensors_in_each_call() -> None:
    graph = traced(lambda x: (x + 1, (torch.arange(4.0) + 1).exp()), X)
    folded(graph)
    _, first = graph(X)
    wanted = first.clone()
    first.zero_()
    same(graph(X)[1], wanted)


def test_a_group_has_the_constants_that_it_reads() -> None:
    graph = traced(masked, X)
    folded(graph)
    nodes = [n for n in graph.graph.nodes if n.op == "call_function"]
    inner, inputs, outputs = fused(graph, nodes, "inner")
    assert [node.op for node in inputs] == ["placeholder"]
    assert outputs == nodes[-1:]
    assert len(inner.graph.find_nodes(op="get_attr")) == 1
    same(inner(X)[0], masked(X))


def test_constants_of_truth_values_are_told_apart() -> None:
    """The importer makes bytes of each, which nothing but the table refers to."""
    table = constants_by_id()
    masks = [torch.arange(4) == place for place in range(40)]
    values = [table.track(mask.to(torch.uint8)) for mask in masks]
    assert len({id(value) for value in values}) == len(masks)
    assert table.track(masks[0]) is table.track(masks[0])
