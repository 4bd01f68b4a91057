"""Statistics of a sample: rank correlation and regret."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from morello.calibration.timing import Time

Floats = npt.NDArray[np.float64]


def ranks(values: Sequence[float]) -> Floats:
    """The rank of each value from 1; equal ones share the mean of theirs."""
    array = np.asarray(values, np.float64)
    _, which, counts = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[which], np.float64)


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None where one side does not vary."""
    a, b = ranks(one), ranks(other)
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return float(np.corrcoef(a, b)[0, 1])


_ENOUGH = 3
"""Undisturbed rounds that say more than all rounds do."""


def ratios(rounds: Sequence[Sequence[Time]]) -> Floats:
    """The cycles of each of some programs over those of the first.

    Args:
        rounds: times of each program in each round. The ratios are medians of those
            within a round, so that what slows all of them down is not in them; of the
            rounds in which neither of the two was disturbed, if there are three.
    """
    cycles = np.array([[one.cycles for one in times] for times in rounds])
    good = np.array([[one.is_good for one in times] for times in rounds])
    values = []
    for of_model, is_good in zip(cycles.T, good.T, strict=True):
        both = is_good & good[:, 0]
        counted = both if both.sum() >= _ENOUGH else np.ones_like(both)
        values.append(np.median(of_model[counted] / cycles[counted, 0]))
    return np.array(values, np.float64)


def regret(rounds: Sequence[Sequence[Time]]) -> float:
    """How many times longer the first of some programs takes than the fastest."""
    return float((1 / ratios(rounds)).max())


def geometric_mean(values: Sequence[float]) -> float:
    """Geometric mean of positive values."""
    return float(np.exp(np.mean(np.log(values))))
