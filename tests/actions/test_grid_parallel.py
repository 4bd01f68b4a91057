"""`GridParallel`: where the search tries it, and the shares of its threads."""

import dataclasses

import pytest

from morello.actions import GridParallel
from morello.machine import AVX2
from morello.spec.shares import share_of, shares_of
from tests.actions.by_hand import parallel

pytestmark = pytest.mark.quick

FOUR = dataclasses.replace(AVX2, threads=4)


def tried(text: str, threads: int) -> set[GridParallel]:
    spec = parallel(text)
    axes = tuple((1, size) for size in spec.sizes)
    target = dataclasses.replace(AVX2, threads=threads)
    return set(GridParallel.candidates(spec.key, axes, target))


def test_grids_that_give_each_thread_a_tile_are_tried() -> None:
    assert tried("matmul:100x8x64", 2) == set()
    assert tried("matmul:100x8x64", 4) == {GridParallel("m", 64, "n", 32)}
    assert tried("matmul:100x8x64", 8) == {
        GridParallel("m", 64, "n", 16),
        GridParallel("m", 32, "n", 32),
    }
    assert tried("matmul:2x100x8x1", 4) == {GridParallel("b", 1, "m", 64)}
    assert tried("max:100x64", 4) == set()


def test_shares_cover_a_dimension_and_are_whole_packs() -> None:
    for size in (1, 7, 16, 33, 100, 1000, 1023):
        for threads in (1, 2, 3, 7, 16):
            share = share_of(size, threads)
            assert share * threads >= size
            assert share <= 16 or share % 16 == 0 or share == size
            assert share - 16 < size / threads
    assert shares_of(100, 1) == ()
    assert shares_of(100, 2) == (64, 36)
    assert set(shares_of(100, 4)) == {64, 36, 32, 4}


def test_even_shares_are_those_that_whole_packs_exceed_by_much() -> None:
    assert shares_of(300, 2, even=True) == (160, 140, 150)
    assert shares_of(101, 2, even=True) == (64, 37, 51, 50)
    for size in (12, 32, 700, 1024):  # 6, 16, 350 of 352, 512
        assert shares_of(size, 2, even=True) == shares_of(size, 2)
