"""Regression trees as numbers: their sum, evaluated by NumPy."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Trees:
    """Trees whose nodes are numbered through. A leaf is its own child.

    Args:
        base: what is added to the sum of the leaves.
        roots: the root of each tree.
        feature: which column an inner node looks at; 0 for a leaf.
        threshold: up to which value it goes to the left.
        left: the child there.
        right: the child elsewhere.
        value: what a leaf adds; 0 for an inner node.
    """

    base: float
    roots: Places
    feature: Places
    threshold: Vector
    left: Places
    right: Places
    value: Vector

    @property
    def depth(self) -> int:
        """The most steps from a root to a leaf."""
        level, steps = self.roots, 0
        while True:
            below = np.union1d(self.left[level], self.right[level])
            below = np.setdiff1d(below, level)
            if not below.size:
                return steps
            level, steps = below, steps + 1

    def predict(self, rows: Vector) -> Vector:
        """The value of each row of features."""
        place = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
        which = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            is_left = rows[which, self.feature[place]] <= self.threshold[place]
            place = np.where(is_left, self.left[place], self.right[place])
        return np.asarray(self.base + self.value[place].sum(axis=1), np.float64)

    def data(self) -> dict[str, Any]:
        """The trees as `of` reads them."""
        numbers = dataclasses.asdict(self)
        return {
            name: value if name == "base" else value.tolist()
            for name, value in numbers.items()
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Trees":
        """Trees from their data.

        Raises:
            ValueError: they do not fit together.
            KeyError: something is missing.
        """
        kinds = {"threshold": np.float64, "value": np.float64}
        arrays: dict[str, Any] = {
            field.name: np.asarray(data[field.name], kinds.get(field.name, np.int64))
            for field in dataclasses.fields(cls)
            if field.name != "base"
        }
        count = len(arrays["feature"])
        nodes = (name for name in arrays if name != "roots")
        if any(arrays[name].shape != (count,) for name in nodes):
            raise ValueError("the nodes of the trees have parts that are not as many")
        for name in ("roots", "left", "right"):
            if arrays[name].size and arrays[name].min() < 0:
                raise ValueError(f"{name} has a negative node")
            if arrays[name].size and arrays[name].max() >= count:
                raise ValueError(f"{name} has a node that is not there")
        return cls(float(data["base"]), **arrays)
