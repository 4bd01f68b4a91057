"""Actions on Specs with a range: where they apply, and what they say."""

from typing import Any

import numpy as np
import pytest

from morello.actions import Action, Drop, Move, Peel, Range, Tile, ToAccum
from morello.actions.sizes import over
from morello.actions.sizes.over import SizesError, rewrite_over
from morello.errors import ScheduleError
from morello.machine import AVX2
from morello.spec import L1, Layout, SizeRange, parse_spec

pytestmark = pytest.mark.quick

SPEC = parse_spec("matmul:4..28/8x4x16:f32", AVX2.limits)


def test_a_refusal_says_at_which_sizes() -> None:
    spec = parse_spec("matmul:100..300/100x64x16:f32", AVX2.limits)
    with pytest.raises(SizesError) as caught:
        rewrite_over(Move("lhs", L1, Layout.row_major(3)), spec, AVX2)
    what = f"move does not apply to {spec} at the size 200: "
    assert caught.value.what == f"{what}'lhs' takes 800 cache lines of L1, 512 are free"
    assert not caught.value.remedy
    assert np.array_equal(caught.value.holds, [True, False, False])


def test_a_loop_has_no_trip_at_sizes_below_its_tile() -> None:
    _, (main, remainder) = rewrite_over(Tile("m", 12), SPEC, AVX2)
    assert (main.role, main.spec.sizes[1], main.times) == ("main", 12, 2)
    # Of 4, 12, 20 and 28.
    assert remainder.spec.ranges[0].sizes(remainder.spec.greatest[0]) == range(4, 9, 4)
    _, (remainder,) = rewrite_over(Tile("m", 32), SPEC, AVX2)
    assert (remainder.role, remainder.spec.ranges) == ("remainder", SPEC.ranges)
    with pytest.raises(ScheduleError, match="size 12 is not smaller than m = 12"):
        Tile("m", 12).apply(SPEC.at(12), AVX2)


def test_what_takes_settled_sizes_says_how_to_part_them() -> None:
    with pytest.raises(SizesError) as caught:
        rewrite_over(Peel("k", 2), SPEC, AVX2)
    error = caught.value
    assert error.what == (
        f"peel(k, 2) takes settled sizes, but each call says that of dimension m of "
        f"{SPEC}"
    )
    assert error.remedy == "part the sizes by 'range'"
    assert np.array_equal(error.holds, [False] * 4)


@pytest.mark.parametrize(
    "action",
    [Move("rhs", L1, Layout.row_major(3)), Tile("n", 4), ToAccum(), Drop("batch")],
)
@pytest.mark.parametrize("sizes", ["1..7x5x16", "s=2..8/2x5xs", "3..6x5x1..9"])
def test_sizes_that_are_passed_on_are_those_at_each_call(
    action: Action, sizes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = parse_spec(f"matmul:{sizes}:f32", AVX2.limits)

    def rewritten() -> object:
        try:
            return rewrite_over(action, spec, AVX2)
        except ScheduleError as error:
            return error.what

    known = rewritten()
    monkeypatch.setattr(over, "_child_of_same_sizes", lambda *arguments: None)
    assert rewritten() == known


@pytest.mark.parametrize(
    "sizes", ["1..7x5x16", "s=2..8/2x5xs", "3..6x5x1..9", "1..x5x16"]
)
@pytest.mark.parametrize("last", [0, 1, 4, 6, 9])
def test_a_range_is_cut_as_its_sizes_are(sizes: str, last: int) -> None:
    spec = parse_spec(f"matmul:{sizes}:f32", AVX2.limits)

    def rewritten(apply: Any) -> object:
        try:
            return apply(Range("m", last), spec, AVX2)
        except ScheduleError as error:
            return error.what

    assert rewritten(Range.apply) == rewritten(Action.apply)


def test_each_range_of_a_hole_follows_from_one() -> None:
    spec = parse_spec("matmul:1..7x5x1..6:f32", AVX2.limits)
    _, holes = rewrite_over(Tile("n", 4), spec, AVX2)
    main, remainder = holes
    assert main.follows == (0,)
    assert main.spec.ranges == (SizeRange((1,), 1),)
    assert main.spec.sizes == (1, 7, 5, 4)
    assert remainder.follows == (0, 1)
    assert remainder.spec.ranges == (SizeRange((1,), 1), SizeRange((3,), 1))
    assert remainder.spec.sizes == (1, 7, 5, 3)
    _, (low, high) = rewrite_over(Range("n", 5), spec, AVX2)
    assert (low.follows, high.follows) == ((0, 1), (0,))
    assert high.spec.sizes == (1, 7, 5, 6)
    with pytest.raises(SizesError, match="m and n of"):
        rewrite_over(Peel("k", 2), spec, AVX2)
