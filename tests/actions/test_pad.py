"""Pads: what their buffer takes of a cache, and what is copied into it."""

import pytest

from morello.actions.copies.pad import Pad
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.spec import L1, L2, MEM, Layout, Memory, Spec, parse_spec

pytestmark = pytest.mark.quick

NATURAL = Layout.row_major(1)
LINES = 63
"""Of the 1002 elements that windows reach."""


def image(level: str, l2: int = 8192) -> Spec:
    """Windows of three taps that reach one place beyond both ends of a row."""
    graph = "graph=y[u]=sum(w[i]*x[pad(u+i,1,1)])"
    text = f"compose:1000x3:f32:{graph}:x1=[0]@{level}:l2={l2}"
    return parse_spec(text, AVX2.limits)


@pytest.mark.parametrize(("source", "level"), [("L2", L2), ("L2", L1), ("MEM", L1)])
def test_what_is_around_a_buffer_in_a_cache_has_the_rest_of_it(
    source: str, level: Memory
) -> None:
    spec = image(source)
    rewrite = Pad("x1", level, NATURAL).apply(spec, AVX2)
    assert [hole.role for hole in rewrite.holes] == ["fill", "copy", "body"]
    left = AVX2.take(spec.limits, level, LINES)
    assert left[level] < spec.limits[level]
    assert all(
        hole.spec.tensors[-2 if hole.role == "body" else -1].level is level
        for hole in rewrite.holes
    )
    assert {hole.spec.limits for hole in rewrite.holes} == {left}
    sizes = {hole.role: hole.spec.sizes for hole in rewrite.holes}
    assert sizes == {"fill": (1002,), "copy": (1000,), "body": (1000, 3)}


def test_a_buffer_in_memory_takes_nothing() -> None:
    spec = image("MEM")
    rewrite = Pad("x1", MEM, NATURAL).apply(spec, AVX2)
    assert {hole.spec.limits for hole in rewrite.holes} == {spec.limits}


def test_a_buffer_has_to_fit() -> None:
    assert Pad("x1", L2, NATURAL).apply(image("L2", 64), AVX2)
    with pytest.raises(ScheduleError, match="more lines than are free of L2"):
        Pad("x1", L2, NATURAL).apply(image("L2", 32), AVX2)


def test_what_is_copied_and_where_may_have_gaps_and_the_buffer_has_none() -> None:
    fill, copy, body = Pad("x1", L2, NATURAL).apply(image("L2"), AVX2).holes
    assert fill.spec.tensors[0].contiguous
    assert not any(tensor.contiguous for tensor in copy.spec.tensors)
    assert body.spec.tensors[1].contiguous
    graph = body.spec.kind.as_graph
    assert graph is not None
    assert not graph.padded_dims


@pytest.mark.parametrize(
    ("axes", "graph", "copied"),
    [
        ("[0,1,2]", "x[pad(u+i,1,1),pad(v+j,1,1),c]", (6, 35)),
        ("[0,1,2]", "x[pad(u+i,1,1),pad(2*v+j,1,0),c]", (6, 70)),
        ("[0,1,2]", "x[pad(u+i,1,1),v,c]", (210,)),
        ("[0,1,2]", "x[c,pad(u+i,1,1),pad(v+j,1,1)]", (5, 6, 7)),
        ("[1,0,2]", "x[pad(u+i,1,1),pad(v+j,1,1),c]", (6, 7, 5)),
    ],
)
def test_rows_and_what_is_within_them_are_copied_as_one(
    axes: str, graph: str, copied: tuple[int, ...]
) -> None:
    """Rows of 7 places with 5 channels have gaps between them, and none inside."""
    text = f"graph=y[u,v]=sum(w[i,j,c]*{graph})"
    if "j," not in graph:
        text = text.replace("i,j", "i")
    sizes = {"u": 6, "v": 7, "i": 3, "j": 3, "c": 5}
    dims = "x".join(str(n) for name, n in sizes.items() if name in text)
    spec = parse_spec(f"compose:{dims}:f32:{text}", AVX2.limits)
    _, copy, _ = Pad("x1", MEM, Layout.parse(axes)).apply(spec, AVX2).holes
    assert copy.spec.sizes == copied
