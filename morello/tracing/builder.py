"""A graph that is being noted down: dimensions that become one, values in order."""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from morello.compiler.compile import compile
from morello.compiler.goal import Program
from morello.compiler.kernel import Kernel
from morello.compiler.target_choice import chosen_target
from morello.errors import MorelloError
from morello.frontends.parts import MOST_OPERANDS
from morello.machine import Target
from morello.spec import Compose, Layout, Spec, argument_tensor
from morello.spec.dtypes import Dtype
from morello.spec.graphs.expression import Expression, references, renumbered
from morello.spec.graphs.graph import (
    MAP,
    Graph,
    Node,
    Output,
    Part,
    canonical,
)
from morello.spec.graphs.text import MOST_RANK, MOST_TEXT, MOST_VALUES, print_graph
from morello.spec.index_map import IndexMap, dims_of, plain, plain_dims, renamed
from morello.spec.limits import Limits
from morello.tracing.refusals import refusal
from morello.tracing.views import View

Array = np.ndarray[Any, np.dtype[Any]]

_MOST_NOTES = 20_000
"""Values that are noted down."""


@dataclasses.dataclass(frozen=True)
class Input:
    """An input of the graph: an argument of the function, or an array that it holds."""

    argument: int
    """Which argument; -1 for an array."""
    axes: tuple[IndexMap, ...]
    kept: tuple[int, ...]
    """The axes of the array, as its views leave it, that the graph knows: not those
    of one element."""
    rank: int
    """The number of its axes, those of one element too."""
    array: Array | None = None
    views: tuple[View, ...] = ()
    """What is done to the array before a call, in order; to a value when it is read."""
    source: int = -1
    """The value that is stored, and read as an array is; -1 for none."""

    def viewed(self, arrays: Sequence[Array]) -> Array:
        """The array itself, given the arguments."""
        found = arrays[self.argument] if self.array is None else self.array
        for view in self.views:
            found = view.of(found)
        return found


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
        """Representative of the dimensions that were found equal to this one."""
        while self._same[dim] != dim:
            dim = self._same[dim]
        return dim

    def unify(self, a: int, b: int) -> None:
        """Make one dimension of two, which no value has both."""
        self._same[self.root(b)] = self.root(a)

    def clash(self, a: int, b: int) -> bool:
        """Whether one value has both dimensions, or reads values that have them."""
        pair = {self.root(a), self.root(b)}
        return len(pair) == 2 and any(pair <= self._mesh(v) for v in range(self.count))

    def _mesh(self, value: int) -> set[int]:
        """The dimensions of a value and of what it reads."""
        found = self.dims_of(value)
        if value in self.nodes:
            for argument in references(self.nodes[value].expression):
                found |= self.dims_of(argument)
        return found

    def dims_of(self, value: int) -> set[int]:
        """The dimensions that a value has, by the names that they have by now."""
        given = self.inputs.get(value)
        dims = self.nodes[value].axes if given is None else dims_of(given.axes)
        return {self.root(d) for d in dims}

    def input(self, found: Input) -> int:
        """A value that is given."""
        return self._note(self.inputs, found)

    def node(
        self, dims: tuple[int, ...], reduction: str, expression: Expression
    ) -> int:
        """A value that is computed."""
        return self._note(self.nodes, Node(dims, reduction, expression, ()))

    def _note(self, notes: dict[int, Any], found: Any) -> int:
        if self.count >= _MOST_NOTES:
            raise refusal(
                f"the function computes more than {_MOST_NOTES} values",
                "compile parts of it by themselves",
            )
        notes[self.count] = found
        self.count += 1
        return self.count - 1

    def settled(self, axes: tuple[IndexMap, ...]) -> tuple[IndexMap, ...]:
        """Axes by the names that dimensions have in the end."""
        return renamed(axes, {dim: self.root(dim) for dim in dims_of(axes)})

    def node_dims(self, value: int) -> tuple[int, ...]:
        """The dimension of each axis of a node, by the same names."""
        return tuple(map(self.root, self.nodes[value].axes))

    def is_graph(self, outputs: list[int]) -> bool:
        """Whether one graph can have some outputs: it is small enough, and stores
        nothing on the way."""
        if any(
            self.inputs[v].source >= 0 for v in self.needed(outputs) & {*self.inputs}
        ):
            return False
        graph = self._part(outputs)[0].graph
        operands = len(graph.inputs) + len(graph.outputs)
        is_small = graph.count <= MOST_VALUES and graph.rank <= MOST_RANK
        is_small = is_small and operands <= MOST_OPERANDS
        return is_small and len(print_graph(graph)) <= MOST_TEXT

    def needed(self, outputs: list[int]) -> set[int]:
        """Some values, and those that they depend on."""
        needed: set[int] = set()
        rest = [*outputs]
        while rest:
            value = rest.pop()
            if value in needed:
                continue
            needed.add(value)
            if value in self.nodes:
                rest += references(self.nodes[value].expression)
            elif self.inputs[value].source >= 0:
                rest.append(self.inputs[value].source)
        return needed

    def _part(self, outputs: list[int]) -> tuple[Part, list[int], dict[int, int]]:
        """The canonical graph of some outputs, and the values in order, and the number
        of each in the graph before."""
        inputs, order = self._inputs_once(), [*self.inputs, *self.nodes]
        number = {value: i for i, value in enumerate(order)}
        number |= {value: number[first] for value, first in inputs.items()}
        axes = {v: self.settled(found.axes) for v, found in self.inputs.items()}
        axes |= {v: plain(*self.node_dims(v)) for v in self.nodes}
        if not all(axes.values()):
            # A value of a graph has a dimension: here one of size 1, which all have.
            one = self.dimension(1)
            axes = {value: (*plain(one), *own) for value, own in axes.items()}
        nodes = tuple(self._node(value, axes, number) for value in self.nodes)
        wanted = tuple(sorted({Output(number[value]) for value in outputs}))
        graph = Graph(tuple(axes[v] for v in self.inputs), nodes, wanted)
        return canonical(graph), order, number

    def traced(self, outputs: list[int]) -> "Traced":
        """The graph of some outputs, in its canonical form.

        Raises:
            MorelloError: it is larger than graphs may be.
        """
        part, order, number = self._part(outputs)
        kind = _kind(part)
        tensors = tuple(
            argument_tensor(Dtype.F32, Layout.row_major(operand.rank))
            for operand in kind.operands
        )
        sizes = tuple(self.sizes[dim] for dim in part.dims)
        written = [part.values[o.value] for o in part.graph.outputs]
        return Traced(
            kind,
            sizes,
            tensors,
            tuple(order[value] for value in part.values[: len(part.graph.inputs)]),
            tuple(written.index(number[value]) for value in outputs),
        )

    def key(self, outputs: list[int]) -> Hashable:
        """All but the elements of arrays: what makes two traces the same program."""
        inputs = tuple(
            (
                value,
                found.argument,
                found.axes,
                found.kept,
                found.rank,
                found.views,
                found.source,
                None if found.array is None else found.array.shape,
            )
            for value, found in self.inputs.items()
        )
        return (
            inputs,
            tuple(self._inputs_once().items()),
            tuple(self.nodes.items()),
            tuple(self.sizes),
            tuple(self._same),
            tuple(outputs),
        )

    def _inputs_once(self) -> dict[int, int]:
        """For each input the first that is the same array, seen the same way."""
        known: dict[Any, int] = {}
        return {
            value: known.setdefault(
                (
                    found.argument,
                    id(found.array),
                    found.views,
                    found.source,
                    self.settled(found.axes),
                ),
                value,
            )
            for value, found in self.inputs.items()
        }

    def _node(
        self, value: int, axes: dict[int, tuple[IndexMap, ...]], number: dict[int, int]
    ) -> Node:
        node = self.nodes[value]
        used: frozenset[int] = frozenset()
        for argument in references(node.expression):
            used |= dims_of(axes[argument])
        reduced = used - dims_of(axes[value])
        return Node(
            plain_dims(axes[value]),
            node.reduction if reduced else MAP,
            renumbered(node.expression, number),
            tuple(sorted(reduced)),
        )


