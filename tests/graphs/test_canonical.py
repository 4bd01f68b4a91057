"""The canonical form of graphs: one text for what means the same."""

import dataclasses
import itertools
import random

import pytest

from morello.spec import Compose
from morello.spec.graphs import canonical, parse_graph, print_graph
from morello.spec.graphs.graph import Graph
from morello.spec.graphs.loops import loops
from tests.graphs.random_graphs import check_meaning, random_graph, shuffled
from tests.tables import rows

pytestmark = pytest.mark.quick

SEEDS = range(10)
GRAPHS = 60
"""Of each seed."""


def _text(graph: Graph) -> str:
    return print_graph(canonical(graph).graph)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_other_numbers_give_the_same_text(seed: int) -> None:
    rng = random.Random(f"numbers {seed}")
    for _ in range(GRAPHS):
        graph = random_graph(rng)
        for _ in range(3):
            other, _ = shuffled(rng, graph)
            assert _text(other) == _text(graph), f"{graph}\n{other}"


def test_few_graphs_of_windows_have_two_texts() -> None:
    """Where nothing but a window tells two dimensions of the same step apart, there is
    a second table, never another answer."""
    rng = random.Random("windows")
    count = differ = 0
    for _ in range(600):
        graph = random_graph(rng, windows=True)
        for _ in range(3):
            other, _ = shuffled(rng, graph)
            count += 1
            differ += _text(other) != _text(graph)
    assert differ <= count // 500


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_the_canonical_form_of_itself(seed: int) -> None:
    rng = random.Random(f"again {seed}")
    for _ in range(GRAPHS):
        graph = canonical(random_graph(rng, windows=True)).graph
        assert canonical(graph).graph == graph
        assert _text(parse_graph(print_graph(graph))) == print_graph(graph)
        assert Compose.of(graph).graph == graph


@pytest.mark.parametrize("seed", SEEDS)
def test_it_means_the_same(seed: int) -> None:
    """Its outputs are those of the graph, from the inputs that it has kept."""
    rng = random.Random(f"meaning {seed}")
    for _ in range(GRAPHS // 4):
        graph = random_graph(rng, windows=True)
        part = canonical(graph)
        at = [part.values[out.value] for out in part.graph.outputs]
        assert at == [out.value for out in graph.outputs]
        check_meaning(rng, graph, part, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_do_not_depend_on_numbers(seed: int) -> None:
    rng = random.Random(f"rules {seed}")
    for _ in range(GRAPHS):
        graph = random_graph(rng)
        part = canonical(graph)
        other, _ = shuffled(rng, graph)
        again = canonical(other)
        for dim in range(part.graph.rank):
            assert loops(part.graph, dim) == loops(again.graph, dim)


@pytest.mark.parametrize(("text", "same", "reason"), rows(__file__, "same"))
def test_what_becomes_the_same(text: str, same: str, reason: str) -> None:
    assert _text(parse_graph(text)) == _text(parse_graph(same)), reason


def test_nodes_that_no_output_needs_are_dropped() -> None:
    graph = parse_graph("a[m]=sum(x[m,n]);b[m]=max(w[m,k]);c[m]=exp(b)")
    first, *_ = graph.outputs
    less = dataclasses.replace(graph, outputs=(first,))
    assert _text(less) == "out v0[d0]=sum(x0[d0,d1])"


@pytest.mark.parametrize(
    "text",
    [
        # Several nodes read it.
        "t[m,n]=exp(x[m,n]);a[m]=sum(t);y[m,n]=t*a",
        # A product reads it.
        "t[m,n]=exp(x[m,n]);y[m,k]=sum(t*w[n,k])",
        # It lacks a dimension: it would be computed again.
        "t[n]=exp(w[n]);y[m,n]=x[m,n]*t",
        # It is an output.
        "out t[m,n]=exp(x[m,n]);y[m,n]=t*w[n]",
    ],
)
def test_maps_that_stay(text: str) -> None:
    graph = parse_graph(text)
    assert len(canonical(graph).graph.nodes) == len(graph.nodes)


def test_numbers_in_any_places_have_a_canonical_form() -> None:
    """Every call of a call, of numbers alone too."""
    places = ("x[m]", "0.0", "1.5")
    functions = ("({}+{})", "({}*{})", "({}-{})", "({}/{})", "maximum({},{})")
    for outer, inner in itertools.product(functions, functions):
        for a, b, c in itertools.product(places, repeat=3):
            call = inner.format(a, b)
            for expression in (outer.format(call, c), outer.format(c, call)):
                form = canonical(parse_graph(f"y[m]={expression}+x[m]")).graph
                assert canonical(form).graph == form


def test_the_order_of_two_numbers_is_kept() -> None:
    numbers = parse_graph("y[m]=x[m]*(0.5+1.5)")
    assert _text(numbers) == "out v0[d0]=x0[d0]*(0.5+1.5)"
    assert _text(parse_graph("y[m]=2.0*x[m]")) == "out v0[d0]=x0[d0]*2.0"
