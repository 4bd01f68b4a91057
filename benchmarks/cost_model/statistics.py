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


def regret(predicted: Sequence[float], measured: Sequence[float]) -> float:
    """The time of the cheapest by the model, over the least time; at least 1.

    Of several that are as cheap the first counts: it is what the search takes.
    """
    chosen = int(np.argmin(np.asarray(predicted)))
    return measured[chosen] / min(measured)


def geometric_mean(values: Sequence[float]) -> float:
    """That of positive values."""
    return float(np.exp(np.mean(np.log(values))))
