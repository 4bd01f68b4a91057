"""Coefficients that explain measured times: `fit`.

A cost is linear in the coefficients but for maxima in kernels, so it is made linear at
the current coefficients, solved, and made linear again at what was found. Errors are
relative: a program of a microsecond says as much as one of a millisecond.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from morello.calibration.nnls import nnls
from morello.calibration.reprice import FITTED, Prices, Vector, with_coefficients
from morello.errors import MorelloError
from morello.search import Impl
from morello.targets import Target

ROUNDS = 6
RIDGE = 0.02
"""Weight of a coefficient's relative change against the mean squared relative error:
those that no program shows stay what they were."""

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
    # The target's own first: it is taken where no program shows a difference.
    factors = dict.fromkeys((target.coefficients.strided_factor, *STRIDED))
    starts = [
        with_coefficients(
            target, dataclasses.replace(target.coefficients, strided_factor=factor)
        )
        for factor in factors
    ]
    ways = [_descend(measured, start, ridge) for start in starts]
    objective = _Objective(measured, target, ridge)
    after = min(ways, key=objective)
    if objective(after) >= objective(target):
        after = target
    slopes = sum(Prices(target).slopes(m.impl) for m in measured)
    seen = tuple(
        n for n, slope in zip(FITTED, np.atleast_1d(slopes), strict=True) if slope
    )
    return Fit(target, after, _errors(measured, target), _errors(measured, after), seen)


def _errors(measured: Sequence[Measured], target: Target) -> tuple[float, ...]:
    prices = Prices(target)
    return tuple(abs(prices.cost(m.impl) / (1000 * m.cycles) - 1) for m in measured)


class _Objective:
    """What is minimised: mean squared relative error, and changes of coefficients."""

    def __init__(
        self, measured: Sequence[Measured], origin: Target, ridge: float
    ) -> None:
        self.measured = measured
        self.origin = values(origin)
        self.ridge = ridge

    def __call__(self, target: Target) -> float:
        errors = np.array(_errors(self.measured, target))
        change = values(target) / self.origin - 1
        return float(np.mean(errors**2) + self.ridge * np.mean(change**2))


def values(target: Target) -> Vector:
    """The coefficients of `FITTED`, at least 1."""
    found = [getattr(target.coefficients, name) for name in FITTED]
    return np.maximum(np.array(found, np.float64), 1.0)


def _descend(measured: Sequence[Measured], start: Target, ridge: float) -> Target:
    objective = _Objective(measured, start, ridge)
    current, best = start, objective(start)
    for _ in range(ROUNDS):
        aim = _solve(measured, current, objective)
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


def _solve(
    measured: Sequence[Measured], current: Target, objective: _Objective
) -> Vector:
    """The optimum of the cost made linear at ``current``."""
    prices = Prices(current)
    now, origin = values(current), objective.origin
    slopes = np.array([prices.slopes(m.impl) for m in measured])
    costs = np.array([prices.cost(m.impl) for m in measured], np.float64)
    times = np.array([1000 * m.cycles for m in measured])
    weight = 1 / np.sqrt(len(measured))
    pull = np.sqrt(objective.ridge / len(FITTED))
    a = np.vstack(
        [weight * slopes * now / times[:, None], pull * np.diag(now / origin)]
    )
    rest = 1 - (costs - slopes @ now) / times
    b = np.concatenate([weight * rest, np.full(len(FITTED), pull)])
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
