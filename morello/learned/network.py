"""Small networks as numbers: what the nodes of a program take, added up by NumPy.

A network looks at each node by itself and says by which factor it takes longer than the
cost model says. A program takes the sum of its nodes.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from morello.learned.ledger import Vector
from morello.learned.nodes import Nodes

MOST = 3.0
"""The logarithm of a factor, at most."""

LITTLE = 1e-6
"""Cost of a program without nodes, as a part of its predicted cost."""


@dataclasses.dataclass(frozen=True)
class Network:
    """One network: layers of sums, with a maximum with 0 after all but the last.

    Args:
        weights: of each layer, inputs x outputs.
        biases: of each layer.
    """

    weights: tuple[Vector, ...]
    biases: tuple[Vector, ...]

    def factors(self, rows: Vector) -> Vector:
        """Measured over predicted time of each node."""
        last = len(self.weights) - 1
        for layer, pair in enumerate(zip(self.weights, self.biases, strict=True)):
            rows = rows @ pair[0] + pair[1]
            rows = rows if layer == last else np.maximum(rows, 0.0)
        return np.asarray(np.exp(np.clip(rows[:, 0], -MOST, MOST)), np.float64)


@dataclasses.dataclass(frozen=True)
class Networks:
    """Some networks whose predictions are averaged.

    Args:
        names: of the features that a node has, in the order of the inputs.
        members: the networks.
    """

    names: tuple[str, ...]
    members: tuple[Network, ...]

    def predict(self, nodes: Nodes) -> Vector:
        """The logarithm of measured over predicted cost of each program."""
        rows = nodes.columns(self.names)
        logarithms = np.zeros(nodes.programs)
        for member in self.members:
            times = nodes.shares * member.factors(rows)
            total = np.bincount(nodes.program, times, nodes.programs)
            logarithms += np.log(total + LITTLE) / len(self.members)
        return logarithms

    def data(self) -> dict[str, Any]:
        """The networks as `of` reads them."""
        return {
            "names": list(self.names),
            "members": [
                {
                    "weights": [one.tolist() for one in member.weights],
                    "biases": [one.tolist() for one in member.biases],
                }
                for member in self.members
            ],
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Networks":
        """Networks from their data.

        Raises:
            ValueError: layers do not fit together.
            KeyError: something is missing.
        """
        names = tuple(map(str, data["names"]))
        members = tuple(_network(one, len(names)) for one in data["members"])
        if not members:
            raise ValueError("there is no network")
        return cls(names, members)


def _network(data: Mapping[str, Any], inputs: int) -> Network:
    weights = tuple(np.asarray(one, np.float64) for one in data["weights"])
    biases = tuple(np.asarray(one, np.float64) for one in data["biases"])
    if len(weights) != len(biases) or not weights:
        raise ValueError("a network has not as many weights as biases")
    for layer, bias in zip(weights, biases, strict=True):
        if layer.ndim != 2 or layer.shape != (inputs, len(bias)):
            raise ValueError("a layer of a network does not fit the one before it")
        inputs = len(bias)
    if inputs != 1:
        raise ValueError("the last layer of a network has not one output")
    if not all(np.isfinite(one).all() for one in (*weights, *biases)):
        raise ValueError("a network has a weight that is no number")
    return Network(weights, biases)
