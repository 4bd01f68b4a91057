"""Loops along one axis: their numbers hold at every point that they are used at."""

import itertools

import pytest

from morello.actions import Action, Split, Tile
from morello.machine import AVX2
from morello.search.dp.axes import size_axis
from morello.search.dp.tiling import plan_loops
from morello.spec import parse_spec
from morello.spec.frame import Frame


@pytest.mark.parametrize(
    "text",
    [
        "move:20x40:f32",
        "move:20x40:bf16:src=[0,1]/strided:dst=[1,0]/strided",
        "move:20x40:f32:src=[0,1]@L2/strided:dst=[1,0,1p4]/strided",
        "move:6x20x40:f32:src=[0,1,2]/strided:dst=[0,2,1]/strided",
        "max_accum:20x40:f32:x0=[0,1]/strided",
    ],
)
def test_what_a_loop_costs_is_the_same_whatever_it_goes_over(text: str) -> None:
    spec = parse_spec(text, AVX2.limits)
    sizes = tuple(map(size_axis, spec.sizes))
    for dim, name in enumerate(spec.kind.dims):
        kind = Split if dim in spec.kind.reductions else Tile
        loops: tuple[Action, ...] = tuple(kind(name, size) for size in (1, 4, 12))
        compared = 0
        form = loops[0].loop_form(spec.key, AVX2)
        plan = plan_loops(form, dim, sizes[dim], sizes[dim], loops, AVX2)
        for point in itertools.product(*(range(len(axis)) for axis in sizes)):
            here = tuple(axis[i] for axis, i in zip(sizes, point, strict=True))
            frame = Frame(spec.key, here, spec.limits)
            at = point[dim]
            for row in range(plan.starts[at], plan.starts[at + 1]):
                loop = loops[plan.actions[row]]
                assert plan.price[row] == loop.expand(frame, AVX2).cost
                compared += 1
        assert compared > 0, name
