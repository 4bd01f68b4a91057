"""`SplitParallel`: where the search tries it, and maxima that it brings together."""

import dataclasses

import pytest

from morello.actions import SplitParallel
from morello.machine import AVX2
from morello.search.dp.axes import goal_axes
from tests.actions.by_hand import parallel

pytestmark = pytest.mark.quick

FOUR = dataclasses.replace(AVX2, threads=4)

STATE = "m[r]=max(x[r,n]);p[r,n]=exp(x-m);out l[r]=sum(p)"


def test_sums_are_brought_to_the_maximum_of_all_shares() -> None:
    """The maximum inside is a partial result, too, and no output of the merge."""
    spec = parallel(f"compose:2x64:f32:graph={STATE}")
    rewrite = SplitParallel("d1", 16, 4).apply(spec, FOUR)
    roles = [hole.role for hole in rewrite.holes]
    assert roles == ["init", "init1", "main", "merge"]
    main, merge = rewrite.holes[2].spec, rewrite.holes[3].spec
    assert [o.name for o in main.kind.operands if o.is_written] == ["v0", "v1"]
    assert sum(o.is_written for o in merge.kind.operands) == 1
    assert repr(merge.kind).count("exp(") == 1


def tried(text: str, threads: int) -> set[SplitParallel]:
    target = dataclasses.replace(AVX2, threads=threads)
    spec = parallel(text)
    axes = goal_axes(spec, threads)
    return set(SplitParallel.candidates(spec.key, axes, target))


def test_shares_are_for_long_reductions_and_small_results() -> None:
    assert tried("matmul:8x1000x8", 2) == {SplitParallel("k", 512, 2)}
    assert tried("matmul:8x500x8", 2) == set()
    assert tried("matmul:4x1000x4", 4) == {
        SplitParallel("k", 512, 2),
        SplitParallel("k", 256, 4),
    }
    assert tried("matmul:4x1000x4", 1) == set()
