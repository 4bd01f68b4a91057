"""A graph that is being noted down: dimensions that become one, values in order."""

import dataclasses
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.spec import Compose, Layout, Spec, argument_tensor
from morello.spec.dtypes import Dtype
from morello.spec.graphs.expression import Expression, references, renumbered
from morello.spec.graphs.graph import MAP, Graph, Node, Output, axis_dims, canonical
from morello.spec.graphs.text import MOST_VALUES, print_graph
from morello.spec.limits import Limits
from morello.spec.operand import Axis

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of the graph: an argument of the function, or an array that it holds."""

    argument: int
    """Which argument; -1 for an array."""
    axes: tuple[Axis, ...]
    kept: tuple[int, ...]
    """The axes of the array that the graph knows: not those of one element."""
    array: Array | None = None


class Builder:
    """Notes down inputs and nodes; dimensions of one size may be found to be one."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        """Of each dimension."""
        self._same: list[int] = []
        self.inputs: dict[int, Input] = {}
        """By value."""
        self.nodes: dict[int, Node] = {}
        """By value."""
        self.count = 0

    def dimension(self, size: int) -> int:
        """A new dimension."""
        self.sizes.append(size)
        self._same.append(len(self._same))
        return len(self._same) - 1

    def root(self, dim: int) -> int:
        """What a dimension is known as by now."""
        while self._same[dim] != dim:
            dim = self._same[dim]
        return dim

    def unify(self, a: int, b: int) -> None:
        """Make one dimension of two."""
        self._same[self.root(b)] = self.root(a)

    def input(self, found: Input) -> int:
        """A value that is given."""
        self.inputs[self.count] = found
        self.count += 1
        return self.count - 1

    def node(
        self, axes: tuple[Axis, ...], reduction: str, expression: Expression
    ) -> int:
        """A value that is computed."""
        if self.count >= MOST_VALUES:
            raise MorelloError(
                f"the function has more than {MOST_VALUES} values",
                "compile parts of it by themselves",
            )
        self.nodes[self.count] = Node(axes, reduction, expression, ())
        self.count += 1
        return self.count - 1

    def settled(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """Axes by the names that dimensions have in the end."""
        return tuple(
            self.root(axis)
            if isinstance(axis, int)
            else dataclasses.replace(
                axis, terms=tuple(sorted((self.root(d), s) for d, s in axis.terms))
            )
            for axis in axes
        )

    def traced(self, outputs: list[int]) -> "Traced":
        """The graph of some outputs, in its canonical form."""
        order = [*self.inputs, *self.nodes]
        number = {value: i for i, value in enumerate(order)}
        axes = {v: self.settled(found.axes) for v, found in self.inputs.items()}
        axes |= {v: self.settled(node.axes) for v, node in self.nodes.items()}
        if not all(axes.values()):
            # A value of a graph has a dimension: here one of size 1, which all have.
            one = self.dimension(1)
            axes = {value: (one, *own) for value, own in axes.items()}
        nodes = []
        for value, node in self.nodes.items():
            used: frozenset[int] = frozenset()
            for argument in references(node.expression):
                used |= axis_dims(axes[argument])
            reduced = used - axis_dims(axes[value])
            nodes.append(
                Node(
                    axes[value],
                    node.reduction if reduced else MAP,
                    renumbered(node.expression, number),
                    tuple(sorted(reduced)),
                )
            )
        wanted = tuple(sorted({Output(number[value]) for value in outputs}))
        part = canonical(
            Graph(tuple(axes[v] for v in self.inputs), tuple(nodes), wanted)
        )
        kind = Compose(print_graph(part.graph))
        tensors = tuple(
            argument_tensor(Dtype.F32, Layout.row_major(operand.rank))
            for operand in kind.operands
        )
        sizes = tuple(self.sizes[dim] for dim in part.dims)
        return Traced(
            kind,
            sizes,
            tensors,
            tuple(
                self.inputs[order[value]]
                for value in part.values[: len(part.graph.inputs)]
            ),
            tuple(
                [part.values[o.value] for o in part.graph.outputs].index(number[value])
                for value in outputs
            ),
        )


@dataclasses.dataclass(frozen=True)
class Traced:
    """A function as a graph, for arguments of some shapes."""

    kind: Compose
    sizes: tuple[int, ...]
    tensors: tuple[Any, ...]
    inputs: tuple[Input, ...]
    """Where each input of the graph comes from."""
    outputs: tuple[int, ...]
    """Which output of the graph each result of the function is."""

    def spec(self, limits: Limits) -> Spec:
        """The Spec of the graph."""
        return Spec(self.kind, self.sizes, self.tensors, limits)

    def __str__(self) -> str:
        sizes = ",".join(f"d{i}={size}" for i, size in enumerate(self.sizes))
        return f"{sizes}: {self.kind.graph}"
