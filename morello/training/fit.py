"""Training: randomised trees on programs and their times, with scikit-learn.

The trees predict the logarithm of what a program takes over what the cost model says.
So they begin where that is right, and they need not learn how time grows with sizes.
Every Spec weighs the same, and of a Spec the faster programs weigh more: they are those
that a choice is made among.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.learned.features import Features, features_of, is_fused, matrix
from morello.learned.trees import Trees, Vector
from morello.machine import Target
from morello.training.data_set import Entry, programs


@dataclasses.dataclass(frozen=True)
class Sample:
    """The programs of one Spec, ready to be learned.

    Args:
        spec: its text.
        features: of each program.
        costs: millicycles by the cost model.
        times: millicycles as measured.
        fused: whether the parts of a graph take turns (`is_fused`).
    """

    spec: str
    features: tuple[Features, ...]
    costs: Vector
    times: Vector
    fused: tuple[bool | None, ...]


@dataclasses.dataclass(frozen=True)
class Settings:
    """How is trained."""

    trees: int = 40
    part: float = 0.6
    """Of the features, that each question is chosen from."""
    leaf: int = 6
    """Programs in a leaf, at least."""
    seed: int = 0


def sample_of(entry: Entry, target: Target) -> Sample | None:
    """The features of what was timed of a Spec; None if fewer than two programs fit.

    Raises:
        SpecError: the Spec is refused.
    """
    found = programs(entry, target)
    if len(found) < 2:
        return None
    found.sort(key=lambda one: one[0].cost)  # costs may have changed since
    impls = [impl for impl, _ in found]
    times = [1e3 * timed.seconds / entry.cycle for _, timed in found]
    return Sample(
        entry.spec,
        tuple(features_of(impls, target)),
        np.array([impl.cost for impl in impls], np.float64),
        np.array(times, np.float64),
        tuple(is_fused(impl) for impl in impls),
    )


def train(samples: Sequence[Sample], settings: Settings) -> tuple[list[str], Trees]:
    """The names of the features, and the trees.

    Raises:
        MorelloError: scikit-learn is not installed; or there are no programs.
    """
    ensemble = _ensemble()
    if not samples:
        raise MorelloError(
            "there are no programs to learn from",
            "make a data set with 'python -m morello.training collect'",
        )
    names = sorted({name for s in samples for one in s.features for name in one})
    rows = np.vstack([matrix(s.features, names) for s in samples])
    wanted = np.concatenate([np.log(s.times / s.costs) for s in samples])
    weights = np.concatenate([_weights(s) for s in samples])
    model = ensemble.ExtraTreesRegressor(
        n_estimators=settings.trees,
        min_samples_leaf=settings.leaf,
        max_features=settings.part,
        random_state=settings.seed,
    )
    model.fit(rows, wanted, sample_weight=weights)
    return names, _trees(model)


def _ensemble() -> Any:
    """scikit-learn's ensembles.

    Raises:
        MorelloError: it is not installed.
    """
    try:
        import sklearn.ensemble
    except ImportError as error:
        raise MorelloError(
            f"scikit-learn cannot be imported ({error})",
            "pip install 'morello[learned]'",
        ) from error
    return sklearn.ensemble


def _weights(sample: Sample) -> Vector:
    """Of the programs of a Spec: a half where one takes twice as long as the best."""
    near = sample.times.min() / sample.times
    return np.asarray(near / near.sum(), np.float64)


def _trees(model: Any) -> Trees:
    """The trees of a trained model, numbered through: their mean as a sum."""
    parts: dict[str, list[Any]] = {name: [] for name in ("f", "t", "l", "r", "v")}
    roots, start = [], 0
    share = 1 / len(model.estimators_)
    for one in model.estimators_:
        tree = one.tree_
        count = tree.node_count
        here = np.arange(start, start + count)
        is_leaf = tree.children_left < 0
        parts["f"].append(np.where(is_leaf, 0, tree.feature))
        parts["t"].append(np.where(is_leaf, 0.0, tree.threshold))
        parts["l"].append(np.where(is_leaf, here, tree.children_left + start))
        parts["r"].append(np.where(is_leaf, here, tree.children_right + start))
        parts["v"].append(np.where(is_leaf, share * tree.value[:, 0, 0], 0.0))
        roots.append(start)
        start += count
    arrays = {name: np.concatenate(found) for name, found in parts.items()}
    return Trees(
        0.0,
        np.array(roots),
        arrays["f"].astype(np.int64),
        arrays["t"],
        arrays["l"].astype(np.int64),
        arrays["r"].astype(np.int64),
        arrays["v"],
    )
