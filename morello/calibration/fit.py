"""Coefficients that explain measured times: `fit`.

A cost is linear in the coefficients but for maxima in kernels, so it is made linear at
the current coefficients, solved within bounds and in the orders that hardware has, and
made linear again at what was found.
Errors are logarithms of predicted over measured: a program of a microsecond says as
much as one of a millisecond, and half of its time is as wrong as twice its time. (With
errors relative to the measured time alone, coefficients fall to what makes every
prediction too low.)
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.calibration.least_squares import constrained_least_squares
from morello.calibration.probes import Bounds
from morello.calibration.reprice import Ledger
from morello.errors import MorelloError
from morello.learned.ledger import FITTED, Vector, cost_of, with_costs
from morello.machine import Target
from morello.machine.costs import ORDERS
from morello.search import Impl
from morello.spec import Spec

ROUNDS = 6
RIDGE = 0.05
"""Weight of the logarithm of a coefficient's change against the mean squared error.
What no program shows stays what it was, and nothing falls to nearly nothing because a
few programs are quicker than it says."""

COMMON = 0.3
"""Weight of an error that all programs of a Spec share, relative to how they differ."""

FLOOR = 0.25
"""The least part of its value that a coefficient may fall to in one round."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """A program and the cycles that a call took."""

    impl: Impl
    cycles: float
    weight: float = 1.0
    """How many programs of its Spec it counts as in the fit."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """The result of a fit: the target before and after, with the errors of both."""

    before: Target
    after: Target
    errors_before: tuple[float, ...]
    """|predicted / measured - 1| of each program."""
    errors_after: tuple[float, ...]
    seen: tuple[str, ...]
    """The coefficients that some program pays for; the others stay."""

    @property
    def median_before(self) -> float:
        """The median relative error of the old coefficients."""
        return float(np.median(self.errors_before))

    @property
    def median_after(self) -> float:
        """Median error with the new costs."""
        return float(np.median(self.errors_after))


def fit(
    measured: Sequence[Measured],
    target: Target,
    ridge: float = RIDGE,
    bounds: Bounds | None = None,
) -> Fit:
    """The coefficients, from those of ``target`` on, that explain the measurements.

    Args:
        ridge: weight of what coefficients were.
        bounds: the least and the largest value of each; none for those that have none.

    Raises:
        MorelloError: nothing was measured, or a time is not positive.
    """
    after = explained(measured, target, ridge, bounds)
    return describe(measured, target, after)


def explained(
    measured: Sequence[Measured],
    target: Target,
    ridge: float = RIDGE,
    bounds: Bounds | None = None,
) -> Target:
    """`fit` without a description of what was found; refuses what it refuses."""
    if not measured or not all(m.cycles > 0 for m in measured):
        raise MorelloError(
            f"{len(measured)} programs were measured, and some have no time",
            "measure at least one program, each with more than 0 cycles",
        )
    objective = _Objective(measured, target, ridge, bounds or {})
    return _descend(nearest(target, bounds or {}), objective)


def describe(measured: Sequence[Measured], before: Target, after: Target) -> Fit:
    """How two targets explain the measurements."""
    paid = Ledger([m.impl for m in measured], before).slopes(before).sum(axis=0)
    seen = tuple(name for name, slope in zip(FITTED, paid, strict=True) if slope)
    errors, now = (relative_errors(measured, t) for t in (before, after))
    return Fit(before, after, errors, now, seen)


def relative_errors(measured: Sequence[Measured], target: Target) -> tuple[float, ...]:
    """|predicted / measured - 1| of each program."""
    times = np.array([1000 * m.cycles for m in measured])
    costs = Ledger([m.impl for m in measured], target).costs(target)
    return tuple(np.abs(costs / times - 1).tolist())


class _Objective:
    """Objective to minimise: the weighted squares of errors, and changes of
    coefficients.

    A program weighs the less the slower it is than the fastest of its Spec. What all
    programs of a Spec have wrong alike counts less than how they differ: the first is
    a wrong prediction, the second a wrong choice.
    """

    def __init__(
        self, measured: Sequence[Measured], origin: Target, ridge: float, bounds: Bounds
    ) -> None:
        self.ledger = Ledger([m.impl for m in measured], origin)
        self.low, self.high = _limits(bounds)
        self.times = np.array([1000 * m.cycles for m in measured])
        self.origin = values(origin)
        self.ridge = ridge
        specs: dict[Spec, list[int]] = {}
        for index, m in enumerate(measured):
            specs.setdefault(m.impl.spec, []).append(index)
        self._mix = np.zeros((len(measured), len(measured)))
        for rows in specs.values():
            times = self.times[rows]
            weights = times.min() / times
            weights *= [measured[row].weight for row in rows]
            weights /= weights.sum() * len(specs)
            mean = np.tile(weights / weights.sum(), (len(rows), 1))
            centred = np.eye(len(rows)) - (1 - COMMON) * mean
            self._mix[np.ix_(rows, rows)] = np.sqrt(weights)[:, None] * centred

    def weigh(self, errors: Vector) -> Vector:
        """Errors (a row for each program) so that their squares are to be added."""
        return np.asarray(self._mix @ errors)

    def __call__(self, target: Target) -> float:
        errors = self.weigh(np.log(self.ledger.costs(target) / self.times))
        change = np.log(values(target) / self.origin)
        return float(np.sum(errors**2) + self.ridge * np.mean(change**2))


def values(target: Target) -> Vector:
    """The coefficients of `FITTED`, at least 1."""
    costs = [cost_of(target, name) for name in FITTED]
    return np.maximum(np.array(costs, np.float64), 1.0)


def nearest(target: Target, bounds: Bounds | None = None) -> Target:
    """The target with the coefficients nearest to its own, by least squares of relative
    changes, that are within bounds and in the orders of `ORDERS`."""
    now = values(target)
    low, high = _limits(bounds or {})
    one = np.ones(len(FITTED))
    g, h = _inequalities(target, low / now, high / now)
    moved = now * constrained_least_squares(np.eye(len(FITTED)), one, g, h)
    return _with_values(target, np.clip(moved, low, high))


def _limits(bounds: Bounds) -> tuple[Vector, Vector]:
    """The least and the largest value of each coefficient, which some values in the
    orders of `ORDERS` fulfil: those go before an upper bound."""
    each = [bounds.get(name, (1, np.inf)) for name in FITTED]
    low, high = np.array(each, np.float64).T
    for _ in ORDERS:
        for lesser, greater in _PLACES:
            low[greater] = max(low[greater], low[lesser])
    return low, np.maximum(low, high)


_PLACES = tuple((FITTED.index(less), FITTED.index(more)) for less, more in ORDERS)


def _inequalities(target: Target, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """g and h, so that g x >= h for what coefficients may be multiplied with.

    What is nothing stays so, and holds no other down.
    """
    one, now = np.eye(len(FITTED)), values(target)
    orders = [
        one[m] - one[k] * now[k] / now[m]
        for k, m in _PLACES
        if cost_of(target, FITTED[m])
    ]
    h = np.concatenate([low, -high, np.zeros(len(orders))])
    return np.vstack([one, -one, *orders]), h


def _descend(start: Target, objective: _Objective) -> Target:
    current, best = start, objective(start)
    for _ in range(ROUNDS):
        aim = _solve(current, objective)
        for part in (1.0, 0.5, 0.25, 0.125):
            moved = values(current) + part * (aim - values(current))
            trial = _with_values(current, np.clip(moved, objective.low, objective.high))
            loss = objective(trial)
            if loss < best * (1 - 1e-6):
                current, best = trial, loss
                break
        else:
            return current
    return current


def _solve(current: Target, objective: _Objective) -> Vector:
    """The optimum of the error made linear at ``current``."""
    now, times = values(current), objective.times
    slopes = objective.ledger.slopes(current)
    costs = objective.ledger.costs(current)
    pull = np.sqrt(objective.ridge / len(FITTED))
    a = np.vstack(
        [objective.weigh(slopes * now / costs[:, None]), pull * np.eye(len(FITTED))]
    )
    rest = np.log(times / costs) + slopes @ now / costs
    b = np.concatenate(
        [objective.weigh(rest), pull * (1 - np.log(now / objective.origin))]
    )
    low = np.maximum(FLOOR, objective.low / now)
    g, h = _inequalities(current, low, np.maximum(low, objective.high / now))
    return now * constrained_least_squares(a, b, g, h)


def _with_values(target: Target, vector: Vector) -> Target:
    numbers = {
        name: max(1, round(float(value)))
        for name, value in zip(FITTED, vector, strict=True)
        if cost_of(target, name)  # what is nothing stays so
    }
    return with_costs(target, numbers)
