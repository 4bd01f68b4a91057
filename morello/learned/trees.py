"""Regression trees as numbers: their sum, evaluated by NumPy."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Arrays = Mapping[str, npt.NDArray[Any]]

STEP = 1 / 1024
"""Values of leaves are stored as multiples of it: a thousandth of a program's time."""


@dataclasses.dataclass(frozen=True)
class Trees:
    """Trees whose nodes are numbered in preorder: a left child follows its parent.

    Args:
        feature: the column that an inner node compares; -1 for a leaf.
        threshold: the greatest value that goes to the left; 0 for a leaf.
        value: the number that a leaf adds; 0 for an inner node.
    """

    feature: Indices
    threshold: Vector
    value: Vector
    right: Indices = dataclasses.field(init=False, repr=False)
    """The right child of each inner node."""
    roots: Indices = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find the right children and the roots.

        Raises:
            ValueError: the nodes are not those of whole trees.
        """
        right, roots = _structure((self.feature < 0).tolist())
        object.__setattr__(self, "right", np.array(right, np.int64))
        object.__setattr__(self, "roots", np.array(roots, np.int64))

    @property
    def depth(self) -> int:
        """The most steps from a root to a leaf."""
        level, steps = self.roots, 0
        while (inner := level[self.feature[level] >= 0]).size:
            level, steps = np.append(inner + 1, self.right[inner]), steps + 1
        return steps

    def predict(self, rows: Vector) -> Vector:
        """The value of each row of features."""
        node = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
        row = np.arange(len(rows))[:, None]
        for _ in range(self.depth):
            column = self.feature[node]
            is_left = rows[row, np.maximum(column, 0)] <= self.threshold[node]
            child = np.where(is_left, node + 1, self.right[node])
            node = np.where(column < 0, node, child)
        return np.asarray(self.value[node].sum(axis=1), np.float64)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The trees as `of` reads them, in few bytes; leaves are rounded to `STEP`."""
        is_leaf = self.feature < 0
        return {
            "is_leaf": is_leaf,
            "feature": self.feature[~is_leaf].astype(np.uint16),
            "threshold": self.threshold[~is_leaf].astype(np.float16),
            "value": np.rint(self.value[is_leaf] / STEP).astype(np.int16),
        }

    @classmethod
    def of(cls, arrays: Arrays) -> "Trees":
        """Trees from their arrays.

        Raises:
            ValueError: they do not fit together.
            KeyError: one is missing.
        """
        is_leaf = np.asarray(arrays["is_leaf"], np.bool_)
        inner = len(is_leaf) - int(is_leaf.sum())
        counts = {"feature": inner, "threshold": inner, "value": len(is_leaf) - inner}
        for name, count in counts.items():
            if arrays[name].shape != (count,):
                raise ValueError(f"'{name}' has not one number for each of its nodes")
        feature = np.full(len(is_leaf), -1, np.int64)
        threshold, value = np.zeros(len(is_leaf)), np.zeros(len(is_leaf))
        feature[~is_leaf] = arrays["feature"]
        threshold[~is_leaf] = arrays["threshold"]
        value[is_leaf] = arrays["value"] * STEP
        return cls(feature, threshold, value)


def part_of(arrays: Arrays, prefix: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays whose names have a prefix, by what follows it."""
    return {
        name.removeprefix(prefix): one
        for name, one in arrays.items()
        if name.startswith(prefix)
    }


def _structure(is_leaf: list[bool]) -> tuple[list[int], list[int]]:
    """The right children of inner nodes in preorder, and the roots of their trees."""
    right = [0] * len(is_leaf)
    subtrees: list[int] = []  # roots of what follows a node, the nearest one last
    for node in reversed(range(len(is_leaf))):
        if not is_leaf[node]:
            if len(subtrees) < 2:
                raise ValueError("a tree has an inner node without two children")
            subtrees.pop()
            right[node] = subtrees.pop()
        subtrees.append(node)
    return right, subtrees[::-1]
