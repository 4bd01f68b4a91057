"""A graph of ONNX that is written again, node by node: `NodeWriter`."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def copied(proto: Any) -> Any:
    """A copy of a message of protobuf."""
    copy = type(proto)()
    copy.CopyFrom(proto)
    return copy


class NodeWriter:
    """Writes the nodes of a graph again, and new ones among them.

    Args:
        proto: is not changed.
    """

    def __init__(self, proto: Any) -> None:
        self._helper: Any = importlib.import_module("onnx.helper")
        self.arrays: Any = importlib.import_module("onnx.numpy_helper")
        self._model = copied(proto)
        graph = self._model.graph
        self._nodes: list[Any] = []
        self._name = ""
        """The name of the node that is written again."""
        self._taken = {name for node in graph.node for name in node.output}
        self._taken |= {held.name for held in (*graph.initializer, *graph.input)}

    def written(self) -> Any:
        """The model with the nodes that were written."""
        nodes = list(self._nodes)
        del self._model.graph.node[:]
        self._model.graph.node.extend(nodes)
        return self._model

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """A new node, and its result."""
        name = output or self._fresh(kind)
        self._add(kind, inputs, [name], attributes)
        return name

    def constant(self, array: Any) -> str:
        """A new constant."""
        name = self._fresh("constant")
        self._model.graph.initializer.append(
            self.arrays.from_array(np.asarray(array), name)
        )
        return name

    def number(self, value: float) -> str:
        """A new constant of f32."""
        return self.constant(np.float32(value))

    def inlined(self, body: Any, prefix: str, inputs: dict[str, str]) -> list[str]:
        """Add the nodes of a body.

        Args:
            body: a graph.
            prefix: of the names of its values, after that of the node.
            inputs: what its inputs are, by name.

        Returns:
            The names of its results.
        """
        prefix = f"{self._name}.{prefix}"
        local = [name for node in body.node for name in node.output if name]
        local += [held.name for held in body.initializer]
        names = inputs | {name: f"{prefix}.{name}" for name in local}
        for held in body.initializer:
            self._model.graph.initializer.add().CopyFrom(held)
            self._model.graph.initializer[-1].name = names[held.name]
        for node in body.node:
            self._nodes.append(_renamed(node, names))
            self._nodes[-1].name = f"{prefix}.{node.name}" if node.name else ""
        return [names.get(value.name, value.name) for value in body.output]

    def _add(
        self,
        kind: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: dict[str, Any],
    ) -> None:
        self._nodes.append(
            self._helper.make_node(kind, inputs, outputs, name=self._name, **attributes)
        )

    def _fresh(self, kind: str) -> str:
        name = f"{self._name or 'new'}.{kind}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _renamed(node: Any, names: dict[str, str]) -> Any:
    """A node, and those of its graphs, with other names of values."""
    copy = copied(node)
    copy.input[:] = [names.get(name, name) for name in node.input]
    copy.output[:] = [names.get(name, name) for name in node.output]
    for attribute in copy.attribute:
        inner = [_renamed(node, names) for node in attribute.g.node]
        del attribute.g.node[:]
        attribute.g.node.extend(inner)
        for value in attribute.g.output:
            value.name = names.get(value.name, value.name)
    return copy
