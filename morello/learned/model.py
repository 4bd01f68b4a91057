"""The learned models, and what they predict: `find_model`, `LearnedModel`.

A model is trained on programs for one target, with one thread, and holds for these. It
predicts how much longer or shorter a program takes than the cost model says.
"""

import dataclasses
import functools
import io
import json
import lzma
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.learned.features import features_of, matrix
from morello.learned.network import Networks
from morello.learned.nodes import nodes_of
from morello.learned.priced import Priced
from morello.learned.trees import Arrays, Trees, Vector, part_of
from morello.machine import Target
from morello.search import Impl
from morello.whole_files import write_whole

FOLDER = Path(__file__).parent / "shipped"

VARIABLE = "MORELLO_LEARNED"
"""Names the file of a model that is used instead of the shipped ones."""

_SUFFIX = ".npz.xz"

_BROKEN = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    lzma.LZMAError,
    zipfile.BadZipFile,
)
"""Errors that reading a file raises which is no model."""

_FORMAT = 3

_PRESET = 9 | lzma.PRESET_EXTREME


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
        """Write it: arrays of NumPy, compressed by xz."""
        header = {
            "format": _FORMAT,
            "target": self.target,
            "about": self.about,
            "names": self.names,
            "decides_fusion": self.decides_fusion,
            "node_names": self.networks.names if self.networks else (),
        }
        arrays: dict[str, Any] = {
            f"trees.{name}": one for name, one in self.trees.arrays().items()
        }
        if self.networks is not None:
            arrays |= {f"networks.{n}": a for n, a in self.networks.arrays().items()}
        stream = io.BytesIO()
        np.savez(stream, header=np.array(json.dumps(header)), **arrays)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(
            path, lzma.compress(stream.getvalue(), preset=9 | lzma.PRESET_EXTREME)
        )

    @classmethod
    def load(cls, path: Path) -> "LearnedModel":
        """Read a model that `save` has written.

        Raises:
            MorelloError: the file cannot be read, or is no model.
        """
        try:
            with np.load(io.BytesIO(lzma.decompress(path.read_bytes()))) as file:
                arrays = dict(file)
            return _model(json.loads(str(arrays["header"])), arrays)
        except _BROKEN as error:
            raise MorelloError(
                f"{path} is no learned model: {error}",
                "write one with 'python -m benchmarks.training train'",
            ) from error


def _model(header: dict[str, Any], arrays: Arrays) -> LearnedModel:
    if header["format"] != _FORMAT:
        raise ValueError("another version of Morello wrote it")
    names, node_names = tuple(header["names"]), tuple(header["node_names"])
    trees = Trees.of(part_of(arrays, "trees."))
    if trees.feature.size and trees.feature.max() >= len(names):
        raise ValueError("a tree looks at a feature without a name")
    layers = part_of(arrays, "networks.")
    return LearnedModel(
        str(header["target"]),
        str(header["about"]),
        names,
        trees,
        Networks.of(node_names, layers) if node_names or layers else None,
        bool(header["decides_fusion"]),
    )


def find_model(target: Target) -> LearnedModel | None:
    """The model for programs of a target with one thread, if there is one.

    Raises:
        MorelloError: ``MORELLO_LEARNED`` names a file that is no model.
    """
    if target.threads > 1:
        return None
    chosen = os.environ.get(VARIABLE)
    path = Path(chosen) if chosen else FOLDER / f"{target.name}{_SUFFIX}"
    if not chosen and not path.exists():
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
