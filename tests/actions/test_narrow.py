"""Narrow: two programs, by what the values of an operand are."""

import pytest

from morello.actions import Move, Narrow
from morello.errors import ScheduleError
from morello.kernels.range_check import range_check_cost
from morello.machine import AVX2
from morello.spec import Layout, Level, Spec, parse_spec, print_spec
from morello.spec.frame import Frame

pytestmark = pytest.mark.quick

GOAL = "matmul:64x128x96:u8,s8,s32"


def spec(text: str) -> Spec:
    return parse_spec(text, AVX2.limits)


def candidates(text: str) -> list[str]:
    axes = ((1,), (64,), (128,), (96,))
    return [str(a) for a in Narrow.candidates(spec(text).key, axes, AVX2)]


def test_both_ways_are_left_and_the_narrow_one_counts() -> None:
    found = Narrow("rhs", Level.L2).apply(spec(GOAL), AVX2).holes
    texts = [f"{h.role} {h.times} {print_spec(h.spec, AVX2.limits)}" for h in found]
    rest = ",s32:rhs=[0,1,2]@L2:l2=4096"
    assert texts == [
        f"narrow 1 matmul:64x128x96:u8,s7{rest}",
        f"wide 0 matmul:64x128x96:u8,s8{rest}",
    ]


def test_it_costs_a_move_and_the_look() -> None:
    moved = Move("rhs", Level.L2, Layout.row_major(3)).apply(spec(GOAL), AVX2)
    found = Narrow("rhs", Level.L2).apply(spec(GOAL), AVX2)
    look = range_check_cost(spec(GOAL).tensors[1], (1, 128, 96), AVX2.isa, AVX2.prices)
    assert found.cost == moved.cost + look
    assert found.total((100, 10**9)) == found.cost + 100


def test_the_search_tries_it_where_a_kernel_asks_for_what_is_narrow() -> None:
    assert candidates(GOAL) == ["narrow(rhs, L2)"]
    assert candidates("matmul_accum:64x128x96:u8,s8,s32") == ["narrow(rhs, L2)"]
    assert candidates("matmul:64x128x96:u8,s8,s32:rhs=[0,1,2]@L2") == []
    assert candidates("matmul:64x128x96:u8,s8,s32:rhs=[0,2,1,2p16,1p2]") == []
    assert candidates("matmul:64x128x96:s8,s8,s32") == []
    assert candidates("matmul:64x128x96:u8,s8,s16") == []
    assert candidates("matmul:64x128x96:u8,s8,s16:saturating=true") == []
    assert candidates("move:64x96:s8") == []
    assert candidates("matmul:64x128x96:f32") == []


@pytest.mark.parametrize(
    ("text", "action", "reason"),
    [
        (GOAL, Narrow("src", Level.L2), "it has no operand 'src'; those are: lhs, rhs"),
        (GOAL, Narrow("lhs", Level.L2), "'lhs' is u8, of which no part has a dtype"),
        (GOAL, Narrow("out", Level.L2), "'out' is no factor that matmul multiplies"),
        ("move:8x8:s8", Narrow("src", Level.L2), "'src' is no factor that move multi"),
        (GOAL, Narrow("rhs", Level.MEM), "'rhs' is in MEM: name a nearer cache"),
        (GOAL, Narrow("rhs", Level.VRF), "'rhs' is in MEM: name a nearer cache"),
        (
            "matmul:64x128x96:u8,s8,s32:rhs=[0,2,1,2p16,1p2]",
            Narrow("rhs", Level.L2),
            "'rhs' is packed already, in [0,2,1,2p16,1p2]",
        ),
        (
            f"{GOAL}:l2=100",
            Narrow("rhs", Level.L2),
            "'rhs' takes 192 cache lines of L2, 100 are free",
        ),
    ],
)
def test_refusals(text: str, action: Narrow, reason: str) -> None:
    with pytest.raises(ScheduleError) as refused:
        action.apply(spec(text), AVX2)
    assert reason in str(refused.value)
