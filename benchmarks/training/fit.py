"""Training: a model from programs and their times.

Half of it are randomised trees, with scikit-learn, that look at a program as a whole;
the other half are `networks`, which look at its nodes.

The trees predict the logarithm of what a program takes over what the cost model says.
So they begin where that is right, and they need not learn how time grows with sizes.
Most of them predict it beside the mean of the programs of the Spec, which a choice
among these does not depend on. A few others predict that mean, from the goal alone.
Every Spec weighs the same.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.training.data_set import Entry, programs
from benchmarks.training.distinct import Distinct
from benchmarks.training.networks import NetworkSettings, imported_torch, train_networks
from benchmarks.training.pruning import pruned
from morello.errors import MorelloError
from morello.learned.features import Features, features_of, is_fused, matrix
from morello.learned.network import Networks
from morello.learned.nodes import Nodes, nodes_of
from morello.learned.priced import Priced
from morello.learned.trees import Trees, Vector
from morello.machine import Target

_FEWER = 4
"""How many times as few trees predict the mean of a Spec."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """The programs of one Spec, ready to be learned.

    Args:
        spec: its text.
        features: of each program.
        nodes: of all of them.
        costs: millicycles by the cost model.
        times: millicycles as measured.
        fused: whether the parts of a graph take turns (`is_fused`).
    """

    spec: str
    features: tuple[Features, ...]
    nodes: Nodes
    costs: Vector
    times: Vector
    fused: tuple[bool | None, ...]


@dataclasses.dataclass(frozen=True)
class Settings:
    """How is trained."""

    trees: int = 60
    part: float = 0.6
    """The part of the features from which each question is chosen."""
    leaf: int = 4
    """Programs in a leaf, at least."""
    level_leaf: int = 2
    """Specs in a leaf of a tree that predicts their mean, at least."""
    seed: int = 0
    networks: NetworkSettings = dataclasses.field(default_factory=NetworkSettings)


@dataclasses.dataclass(frozen=True)
class Trained:
    """Result of training.

    Args:
        names: of the features that the trees look at.
        trees: see `morello.learned.model.LearnedModel`.
        networks: likewise.
    """

    names: tuple[str, ...]
    trees: Trees
    networks: Networks

    def predict(self, sample: Sample) -> Vector:
        """Millicycles of each program of a Spec."""
        prediction = self.trees.predict(matrix(sample.features, self.names))
        prediction = (prediction + self.networks.predict(sample.nodes)) / 2
        return np.asarray(sample.costs * np.exp(prediction), np.float64)


def sample_of(entry: Entry, target: Target) -> Sample | None:
    """The features of the `Distinct` programs that were timed of a Spec; None if fewer
    than two fit.

    Raises:
        SpecError: the Spec is refused.
    """
    pairs = programs(entry, target)
    pairs.sort(key=lambda one: one[0].cost)  # costs may have changed since
    distinct = Distinct()
    pairs = [one for one in pairs if distinct.is_new(one[0], one[1].features)]
    if len(pairs) < 2:
        return None
    impls = [impl for impl, _ in pairs]
    times = [1e3 * timed.seconds / entry.cycle for _, timed in pairs]
    priced = Priced(impls, target)
    return Sample(
        entry.spec,
        tuple(features_of(priced)),
        nodes_of(priced),
        np.array([impl.cost for impl in impls], np.float64),
        np.array(times, np.float64),
        tuple(is_fused(impl) for impl in impls),
    )


def train(samples: Sequence[Sample], settings: Settings) -> Trained:
    """A model for the target of the programs.

    Raises:
        MorelloError: scikit-learn or PyTorch is not installed; or there are no
            programs.
    """
    if not samples:
        raise MorelloError(
            "there are no programs to learn from",
            "make a data set with 'python -m benchmarks.training collect'",
        )
    ensemble, _ = _ensemble(), imported_torch()  # before anything takes its time
    names, trees = _train_trees(ensemble, samples, settings)
    networks = train_networks(
        [one.nodes for one in samples],
        [one.costs for one in samples],
        [one.times for one in samples],
        [one.fused for one in samples],
        settings.networks,
        settings.seed,
    )
    return Trained(names, trees, networks)


def _train_trees(
    ensemble: Any, samples: Sequence[Sample], settings: Settings
) -> tuple[tuple[str, ...], Trees]:
    """The names of the features, and the trees."""
    names = tuple(sorted({n for s in samples for one in s.features for n in one}))
    matrices = [matrix(s.features, names) for s in samples]
    wanted = [np.log(s.times / s.costs) for s in samples]
    means = np.array([one.mean() for one in wanted])
    model = ensemble.ExtraTreesRegressor(
        n_estimators=settings.trees,
        min_samples_leaf=settings.leaf,
        max_features=settings.part,
        random_state=settings.seed,
    )
    model.fit(
        np.vstack(matrices),
        np.concatenate([one - mean for one, mean in zip(wanted, means, strict=True)]),
        sample_weight=np.concatenate([np.full(len(w), 1 / len(w)) for w in wanted]),
    )
    level = ensemble.ExtraTreesRegressor(
        n_estimators=max(1, settings.trees // _FEWER),
        min_samples_leaf=settings.level_leaf,
        random_state=settings.seed,
    )
    columns = np.array([i for i, name in enumerate(names) if name.startswith("goal ")])
    level.fit(np.array([rows[0, columns] for rows in matrices]), means)
    return names, _trees((model, np.arange(len(names))), (level, columns))


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


def _trees(*models: tuple[Any, npt.NDArray[np.int64]]) -> Trees:
    """The trees of trained models: the sum of the means of each.

    scikit-learn numbers the nodes of a tree that is grown in depth in preorder.

    Args:
        models: each with the columns that its features are.
    """
    features, thresholds, values = [], [], []
    every = [(one, model, columns) for model, columns in models for one in model]
    for one, model, columns in every:
        tree, share = one.tree_, 1 / len(model)
        is_leaf = tree.children_left < 0
        features.append(np.where(is_leaf, -1, columns[tree.feature]))
        thresholds.append(np.where(is_leaf, 0.0, tree.threshold))
        values.append(np.where(is_leaf, share * tree.value[:, 0, 0], 0.0))
    trees = Trees(
        np.concatenate(features).astype(np.int64),
        np.concatenate(thresholds),
        np.concatenate(values),
    )
    return pruned(trees)
