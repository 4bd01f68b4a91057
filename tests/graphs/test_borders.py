"""Borders: strips without padding are the rows of a padded graph."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from morello.actions import Border, Taps
from morello.actions.loops.border import ROLES
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.search import Solver
from morello.search.impl import Branch, Impl
from morello.spec import Spec, parse_spec
from morello.spec.compose import Compose
from morello.spec.graphs import parse_graph
from morello.spec.graphs.borders import Border as Borders
from morello.spec.graphs.borders import Strip, border, strips, taps_inside
from tests.graphs.tiles import outputs_of
from tests.quality.execution import check_bound
from tests.quality.programs import build_programs

SPECS = {
    "conv:1x2x7x6x3x3x3:f32:pad=1": [(0, 1), (1, 5), (6, 1)],
    "conv:1x2x9x6x2x5x5:f32:pad=2:groups=2": [
        *((0, 1), (1, 1), (2, 5), (7, 1), (8, 1))
    ],
    "conv:1x2x9x6x2x3x3:f32:pad=1:stride=2:groups=2": [(0, 1), (1, 3), (4, 1)],
    "conv:1x2x9x6x2x3x3:f32:pad=2:dilation=2:groups=2": [(0, 2), (2, 5), (7, 2)],
    "conv:1x3x8x6x2x3x3:f32:pad=1:stride=2:layout=nhwc": [(0, 1), (1, 3)],
}
"""Convolutions, and the first row of each strip with the number of rows."""


@pytest.mark.parametrize("text", SPECS)
def test_strips_compute_the_rows(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    kind, sizes = spec.kind, spec.sizes
    graph = kind.as_graph
    assert graph is not None
    rows = next(d for d in range(len(sizes)) if border(graph, d))
    edge = border(graph, rows)
    assert edge is not None
    parts = strips(edge, sizes[rows], sizes[edge.taps])
    assert parts is not None
    assert [(strip.row, strip.rows) for strip in parts] == SPECS[text]
    rng = np.random.default_rng(0)
    values = {
        kind.values[i]: rng.standard_normal(operand.sizes(sizes), np.float32)
        for i, operand in enumerate(kind.operands)
        if not operand.is_written
    }
    ((out, whole),) = outputs_of(graph, sizes, values).items()
    for strip in parts:
        array = _rows_of(strip, edge, spec, values)
        axis = kind.operands[-1].axis(rows)
        wanted = np.take(whole, range(strip.row, strip.row + strip.rows), axis)
        np.testing.assert_allclose(array, wanted, rtol=1e-4, atol=1e-5)
    assert sum(strip.rows for strip in parts) == sizes[rows]
    assert out in kind.values


@pytest.mark.parametrize(
    "text",
    [
        *SPECS,
        # Taps that no row has inside, and one that a row alone has.
        "conv:1x2x3x2x2x9x9:f32:pad=4:layout=nhwc",
        "conv:1x2x9x6x2x4x4:f32:pad=1:stride=3",
    ],
)
def test_taps_compute_the_rows(text: str) -> None:
    """Their sums are the whole output: of integers, bit for bit."""
    spec = parse_spec(text, AVX2.limits)
    graph, sizes = spec.kind.as_graph, spec.sizes
    assert graph is not None
    rows = next(d for d in range(len(sizes)) if border(graph, d))
    edge = border(graph, rows)
    assert edge is not None
    parts = taps_inside(edge, sizes[rows], sizes[edge.taps])
    rng = np.random.default_rng(0)
    values = {
        spec.kind.values[i]: rng.integers(-4, 5, shape).astype(np.float32)
        for i, shape in enumerate(spec.shape(i) for i in range(len(spec.tensors)))
        if not spec.kind.operands[i].is_written
    }
    ((_, whole),) = outputs_of(graph, sizes, values).items()
    sums = np.zeros_like(whole)
    axis = spec.kind.operands[-1].axis(rows)
    for tap in parts:
        place = [slice(None)] * sums.ndim
        place[axis] = slice(tap.row, tap.row + tap.rows)
        sums[tuple(place)] += _rows_of(tap, edge, spec, values)
    np.testing.assert_array_equal(sums, whole)
    assert sum(tap.rows for tap in parts) < sizes[rows] * sizes[edge.taps]


def _rows_of(strip: Strip, edge: Borders, spec: Spec, values: dict[int, Any]) -> Any:
    """The output of a strip, from its part of the image and of the filter."""
    small = list(spec.sizes)
    small[edge.rows], small[edge.taps] = strip.rows, strip.taps
    inner = Compose.of(edge.graph)
    arrays = {}
    for i, operand in enumerate(inner.operands):
        shape = operand.sizes(tuple(small))
        starts = [0] * operand.rank
        if i == edge.image:
            starts[edge.axis] = strip.place
        elif edge.taps in operand.dims:
            starts[operand.axis(edge.taps)] = strip.tap
        cut = tuple(slice(s, s + n) for s, n in zip(starts, shape, strict=True))
        if not operand.is_written:
            value = spec.kind.values[i]
            arrays[value] = values[value][cut]
            assert arrays[value].shape == shape
    ((_, array),) = outputs_of(edge.graph, tuple(small), arrays).items()
    return array


@pytest.mark.parametrize(
    "text",
    [
        # What is beyond counts as 0, which may be the greatest.
        "y[u]=max(x[pad(u+i,1,1)]*w[i])",
        # It is no factor of the sum.
        "y[u]=sum(x[pad(u+i,1,1)]+w[i])",
        "y[u]=sum(exp(x[pad(u+i,1,1)])*w[i])",
        # What is 0 there is read by others, too.
        "t[u]=sum(x[pad(u+i,1,1)]*w[i]);y[u,i]=x*t",
        # Not all that is inside is reached.
        "y[u]=sum(x[pad(2*u+i,1,-1)]*w[i])",
    ],
)
def test_where_there_is_no_border(text: str) -> None:
    graph = parse_graph(text)
    assert all(border(graph, dim) is None for dim in range(graph.rank))


def test_a_row_under_no_tap_is_none_of_a_strip() -> None:
    edge = border(parse_graph("y[u]=sum(x[pad(u+i,4,4)]*w[i])"), 0)
    assert edge is not None
    assert strips(edge, 12, 3) is None


def test_holes_of_a_border() -> None:
    spec = parse_spec("conv:1x8x7x6x8x3x3:f32:pad=1:groups=8", AVX2.limits)
    names = [n for n in spec.kind.dims if not _refused(spec, n)]
    assert len(names) == 2
    rewrite = Border(names[0]).apply(spec, AVX2)
    assert [hole.role for hole in rewrite.holes] == ["before", "main", "after"]
    assert {hole.role for hole in rewrite.holes} < {*ROLES}
    assert all(hole.times == 1 for hole in rewrite.holes)
    assert rewrite.cost == 3 * AVX2.coefficients.loop
    inner = rewrite.holes[1].spec
    graph = Border(names[1]).apply(inner, AVX2).holes[1].spec.kind.as_graph
    assert graph is not None
    assert not graph.padded_dims


@pytest.mark.parametrize("taps", [5, 7])
def test_a_border_has_up_to_three_strips_on_a_side(taps: int) -> None:
    text = f"conv:1x8x9x9x8x{taps}x{taps}:f32:pad={taps // 2}:groups=8"
    rewrite = Border("d1").apply(parse_spec(text, AVX2.limits), AVX2)
    sides = taps // 2
    before, after = ROLES[:sides], ROLES[4 : 4 + sides]
    assert [hole.role for hole in rewrite.holes] == [*before, "main", *after]
    rows, inside = {}, {}
    for hole in rewrite.holes:
        rows[hole.role], inside[hole.role] = hole.spec.sizes[1], hole.spec.sizes[3]
    assert rows == dict.fromkeys(rows, 1) | {"main": 9 - 2 * sides}
    most = [*range(taps - sides, taps)]
    assert [*inside.values()] == [*most, taps, *reversed(most)]
    assert rewrite.cost == (2 * sides + 1) * AVX2.coefficients.loop


def test_a_border_of_four_strips_on_a_side_is_refused() -> None:
    spec = parse_spec("conv:1x8x12x12x8x9x9:f32:pad=4:groups=8", AVX2.limits)
    with pytest.raises(ScheduleError, match="more than 3 strips on one side"):
        Border("d1").apply(spec, AVX2)


CONV = "out y[u,v,f]+=sum(x[{0},pad(v+j,1,1),c]*w[i,j,c,f])"


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        ("pad(u+i,1,1)", [4, 5, 4]),
        ("pad(2*u+i,1,0)", [4, 5, 5]),
        ("pad(u+2*i,2,1)", [3, 5, 4]),
    ],
)
def test_holes_of_taps(rows: str, sizes: list[int]) -> None:
    text = f"compose:5x6x8x3x3x4:f32:graph={CONV.format(rows)}"
    rewrite = Taps("d0").apply(parse_spec(text, AVX2.limits), AVX2)
    assert [hole.spec.sizes[0] for hole in rewrite.holes] == sizes
    assert {hole.spec.sizes[3] for hole in rewrite.holes} == {1}
    assert {hole.role for hole in rewrite.holes} < {*ROLES}
    assert all(hole.times == 1 for hole in rewrite.holes)
    assert rewrite.cost == 3 * AVX2.coefficients.loop
    inner = rewrite.holes[0].spec
    assert inner.kind.as_graph is not None
    assert len(inner.kind.as_graph.padded_dims) == 2  # d1 and the taps along it


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        ("7x7x32x3x3x32", "pad(u+i,1,1)"),
        ("5x6x19x3x3x40", "pad(2*u+i,1,0)"),
        ("6x5x16x5x3x37", "pad(u+i,2,2)"),
    ],
)
def test_programs_of_taps_are_within_the_bound(sizes: str, rows: str) -> None:
    """Taps by themselves along both dimensions, each on a part of the image."""
    text = f"compose:{sizes}:f32:graph={CONV.format(rows)}:x0=[0,1,2]@L2:v0=[0,1,2]@L2"
    target = dataclasses.replace(AVX2, relayouts=False)
    spec = parse_spec(text, target.limits)
    rewrite = Taps("d0").apply(spec, target)
    branches = tuple(
        Branch(hole.role, hole.times, Solver(target).solve(hole.spec).impl)
        for hole in rewrite.holes
    )
    below = {branch.impl.branches[0].impl.action for branch in branches}
    assert below == {Taps("d1")}
    cost = rewrite.total(tuple(branch.impl.cost for branch in branches))
    (program,) = build_programs([Impl(spec, Taps("d0"), cost, branches)], [text])
    check_bound(program)


def _refused(spec: Any, name: str) -> bool:
    try:
        Border(name).apply(spec, AVX2)
    except ScheduleError:
        return True
    return False


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "text",
    [
        "conv:1x19x4x7x19x3x3:f32:pad=1:groups=19:layout=nhwc:l2=0",
        "conv:1x9x6x7x9x4x4:f32:pad=1:groups=9:stride=2:l2=0",
    ],
)
def test_depthwise_convolutions_are_within_the_bound(text: str) -> None:
    """Searched; rows side by side, what remains of them, and tails of vectors."""
    spec = parse_spec(text, AVX2.limits)
    (program,) = build_programs([Solver(AVX2).solve(spec).impl], [text])
    check_bound(program)
