"""Loops along one axis: their numbers hold at every point that they are used at."""

import itertools

import numpy as np
import pytest

from morello.actions import Action, Tile
from morello.cost.operand_context import OperandContext
from morello.machine import AVX2, Target
from morello.machine.avx2_golden_cove import AVX2_GOLDEN_COVE as GOLDEN_COVE
from morello.search.dp.axes import size_axis
from morello.search.dp.tiling import plan_loops
from morello.spec import parse_spec
from morello.spec.frame import Frame

pytestmark = pytest.mark.quick

CONTEXTS = {
    "plain": OperandContext(),
    "near": OperandContext(near=True),
    "aliased": OperandContext(aliased=("src", "dst"), row_distance=64),
    "one aliased": OperandContext(aliased=("src",), other=("dst",), row_distance=64),
}


@pytest.mark.parametrize("around", CONTEXTS)
@pytest.mark.parametrize("target", [AVX2, GOLDEN_COVE], ids=lambda t: t.name)
@pytest.mark.parametrize(
    "text",
    [
        "move:20x40:f32",
        "move:20x40:f32:src=[0,1]/strided:dst=[0,1]/strided",
        "move:20x40:bf16:src=[0,1]/strided:dst=[1,0]/strided",
        "move:20x40:f32:src=[0,1]@L2/strided:dst=[1,0,1p4]/strided",
        "move:6x20x40:f32:src=[0,1,2]/strided:dst=[0,2,1]/strided",
        "max:20x40:f32:src=[0,1]/strided",
    ],
)
def test_what_a_loop_costs_is_the_same_at_all_points_of_a_part(
    text: str, target: Target, around: str
) -> None:
    seen = target.in_context(CONTEXTS[around])
    spec = parse_spec(text, seen.limits)
    sizes = tuple(map(size_axis, spec.sizes))
    for dim, name in enumerate(spec.kind.dims):
        loops: tuple[Action, ...] = tuple(Tile(name, size) for size in (1, 4, 12))
        planned = plan_loops(spec.key, dim, sizes, sizes[dim], loops, seen)
        met = 0
        for part in planned.parts:
            for point in itertools.product(*part.where):
                here = tuple(axis[i] for axis, i in zip(sizes, point, strict=True))
                frame = Frame(spec.key, here, spec.limits)
                plan, at = part.plan, point[dim]
                for row in range(plan.starts[at], plan.starts[at + 1]):
                    loop = loops[plan.actions[row]]
                    assert plan.own[row] == loop.expand(frame, seen).cost
                met += 1
        plan, which = planned.joined
        for place, part in enumerate(planned.parts):
            first = place * (len(sizes[dim]) + 1)
            own = plan.own[plan.starts[first] : plan.starts[first + len(sizes[dim])]]
            assert own.tolist() == part.plan.own.tolist()
            if which is not None:
                assert (which[np.ix_(*part.where)] == place).all()
        assert met == len(list(itertools.product(*sizes)))
