"""Draw, price and time the programs of a Spec: `measure`."""

import dataclasses
import statistics
from collections.abc import Sequence

import numpy as np

from benchmarks.cost_model.statistics import ratios, regret, spearman
from morello.calibration.draw import Plan, draw
from morello.calibration.reprice import Ledger
from morello.calibration.timing import Stopwatch, Time
from morello.calibration.turns import in_rounds, shared
from morello.machine import Target
from morello.search import Impl
from morello.spec import parse_spec

_BATCH = 12
"""Programs that are timed in turns with the choice: what a machine that others use does
meanwhile, it does to all of them."""

_TURNS = 5
"""How often without being disturbed, if that can be had in three times as many turns.
The median counts of the ratios within a turn."""

_FASTEST = 12
"""How many of the programs that seemed fastest are timed again beside the choice."""

_ROUNDS = 15
"""How often. The least of 200 times is mostly one that was lucky: it says who is timed
again, and the median of these rounds how much faster it is."""

_NEAR = 1.05


@dataclasses.dataclass(frozen=True)
class Sample:
    """The programs of one Spec; the first is the model's choice."""

    spec: str
    predicted: tuple[float, ...]
    """Cycles by the model."""
    measured: tuple[float, ...]
    """Cycles of a call: the median of the choice's, times the ratio of each program to
    the choice when they were timed in turns."""
    seconds: tuple[float, ...]
    """These times in seconds."""
    rounds: tuple[tuple[Time, ...], ...]
    """Times of the model's choice, and of the programs that seemed fastest, which were
    timed again in turns: a row a round."""

    @property
    def spearman(self) -> float | None:
        """Rank correlation of the two; None where nothing varies."""
        return spearman(self.predicted, self.measured)

    @property
    def near(self) -> float:
        """The part of the programs that take at most `_NEAR` of the choice's time."""
        return float(np.mean(np.asarray(self.measured) <= _NEAR * self.measured[0]))

    @property
    def regret(self) -> float:
        """Time of the model's choice over the least of the sample, timed in turns."""
        return regret(self.rounds)

    @property
    def median_error(self) -> float:
        """Median of |predicted / measured - 1|."""
        ratio = np.asarray(self.predicted) / np.asarray(self.measured)
        return float(np.median(np.abs(ratio - 1)))


def measure(text: str, target: Target, plan: Plan) -> Sample:
    """Programs of the Spec written ``text``, priced for ``target`` and timed here.

    Raises:
        MorelloError: the Spec is refused or has no program.
    """
    spec = parse_spec(text, target.limits)
    watch = Stopwatch(plan.seconds)
    with shared(plan.lock):
        impls = draw(spec, target, plan)

    def in_turns(some: Sequence[Impl], turns: int) -> list[list[Time]]:
        """Turns of the choice, then the others."""
        programs = [impls[0], *some]
        return in_rounds(spec, programs, target, watch, turns, plan.lock)

    values, choice = [1.0], []
    for start in range(1, max(2, len(impls)), _BATCH):
        rounds = in_turns(impls[start : start + _BATCH], _TURNS)
        values += ratios(rounds)[1:].tolist()
        choice += [times[0] for times in rounds]
    fastest = sorted(range(1, len(impls)), key=lambda i: values[i])[:_FASTEST]
    rounds = in_turns([impls[index] for index in fastest], _ROUNDS)
    good = [one for one in choice if one.is_good] or choice
    cycles = statistics.median(one.cycles for one in good)
    seconds = statistics.median(one.seconds for one in good)
    predicted = (Ledger(impls, target).costs(target) / 1000).tolist()
    return Sample(
        text,
        tuple(predicted),
        tuple(cycles * ratio for ratio in values),
        tuple(seconds * ratio for ratio in values),
        tuple(map(tuple, rounds)),
    )
