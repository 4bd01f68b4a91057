"""Operands that commute may come in either order, by any front end: one Spec."""

import dataclasses
import functools
import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morello
from morello.machine import AVX2
from morello.spec import Spec, parse_spec
from morello.spec.elements.arrays import ArrayElements
from morello.spec.functions import FUNCTIONS as OF_ELEMENTS
from morello.spec.graphs import canonical, parse_graph
from morello.spec.graphs.commuting import in_order
from morello.spec.graphs.expression import COMMUTATIVE, Call, commuted, rewritten
from morello.spec.graphs.graph import Graph
from tests.graphs.random_graphs import check_meaning, random_graph, shuffled
from tests.spec.commuting import (
    FUNCTIONS,
    NO_ONNX,
    Shape,
    onnx_program,
    swapped,
    torch_program,
)
from tests.spec.computations import WAYS

pytestmark = pytest.mark.quick

EVERY = FUNCTIONS | {
    way.name: (way.function, way.shapes) for way in WAYS if not way.reads_windows
}

SEEDS = range(4)


def specs(model: Any) -> list[Spec]:
    return [part.spec(AVX2.limits) for part in model.parts]


def traced(function: Callable[..., Any], shapes: tuple[Shape, ...]) -> list[Spec]:
    return specs(morello.trace(functools.partial(function, np), *shapes))


def lowered(function: Callable[..., Any], shapes: tuple[Shape, ...]) -> list[Spec]:
    """The Specs of what jax writes."""
    jax = pytest.importorskip("jax")
    arguments = [jax.ShapeDtypeStruct(shape, np.float32) for shape in shapes]
    whole = functools.partial(function, jax.numpy)
    return specs(morello.from_mlir(jax.jit(whole).lower(*arguments).as_text()))


@pytest.mark.parametrize("name", EVERY)
def test_functions_of_numpy(name: str) -> None:
    function, shapes = EVERY[name]
    wanted = traced(function, shapes)
    for seed in SEEDS:
        assert repr(traced(swapped(function, seed), shapes)) == repr(wanted)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_of_jax(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    wanted = traced(function, shapes)
    for each in (function, swapped(function, 0)):
        assert repr(lowered(each, shapes)) == repr(wanted)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NO_ONNX])
def test_programs_of_onnx(name: str) -> None:
    pytest.importorskip("onnx")
    function, shapes = FUNCTIONS[name]
    wanted = traced(function, shapes)
    for each in (function, swapped(function, 0)):
        model = morello.from_onnx(onnx_program(each, shapes))
        assert repr(specs(model)) == repr(wanted)


@pytest.mark.sampled(5)
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_of_pytorch(name: str) -> None:
    pytest.importorskip("torch")
    function, shapes = FUNCTIONS[name]
    wanted = traced(function, shapes)
    model = morello.from_mlir(torch_program(swapped(function, 0), shapes))
    assert repr(specs(model)) == repr(wanted)


SPECIAL = (0.0, 1.0, np.inf, np.nan, 1e-45, 1e-38, 3e38, 0.3, 2.5)


@pytest.mark.parametrize("name", OF_ELEMENTS)
def test_what_commutes_has_the_same_bits(name: str) -> None:
    count, function = OF_ELEMENTS[name]
    if count != 2:
        assert name not in COMMUTATIVE
        return
    rng = np.random.default_rng(0)
    numbers = [sign * x for x in (*SPECIAL, *rng.random(90)) for sign in (1, -1)]
    a, b = np.meshgrid(*[np.array(numbers, np.float32)] * 2)
    elements = ArrayElements(())
    with np.errstate(all="ignore"):
        one, other = function(elements, a, b), function(elements, b, a)
    same = (one.view(np.uint32) == other.view(np.uint32)) | (
        np.isnan(one) & np.isnan(other)
    )
    assert bool(same.all()) == (name in COMMUTATIVE)


def in_any_order(rng: random.Random, graph: Graph) -> Graph:
    """A graph whose operands that commute are in any order."""

    def swap(call: Call) -> Call:
        return commuted(call, lambda _: rng.random())

    nodes = (
        dataclasses.replace(node, expression=rewritten(node.expression, swap))
        for node in graph.nodes
    )
    return dataclasses.replace(graph, nodes=tuple(nodes))


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_have_one_order(seed: int) -> None:
    rng = random.Random(f"order {seed}")
    differ = 0
    for _ in range(30):
        graph = random_graph(rng)
        wanted = in_order(graph).graph
        assert in_order(wanted).graph == wanted
        other, _ = shuffled(rng, in_any_order(rng, graph))
        differ += in_order(other).graph != wanted
    assert differ <= 1  # of dimensions that nothing but what they are apart tells apart


@pytest.mark.parametrize("seed", range(4))
def test_it_means_the_same(seed: int) -> None:
    rng = random.Random(f"meaning {seed}")
    for _ in range(15):
        graph = random_graph(rng, windows=True)
        check_meaning(rng, graph, in_order(graph))


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("y[m]=x[m]*exp(x)", "y[m]=exp(x[m])*x"),
        ("y[m]=max(x[m],x*0.1)", "y[m]=max(x[m]*0.1,x)"),
        ("y[m,n]=x[m,n]*g[n]+x", "y[m,n]=x[m,n]+x*g[n]"),
        ("s[m]=sum(x[m,n]);y[m]=s+exp(s)", "s[m]=sum(x[m,n]);y[m]=exp(s)+s"),
    ],
)
def test_graphs_as_text(written: str, other: str) -> None:
    sizes = "8" if "n" not in written else "8x33"
    one, two = (
        parse_spec(f"compose:{sizes}:f32:graph={text}", AVX2.limits)
        for text in (written, other)
    )
    assert repr(one) == repr(two)


@pytest.mark.parametrize(
    "text", ["y[m,n]=b[n]+a[m,n]", "y[m,n]=b[m,n]*exp(a[m,n])", "y[m]=a[m]+b[m]"]
)
def test_arguments_of_a_text_stay_in_order(text: str) -> None:
    """Calls pass them as the text names them."""
    sizes = "8" if "n" not in text else "8x33"
    spec = parse_spec(f"compose:{sizes}:f32:graph={text}", AVX2.limits)
    plain = canonical(parse_graph(text)).graph
    assert spec.kind.as_graph is not None
    assert spec.kind.as_graph.inputs == plain.inputs


def test_alike_inputs_in_two_places() -> None:
    """Inputs that are alike are in one order in every node that reads both."""
    texts = [
        f"y[m]=max({a}[m],{b}[m])-min({c},{d})"
        for (a, b), (c, d) in itertools.product([("x", "z"), ("z", "x")], repeat=2)
    ]
    graphs = {in_order(parse_graph(text)).graph for text in texts}
    assert len(graphs) == 1
