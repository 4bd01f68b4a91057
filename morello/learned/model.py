"""The learned models, and what they predict: `find_model`, `LearnedModel`.

A model is trained on programs for one target, with one thread, and holds for these. It
predicts how much longer or shorter a program takes than the cost model says.
"""

import dataclasses
import functools
import gzip
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.learned.features import features_of, matrix
from morello.learned.network import Networks
from morello.learned.nodes import nodes_of
from morello.learned.priced import Priced
from morello.learned.trees import Trees, Vector
from morello.machine import Target
from morello.search import Impl
from morello.whole_files import write_whole

FOLDER = Path(__file__).parent / "shipped"

VARIABLE = "MORELLO_LEARNED"
"""Names the file of a model that is used instead of the shipped ones."""

_SUFFIX = ".json.gz"

_GZIP = b"\x1f\x8b"
"""First bytes of a compressed file."""

_BROKEN = (OSError, ValueError, KeyError, TypeError, EOFError, zlib.error)
"""Errors that reading a file raises which is no model."""

_FORMAT = 2
_READ = (1, _FORMAT)
"""The first has no networks."""

_DIGITS = 4


@dataclasses.dataclass(frozen=True)
class LearnedModel:
    """A model for programs of one target.

    Args:
        target: its name.
        about: what it was trained on, for people.
        names: of the features, in the order of the columns.
        trees: predict the logarithm of measured over predicted cost.
        networks: predict the same from the nodes of a program; both are averaged.
            None where only trees were trained.
        decides_fusion: whether a choice without a stopwatch is left to it also where
            the cost model would have the parts of a graph take turns, or not.
    """

    target: str
    about: str
    names: tuple[str, ...]
    trees: Trees
    networks: Networks | None = None
    decides_fusion: bool = False

    def predict(self, impls: Sequence[Impl], target: Target) -> Vector:
        """Millicycles of a call of programs of one goal.

        Args:
            impls: the cost model's choice first.
            target: as it is chosen, not as the goal sees it.
        """
        priced = Priced(impls, target)
        logarithms = self.trees.predict(matrix(features_of(priced), self.names))
        if self.networks is not None:
            logarithms = (logarithms + self.networks.predict(nodes_of(priced))) / 2
        costs = np.array([impl.cost for impl in impls], np.float64)
        return np.asarray(costs * np.exp(logarithms), np.float64)

    def save(self, path: Path) -> None:
        """Write it as JSON, compressed where the name ends in ``.gz``."""
        data = {
            "format": _FORMAT,
            "target": self.target,
            "about": self.about,
            "names": list(self.names),
            "trees": _shortened(self.trees.data()),
            "decides_fusion": self.decides_fusion,
        }
        if self.networks is not None:
            data["networks"] = _shortened(self.networks.data())
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (json.dumps(data, separators=(",", ":")) + "\n").encode()
        write_whole(
            path, gzip.compress(text, mtime=0) if path.suffix == ".gz" else text
        )

    @classmethod
    def load(cls, path: Path) -> "LearnedModel":
        """Read a model that `save` has written.

        Raises:
            MorelloError: the file cannot be read, or is no model.
        """
        try:
            text = path.read_bytes()
            data = json.loads(gzip.decompress(text) if text[:2] == _GZIP else text)
            if data["format"] not in _READ:
                raise ValueError("another version of Morello wrote it")
            names = tuple(map(str, data["names"]))
            trees = Trees.of(data["trees"])
            if trees.feature.size and trees.feature.max() >= len(names):
                raise ValueError("a tree looks at a feature without a name")
            networks = Networks.of(data["networks"]) if "networks" in data else None
            return cls(
                str(data["target"]),
                str(data["about"]),
                names,
                trees,
                networks,
                bool(data.get("decides_fusion", False)),
            )
        except _BROKEN as error:
            raise MorelloError(
                f"{path} is no learned model: {error}",
                "write one with 'python -m benchmarks.training train'",
            ) from error


def _shortened(data: Any) -> Any:
    """Round the numbers of JSON data to the digits that matter."""
    if isinstance(data, float):
        return float(f"{data:.{_DIGITS}g}")
    if isinstance(data, dict):
        return {name: _shortened(one) for name, one in data.items()}
    return [_shortened(one) for one in data] if isinstance(data, list) else data


def find_model(target: Target) -> LearnedModel | None:
    """The model for programs of a target with one thread, if there is one.

    Raises:
        MorelloError: ``MORELLO_LEARNED`` names a file that is no model.
    """
    if target.threads > 1:
        return None
    given = os.environ.get(VARIABLE)
    path = Path(given) if given else FOLDER / f"{target.name}{_SUFFIX}"
    if not given and not path.exists():
        return None
    model = _loaded(path)
    return model if model.target == target.name else None


@functools.cache
def _loaded(path: Path) -> LearnedModel:
    return LearnedModel.load(path)


def shipped_models() -> tuple[str, ...]:
    """The targets that a model is shipped for."""
    names = (path.name for path in FOLDER.glob(f"*{_SUFFIX}"))
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names))
