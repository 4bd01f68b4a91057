"""A contest of programs that compute the same: successive halving by time.

Every program is timed on several placements of the operands, because some programs
depend on which pages they get. Calls follow each other on the same operands: those that
fit a cache are warm, larger ones come from memory, as they do where the Spec is used.
In each round the programs that are left take turns; then the slower half goes, and the
others have twice as long. The first program stays to the end: it is replaced only if
another one is clearly faster in turns with it.
"""

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Sequence

from morello.compiler.tuning.timing import calls_of, timed

Call = Callable[[], object]

_FIRST = 0.012
"""Seconds that a program has in the first round, on all placements together."""

_HOPELESS = 2.0
"""What takes so many times as long as the best goes after its first samples."""

_CHANCES = 3
"""First samples of what seems hopeless: something else may have had the core."""

_SURE = 1.02
"""How many times as fast as the first program the winner is, at least."""

_ALWAYS = 1.005
"""The same in most duels."""

_DUELS = 5

_SHOTS = 3
"""Samples of each on each placement in a duel, of which the best counts; fewer, and
three duels, where there is no time for more."""

_LAST = 0.4
"""The part of the time that is left for the duels, at most."""


@dataclasses.dataclass
class Entry:
    """A program of a contest.

    Args:
        calls: one for each placement of the operands.
    """

    calls: Sequence[Call]
    repeats: int = 0
    """Calls in a sample."""
    times: list[list[float]] = dataclasses.field(default_factory=list)
    """Seconds of a call: for each placement, the samples."""

    @property
    def seconds(self) -> float:
        """Of a call: the geometric mean over placements of the best sample."""
        best = [min(samples) for samples in self.times if samples]
        return statistics.geometric_mean(best) if best else math.inf

    def sample(self, placement: int) -> float:
        """Take one sample."""
        if not self.repeats:
            self.times = [[] for _ in self.calls]
            self.repeats = calls_of(self.calls[placement], ())
        call = self.calls[placement]
        found = timed(call, (), self.repeats) / self.repeats
        self.times[placement].append(found)
        return found


def contest(entries: Sequence[Entry], seconds: float) -> int:
    """The number of the winner: 0 unless another is clearly faster than the first.

    Args:
        entries: at least one, all with as many placements; the first is to be beaten.
        seconds: how long it may take, about. The first two are timed anyway; others
            for which there is no time have no samples: they are the last.
    """
    start = time.perf_counter()
    end = start + seconds
    left = _first_samples(entries, start + (1 - _LAST) * seconds)
    rounds_end = end - min(_LAST * seconds, _DUELS * _SHOTS * _turn_of(left))
    length = _FIRST
    while len(left) > 1 and time.perf_counter() < rounds_end:
        _round(left, length, rounds_end)
        length *= 2
        left.sort(key=lambda entry: entry.seconds)
        if len(left) <= 2 and length > 8 * _FIRST:
            break
        left = left[: max(2, -(-len(left) // 2))]
        if entries[0] not in left:
            left.append(entries[0])
    best = min(left, key=lambda entry: entry.seconds)
    if best is entries[0] or not _beats(best, entries[0], end):
        return 0
    return next(i for i, entry in enumerate(entries) if entry is best)


def _turn_of(left: Sequence[Entry]) -> float:
    """Seconds of a sample of two programs on every placement."""
    best = min(left, key=lambda entry: entry.seconds)
    return 2 * len(best.calls) * best.seconds * max(1, best.repeats)


def _first_samples(entries: Sequence[Entry], end: float) -> list[Entry]:
    """A few samples of each for which there is time; those that have a chance."""
    least = math.inf
    for place, entry in enumerate(entries):
        if place > 1 and time.perf_counter() > end:
            break
        for _ in range(_CHANCES):
            entry.sample(0)
            if entry.seconds < _HOPELESS * least:
                break
        least = min(least, entry.seconds)
    return [
        entry
        for place, entry in enumerate(entries)
        if not place or entry.seconds < _HOPELESS * least
    ]


def _round(left: Sequence[Entry], length: float, end: float) -> None:
    """Samples of all that are left, in turns, on every placement."""
    stop = min(end, time.perf_counter() + length * len(left))
    while True:
        for placement in range(len(left[0].calls)):
            for entry in left:
                entry.sample(placement)
            if time.perf_counter() >= end:
                return
        if time.perf_counter() >= stop:
            return


def _beats(one: Entry, other: Entry, end: float) -> bool:
    """Whether one program is clearly faster than another, in most of some duels.

    Samples that follow each other see the same clock, and the same neighbours.
    """
    ratios: list[float] = []
    turn = _turn_of((one, other))
    for number in range(_DUELS):
        left = end - time.perf_counter()
        if number * 2 > _DUELS and left < turn:
            break
        rest = max(1, _DUELS // 2 + 1 - number)
        ratios.append(_duel(one, other, min(_SHOTS, max(1, int(left / rest / turn)))))
    won = sum(ratio >= _ALWAYS for ratio in ratios)
    return statistics.median(ratios) >= _SURE and won * 4 >= len(ratios) * 3


def _duel(one: Entry, other: Entry, shots: int) -> float:
    """How many times as fast one program is as another: the mean over placements."""
    ratios = []
    for placement in range(len(one.calls)):
        ours, theirs = [], []
        for _ in range(shots):
            ours.append(one.sample(placement))
            theirs.append(other.sample(placement))
        ratios.append(min(theirs) / min(ours))
    return statistics.geometric_mean(ratios)
