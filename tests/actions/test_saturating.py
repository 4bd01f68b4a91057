"""Pairs that saturate are not cut: what actions refuse on account of it."""

import pytest

from morello.actions import Move, Split, Tile
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.spec import L1, Layout, parse_spec

pytestmark = pytest.mark.quick

TEXT = "matmul_accum:4x13x8:u8,s8,s16"
SATURATING = parse_spec(f"{TEXT}:saturating=true", AVX2.limits)
EXACT = parse_spec(TEXT, AVX2.limits)


def test_a_split_of_k_is_even() -> None:
    holes = Split("k", 6).apply(SATURATING, AVX2).holes
    assert [(h.role, h.spec.sizes[2], h.times) for h in holes] == [
        ("main", 6, 2),
        ("remainder", 1, 1),
    ]
    with pytest.raises(ScheduleError, match="size 3 cuts groups of 2 neighbours of k"):
        Split("k", 3).apply(SATURATING, AVX2)
    assert Split("k", 3).apply(EXACT, AVX2).holes
    assert Tile("n", 3).apply(SATURATING, AVX2).holes


def test_factors_keep_their_dtypes() -> None:
    move = Move("lhs", L1, Layout.row_major(3), "s16")
    with pytest.raises(ScheduleError, match="'lhs' cannot be s16 in its stead"):
        move.apply(SATURATING, AVX2)
    assert str(move.apply(EXACT, AVX2).holes[-1].spec.tensors[0]) == "s16@L1[0,1,2]"
