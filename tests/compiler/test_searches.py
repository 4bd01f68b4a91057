"""Times of compilations: what tuning may take, and what a kernel says that it took."""

import time

import pytest

import morello
from morello.compiler.goal import TUNING_SECONDS
from morello.compiler.searches import part_of_time, tuning_time
from morello.errors import CompileError
from morello.machine import AVX2
from morello.spec import parse_spec

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("tune", "seconds"),
    [
        (None, 0.0),
        (False, None),
        (True, TUNING_SECONDS),
        ("learned", "learned"),
        (1, 1.0),
        (0.25, 0.25),
        (86_400, 86_400.0),
    ],
)
def test_what_tuning_may_take(tune: object, seconds: object) -> None:
    limit = tuning_time(tune, None)
    assert limit == seconds
    assert type(limit) is type(seconds)


@pytest.mark.parametrize("tune", [0, -1, 86_400.5, float("nan"), "yes", [1]])
def test_other_times_of_tuning_are_refused(tune: object) -> None:
    with pytest.raises(CompileError) as caught:
        tuning_time(tune, None)
    assert caught.value.what == f"'tune' is {tune!r}"


def test_larger_searches_have_more_of_the_time() -> None:
    specs = [parse_spec(f"matmul:{m}x8x8:f32", AVX2.limits) for m in (1, 6, 1, 1, 1)]
    small, large = (part_of_time(specs[i], specs[i + 1 :]) for i in (0, 1))
    assert small == pytest.approx((1 / 5 + 1 / 10) / 2)
    assert large == pytest.approx((1 / 4 + 6 / 9) / 2)
    assert part_of_time(specs[-1], ()) == 1


def test_a_given_schedule_is_not_tuned() -> None:
    assert tuning_time(None, "text") == 0.0
    assert tuning_time(False, "text") is None
    for tune in (True, 3, "learned"):
        with pytest.raises(CompileError, match="a schedule is given, and it is to be"):
            tuning_time(tune, "text")


@pytest.mark.parametrize("text", ["fill:3:f32", "fill:2..5x3:f32"])
def test_the_times_of_a_kernel_are_those_of_its_compilation(text: str) -> None:
    start = time.perf_counter()
    times = morello.compile(text).times
    elapsed = time.perf_counter() - start
    assert 0 <= times.search < elapsed
    assert 0 < times.compile < elapsed
    assert times.search + times.compile <= elapsed
