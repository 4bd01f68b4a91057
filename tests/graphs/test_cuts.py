"""Where graphs are cut, and that the halves together compute the graph."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from morello.spec.graphs import canonical, parse_graph
from morello.spec.graphs.cuts import MOST_NODES, Halves, cut, cuts
from morello.spec.graphs.graph import Graph, Part
from morello.spec.graphs.loops import loops
from morello.spec.graphs.names import SHORT_NAMES, Options, named
from morello.spec.graphs.passes import one_pass
from morello.spec.graphs.rescale import settled
from morello.spec.graphs.text import parse_named
from morello.spec.text.graphs import value_name
from tests.graphs.random_graphs import random_graph
from tests.graphs.tiles import Values, drawn_inputs, outputs_of

pytestmark = pytest.mark.quick

SIZES = {"b": 2, "r": 3, "q": 3, "m": 3, "n": 5, "k": 4, "j": 2, "d": 2, "e": 3}
IMAGES = {"c": 2, "h": 5, "w": 6, "f": 3, "fh": 3, "fw": 2}


def _short(name: str) -> Graph:
    options: Options = {}
    sizes = SIZES | IMAGES
    return named(SHORT_NAMES[name].text(sizes, options), sizes).graph


def _names(graph: Graph, values: tuple[int, ...]) -> str:
    return ",".join(value_name(graph, v) for v in values)


def _ways(graph: Graph) -> list[tuple[str, str, str]]:
    """Of each cut: its nodes, those computed again, the temporaries."""
    return [
        (_names(graph, h.first), _names(graph, h.again), _names(graph, h.temporaries))
        for h in cuts(graph)
    ]


def test_softmax_has_four_cuts() -> None:
    """v0 the maxima, v1 the exponentials, v2 their sums, v3 the reciprocals, which go
    with the sums."""
    assert _ways(_short("softmax")) == [
        ("v0", "", "v0"),
        ("v0,v1", "", "v1"),
        ("v0,v1,v2,v3", "", "v1,v3"),
        ("v0,v1,v2,v3", "v1", "v0,v3"),
    ]


def test_attention_has_five_cuts() -> None:
    """v0 the scores, v1 their maxima, v2 the exponentials, v3 the sums of values, v4 of
    exponentials. Never with v3 beside a v2 that is a temporary, nor with v2 again."""
    assert _ways(_short("attention")) == [
        ("v0", "", "v0"),
        ("v0,v1", "", "v0,v1"),
        ("v0,v1,v2", "", "v2"),
        ("v0,v1,v2,v4", "", "v2,v4"),
        ("v0,v1,v2,v3,v4", "", "v3,v4"),
    ]


def test_a_mask_is_cut_off_with_the_scores_but_for_one_pass() -> None:
    """v0 the scores, v1 those that are seen."""
    text = SHORT_NAMES["attention"].text(
        dict.fromkeys("bqkde", 2) | {"b": 1}, {"causal": "true"}
    )
    ways = _ways(canonical(parse_graph(text)).graph)
    assert ("v0", "", "v0") not in ways
    assert ("v0,v1", "", "v1") in ways
    text = "s[m,n]=sum(a[m,k]*w[k,n]);u[m,n]=s+b[n];y[m,n]=u*erf(u)"
    assert ("v0", "", "v0") in _ways(canonical(parse_graph(text)).graph)


@pytest.mark.parametrize("name", ["gelu_matmul", "residual_matmul", "chain"])
def test_a_product_and_what_comes_after_has_one_cut(name: str) -> None:
    assert _ways(_short(name)) == [("v0", "", "v0")]


@pytest.mark.parametrize(
    ("text", "reduced", "late"),
    [
        ("y[m,n]=exp(x[m,n])", "", ""),
        ("y[m]=max(x[m,n])", "n", "y"),
        ("p[r,n]=exp(x[r,n]-m[r]);l[r]=sum(p)", "n", "l"),
        ("p[r,n]=exp(x[r,n]-m[r]);out l[r]+=sum(p);i[r]=1.0/l", "n", "li"),
        ("t[n]=sum(x[m,n]);y[n]=t*w[n]", "m", "ty"),
        ("a[m]=sum(x[m,n]);b[m]=max(x)", "n", "ab"),
        ("a[n]=sum(x[m,n]*w[m])", "m", "a"),
    ],
)
def test_what_one_pass_computes(text: str, reduced: str, late: str) -> None:
    graph, names = parse_named(text)
    values = one_pass(graph)
    assert values is not None
    assert {n for n, d in names.dims.items() if d in values.reduced} == {*reduced}
    assert {n for n, v in names.values.items() if v in values.late} == {*late}
    maps = any(graph.is_map(v) for v in values.late)
    assert len(cuts(canonical(graph).graph)) == maps


@pytest.mark.parametrize(
    "text",
    [
        "m[r]=max(x[r,n]);l[r]=sum(exp(x-m))",
        "l[r]=sum(x[r,n]);y[r,n]=x/l",
        "a[m]=sum(x[m,n]);b[n]=max(x)",
        "y[m,n]=sum(a[m,k]*b[k,n])",
    ],
)
def test_what_one_pass_does_not_compute(text: str) -> None:
    assert one_pass(parse_graph(text)) is None


def test_graphs_of_many_nodes_are_not_cut() -> None:
    text = "v0[m]=sum(x[m,n])"
    for i in range(MOST_NODES):
        text += f";v{i + 1}[m]=sum(x*v{i})"
    graph = parse_graph(text)
    assert len(graph.nodes) > MOST_NODES
    assert cuts(graph) == ()
    less = parse_graph(";".join(text.split(";")[:3]))
    assert len(cuts(less)) == 2


# --- What each cut computes -----------------------------------------------------------


def _run(part: Part, sizes: tuple[int, ...], values: Values) -> Values:
    """The outputs of a part of a graph, by the values of the graph."""
    extents = tuple(sizes[dim] for dim in part.dims)
    inputs = {v: values[at] for v, at in enumerate(part.values) if at in values}
    outputs = outputs_of(part.graph, extents, inputs)
    return {part.values[v]: array for v, array in outputs.items()}


def _check(graph: Graph, halves: Halves, sizes: tuple[int, ...], seed: int) -> None:
    values = drawn_inputs(graph, sizes, seed)
    whole = outputs_of(graph, sizes, values)
    known = values | _run(halves.producers, sizes, values)
    assert {*halves.temporaries} <= {*known}
    known_after = known | _run(halves.consumers, sizes, known)
    for value, array in whole.items():
        np.testing.assert_allclose(
            known_after[value], array, rtol=2e-4, atol=1e-4, err_msg=f"{graph} {halves}"
        )


def _check_rules(graph: Graph, halves: Halves) -> None:
    first = {*halves.first}
    for value in first:
        assert graph.below[value] <= first
    assert {*halves.again} <= first
    assert all(graph.is_map(v) and v not in graph.modes for v in halves.again)
    assert not {*halves.temporaries} & {*graph.modes}
    for value in graph.contractions:
        if value in first:
            assert not {*halves.temporaries} & {*graph.arguments(value)}
    for part in (halves.producers, halves.consumers):
        assert canonical(part.graph).graph == part.graph
        for dim, at in enumerate(part.dims):
            assert loops(part.graph, dim) or not loops(graph, at)
    outputs = [*halves.producers.graph.modes, *halves.consumers.graph.modes]
    assert len(outputs) == len(graph.outputs) + len(halves.temporaries)


def _graphs() -> Iterator[Graph]:
    for name in SHORT_NAMES:
        yield _short(name)
    rng = random.Random("cuts")
    for _ in range(400):
        yield canonical(random_graph(rng)).graph


@pytest.mark.sampled(3)
def test_halves_compute_the_graph() -> None:
    count = again = 0
    rng = random.Random(0)
    for number, graph in enumerate(_graphs()):
        sizes = tuple(rng.randint(1, 4) for _ in range(graph.rank))
        for halves in cuts(graph):
            _check_rules(graph, halves)
            with np.errstate(all="ignore"):
                _check(graph, halves, sizes, number)
            count += 1
            again += bool(halves.again)
            assert cut(graph, halves.first, halves.again) == halves
    assert count >= 250
    assert again >= 20


@pytest.mark.parametrize(
    ("text", "first"),
    [
        # A node needs what it reads.
        ("m[r]=max(x[r,n]);p[r,n]=exp(x-m);l[r]=sum(p)", "p"),
        # Both halves have an output.
        ("m[r]=max(x[r,n]);l[r]=sum(exp(x-m))", ""),
        ("m[r]=max(x[r,n]);l[r]=sum(exp(x-m))", "ml"),
        # What is added to is relative to what another one held, near or far.
        ("out m[r]+=max(x[r,n]);p[r,n]=exp(x-m);out l[r]+=sum(p)", "m"),
        ("out m[r]+=max(x[r,n]);p[r,n]=exp(x-m);out l[r]+=sum(p)", "mp"),
        # A product beside a temporary that it reads.
        ("s[q,k]=sum(a[q,d]*b[k,d]);o[q,e]=sum(s*v[k,e]);y[q,k,e]=s*o", "so"),
    ],
)
def test_where_a_graph_is_not_cut(text: str, first: str) -> None:
    graph, names = parse_named(text)
    assert cut(graph, tuple(names.values[n] for n in first), ()) is None


# --- Online -------------------------------------------------------------------------

STATE = "out m[r]+=max(x[r,n]);p[r,n]=exp(x-m);out l[r]+=sum(p)"


@pytest.mark.parametrize(
    "text",
    [
        STATE,
        f"{STATE};out o[r,e]+=sum(p*v[n,e])",
        f"{STATE};out z[r]+=sum(p*p)",
        f"{STATE};out z[r]+=sum(w[r,n]/p)",
        "out m[r]+=max(2*x[r,n]);out u[r]+=max(w[r,n]);"
        "out l[r]+=sum(exp(2*x-m)*exp(w-u))",
    ],
)
def test_online_computes_what_the_graph_means(text: str) -> None:
    """Settle, rescale, then the rest, beside the definition."""
    graph, names = parse_named(text)
    maximum = names.values["m"]
    parts = settled(graph, maximum)
    assert parts is not None
    sizes = tuple(SIZES[name] for name in names.dims)
    values = drawn_inputs(graph, sizes, 3)
    whole = outputs_of(graph, sizes, values)
    known = values | {-1: values[maximum]}
    for part in (parts.settle, parts.rescale, parts.rest):
        known |= _run(part, sizes, known)
    for value, array in whole.items():
        np.testing.assert_allclose(known[value], array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        STATE.replace("m[r]+=", "m[r]="),
        STATE.replace("l[r]+=", "l[r]="),
        STATE.replace("exp(x-m)", "tanh(x-m)"),
        "out m[r]+=max(x[r,n]);out l[r]+=sum(x)",
        # The maximum is made of a reduction: a product is cut off before it.
        "s[r,n]=sum(a[r,d]*b[n,d]);out m[r]+=max(s);out l[r]+=sum(exp(s-m))",
    ],
)
def test_what_is_not_online(text: str) -> None:
    graph, names = parse_named(text)
    assert settled(graph, names.values["m"]) is None
