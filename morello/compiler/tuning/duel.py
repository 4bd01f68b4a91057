"""Whether one program is faster than another beyond noise: `beats`.

Rounds of one sample each, in an order that changes from round to round, go over all
placements of the operands, some on each. Samples that follow each other see the same
clock, and the same neighbours. The one is faster if it is in the best samples, in the
median round, and in so many rounds that chance would hardly give as many.
"""

import math
import statistics
import time

from morello.compiler.tuning.entry import Entry

MOST_ROUNDS = 64

_FEW_ROUNDS = 16
"""Rounds after which a paired test ends that is not going to be won."""

_SURE = 1.02
"""How many times as fast the faster program is, at least."""

_WON = 1.005
"""Ratio of times in a round that is won."""

_CHANCE = 0.02
"""How likely as many rounds are won by a program that is as fast, at most."""

_LEAST_ROUNDS = 6
"""Rounds that are needed for that, at least."""

_CLEARLY = 1.05
"""How many times as fast it is in every round, where there is no time for as many."""

_STAY = 4
"""Rounds on a placement before the next one: whoever comes first after a change finds
fewer lines in the caches."""

_OLD_PLACEMENTS = 3
"""Placements with earlier samples: enough for a paired test of few rounds."""


def beats(one: Entry, other: Entry, end: float) -> bool:
    """Whether one program is faster than another beyond noise.

    Args:
        one, other: with samples.
        end: when the duel should be over, by `time.perf_counter`. Where three rounds
            take longer, it is not held, and nobody wins.
    """
    turn = sum(entry.turn for entry in (one, other))
    fit = int((end - time.perf_counter()) / max(turn, 1e-9))
    if fit < _LEAST_ROUNDS // 2:
        return False
    placements = min(len(one.calls), max(_OLD_PLACEMENTS, fit // _STAY // 2))
    ratios: list[float] = []
    while len(ratios) < MOST_ROUNDS:
        number = len(ratios)
        if time.perf_counter() + turn > end:
            break
        if number >= _FEW_ROUNDS and _won(ratios) * 2 < number:
            break
        ratios.append(_round(one, other, number, placements))
    return _is_sure(ratios) and other.seconds >= _SURE * one.seconds


def _round(one: Entry, other: Entry, number: int, placements: int) -> float:
    """How many times as fast one program is as another in a round."""
    placement = number // _STAY % placements
    pair = (one, other) if number % 2 else (other, one)
    times = {id(entry): entry.sample(placement) for entry in pair}
    return times[id(other)] / times[id(one)]


def _is_sure(ratios: list[float]) -> bool:
    """Whether rounds show that one program is faster."""
    if len(ratios) < _LEAST_ROUNDS:
        return len(ratios) >= _LEAST_ROUNDS // 2 and min(ratios) >= _CLEARLY
    won, count = _won(ratios), len(ratios)
    ways = sum(math.comb(count, i) for i in range(won, count + 1))
    enough = won * 3 >= count * 2 and ways <= _CHANCE * 2**count
    return enough and statistics.median(ratios) >= _SURE


def _won(ratios: list[float]) -> int:
    return sum(ratio >= _WON for ratio in ratios)
