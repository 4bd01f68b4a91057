"""Specialize on a range: two programs, chosen by the values of an operand."""

import dataclasses

import pytest

from morello.actions import Move, SpecializeRange
from morello.cost.of_target import cost_model
from morello.kernels.code.range_check import range_check_counts
from morello.machine import AVX2, Target
from morello.spec import L2, Layout, Spec, parse_spec, print_spec
from morello.spec.frame import Frame

pytestmark = pytest.mark.quick

GOAL = "matmul:64x128x96:u8,s8,s32"
SPECIALIZED = SpecializeRange("rhs", L2)


def spec(text: str) -> Spec:
    return parse_spec(text, AVX2.limits)


def candidates(text: str, target: Target = AVX2) -> list[str]:
    axes = ((1,), (64,), (128,), (96,))
    return [str(a) for a in SpecializeRange.candidates(spec(text).key, axes, target)]


def test_both_holes_are_left_and_the_one_in_range_counts() -> None:
    holes = SPECIALIZED.apply(spec(GOAL), AVX2).holes
    texts = [f"{h.role} {h.times} {print_spec(h.spec, AVX2.limits)}" for h in holes]
    rest = ",s32:rhs=[0,1,2]@L2:l2=4096"
    assert texts == [
        f"in_range 1 matmul:64x128x96:u8,s7{rest}",
        f"general 0 matmul:64x128x96:u8,s8{rest}",
    ]


def test_it_costs_a_move_and_the_look() -> None:
    moved = Move("rhs", L2, Layout.row_major(3)).apply(spec(GOAL), AVX2)
    rewrite = SPECIALIZED.apply(spec(GOAL), AVX2)
    counts = range_check_counts(spec(GOAL).tensors[1], (1, 128, 96), AVX2.isa)
    look = cost_model(AVX2).kernel(Frame.of(spec(GOAL)), counts)
    assert rewrite.cost == moved.cost + look
    assert rewrite.total((100, 10**9)) == rewrite.cost + 100


def test_the_search_tries_it_where_a_kernel_multiplies_the_smaller_range() -> None:
    assert candidates(GOAL) == [str(SPECIALIZED)]
    assert candidates("matmul_accum:64x128x96:u8,s8,s32") == [
        "specialize_range(rhs, L2)"
    ]
    assert candidates("matmul:64x128x96:u8,s8,s32:rhs=[0,1,2]@L2") == []
    assert candidates("matmul:64x128x96:u8,s8,s32:rhs=[0,2,1,2p16,1p2]") == []
    assert candidates("matmul:64x128x96:s8,s8,s32") == []
    assert candidates("matmul:64x128x96:u8,s8,s16") == []
    assert candidates("matmul:64x128x96:u8,s8,s16:saturating=true") == []
    assert candidates("move:64x96:s8") == []
    assert candidates("matmul:64x128x96:f32") == []
    narrow = dataclasses.replace(AVX2, relayouts=False)
    assert candidates(GOAL, narrow) == []
