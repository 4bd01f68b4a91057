"""Which dimensions of a graph can be tiled, and that tiles compute what it means."""

import random

import numpy as np
import pytest

from morello.spec.graphs import parse_graph
from morello.spec.graphs.evaluate import evaluate
from morello.spec.graphs.graph import Graph, Output
from morello.spec.graphs.loops import LOWEST, accumulating, can_rescale, loops, weight
from morello.spec.graphs.text import parse_named
from tests.graphs.random_graphs import input_shapes, random_graph
from tests.graphs.tiles import drawn_inputs, outputs_of, tiled

pytestmark = pytest.mark.quick

SOFTMAX = "m[r]=max(x[r,n]);p[r,n]=exp(x-m);l[r]=sum(p);y[r,n]=p/l"
NORMS = "w[r]=sum(square(x[r,n]));y[r,n]=x*rsqrt(w)"
STATE = "out m[r]+=max(x[r,n]);p[r,n]=exp(x-m);out l[r]+=sum(p)"
ATTENTION = (
    "s[q,k]=sum(Q[q,d]*K[k,d]);m[q]=max(0.5*s);p[q,k]=exp(0.5*s-m);l[q]=sum(p);"
    "o[q,e]=sum(p*V[k,e])"
)
CHAIN = "t[m,j]=sum(a[m,k]*b[k,j]);y[m,n]=sum(t*c[j,n])"


@pytest.mark.parametrize(
    ("text", "dims"),
    [
        # Nothing but what each output keeps, unless an output that adds reduces it.
        ("y[m,n]=sum(a[m,k]*b[k,n])", "mn"),
        ("out y[m,n]+=sum(a[m,k]*b[k,n])", "mnk"),
        ("y[m,n]=exp(x[m,n])", "mn"),
        ("t[m,n]=sum(a[m,k]*b[k,n]);y[m,n]=gelu(t+c[n])", "mn"),
        # n is no dimension of the product: each tile would compute it again.
        (CHAIN, "m"),
        (CHAIN.replace("y[m,n]=", "out y[m,n]+="), "mj"),
        (SOFTMAX, "r"),
        (NORMS, "r"),
        (f"{ATTENTION};y[q,e]=o/l", "q"),
        # A map that lacks a dimension may be computed again.
        ("t[n]=exp(w[n]);y[m,n]=x[m,n]*t", "mn"),
        # Both outputs need it.
        ("a[m]=sum(x[m,n]);b[n]=max(x)", ""),
        ("out a[m]+=sum(x[m,n]);out b[n]+=max(x)", "mn"),
        ("out a[m]+=sum(x[m,n]);b[m,n]=exp(x)", "mn"),
        # Windows.
        ("y[f,u,v]=sum(w[f,c,i,j]*x[c,2*u+i,v+j])", "fuv"),
        ("out y[f,u,v]+=sum(w[f,c,i,j]*x[c,2*u+i,v+j])", "fuvcij"),
        # A maximum that grows, and sums that can be repaired.
        (STATE, "rn"),
        (STATE.replace("m[r]+=", "m[r]="), "r"),
        (STATE.replace("l[r]+=", "l[r]="), "r"),
        (STATE.replace("exp(x-m)", "tanh(x-m)"), "r"),
        (STATE.replace("exp(x-m)", "exp(x+m)"), "r"),
        (STATE.replace("sum(p)", "max(p)"), "r"),
        (STATE.replace("p[r,n]=", "out p[r,n]="), "r"),
        # What is divided by a sum that grows cannot be.
        (f"{STATE};y[r]=1.0/l", "r"),
    ],
)
def test_the_one_rule(text: str, dims: str) -> None:
    graph, names = parse_named(text)
    assert "".join(n for n, d in names.dims.items() if loops(graph, d)) == "".join(
        sorted(dims, key=[*names.dims].index)
    )


