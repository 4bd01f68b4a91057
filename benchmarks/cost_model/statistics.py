"""What is said of a sample: rank correlation and regret."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

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


def regret(rounds: Sequence[Sequence[float]]) -> float:
    """How many times longer the first of some programs takes than the fastest.

    Args:
        rounds: the time of each program in each round; the ratios are medians of those
            within a round, so that what slows all of them down is not in them.
    """
    times = np.asarray(rounds, np.float64)
    return float(np.median(times[:, :1] / times, axis=0).max())


def geometric_mean(values: Sequence[float]) -> float:
    """That of positive values."""
    return float(np.exp(np.mean(np.log(values))))
