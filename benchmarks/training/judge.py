"""Accuracy of a model on Specs that it has not seen: `cross_validated`, `judge`.

Specs are dealt into parts; the programs of each part are predicted by trees that were
trained on the others. Of each Spec there are the error of predicted times (APE), the
agreement of the order (Kendall's tau), and the regret: how many times as long as the
best program the one takes that is predicted to be the fastest, or the fastest of the
first four. Of graphs there is whether fusion is decided right: whether the best program
whose parts take turns is faster than the best that does one part after the other.
"""

import dataclasses
import math
import random
from collections.abc import Sequence

import numpy as np

from benchmarks.training.fit import Sample, Settings, train
from morello.learned.trees import Vector

FIRST = 4
"""How many of the first are timed where a stopwatch decides among them."""

CLEAR = 1.05
"""By how much times must differ for an order, or a decision, that counts."""

PARTS = 10


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Accuracy of predictions for one Spec."""

    spec: str
    error: float
    """The mean of |predicted / measured - 1|."""
    tau: float
    """Kendall's tau-b of the two orders; 0 where one has no order."""
    clear_tau: float | None
    """Kendall's tau of the pairs that differ by `CLEAR`; None if there are none."""
    first: float
    """The regret of the first."""
    best_of_four: float
    """The regret of the best of the first four."""
    fusion: "Fusion | None"
    """The decision about fusion; None where there is nothing to be decided."""


@dataclasses.dataclass(frozen=True)
class Fusion:
    """The decision whether the parts of a graph take turns."""

    gain: float
    """How many times as fast the best program is whose parts take turns, as the best
    that does one part after the other."""
    is_fused: bool
    """Whether that program is predicted to be faster."""

    @property
    def is_right(self) -> bool | None:
        """Whether that is the faster one; None if they do not differ by `CLEAR`."""
        if abs(math.log(self.gain)) <= math.log(CLEAR):
            return None
        return self.is_fused == (self.gain > 1)


def cross_validated(
    samples: Sequence[Sample], settings: Settings, parts: int = PARTS
) -> list[Vector]:
    """The times that are predicted for the programs of each Spec, by a model that has
    seen no program of it.

    Raises:
        MorelloError: scikit-learn is not installed, or there are too few Specs.
    """
    order = sorted({sample.spec for sample in samples})
    random.Random(settings.seed).shuffle(order)
    predictions: list[Vector] = [np.zeros(0)] * len(samples)
    for part in range(parts):
        specs = set(order[part::parts])
        held_out = [i for i, sample in enumerate(samples) if sample.spec in specs]
        rest = [sample for sample in samples if sample.spec not in specs]
        if not held_out:
            continue
        trained = train(rest, settings)
        for i in held_out:
            predictions[i] = trained.predict(samples[i])
    return predictions


def judge(sample: Sample, predicted: Vector) -> Verdict:
    """Measure the accuracy of predicted times."""
    times = sample.times
    order = np.argsort(predicted, kind="stable")
    tau, clear = _taus(predicted, times)
    return Verdict(
        sample.spec,
        float(np.mean(np.abs(predicted / times - 1))),
        tau,
        clear,
        float(times[order[0]] / times.min()),
        float(times[order[:FIRST]].min() / times.min()),
        _fusion(sample, predicted),
    )


def _taus(one: Vector, other: Vector) -> tuple[float, float | None]:
    """Kendall's tau-b, and that of pairs that clearly differ in ``other``."""
    a, b = np.triu_indices(len(one), 1)
    mine, theirs = np.sign(one[a] - one[b]), np.sign(other[a] - other[b])
    norm = np.sqrt(np.count_nonzero(mine) * np.count_nonzero(theirs))
    tau = float((mine * theirs).sum() / norm) if norm else 0.0
    clear = np.abs(np.log(other[a] / other[b])) > np.log(CLEAR)
    if not clear.any():
        return tau, None
    return tau, float((mine * theirs)[clear].mean())


def _fusion(sample: Sample, predicted: Vector) -> Fusion | None:
    """Predict whether the best fused program is faster than the best other one."""
    fused = np.array([one is True for one in sample.fused])
    others = np.array([one is False for one in sample.fused])
    if not fused.any() or not others.any():
        return None
    gain = sample.times[others].min() / sample.times[fused].min()
    is_fused = predicted[fused].min() < predicted[others].min()
    return Fusion(float(gain), bool(is_fused))