def _check_tiles(graph: Graph, sizes: tuple[int, ...], seed: int) -> int:
    """How many dimensions were tiled, each in steps of 1 and more."""
    values = drawn_inputs(graph, sizes, seed)
    with np.errstate(all="ignore"):
        whole = outputs_of(graph, sizes, values)
        dims = [d for d in range(graph.rank) if loops(graph, d)]
        for dim in dims:
            for step in {1, 2, sizes[dim]}:
                if not _keeps(graph, dim, step, sizes[dim]):
                    continue
                result = tiled(graph, sizes, values, dim, step)
                for value, array in whole.items():
                    np.testing.assert_allclose(
                        result[value], array, rtol=2e-4, atol=1e-4, err_msg=str(graph)
                    )
    return len(dims)


def _keeps(graph: Graph, dim: int, step: int, size: int) -> bool:
    every = (axis for v in range(graph.count) for axis in graph.axes(v))
    return all(axis.keeps(step, size) for axis in every if dim in axis.dims)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(10))
def test_tiles_compute_what_a_random_graph_means(seed: int) -> None:
    rng = random.Random(f"tiles {seed}")
    count = 0
    for number in range(40):
        graph = random_graph(rng, windows=True)
        sizes = tuple(rng.randint(1, 5) for _ in range(graph.rank))
        count += _check_tiles(graph, sizes, number)
    assert count >= 30


@pytest.mark.parametrize(
    "text",
    [
        STATE,
        CHAIN.replace("y[m,n]=", "out y[m,n]+="),
        ATTENTION.replace("m[q]=", "out m[q]+=")
        .replace("l[q]=", "out l[q]+=")
        .replace("o[q,e]=", "out o[q,e]+="),
        f"{STATE};out z[r,e]+=sum(p*v[n,e]/w[n])",
        f"{STATE};out z[r]+=sum(neg(p)*p)",
        "out m[r]+=max(x[r,n]);out l[r]+=sum(1.0/exp(x-m))",
        "out m[r]+=max(x[r,n]);out l[r]+=sum(x)",
        "out m[r]+=max(x[r,n]);out u[r]+=max(w[r,n]);out l[r]+=sum(exp(x-m)*exp(w-u))",
        STATE.replace("x-m", f"x-maximum(m,{LOWEST!r})"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_sums_that_are_relative_to_a_maximum_are_repaired(text: str, seed: int) -> None:
    graph, names = parse_named(text)
    sizes = tuple(random.Random(seed).randint(3, 9) for _ in range(graph.rank))
    tiled_dims = {n for n, d in names.dims.items() if loops(graph, d)}
    assert tiled_dims & {"n", "k", "j"}
    assert _check_tiles(graph, sizes, seed) == len(tiled_dims)


def test_a_maximum_of_nothing_yet_scales_by_zero_or_one() -> None:
    graph = parse_graph(STATE)
    lowest = np.full((3,), -np.inf, np.float32)
    x = np.array([[1, 2], [-np.inf, 3], [-np.inf, -np.inf]], np.float32)
    m, total = evaluate(graph, (3, 2), [x, lowest, np.array([0, 0, 5], np.float32)])
    np.testing.assert_array_equal(m, [2, 3, -np.inf])
    np.testing.assert_allclose(total[:2], [1 + np.exp(-1), 1], rtol=1e-6)
    assert np.isnan(total[2])  # exp(-inf - -inf), as the graph says


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("exp(x-m)", 1),
        (f"exp(x-maximum(m,{LOWEST!r}))", 1),
        ("exp(x-m)*exp(w-m)", 2),
        ("exp(x-m)*w", 1),
        ("w/exp(x-m)", -1),
        ("exp(x-m)/exp(w-m)", 0),
        ("exp(x-m)+2*exp(w-m)", 1),
        ("-exp(x-m)", 1),
        ("exp(x)", 0),
        ("2.0*x", 0),
        ("m*x", None),
        ("exp(x-m)+x", None),
        ("exp(m-x)", None),
        ("exp(x-2*m)", None),
        ("exp(x*m-m)", None),
        ("exp(x-maximum(m,0.0))", None),
        ("tanh(exp(x-m))", None),
        ("sqrt(exp(x-m))", None),
    ],
)
def test_weights(expression: str, expected: int | None) -> None:
    text = f"out m[r]+=max(x[r,n]);out u[r]+=max(w[r,n]);t[r,n]={expression}"
    graph, names = parse_named(text)
    term = graph.node(names.values["t"]).expression
    assert weight(graph, term, names.values["m"]) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "exp(x-m)*exp(w-m)",
        "w/exp(x-m)",
        "exp(x-m)/exp(w-m)+x*w",
        "exp(x-m)+2*exp(w-m)",
        "neg(exp(x-m)*w)/exp(w-m)/exp(x-m)",
    ],
)
def test_a_weight_is_how_a_term_scales(expression: str) -> None:
    """t(m + δ) = t(m) · exp(-w·δ), by the definition of the term."""
    # A maximum of one column is that column: m is what the test says.
    text = f"m[r]=max(u[r,c]);z[r,n]=x[r,n]+w[r,n];t[r,n]={expression}"
    graph, names = parse_named(text)
    factor = weight(graph, graph.node(names.values["t"]).expression, names.values["m"])
    assert factor is not None
    rng = np.random.default_rng(1)
    sizes = tuple({"r": 2, "c": 1, "n": 3}[name] for name in names.dims)
    shapes = input_shapes(graph, sizes)
    arrays = [rng.random(shape, np.float32) for shape in shapes.values()]
    _, before = evaluate(graph, sizes, arrays)
    arrays[names.values["u"]] += np.float32(0.75)
    _, after = evaluate(graph, sizes, arrays)
    np.testing.assert_allclose(after, before * np.exp(-factor * 0.75), rtol=1e-5)


