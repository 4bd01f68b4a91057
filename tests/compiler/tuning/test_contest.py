"""The contest: who wins, who stays, and who never gets a second look."""

import dataclasses
import itertools
import random
import time
from collections.abc import Callable

import pytest

from morello.compiler.tuning import contest as contest_module
from morello.compiler.tuning import duel as duel_module
from morello.compiler.tuning.contest import Entry, contest

pytestmark = pytest.mark.quick


class Clock:
    """A clock that goes on when somebody takes time."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


CLOCK = Clock()


@pytest.fixture
def _told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contests by `CLOCK`."""
    for module in (contest_module, duel_module):
        monkeypatch.setattr(module, "time", CLOCK)


told = pytest.mark.usefixtures("_told")


def _nothing() -> None:
    return None


@dataclasses.dataclass
class Scripted(Entry):
    """An entry whose samples are told, in milliseconds."""

    script: Callable[[int], float] = lambda placement: 1.0
    taken: int = 0

    def sample(self, placement: int) -> float:
        self.times = self.times or [[] for _ in self.calls]
        self.taken += 1
        self.repeats = 1
        seconds = self.script(placement) * 1e-3
        CLOCK.now += seconds
        self.times[placement].append(seconds)
        return seconds


def _entry(script: Callable[[int], float], placements: int = 2) -> Scripted:
    return Scripted([_nothing] * placements, script=script)


def _steady(seconds: float) -> Scripted:
    return _entry(lambda placement: seconds)


@told
def test_the_fastest_wins() -> None:
    entries = [_steady(s) for s in (1.0, 0.8, 0.9, 0.7, 1.1)]
    assert contest(entries, 0.5) == 3


@told
def test_the_first_stays_unless_it_is_clearly_beaten() -> None:
    assert contest([_steady(1.0), _steady(0.99), _steady(1.0)], 0.5) == 0
    assert contest([_steady(1.0), _steady(0.97)], 0.5) == 1


@told
def test_the_first_stays_to_the_end_however_slow_it_is() -> None:
    entries = [_steady(1.5), *(_steady(1.0 + i / 100) for i in range(9))]
    assert contest(entries, 0.5) == 1
    assert entries[0].taken > entries[9].taken


@told
def test_noise_that_hits_all_alike_replaces_nothing() -> None:
    rng = random.Random(1)

    def noisy(placement: int) -> float:
        return 1.0 + (0.5 if rng.random() < 0.3 else 0.0) + rng.random() / 200

    assert contest([_entry(noisy) for _ in range(6)], 0.5) == 0


@told
def test_a_program_that_is_fast_on_one_placement_alone_is_not_taken() -> None:
    lucky = _entry(lambda placement: 0.9 if placement == 0 else 1.3)
    assert contest([_steady(1.0), lucky], 0.5) == 0


@told
def test_what_is_hopeless_is_sampled_a_few_times_alone() -> None:
    entries = [_steady(1.0), _steady(5.0), _steady(0.9)]
    assert contest(entries, 0.5) == 2
    assert entries[1].taken == 3


@told
def test_an_interruption_of_the_first_sample_excludes_nobody() -> None:
    times = itertools.chain([50.0], itertools.repeat(0.8))
    assert contest([_steady(1.0), _entry(lambda placement: next(times))], 0.5) == 1


@told
@pytest.mark.parametrize("milliseconds", [1, 30, 200, 700, 2000])
@pytest.mark.parametrize("count", [1, 2, 3, 24])
def test_it_ends_in_time_but_for_the_first_samples(
    milliseconds: float, count: int
) -> None:
    entries = [_steady(milliseconds * (1 - i / 100)) for i in range(count)]
    for entry in entries:
        entry.expected = milliseconds * 1e-3
    start = CLOCK.now
    won = contest(entries, 1.5)
    assert CLOCK.now - start <= max(1.5, 3 * milliseconds * 1e-3)
    assert entries[0].taken
    assert not won or entries[won].taken
    if count > 1:
        assert (entries[1].taken > 0) == (milliseconds < 750)


@told
def test_what_would_take_too_long_is_left_out_and_others_are_not() -> None:
    entries = [_steady(10.0), _steady(1200.0), _steady(8.0)]
    for entry in entries:
        entry.expected = entry.script(0) * 1e-3
    assert contest(entries, 1.0) == 2
    assert not entries[1].taken


