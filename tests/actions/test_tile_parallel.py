"""`TileParallel`: where it applies, and the trips of the busiest thread."""

import dataclasses
import itertools

import numpy as np
import pytest

from morello.actions import Tile, TileParallel
from morello.machine import AVX2
from morello.spec.frame import Frame
from tests.actions.by_hand import parallel

pytestmark = pytest.mark.quick

FOUR = dataclasses.replace(AVX2, threads=4)


@pytest.mark.parametrize("threads", [2, 3, 4, 7])
@pytest.mark.parametrize("size", [1, 3, 8, 9, 16, 25, 33, 50, 96])
def test_the_cost_is_that_of_the_busiest_thread(size: int, threads: int) -> None:
    target = dataclasses.replace(AVX2, threads=threads)
    spec = parallel("matmul:100x8x16")
    holes = TileParallel("m", size).apply(spec, target).holes
    tiles = [size] * (100 // size) + [100 % size] * (100 % size > 0)
    ends = [t * len(tiles) // threads for t in range(threads + 1)]
    shares = [tiles[a:b] for a, b in itertools.pairwise(ends)]
    busiest = max(shares, key=sum)
    assert holes[0].times == busiest.count(size)
    if len(holes) > 1:
        assert holes[1].times == (tiles[-1] in busiest)


def test_tiles_are_those_of_a_serial_loop() -> None:
    spec = parallel("matmul:100x8x16")
    shared = TileParallel("n", 4).apply(spec, FOUR).holes
    serial = Tile("n", 4).apply(dataclasses.replace(spec, serial=True), FOUR).holes
    assert [h.spec for h in shared] == [h.spec for h in serial]


def test_frames_agree_with_single_specs() -> None:
    spec = parallel("matmul:100x8x16")
    extents = np.arange(1, 101)
    frame = Frame(spec.key, (1, extents, 8, 16), spec.limits)
    expansion = TileParallel("m", 6).expand(frame, FOUR)
    legal = np.ones(100, bool)
    for condition in expansion.conditions:
        legal &= condition.holds
    assert list(np.flatnonzero(legal) + 1) == list(range(7, 101))
    for extent in range(7, 101):
        single = TileParallel("m", 6).apply(
            dataclasses.replace(spec, sizes=(1, extent, 8, 16)), FOUR
        )
        assert expansion.children[0].times[extent - 1] == single.holes[0].times
        assert expansion.cost[extent - 1] == single.cost


def test_nothing_is_tried_where_nothing_is_legal() -> None:
    axes = ((1,), (1, 2, 4, 8), (8,), (1, 2, 4, 8))
    spec = parallel("matmul:8x8x8")
    tried = set(TileParallel.candidates(spec.key, axes, FOUR))
    assert tried == {TileParallel(d, s) for d in "mn" for s in (1, 2, 4)}
    serial = dataclasses.replace(spec, serial=True)
    assert not list(TileParallel.candidates(serial.key, axes, FOUR))
    assert not list(TileParallel.candidates(spec.key, axes, AVX2))
