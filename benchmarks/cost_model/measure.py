"""Draw, price and time the programs of a Spec: `measure`."""

import dataclasses

import numpy as np

from benchmarks.cost_model.statistics import regret, spearman
from morello.calibration.draw import Plan, draw
from morello.calibration.reprice import Ledger
from morello.calibration.timing import Stopwatch
from morello.calibration.turns import cycles_of_all
from morello.spec import parse_spec
from morello.targets import Target

_AGAIN = 6
"""The fastest programs, and the model's choice, are timed once more, for longer."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """The programs of one Spec; the first is the model's choice."""

    spec: str
    predicted: tuple[float, ...]
    """Cycles by the model."""
    measured: tuple[float, ...]
    """Cycles of a call, the least of several."""
    seconds: tuple[float, ...]
    """The same in seconds."""

    @property
    def spearman(self) -> float | None:
        """Rank correlation of the two; None where nothing varies."""
        return spearman(self.predicted, self.measured)

    @property
    def regret(self) -> float:
        """Time of the model's choice over the least of the sample."""
        return regret(self.predicted, self.measured)

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
    impls = draw(spec, target, plan)
    times = cycles_of_all(spec, impls, target, watch, plan.lock)
    fastest = sorted(range(len(impls)), key=lambda i: times[i])[:_AGAIN]
    again = sorted({0, *fastest})
    longer = Stopwatch(4 * plan.seconds)
    chosen = [impls[index] for index in again]
    later = cycles_of_all(spec, chosen, target, longer, plan.lock)
    for index, found in zip(again, later, strict=True):
        times[index] = min(times[index], found)
    cycles, seconds = zip(*times, strict=True)
    predicted = tuple((Ledger(impls, target).costs(target) / 1000).tolist())
    return Sample(text, predicted, cycles, seconds)
