"""`SplitParallel`: where it applies, what it leaves, what it costs."""

import dataclasses

import pytest

from morello.actions import SplitParallel
from morello.machine import AVX2
from morello.search.dp.axes import goal_axes
from morello.spec import Spec, parse_spec

pytestmark = pytest.mark.quick

FOUR = dataclasses.replace(AVX2, threads=4)

STATE = "m[r]=max(x[r,n]);p[r,n]=exp(x-m);out l[r]=sum(p)"


def parallel(text: str) -> Spec:
    return dataclasses.replace(parse_spec(text, AVX2.limits), serial=False)


def test_each_thread_adds_to_its_own_result() -> None:
    rewrite = SplitParallel("k", 32, 4).apply(parallel("matmul:3x100x5"), FOUR)
    left = [(h.role, h.times, h.spec.kind.label, h.spec.sizes) for h in rewrite.holes]
    assert left == [
        ("init", 1, "fill", (4, 1, 3, 5)),
        ("main", 1, "matmul_accum", (1, 3, 32, 5)),
        ("remainder", 0, "matmul_accum", (1, 3, 4, 5)),
        ("merge", 1, "compose", (1, 3, 5, 4)),
    ]
    assert all(hole.spec.serial for hole in rewrite.holes)
    units = AVX2.coefficients
    assert rewrite.cost == 2 * units.loop + units.fork


def test_no_share_is_smaller_where_all_are_equal() -> None:
    rewrite = SplitParallel("d1", 16, 4).apply(parallel("max:2x64"), FOUR)
    assert [hole.role for hole in rewrite.holes] == ["init", "main", "merge"]
    init, _, merge = (repr(hole.spec.kind) for hole in rewrite.holes)
    assert "lowest" in init
    assert "max(" in merge


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


def test_integers_are_merged_as_floats_are() -> None:
    rewrite = SplitParallel("k", 32, 4).apply(parallel("matmul:3x100x5:s32"), FOUR)
    init, *_, merge = rewrite.holes
    assert (init.spec.kind.label, init.spec.sizes) == ("fill", (4, 1, 3, 5))
    assert (merge.spec.kind.label, merge.spec.sizes) == ("compose", (1, 3, 5, 4))
    added = SplitParallel("d1", 16, 2).apply(parallel("max_accum:2x32:s32"), FOUR)
    [_, out] = added.holes[-1].spec.kind.operands
    assert out.is_read


def test_what_is_added_to_stays_so() -> None:
    rewrite = SplitParallel("k", 32, 2).apply(parallel("matmul_accum:3x64x5"), FOUR)
    merge = rewrite.holes[-1].spec
    assert [o.is_read for o in merge.kind.operands] == [True, True]


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
