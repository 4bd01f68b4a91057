"""Times of programs in turns: which visits count, and how often it is tried."""

import itertools
import statistics
import time
from collections.abc import Iterator

import pytest

from morello.calibration import timing, turns
from morello.calibration.timing import Program, Stopwatch, Time
from morello.machine import AVX2
from morello.runtime.clock import CHAIN_TRIPS
from morello.search import Impl, Solver
from morello.spec import Spec, parse_spec

QUIET = timing._Look(1e-9, 100)
BUSY = timing._Look(1e-9, 120)
FASTER = timing._Look(0.9e-9, 100)


@pytest.fixture(scope="module")
def spec() -> Spec:
    return parse_spec("fill:2000:f32:out=[0]@L1", AVX2.limits)


@pytest.fixture(scope="module")
def impl(spec: Spec) -> Impl:
    return Solver(AVX2).solve(spec).impl


def looks(monkeypatch: pytest.MonkeyPatch, sequence: list[timing._Look]) -> Stopwatch:
    """A stopwatch that sees the given in turn; most before were quiet."""
    watch = Stopwatch(1e-9)
    watch._wides = [100.0] * 20
    following = itertools.cycle(sequence)
    monkeypatch.setattr(watch, "_look", lambda: next(following))
    return watch


@pytest.mark.parametrize(
    ("sequence", "good"),
    [
        ([QUIET], True),
        ([BUSY], False),
        ([QUIET, BUSY], False),
        ([QUIET, QUIET, BUSY, BUSY, BUSY, BUSY], True),
        ([FASTER], True),
    ],
    ids=["quiet", "busy", "busy-after", "once-quiet", "faster"],
)
def test_visits_count_between_quiet_looks(
    monkeypatch: pytest.MonkeyPatch,
    spec: Spec,
    impl: Impl,
    sequence: list[timing._Look],
    good: bool,
) -> None:
    time = looks(monkeypatch, sequence).time(spec, Program(spec, impl, AVX2))
    assert time.is_good == good
    assert time.seconds > 0
    assert time.cycles == pytest.approx(time.seconds / sequence[0].cycle)


def test_programs_of_a_round_have_one_clock(
    monkeypatch: pytest.MonkeyPatch, spec: Spec, impl: Impl
) -> None:
    """However the clock seems after each: only seconds say which is faster."""
    watch = looks(monkeypatch, [QUIET, FASTER, FASTER, QUIET])
    first, second = watch.times(spec, [Program(spec, impl, AVX2) for _ in range(2)])
    cycles = first.cycles / second.cycles
    assert cycles == pytest.approx(first.seconds / second.seconds)


def test_a_look_sees_a_cycle_and_how_wide_a_core_is() -> None:
    watch = Stopwatch()
    look = min((watch._look() for _ in range(20)), key=lambda look: look.wide)
    assert 1e-10 < look.cycle < 2e-9
    # Of eight additions in each of 32 steps, no core does more than eight a cycle.
    assert 32 * CHAIN_TRIPS < look.wide < 300 * CHAIN_TRIPS
    assert watch._wides == sorted(watch._wides)
    assert 1 <= len(watch._wides) <= 20


def times(pattern: str) -> Iterator[Time]:
    """Times, good where there is a ``+``; each shorter than the one before."""
    for number, mark in enumerate(pattern):
        yield Time(1e-9, 100.0 - number, mark == "+")


@pytest.mark.parametrize(
    ("pattern", "rounds", "counted"),
    [
        ("+++++++++", 2, [100, 99, 98]),  # two are wanted; cycles are of three
        ("-+++-----", 3, [99, 98, 97]),  # what was disturbed is followed by another
        ("-+-------", 6, [99]),  # a good one counts, not those that seem faster
        ("---------", 6, range(92, 101)),
    ],
)
def test_rounds_go_on_until_enough_are_good(
    monkeypatch: pytest.MonkeyPatch,
    spec: Spec,
    impl: Impl,
    pattern: str,
    rounds: int,
    counted: list[float],
) -> None:
    """Cycles are the mean over rounds, each on pages of its own."""
    watch = Stopwatch()
    for check in (False, True):
        following = times(pattern)
        monkeypatch.setattr(watch, "times", lambda *args: [next(following)])  # noqa: B023
        if check:
            mean = statistics.geometric_mean(counted)
            cycles = turns.cycles_of_all(spec, [impl], AVX2, watch)
            assert cycles == pytest.approx([mean])
        else:
            assert len(turns.in_rounds(spec, [impl], AVX2, watch, 2)) == rounds


def test_nothing_has_no_times(spec: Spec) -> None:
    assert turns.cycles_of_all(spec, [], AVX2, Stopwatch()) == []


def test_time_that_others_have_the_core_does_not_count() -> None:
    """A thread that waits is one that has no core."""
    assert timing._elapsed(lambda: time.sleep(0.1)) < 0.05