def _kind(part: Part) -> Compose:
    count, rank = part.graph.count, part.graph.rank
    if count > MOST_VALUES or rank > MOST_RANK:
        raise _too_large(f"{count} values and {rank} dimensions")
    return Compose(print_graph(part.graph))


def _too_large(what: str) -> MorelloError:
    return MorelloError(
        f"the function has {what}; a graph has at most {MOST_VALUES} and {MOST_RANK}",
        "compile it with morello.jit, which takes it as several, or trace parts of it",
    )


def every_dim(builder: Builder, values: list[int]) -> set[int]:
    """The dimensions of some values and of all that they are computed of anew."""
    found: set[int] = set()
    seen: set[int] = set()
    rest = [*values]
    while rest:
        value = rest.pop()
        if value in seen:
            continue
        seen.add(value)
        found |= builder.dims_of(value)
        if value in builder.nodes:
            rest += references(builder.nodes[value].expression)
    return found


@dataclasses.dataclass(frozen=True)
class Traced(Program):
    """A function as a graph, for arguments of some shapes."""

    kind: Compose
    sizes: tuple[int, ...]
    tensors: tuple[Any, ...]
    inputs: tuple[int, ...]
    """The value that each input of the graph is."""
    outputs: tuple[int, ...]
    """Which output of the graph each result of the function is."""

    def spec(self, limits: Limits) -> Spec:
        """The Spec of the graph."""
        return Spec(self.kind, self.sizes, self.tensors, limits)

    def compile(self, *, target: str | Target | None = None, **options: Any) -> Kernel:
        """The kernel of the graph; the arguments are those of `morello.compile`."""
        limits = chosen_target(target).limits
        return compile(self.spec(limits), target=target, **options)

    def __str__(self) -> str:
        sizes = ",".join(f"d{i}={size}" for i, size in enumerate(self.sizes))
        return f"{sizes}: {self.kind.graph}"
