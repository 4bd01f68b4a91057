"""Sizes along the axes of a goal's tables, and what is tried of them first."""

import dataclasses
from typing import Any

import pytest

from morello.actions import Collapse
from morello.machine import AVX2
from morello.search.dp.axes import _fitting, goal_axes, size_axis
from morello.spec import parse_spec

pytestmark = pytest.mark.quick


def test_shares_of_neighbours_in_memory_are_whole_lines() -> None:
    """Of 100 on four threads: 32 in lines of 16, or 25; on two 64, or 50."""
    for order, inner in (("[0,1,2]", 3), ("[0,2,1]", 1)):
        spec = parse_spec(f"matmul:100x8x100:f32:out={order}:serial=false", AVX2.limits)
        axes = goal_axes(spec, 4)
        for dim in (1, 3):
            even = {25, 50} & {*axes[dim]}
            assert even == (set() if dim == inner else {25, 50})
            assert {32, 64, 100} <= {*axes[dim]}


def test_a_serial_goal_and_one_thread_have_no_shares() -> None:
    spec = parse_spec("matmul:100x8x100:f32:serial=false", AVX2.limits)
    serial = dataclasses.replace(spec, serial=True)
    assert goal_axes(serial, 4) == goal_axes(spec, 1) == goal_axes(serial, 1)
    assert 25 not in goal_axes(spec, 1)[1]


def test_a_batch_is_one_all_or_the_share_of_a_thread() -> None:
    spec = parse_spec("attention:12x8x8x8x8:f32:serial=false", AVX2.limits)
    assert goal_axes(spec, 1)[0] == (1, 12)
    assert goal_axes(spec, 4)[0] == (1, 3, 6, 12)
    assert goal_axes(spec, 4)[1] == (1, 2, 3, 4, 6, 8)


@pytest.mark.parametrize("text", ["sum(x[a+d,c]*w[d,c])", "max(x[2*a+d,c])"])
def test_few_places_of_a_window_are_one_or_all(text: str) -> None:
    for taps, axis in ((7, (1, 7)), (31, size_axis(31))):
        window = f"compose:24x8x{taps}:f32:graph=y[a,c]={text}"
        assert goal_axes(parse_spec(window, AVX2.limits), 1)[2] == axis
    product = "compose:24x8x7x16:f32:graph=y[a,f]=sum(x[a+d,c]*w[d,c,f])"
    assert goal_axes(parse_spec(product, AVX2.limits), 1)[3] == size_axis(16)


def test_an_axis_is_the_ladder_with_its_remainders() -> None:
    assert size_axis(7) == (1, 2, 3, 4, 6, 7)
    assert size_axis(100) == (*(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 36, 48, 64, 96, 100),)
    # Above 16 there are powers of two alone.
    assert size_axis(100, fine=16) == (1, 2, 3, 4, 6, 8, 12, 16, 32, 36, 64, 100)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("add:8x16:f32", [("d0", "d1")]),
        ("add:8x16:f32:x0=[1,0]:x1=[1,0]:v0=[1,0]", [("d1", "d0")]),
        ("add:8x16:f32:x0=[1,0]", []),  # no neighbours in both
        ("add:8x16:f32:v0=ld32", []),  # with gaps
        ("add:8x16:f32:x0=[0,1]@L2", [("d0", "d1")]),
        ("move:8x16:f32", []),
        ("move:4x8x16:f32", [("d1", "d2")]),
        ("move:8x16:f32:dst=[1,0]", []),
    ],
)
def test_the_pair_that_becomes_one_first(
    text: str, pairs: list[tuple[str, str]]
) -> None:
    spec = parse_spec(text, AVX2.limits)
    tried = Collapse.candidates(spec.key, goal_axes(spec, 1), AVX2)
    assert [(one.outer, one.inner) for one in tried] == pairs


@pytest.mark.parametrize("room", [0, 1, 3, 8, 31, 32, 1000])
def test_the_greatest_size_that_fits_beside_others(room: int) -> None:
    axes, others = ((1, 2, 3, 5), (1, 4, 8)), [2, 3]

    def amount(sizes: tuple[Any, ...]) -> Any:
        return sizes[0] * sizes[1]

    for dim, axis in enumerate(axes):
        sizes = [*others]
        fits = [n for n in axis if n * sizes[1 - dim] <= room]
        wanted = max(fits, default=0)
        assert _fitting(amount, axes, dim, sizes, room) == wanted