def test_what_can_be_rescaled() -> None:
    graph = parse_graph(STATE)
    m, _, total = graph.node_values
    assert can_rescale(graph, m)
    assert not can_rescale(graph, total)
    written = parse_graph(STATE.replace("l[r]+=", "l[r]="))
    assert not can_rescale(written, written.node_values[0])
    inside = parse_graph(STATE.replace("p[r,n]=", "out p[r,n]="))
    assert not can_rescale(inside, inside.node_values[0])


@pytest.mark.parametrize(
    ("text", "adding"),
    [
        ("y[m,n]=sum(a[m,k]*b[k,n])", "y"),
        ("y[m]=max(x[m,n])", "y"),
        (CHAIN, "y"),
        # The maximum inside becomes an output: the running state of online softmax.
        (STATE.replace("+=", "=").replace("out m", "m"), "lm"),
        (ATTENTION, "lmo"),
        ("a[m]=sum(x[m,n]);b[m,n]=exp(x)", "a"),
    ],
)
def test_the_form_that_accumulates(text: str, adding: str) -> None:
    graph, names = parse_named(text)
    accumulating_form = accumulating(graph)
    assert accumulating_form is not None
    outputs = {Output(names.values[name], accumulates=True) for name in adding}
    assert {out for out in accumulating_form.outputs if out.accumulates} == outputs
    assert dict.fromkeys(graph.modes) == {
        v: None for v in accumulating_form.modes if v in graph.modes
    }


@pytest.mark.parametrize(
    "text",
    [
        "y[m,n]=exp(x[m,n])",
        "out y[m]+=sum(x[m,n])",
        SOFTMAX,
        f"{ATTENTION};y[q,e]=o/l",
        # What is relative to the maximum is no sum that could be repaired.
        "m[r]=max(x[r,n]);l[r]=sum(tanh(x-m))",
    ],
)
def test_graphs_without_a_form_that_accumulates(text: str) -> None:
    assert accumulating(parse_graph(text)) is None
