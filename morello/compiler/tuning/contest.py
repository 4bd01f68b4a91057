"""Tournament of programs that compute the same: successive halving by time.

Every program is timed on several placements of the operands, because some programs
depend on which pages they get. Calls follow each other on the same operands: those that
fit a cache are warm, larger ones come from memory, as they do where the Spec is used.
In each round the runs of the programs that are left are interleaved; then the slower
half goes, and the others have twice as long. The first program stays to the end: it is
replaced only if a paired test shows that another one is faster (`duel.py`).
"""

import math
import time
from collections.abc import Sequence

from morello.compiler.tuning.duel import MOST_ROUNDS, beats
from morello.compiler.tuning.entry import Entry

_FIRST = 0.012
"""Seconds that a program has in the first round, on all placements together."""

_HOPELESS = 2.0
"""Ratio to the best time at which a program is dropped after its first samples."""

_CHANCES = 3
"""First samples of what seems hopeless: something else may have had the core."""

_PLACEMENTS = 3
"""Placements on which interleaved runs are timed; paired tests use all that there are.
"""

_CHALLENGERS = 2
"""The most of the fastest programs that the leading one meets in duels."""

_LAST = 0.4
"""The part of the time that is left for the duels, at most."""


_TO_BEGIN = 0.3
"""Seconds of a tournament of programs, at least: paired tests of short calls."""

_OF_EACH = 0.07
"""Time budget of each program beyond the first samples, in seconds."""

_CALLS = 4 * MOST_ROUNDS
"""Calls of a program that is long enough for a sample: those of two duels."""


def likely_seconds(programs: int, call: float) -> float:
    """How long a contest goes on that nobody ends before, at most.

    Args:
        programs: how many.
        call: seconds of a call.
    """
    return _TO_BEGIN + _OF_EACH * programs + _CALLS * call


def contest(entries: Sequence[Entry], seconds: float) -> int:
    """The number of the winner: 0 unless another is clearly faster than the first.

    Args:
        entries: at least one, all with as many placements; the first is to be beaten.
        seconds: how long it may take, about. The first is timed anyway; others for
            which there is no time have no samples.
    """
    start = time.perf_counter()
    end = start + seconds
    left = _first_samples(entries, start + (1 - _LAST) * seconds, end)
    rounds_end = end - min(_LAST * seconds, MOST_ROUNDS * _turn_of(left))
    length = _FIRST
    if len(left) == 1:
        _round(left, length, end)
    while len(left) > 1 and time.perf_counter() < rounds_end:
        if not _round(left, length, rounds_end):
            break
        length *= 2
        left.sort(key=lambda entry: entry.seconds)
        if len(left) <= 2 and length > 8 * _FIRST:
            break
        left = left[: max(2, -(-len(left) // 2))]
        if entries[0] not in left:
            left.append(entries[0])
    return _decided(entries, left, end)


def _decided(entries: Sequence[Entry], left: Sequence[Entry], end: float) -> int:
    """Fastest of those left that beats the first in a paired test; the first if
    none."""
    first = entries[0]
    others = sorted((e for e in left if e is not first), key=lambda e: e.seconds)
    for number, other in enumerate(others[:_CHALLENGERS]):
        if other.seconds > first.seconds or (number and time.perf_counter() > end):
            break
        if beats(other, first, end):
            return next(i for i, entry in enumerate(entries) if entry is other)
    return 0


def _turn_of(left: Sequence[Entry]) -> float:
    """Seconds of a sample of two programs."""
    best = min(left, key=lambda entry: entry.seconds)
    return 2 * best.turn


def _first_samples(entries: Sequence[Entry], few: float, end: float) -> list[Entry]:
    """A few samples of each for which there is time; those that have a chance.

    Args:
        entries: of which the first is sampled in any case.
        few: when the samples should be taken; those of the first two later, if need be.
        end: when the contest is over.
    """
    least = math.inf
    sampled: list[Entry] = []
    for entry in entries:
        by = end if len(sampled) < 2 else few
        if sampled and time.perf_counter() + entry.first > by:
            continue
        for number in range(_CHANCES):
            # The sample before may have been interrupted: what was known counts, too.
            again = min(entry.turn, entry.first)
            if number and time.perf_counter() + again > by:
                break
            entry.sample(0)
            if entry.seconds < _HOPELESS * least:
                break
        least = min(least, entry.seconds)
        sampled.append(entry)
    return [
        entry
        for place, entry in enumerate(sampled)
        if not place or entry.seconds < _HOPELESS * least
    ]


def _round(left: Sequence[Entry], length: float, end: float) -> bool:
    """Samples of all that are left, in turns, on every placement; whether there was
    time for any.

    Whoever comes first on another placement finds fewer lines in the caches: each time
    it is another one.
    """
    stop = min(end, time.perf_counter() + length * len(left))
    row = sum(entry.turn for entry in left)
    number = 0
    while True:
        first = number % len(left)
        for placement in range(min(_PLACEMENTS, len(left[0].calls))):
            if time.perf_counter() + row > end:
                return number + placement > 0
            for entry in (*left[first:], *left[:first]):
                entry.sample(placement)
        if time.perf_counter() >= stop:
            return True
        number += 1
