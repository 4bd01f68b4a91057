"""Peel: what it costs, and which parts the search tries."""

import dataclasses

import pytest

from morello.actions import Peel, Split, ToAccum
from morello.machine import AVX2
from morello.spec import Spec, parse_spec

pytestmark = pytest.mark.quick


def spec(text: str) -> Spec:
    return parse_spec(text, AVX2.limits)


@pytest.mark.parametrize("size", [1, 3, 4, 7])
def test_it_costs_what_the_loop_that_adds_all_parts_does(size: int) -> None:
    peeled = Peel("k", size).apply(spec("matmul:8x8x8"), AVX2)
    split = Split("k", size).apply(spec("matmul_accum:8x8x8"), AVX2)
    assert peeled.cost == split.cost
    assert sum(h.times for h in peeled.holes) == sum(h.times for h in split.holes)


def test_the_search_tries_powers_of_four_before_l1() -> None:
    axes = ((1,), (8,), (1, 2, 4, 8, 12, 16, 64, 100, 256, 300), (8,))

    def tried(text: str, least: int = 4) -> list[str]:
        target = dataclasses.replace(AVX2, first_part=least)
        return [str(a) for a in Peel.candidates(spec(text).key, axes, target)]

    four = ["peel(k, 4)", "peel(k, 16)", "peel(k, 64)", "peel(k, 256)"]
    assert tried("matmul:8x300x8") == four
    assert tried("matmul:8x300x8:f32:out=[0,1,2]@L2", 5) == four[1:]
    assert tried("matmul:8x300x8:f32:out=[0,1,2]@L1") == []
    assert tried("matmul:8x300x8:f32:lhs=[0,1,2]@L1") == []
    assert tried("matmul_accum:8x300x8") == []
    assert tried("move:300x8:f32") == []
    assert ToAccum().apply(spec("matmul:8x300x8"), AVX2).cost == 0
