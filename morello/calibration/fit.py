"""Coefficients that explain measured times: `fit`.

A cost is linear in the coefficients but for maxima in kernels, so it is made linear at
the current coefficients, solved, and made linear again at what was found. Errors are
logarithms of predicted over measured: a program of a microsecond says as much as one of
a millisecond, and half of its time is as wrong as twice its time. (With errors relative
to the measured time alone, coefficients fall to what makes every prediction too low.)
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.calibration.nnls import nnls
from morello.calibration.reprice import FITTED, Ledger, Vector, with_coefficients
from morello.errors import MorelloError
from morello.search import Impl
from morello.targets import Target

ROUNDS = 6
RIDGE = 0.02
"""Weight of the logarithm of a coefficient's change against the mean squared error.
What no program shows stays what it was, and nothing falls to nearly nothing because a
few programs are quicker than it says."""

FLOOR = 0.25
"""No coefficient falls to less than this part of its value in one round."""

STRIDED = (1, 2, 3, 4)
"""Factors of strided lines that are tried."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """A program and the cycles that a call took."""

    impl: Impl
    cycles: float


@dataclasses.dataclass(frozen=True)
class Fit:
    """What a fit found."""

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
        """That of the new ones."""
        return float(np.median(self.errors_after))


def fit(measured: Sequence[Measured], target: Target, ridge: float = RIDGE) -> Fit:
    """The coefficients, from those of ``target`` on, that explain the measurements.

    Raises:
        MorelloError: nothing was measured, or a time is not positive.
    """
    if not measured or not all(m.cycles > 0 for m in measured):
        raise MorelloError(
            f"{len(measured)} programs were measured, and some have no time",
            "measure at least one program, each with more than 0 cycles",
        )
    objective = _Objective(measured, target, ridge)
    own = _descend(target, objective)
    others = [
        with_coefficients(
            own, dataclasses.replace(own.coefficients, strided_factor=factor)
        )
        for factor in STRIDED
        if factor != own.coefficients.strided_factor
    ]
    # Its own factor first: it is taken where no program shows a difference.
    ways = [own, *(_descend(start, objective) for start in others)]
    after = min(ways, key=objective)
    paid = objective.ledger.slopes(target).sum(axis=0)
    seen = tuple(name for name, slope in zip(FITTED, paid, strict=True) if slope)
    before, now = (objective.relative_errors(t) for t in (target, after))
    return Fit(target, after, before, now, seen)


class _Objective:
    """What is minimised: the mean squared error, and changes of coefficients."""

    def __init__(
        self, measured: Sequence[Measured], origin: Target, ridge: float
    ) -> None:
        self.ledger = Ledger([m.impl for m in measured])
        self.times = np.array([1000 * m.cycles for m in measured])
        self.origin = values(origin)
        self.ridge = ridge

    def __call__(self, target: Target) -> float:
        errors = np.log(self.ledger.costs(target) / self.times)
        change = np.log(values(target) / self.origin)
        return float(np.mean(errors**2) + self.ridge * np.mean(change**2))

    def relative_errors(self, target: Target) -> tuple[float, ...]:
        """|predicted / measured - 1| of each program."""
        errors = np.abs(self.ledger.costs(target) / self.times - 1)
        return tuple(errors.tolist())


def values(target: Target) -> Vector:
    """The coefficients of `FITTED`, at least 1."""
    found = [getattr(target.coefficients, name) for name in FITTED]
    return np.maximum(np.array(found, np.float64), 1.0)


def _descend(start: Target, objective: _Objective) -> Target:
    current, best = start, objective(start)
    for _ in range(ROUNDS):
        aim = _solve(current, objective)
        for part in (1.0, 0.5, 0.25, 0.125):
            moved = values(current) + part * (aim - values(current))
            trial = _target(current, moved)
            found = objective(trial)
            if found < best * (1 - 1e-6):
                current, best = trial, found
                break
        else:
            return current
    return current


def _solve(current: Target, objective: _Objective) -> Vector:
    """The optimum of the error made linear at ``current``."""
    now, times = values(current), objective.times
    slopes = objective.ledger.slopes(current)
    costs = objective.ledger.costs(current)
    weight = 1 / np.sqrt(len(times))
    pull = np.sqrt(objective.ridge / len(FITTED))
    a = np.vstack([weight * slopes * now / costs[:, None], pull * np.eye(len(FITTED))])
    rest = np.log(times / costs) + slopes @ now / costs
    b = np.concatenate([weight * rest, pull * (1 - np.log(now / objective.origin))])
    least = np.full(len(FITTED), FLOOR)
    return now * (least + nnls(a, b - a @ least))


def _target(target: Target, found: Vector) -> Target:
    numbers = {
        name: max(1, round(float(value)))
        for name, value in zip(FITTED, found, strict=True)
    }
    return with_coefficients(
        target, dataclasses.replace(target.coefficients, **numbers)
    )
