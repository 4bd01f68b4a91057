"""Measure programs here and fit the costs of a target to them: `calibrate`.

What is fitted to a sample may choose, of the whole space, a program that no sample has
and that is slow. So the search is asked, with what was fitted, for its choices; they
are timed, join the sample, and the fit is made again. What was chosen wrongly is then
known to be slow. Of all coefficients that were tried those are kept whose choices ran
best.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from morello.calibration.draw import Drawn, Known, Plan, in_turns
from morello.calibration.fit import Fit, Measured, describe, explained, nearest
from morello.calibration.probes import CHAINED, Bounds, bounds, probe
from morello.calibration.timing import Stopwatch
from morello.calibration.turns import turn
from morello.compiler.tuning.timing import pinned
from morello.learned.ledger import with_costs
from morello.machine import Target
from morello.search import Impl
from morello.spec import Spec

FIRST_RIDGE = 0.02
"""Weight of the coefficients' former values in the first fit."""

CHOSEN = 3.0
"""How many programs one counts for that a search has chosen, or nearly."""

Show = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Trial:
    """Coefficients, and how good what a search with them chooses is.

    Args:
        specs: the goals.
        regrets: of each the time of the choice over the least that is known.
    """

    target: Target
    specs: tuple[Spec, ...]
    regrets: tuple[float, ...]

    @property
    def score(self) -> float:
        """The mean of the squares of the logarithms: one bad choice counts much."""
        return float(np.mean(np.log(self.regrets) ** 2))

    @property
    def mean(self) -> float:
        """The geometric mean."""
        return float(np.exp(np.mean(np.log(self.regrets))))

    @property
    def worst(self) -> tuple[float, Spec]:
        """The greatest regret, and the goal that has it."""
        place = int(np.argmax(self.regrets))
        return self.regrets[place], self.specs[place]


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Result of a calibration: the measurements, and the costs that explain them
    and choose well."""

    fit: Fit
    measured: tuple[Measured, ...]
    trials: tuple[Trial, ...]
    """The target as it was, then what each round tried."""
    chosen: int
    """Index of the trial whose costs are kept."""
    probed: dict[str, float]
    """Millicycles of single instructions."""
    gigahertz: float
    """The clock of the core after the measurements."""


def calibrate(
    specs: Sequence[Spec], target: Target, plan: Plan, show: Show
) -> Calibration:
    """Measure programs of ``specs`` and fit the costs of ``target``.

    Args:
        show: is told what is going on.

    Raises:
        MorelloError: a Spec has no program, or this machine cannot run the target.
    """
    watch = Stopwatch(plan.seconds)
    with pinned(True), turn(plan.lock):
        probed = probe(watch, target.isa)
    within = bounds(target, probed)
    sample = _Sample()
    sample.add(target, in_turns(specs, target, plan, None, show), 1.0)
    for _ in range(plan.rounds):
        show("fitting")
        current = fit_in_steps(sample.measured, target, within)
        if sample.has_tried(current):
            break
        drawn = in_turns(specs, current, plan, sample.known, show)
        sample.add(current, drawn, CHOSEN)
    trials = sample.trials()
    best_round = min(range(len(trials)), key=lambda i: trials[i].score)
    with pinned(True), turn(plan.lock):
        gigahertz = 1e-9 / watch.cycle()
    fitted = describe(sample.measured, target, trials[best_round].target)
    after = as_probed(fitted.after, probed, fitted.seen)
    fitted = dataclasses.replace(fitted, after=after)
    measured = tuple(sample.measured)
    return Calibration(fitted, measured, trials, best_round, probed, gigahertz)


def fit_in_steps(
    measured: Sequence[Measured], target: Target, within: Bounds | None = None
) -> Target:
    """Fit what happens in the core and its caches first, then all.

    Programs whose operands all lie in caches say what instructions, loops and L2 cost;
    the others could explain their times by these too, so that the second fit is held
    to what the first one found.
    """
    near = [m for m in measured if all(t.level.is_cache for t in m.impl.spec.tensors)]
    first = explained(near, target, FIRST_RIDGE, within) if near else target
    return explained(measured, first, bounds=within)


def as_probed(
    target: Target, probed: Mapping[str, float], seen: Iterable[str]
) -> Target:
    """The target with what probes say where no program says more, in the orders of
    `ORDERS`.

    Args:
        probed: millicycles of single instructions, by the name of the coefficient.
        seen: the coefficients that some program pays for.
    """
    costs = {
        name: max(1, round(cost * (CHAINED if name.endswith("_latency") else 1)))
        for name, cost in probed.items()
        if name not in set(seen)
    }
    return nearest(with_costs(target, costs))


class _Sample:
    """All programs that are known, and what was chosen with which coefficients."""

    def __init__(self) -> None:
        self.measured: list[Measured] = []
        self._known: dict[Spec, dict[str, tuple[Impl, float]]] = {}
        self._choices: dict[Target, dict[Spec, str]] = {}

    def add(self, target: Target, drawn: Iterable[Drawn], weight: float) -> None:
        """Add the programs that were drawn with a target's costs."""
        chosen = self._choices.setdefault(target, {})
        for one in drawn:
            chosen[one.spec] = one.choice
            known = self._known.setdefault(one.spec, {})
            for impl, time in one.times:
                known[str(impl)] = impl, time
                self.measured.append(Measured(impl, time, weight))

    @property
    def known(self) -> Known:
        """The programs that have been timed."""
        return {spec: dict(programs) for spec, programs in self._known.items()}

    def has_tried(self, target: Target) -> bool:
        """Whether a search with these costs has been asked."""
        return target in self._choices

    def trials(self) -> tuple[Trial, ...]:
        """Target of each round with the regrets of its choices, in order."""
        known = self._known
        least = {s: min(time for _, time in all_.values()) for s, all_ in known.items()}
        return tuple(
            Trial(
                target,
                tuple(chosen),
                tuple(
                    known[spec][choice][1] / least[spec]
                    for spec, choice in chosen.items()
                ),
            )
            for target, chosen in self._choices.items()
        )
