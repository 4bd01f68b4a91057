"""Dimensions that go, or that become one: the same numbers, by simpler programs."""

import numpy as np
import pytest

from morello.actions import Collapse, Drop, Pad
from morello.machine import AVX2
from morello.search import Solver
from morello.search.impl import Impl
from morello.spec import MEM, Layout, Spec, parse_spec
from morello.spec.graphs import canonical, parse_graph
from morello.spec.graphs.collapsing import collapsed, come_together, dropped
from morello.spec.graphs.evaluate import evaluate
from morello.spec.text.graphs import print_graph
from tests.quality.execution import RUNS, check_bound, run
from tests.quality.programs import build_programs

LINEAR = "y[b,t,n]=sum(x[b,t,k]*w[k,n])"

FIRST = {
    f"compose:3x5x4x6:f32:graph={LINEAR}": ["collapse", "squeeze"],
    "compose:5x4x6:f32:graph=y[m,n]=sum(w[k,n]*x[m,k])": ["squeeze"],
    "compose:2x5x4x6:f32:graph=y[b,m,n]=sum(w[b,k,n]*x[b,m,k])": ["squeeze"],
    "compose:3x4x5:f32:graph=y[a,b,c]=relu(x[a,b,c])": ["collapse", "collapse"],
    "compose:1x4x5:f32:graph=t[z]=sum(x[z,m,n]);y[z]=tanh(t)": ["collapse"],
    "compose:1x4x5:f32:graph=y[z,m]=max(x[z,m,n])": ["drop"],
}
"""Specs, and the actions that a program begins with."""


def first(impl: Impl, count: int) -> list[str]:
    names = []
    for _ in range(count):
        names.append(impl.action.name)
        if len(impl.branches) != 1:
            break
        impl = impl.branches[0].impl
    return names


def searched(text: str) -> tuple[Spec, Impl]:
    spec = parse_spec(text, AVX2.limits)
    return spec, Solver(AVX2).solve(spec).impl


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", FIRST)
def test_programs_begin_with_what_is_simpler(text: str) -> None:
    _, impl = searched(text)
    assert first(impl, len(FIRST[text])) == FIRST[text]
    (program,) = build_programs([impl], [text])
    check_bound(program)


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("move:6x5x3x3:f32:dst=[1,2,3,0]", ["collapse", "collapse"]),
        ("move:6x5x3x3:f32:dst=[2,3,1,0]", ["collapse"]),
        ("move:4x6x5:bf16,f32", ["collapse"]),
        ("move:7x9:f32", []),
        ("fill:3x4x5:s32:value=highest", ["collapse"]),
        ("exp:7x2x9:f32", ["collapse", "collapse"]),
        ("add:7x3:bf16", ["collapse"]),
    ],
)
def test_kinds_with_all_dimensions_in_all_operands_collapse_what_is_not_tiled(
    text: str, actions: list[str]
) -> None:
    spec, impl = searched(text)
    count = len(actions)
    assert first(impl, count) == actions
    assert "collapse" not in first(impl, count + 1)[count:]
    (program,) = build_programs([impl], [text])
    inputs = spec.random(np.random.default_rng(0))
    wanted = spec.evaluate(*inputs)
    for side, byte in RUNS:
        (result,) = run(program, inputs, side, byte)
        assert result.tobytes() == np.broadcast_to(wanted, result.shape).tobytes()


def test_a_copy_into_another_order_costs_what_the_copy_of_rows_does() -> None:
    whole = searched("move:40x36x3x3:f32:dst=[1,2,3,0]")[1].cost
    assert whole == searched("move:40x324:f32:dst=[1,0]")[1].cost


@pytest.mark.sampled(5)
def test_a_graph_that_is_a_product_costs_what_the_product_does() -> None:
    text = "compose:48x40x32:f32:graph=y[m,n]=sum(a[m,k]*b[k,n])"
    assert searched(text)[1].cost == searched("matmul:48x32x40:f32")[1].cost


def test_which_dimensions_come_together() -> None:
    graph = canonical(parse_graph(LINEAR)).graph
    pairs = {(a, b) for a in range(4) for b in range(4) if come_together(graph, a, b)}
    b, t = 0, 1
    assert pairs - {(i, i) for i in range(4)} == {(b, t), (t, b)}
    window = canonical(parse_graph("y[u,v]=max(x[u,2*v+j])")).graph
    assert not any(come_together(window, 0, d) for d in (1, 2))


def test_collapsed_and_dropped_graphs_compute_the_same() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((3, 5, 6)), rng.standard_normal((6, 4))
    x, w = x.astype(np.float32), w.astype(np.float32)
    graph = canonical(parse_graph(LINEAR)).graph
    (expected,) = evaluate(graph, (3, 5, 4, 6), (x, w))
    part = collapsed(graph, 0, 1)
    sizes = tuple({1: 15, 2: 4, 3: 6}[dim] for dim in part.dims)
    (result,) = evaluate(part.graph, sizes, (x.reshape(15, 6), w))
    assert np.array_equal(result.reshape(3, 5, 4), expected)
    one = dropped(graph, 0)
    assert one is not None
    sizes = tuple({1: 5, 2: 4, 3: 6}[dim] for dim in one.dims)
    (result,) = evaluate(one.graph, sizes, (x[0], w))
    assert np.array_equal(result, expected[0])


def test_what_is_innermost_stays_where_there_may_be_gaps() -> None:
    text = "compose:4x1x6:f32:graph=y[m,n]=sum(b[k,n]*a[m,k])"
    assert not isinstance(Drop("d0").view(parse_spec(text, AVX2.limits).key), str)
    tile = parse_spec(f"{text}:x0=[0,1]/strided", AVX2.limits)
    view = Drop("d0").view(tile.key)
    assert isinstance(view, str)
    assert "need not be" in view


@pytest.mark.parametrize(
    ("text", "dim", "left"),
    [
        ("y[u,v]=max(x[u,2*v+j])", 2, None),  # the only dimension that is reduced
        ("y[u]=sum(x[2*u+i,j])", 2, "out v0[d0]=sum(x0[2*d0+d1])"),
        ("y[u,n]=sum(x[u+i,k]*w[i,k,n])", 2, "out v0[d0,d1]=sum(x0[d0,d2]*x1[d2,d1])"),
        ("y[m]=sum(x[m,n])", 0, None),  # the only dimension of y
    ],
)
def test_what_can_go(text: str, dim: int, left: str | None) -> None:
    part = dropped(canonical(parse_graph(text)).graph, dim)
    assert (None if part is None else print_graph(part.graph)) == left


@pytest.mark.parametrize(("taps", "whole"), [(1, False), (2, True)])
def test_a_copy_of_what_is_not_all_read_does_not_collapse(
    taps: int, whole: bool
) -> None:
    """Steps of 2 over 6 places: one tap leaves out the last row and column."""
    text = f"conv:1x4x6x6x3x{taps}x{taps}:f32:stride=2"
    spec = parse_spec(text, AVX2.limits)
    padded = Pad("x1", MEM, Layout.parse("[1,2,0]")).padded(spec.key)
    assert not isinstance(padded, str)
    assert padded.copy.tensors[0].contiguous == whole
    assert isinstance(Collapse("d1", "d2").view(padded.copy), str) != whole
