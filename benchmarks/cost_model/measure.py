"""Draw, price and time the programs of a Spec: `measure`."""

import dataclasses

import numpy as np

from benchmarks.cost_model.statistics import regret, spearman
from morello.calibration.calibrate import Plan, draw
from morello.calibration.reprice import Prices
from morello.calibration.timing import Program, Stopwatch, one_core
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
    prices, watch = Prices(target), Stopwatch(plan.seconds)
    impls = draw(spec, target, plan)
    cycles, seconds = [], []
    with one_core():
        for impl in impls:
            elapsed, cycle = watch.seconds_of(spec, Program(spec, impl, target))
            seconds.append(elapsed)
            cycles.append(elapsed / cycle)
        longer = Stopwatch(4 * plan.seconds)
        for index in {0, *map(int, np.argsort(cycles)[:_AGAIN])}:
            program = Program(spec, impls[index], target)
            elapsed, cycle = longer.seconds_of(spec, program)
            seconds[index] = min(seconds[index], elapsed)
            cycles[index] = min(cycles[index], elapsed / cycle)
    predicted = tuple(prices.cost(impl) / 1000 for impl in impls)
    return Sample(text, predicted, tuple(cycles), tuple(seconds))
