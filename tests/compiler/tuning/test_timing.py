"""Samples: how many calls they have, and what is kept from running within them."""

import gc
import os
import time

import pytest

from morello.compiler.tuning import timing
from morello.compiler.tuning.timing import (
    LEAST_SAMPLES,
    SAMPLE_SECONDS,
    Samples,
    calls_of,
    no_collection,
    pinned,
    sample,
    timed,
)

pytestmark = pytest.mark.quick


class Work:
    """A call that takes some seconds of a clock that is made up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.now, self.calls, self.seconds = 0.0, 0, seconds
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def __call__(self, times: int = 1) -> None:
        self.calls += 1
        self.now += times * self.seconds


@pytest.mark.parametrize("was_enabled", [True, False])
def test_the_collector_rests_and_then_is_as_it_was(was_enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if was_enabled else gc.disable)()
        with no_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == was_enabled
        with pytest.raises(KeyError), no_collection():
            raise KeyError
        assert gc.isenabled() == was_enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_seconds_of_so_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, 0.25)
    assert [timed(work, (2,), calls) for calls in (0, 1, 3)] == [0, 0.5, 1.5]
    assert work.calls == 4


@pytest.mark.parametrize("parts", [0.5, 1, 1.5, 3, 7, 1000, 10**5])
def test_a_sample_is_no_longer_than_it_has_to_be(
    monkeypatch: pytest.MonkeyPatch, parts: float
) -> None:
    seconds = SAMPLE_SECONDS / parts
    work = Work(monkeypatch, seconds)
    calls = calls_of(work, ())
    assert calls * seconds >= SAMPLE_SECONDS * (1 - 1e-9)
    assert calls <= max(1, 2.5 * parts)


def test_a_number_of_calls_that_is_too_short_is_timed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Work(monkeypatch, SAMPLE_SECONDS / 1000)
    numbers: list[int] = []

    def told(call: Work, arguments: tuple[int, ...], calls: int) -> float:
        numbers.append(calls)
        return timed(call, arguments, calls)

    monkeypatch.setattr(timing, "timed", told)
    calls = calls_of(work, ())
    short = numbers[:-LEAST_SAMPLES]
    assert numbers[len(short) :] == [calls] * LEAST_SAMPLES
    assert len(short) == len({*short}) >= 1
    assert calls not in short


def test_at_least_some_samples_and_then_until_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seconds, least in ((0.0, LEAST_SAMPLES), (1.0, 40)):
        work, between = Work(monkeypatch, 0.01), Work(monkeypatch, 0.0)
        monkeypatch.setattr(time, "perf_counter", lambda work=work: work.now)
        samples = sample(work, (), between, seconds)
        assert len(samples.seconds) == between.calls >= least
        assert samples.calls == 1
        assert samples.seconds == pytest.approx([0.01] * len(samples.seconds))
        assert work.now <= max(seconds, 0.1) + 0.05
    assert Samples((3.0, 1.0, 8.0), 1).best == 1
    assert Samples((3.0, 1.0, 8.0), 1).median == 3


@pytest.mark.parametrize("wanted", [True, False])
def test_a_thread_stays_on_one_core_for_a_while(wanted: bool) -> None:
    before = os.sched_getaffinity(0)
    with pinned(wanted):
        within = os.sched_getaffinity(0)
    assert within == ({max(before)} if wanted else before)
    assert os.sched_getaffinity(0) == before