@told
@pytest.mark.parametrize(("seconds", "placements"), [(0.064, 3), (0.4, 8)])
def test_a_duel_stays_on_a_few_placements_where_time_is_short(
    seconds: float, placements: int
) -> None:
    """A round takes 4 ms, and 4 of them are on the same placement."""
    sampled: set[int] = set()

    def steady(milliseconds: float) -> Scripted:
        def script(placement: int) -> float:
            sampled.add(placement)
            return milliseconds

        entry = _entry(script, 8)
        entry.sample(0)
        return entry

    one, other = steady(0.9), steady(1.1)
    assert duel_module.beats(one, other, CLOCK.now + seconds)
    assert sampled == {*range(placements)}


@told
@pytest.mark.parametrize("milliseconds", [0.05, 0.1, 4.0])
def test_time_is_kept_for_the_rounds_of_a_duel(
    milliseconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two samples of two calls each are taken, fewer if time is short."""
    begun: list[float] = []

    def beats(one: Entry, other: Entry, end: float) -> bool:
        begun.append(CLOCK.now)
        return False

    monkeypatch.setattr(contest_module, "beats", beats)
    start, seconds = CLOCK.now, 0.2
    entries = [_steady(milliseconds), _steady(milliseconds * 0.99)]
    contest(entries, seconds)
    call = milliseconds * 1e-3
    reserve = min(0.4 * seconds, duel_module.MOST_ROUNDS * 2 * 2 * 0.99 * call)
    assert len(begun) == 1
    late = start + seconds - reserve - begun[0]
    assert -1e-9 <= late <= 4 * call


def test_a_call_that_is_long_twice_is_sampled_at_once() -> None:
    calls = itertools.count()

    def slow() -> None:
        next(calls)
        time.sleep(0.06)

    entry = Entry([slow], 0.06)
    assert entry.sample(0) >= 0.06
    assert next(calls) == 1
    short = Entry([_nothing], 0.06)  # it was interrupted as it was called first
    short.sample(0)
    assert short.repeats > 1000


def test_every_sample_follows_a_call_of_the_same_program_on_the_same_operands() -> None:
    called: list[tuple[int, int]] = []

    def call(program: int, placement: int) -> Callable[[], None]:
        def slow() -> None:
            called.append((program, placement))
            time.sleep(2e-3)  # a sample is one call

        return slow

    entries = [Entry([call(i, place) for place in range(2)]) for i in range(2)]
    entries[0].sample(0)
    entries[1].sample(0)
    assert [entry.repeats for entry in entries] == [1, 1]
    called.clear()
    for place in range(2):
        for entry in entries:
            entry.sample(place)
    assert called == [pair for pair in called[::2] for _ in range(2)]
    assert len(called) == 8


def test_samples_repeat_a_short_call_and_take_the_best_of_each_placement() -> None:
    calls = [0, 0]

    def counted(place: int) -> Callable[[], None]:
        def call() -> None:
            calls[place] += 1

        return call

    entry = Entry([counted(0), counted(1)])
    entry.sample(0)
    entry.sample(1)
    assert entry.repeats > 1000
    assert calls[1] == entry.repeats + 1  # the first one is not timed
    assert 0 < entry.seconds < 1e-5


@pytest.mark.parametrize(
    ("won", "lost", "is_sure"),
    [
        (64, 0, True),
        (43, 21, True),  # two thirds
        (42, 22, False),  # which chance hardly gives, either
        (41, 23, False),
        (6, 0, True),
        (5, 1, False),  # chance gives as many in 7 of 64 duels
        (11, 1, True),
        (8, 4, False),
    ],
)
def test_two_thirds_of_the_rounds_are_won_beyond_chance(
    won: int, lost: int, is_sure: bool
) -> None:
    assert duel_module._is_sure([1.1] * won + [0.9] * lost) == is_sure


@pytest.mark.parametrize(
    ("ratios", "is_sure"),
    [
        ([1.02] * 8, True),
        ([1.019] * 8, False),  # not by enough
        ([1.05] * 3, True),
        ([1.06, 1.049, 1.06], False),  # few rounds: each of them clearly
        ([1.2] * 2, False),
        ([1.004] * 2 + [1.1] * 10, True),
        ([1.004] * 3 + [1.1] * 9, False),  # three rounds that are not won
    ],
)
def test_rounds_are_won_by_so_much(ratios: list[float], is_sure: bool) -> None:
    assert duel_module._is_sure(ratios) == is_sure
