"""Small networks as numbers: what the nodes of a program take, added up by NumPy.

A network looks at each node by itself and says by which factor it takes longer than the
cost model says. A program takes the sum of its nodes.
"""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.learned.ledger import Vector
from morello.learned.nodes import Nodes
from morello.learned.trees import Arrays, part_of

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

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The weights and biases as `of` reads them, in few bytes."""
        return {
            f"{member}.{layer}.{name}": one.astype(np.float16)
            for member, network in enumerate(self.members)
            for layer, pair in enumerate(
                zip(network.weights, network.biases, strict=True)
            )
            for name, one in zip(("weight", "bias"), pair, strict=True)
        }

    @classmethod
    def of(cls, names: tuple[str, ...], arrays: Arrays) -> "Networks":
        """Networks from the names of their features and their arrays.

        Raises:
            ValueError: layers do not fit together.
        """
        members: list[Network] = []
        while parts := part_of(arrays, f"{len(members)}."):
            members.append(_network(parts, len(names)))
        if not members:
            raise ValueError("there is no network")
        return cls(names, tuple(members))


def _network(arrays: Arrays, inputs: int) -> Network:
    layers = range((len(arrays) + 1) // 2)
    try:
        weights, biases = (
            tuple(np.asarray(arrays[f"{layer}.{name}"], float) for layer in layers)
            for name in ("weight", "bias")
        )
    except KeyError as error:
        raise ValueError("a network has not as many weights as biases") from error
    for layer, bias in zip(weights, biases, strict=True):
        if layer.ndim != 2 or layer.shape != (inputs, len(bias)):
            raise ValueError("a layer of a network does not fit the one before it")
        inputs = len(bias)
    if inputs != 1:
        raise ValueError("the last layer of a network has not one output")
    if not all(np.isfinite(one).all() for one in (*weights, *biases)):
        raise ValueError("a network has a weight that is no number")
    return Network(weights, biases)
