"""A model that is made up: it finds programs slow that have more of a feature."""

from pathlib import Path

import numpy as np

from morello.learned.model import LearnedModel
from morello.learned.trees import Trees


def stump(low: float, high: float, threshold: float = 0.5) -> Trees:
    """One tree with one question."""
    return Trees(
        np.array([0, -1, -1]),
        np.array([threshold, 0.0, 0.0]),
        np.array([0.0, low, high]),
    )


def model_file(
    path: Path,
    target: str,
    feature: str,
    *,
    decides_fusion: bool = False,
    times: float = 10,
) -> Path:
    """A model for which programs with a feature take so many times as long."""
    trees = stump(0.0, float(np.log(times)))
    model = LearnedModel(
        target, "made up", (feature,), trees, decides_fusion=decides_fusion
    )
    model.save(path)
    return path
