"""A program as a DAG of tensors: what is given, computed, or seen in another shape.

A tensor is known by its number. One that is computed (`Node`) is a reduction of one
expression, or a map, over an iteration space of its own; it reads others by `Access`,
which says for each axis of the tensor what indexes it. Transposes, broadcasts and
zero padding are accesses, and are never computed.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np

from morello.frontends.expected import Expected
from morello.lazy import cached_property
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs import graph as graphs
from morello.spec.graphs.expression import (
    COPY,
    Call,
    Constant,
    Expression,
    Reference,
    references,
    renumbered,
)
from morello.spec.graphs.graph import MAP, Graph
from morello.spec.index_map import ONE, IndexMap, dims_of, plain_dims

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Access:
    """How a tensor is read: the index of each of its axes."""

    tensor: int
    axes: tuple[IndexMap, ...]


@dataclasses.dataclass(frozen=True)
class PlainDtype:
    """Elements that no graph has: integers, truth values, other floats."""

    mlir: str
    numpy: np.dtype[Any]


@dataclasses.dataclass(frozen=True)
class Source:
    """An argument of the function, or a constant."""

    name: str
    shape: tuple[int, ...]
    dtype: "Dtype | PlainDtype"
    argument: int = -1
    """The number of the argument; -1 for a constant."""
    array: Array | None = None

    @property
    def sources(self) -> tuple[int, ...]:
        """Nothing."""
        return ()


@dataclasses.dataclass(frozen=True)
class Node:
    """A tensor that a graph of one node computes."""

    graph: Graph
    """A graph of one node: its inputs are the reads, its dimensions are an iteration
    space."""
    tensors: tuple[int, ...]
    """The tensor that each input is, axis by axis."""
    extents: tuple[int, ...]
    """The size of each dimension."""
    axes: tuple[IndexMap, ...]
    """The dimension that each axis of the tensor is, or `ONE`."""
    dtype: Dtype
    """The dtype of the elements in memory."""
    place: str
    """The place in the program."""
    into: "Within | None" = None
    """The part of a `Joined` tensor that it writes, if it is a piece of one."""
    after: tuple[int, ...] = ()
    """Nodes that write first, since this one writes over what they wrote."""

    @classmethod
    def of(
        cls,
        extents: tuple[int, ...],
        axes: tuple[IndexMap, ...],
        reduction: str,
        expression: Expression,
        reads: tuple[Access, ...],
        dtype: Dtype,
        place: str,
    ) -> "Node":
        """A node.

        Args:
            reduction: ``map``, or the reduction over the dimensions that ``axes`` lack.
            expression: a `Reference` is to one of ``reads``.
            reads: how it reads other tensors.
        """
        free_dims = plain_dims(axes)
        gone = tuple(d for d, n in enumerate(extents) if n > 1 and d not in free_dims)
        node = graphs.Node(free_dims, reduction, expression, gone)
        inputs = tuple(access.axes for access in reads)
        graph = Graph(inputs, (node,), (graphs.Output(len(inputs)),))
        tensors = tuple(access.tensor for access in reads)
        return cls(graph, tensors, extents, axes, dtype, place)

    def changed(self, **changes: Any) -> "Node":
        """The node with other ``extents``, ``axes``, ``reduction``, ``expression`` or
        ``reads``."""
        names = "extents", "axes", "reduction", "expression", "reads", "dtype", "place"
        node = Node.of(**{name: getattr(self, name) for name in names} | changes)
        return dataclasses.replace(node, into=self.into, after=self.after)

    @property
    def reduction(self) -> str:
        """``map``, or the reduction over the dimensions that it lacks."""
        return self.graph.nodes[0].reduction

    @property
    def expression(self) -> Expression:
        """The expression, in which a `Reference` is to one of ``reads``."""
        return self.graph.nodes[0].expression

    @cached_property
    def reads(self) -> tuple[Access, ...]:
        """How it reads each tensor."""
        return tuple(map(Access, self.tensors, self.graph.inputs))

    @property
    def sources(self) -> tuple[int, ...]:
        """The tensors that it reads, waits for, or is a part of."""
        joined = () if self.into is None else (self.into.tensor,)
        return (*self.tensors, *self.after, *joined)

    def compact(self) -> "Node":
        """The node without reads that its expression lacks."""
        used = sorted(set(references(self.expression)))
        number = {old: new for new, old in enumerate(used)}
        expression = renumbered(self.expression, number)
        reads = tuple(self.reads[old] for old in used)
        return self.changed(expression=expression, reads=reads)

    def distinct(self) -> "Node":
        """The node that reduces no dimension along which all that it reads repeats."""
        used = {d for access in self.reads for d in dims_of(access.axes)}
        gone = self.reduced - used
        if not gone or self.reduction == MAP:
            return self
        expression, is_left = self.expression, bool(self.reduced - gone)
        if self.reduction == "sum":
            count = prod(self.extents[dim] for dim in gone)
            expression = Call("mul", (expression, Constant(float(count))))
        elif not is_left and isinstance(expression, Reference):
            expression = Call("copy", (expression,))
        return self.changed(
            expression=expression,
            extents=tuple(1 if d in gone else n for d, n in enumerate(self.extents)),
            reduction=self.reduction if is_left else MAP,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return tuple(int(axis.extent(self.extents)) for axis in self.axes)

    @property
    def unreduced(self) -> frozenset[int]:
        """Dimensions that are not reduced."""
        return frozenset(self.graph.nodes[0].axes)

    @property
    def reduced(self) -> frozenset[int]:
        """The dimensions that it reduces, of more than one element."""
        return frozenset(self.graph.nodes[0].reduced)


@dataclasses.dataclass(frozen=True)
class Within:
    """Rectangular part of a `Joined` tensor, where a node writes its elements."""

    tensor: int
    shape: tuple[int, ...]
    """The shape of the whole tensor."""
    starts: tuple[int, ...]
    """The first element of the part along each axis."""
    steps: tuple[int, ...]
    """The step from one element of the part to the next along each axis."""


@dataclasses.dataclass(frozen=True)
class Joined:
    """A tensor that several nodes write: its pieces."""

    shape: tuple[int, ...]
    dtype: Dtype
    fill: str = ""
    """The elements that no piece writes, as `Fill` names them; empty for none."""
    pieces: tuple[int, ...] = ()

    @property
    def sources(self) -> tuple[int, ...]:
        """The pieces."""
        return self.pieces


@dataclasses.dataclass(frozen=True)
class View:
    """A tensor in another shape: the same elements in the same order."""

    tensor: int
    shape: tuple[int, ...]

    @property
    def sources(self) -> tuple[int, ...]:
        """The tensor."""
        return (self.tensor,)


@dataclasses.dataclass(frozen=True)
class PlainCode:
    """A function that upstream's plain lowering has made loops of."""

    text: str
    """A module with one function of memrefs, ``plain``: what it reads, then what it
    writes."""
    op: str
    """The op that it computes, which is no Spec."""
    place: str
    reason: str
    """Why it is no Spec."""


@dataclasses.dataclass(frozen=True)
class Plain:
    """A tensor that is no Spec: one of the results of `PlainCode`."""

    code: PlainCode
    number: int
    """The number of the result."""
    operands: tuple[int, ...]
    """The tensors that the code reads, in order, each row-major."""
    shape: tuple[int, ...]
    dtype: Dtype | PlainDtype

    @property
    def sources(self) -> tuple[int, ...]:
        """The operands."""
        return self.operands


Tensor = Source | Node | View | Joined | Plain


@dataclasses.dataclass(frozen=True)
class CallSize:
    """A size that each call says: dimensions of some tensors.

    Shapes have the greatest.
    """

    name: str
    sizes: range
    arguments: Mapping[int, tuple[int, ...]]
    """The dimensions that have it, by the numbers of the arguments."""
    results: Mapping[int, tuple[int, ...]]
    """The dimensions that have it, by the places of the results."""


@dataclasses.dataclass
class Tensors:
    """The tensors of a function, each after those that it reads, and its results."""

    name: str
    all: list[Tensor] = dataclasses.field(default_factory=list)
    results: list[int] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    """The names of the arguments."""
    result_names: list[str] = dataclasses.field(default_factory=list)
    """Names of the results; empty for those that the program does not name."""
    weights: frozenset[int] = frozenset()
    """The arguments that change seldom: what is computed of them alone is not computed
    in each call."""
    expected: tuple[Expected, ...] = ()
    """Conditions on some arguments, checked in each call."""
    size: CallSize | None = None
    flushing: bool = False
    """Whether products of two factors of bf16 may take denormals for zero."""
    copies: bool = False
    """Whether products of matrices may read copies of weights."""

    def add(self, tensor: Tensor) -> int:
        """A tensor, and its number."""
        self.all.append(tensor)
        return len(self.all) - 1

    def node(self, tensor: int) -> Node:
        """The node that computes a tensor."""
        node = self.all[tensor]
        assert isinstance(node, Node)
        return node

    def join(
        self,
        whole: Joined,
        pieces: Iterable[tuple[Node, tuple[int, ...], tuple[int, ...]]],
        overwrites: bool = False,
    ) -> int:
        """A tensor that nodes write.

        Args:
            whole: the tensor, without pieces.
            pieces: nodes, made one by one after the tensor, each with where along each
                axis its part begins, and the steps from one of its elements to the
                next.
            overwrites: whether each writes over what those before it wrote.
        """
        joined = self.add(whole)
        numbers: list[int] = []
        for node, starts, steps in pieces:
            into = Within(joined, whole.shape, starts, steps)
            after = tuple(numbers) if overwrites else ()
            numbers.append(self.add(dataclasses.replace(node, into=into, after=after)))
        self.all[joined] = dataclasses.replace(whole, pieces=tuple(numbers))
        return joined

    def root(self, tensor: int) -> int:
        """The tensor whose elements a view has."""
        value = self.all[tensor]
        while isinstance(value, View):
            tensor = value.tensor
            value = self.all[tensor]
        return tensor

    def memory(self, tensor: int) -> int:
        """The tensor whose memory a root has: the joined one of a piece."""
        value = self.all[tensor]
        into = value.into if isinstance(value, Node) else None
        return tensor if into is None else into.tensor

    def view(self, tensor: int, shape: tuple[int, ...]) -> int:
        """A tensor in another shape: one that is there, or a new `View`."""
        root = self.root(tensor)
        for seen in (root, tensor):
            if self.all[seen].shape == shape:
                return seen
        return self.add(View(root, shape))

    def dtype(self, tensor: int) -> Dtype:
        """The dtype of a tensor in memory that a graph reads or writes."""
        dtype = self.element(tensor)
        assert isinstance(dtype, Dtype)
        return dtype

    def element(self, tensor: int) -> Dtype | PlainDtype:
        """The dtype of any tensor in memory, also of one that no graph uses."""
        value = self.all[self.root(tensor)]
        assert not isinstance(value, View)
        return value.dtype

    @property
    def seen(self) -> list[int]:
        """The results, and what plain code reads: these stay as they are."""
        plain = [t for t in self.all if isinstance(t, Plain)]
        return [*self.results, *(o for tensor in plain for o in tensor.operands)]

    def writers(self, tensor: int) -> tuple[int, ...]:
        """The nodes that have to be computed before a tensor is read."""
        root = self.root(tensor)
        value = self.all[root]
        if isinstance(value, Joined):
            return value.pieces
        return (root,) if isinstance(value, Node | Plain) else ()


def substituted(
    axes: tuple[IndexMap, ...],
    inner: tuple[IndexMap, ...],
    extents: tuple[int, ...],
    shape: tuple[int, ...],
) -> tuple[IndexMap, ...] | None:
    """The axes of a tensor that is read through another's.

    Args:
        axes: of the tensor, by the axes of what reads it.
        inner: of what reads it, by dimensions of an iteration space.
        extents: of these dimensions.
        shape: of the tensor.

    Returns:
        The axes by these dimensions; None where padding of the second is not padding
        of the first, or a sum would be divided.
    """
    maps = []
    for axis, extent in zip(axes, shape, strict=True):
        if axis.dim is not None:
            maps.append(inner[axis.dim])
            continue
        if axis.is_divided or any(inner[place].is_divided for place in axis.dims):
            dims = ((place, inner[place].dim) for place in axis.dims)
            names = {place: dim for place, dim in dims if dim is not None}
            if len(names) < len(axis.dims):
                return None
            maps.append(axis.renamed(names))
            continue
        terms: dict[int, int] = {}
        before = axis.before
        for place, step in axis.terms:
            within = inner[place]
            is_whole = len(axis.terms) == 1 and step == 1
            may_pad = is_whole and axis.before >= 0 and axis.after >= 0
            if (within.before > 0 or within.after > 0) and not may_pad:
                return None
            before += step * within.before
            for dim, factor in within.terms:
                terms[dim] = terms.get(dim, 0) + step * factor
        maps.append(window_of(terms, before, extents, extent))
    return tuple(maps)


def through(
    axes: tuple[IndexMap, ...], dims: Mapping[int, IndexMap]
) -> tuple[IndexMap, ...]:
    """Axes by other dimensions: a dimension becomes any map where it is an axis by
    itself, and a dimension elsewhere."""
    maps = []
    for axis in axes:
        if axis.dim is not None:
            maps.append(dims[axis.dim])
            continue
        names = {}
        for dim in axis.dims:
            name = dims[dim].dim
            assert name is not None
            names[dim] = name
        maps.append(axis.renamed(names))
    return tuple(maps)


def window_of(
    terms: dict[int, int], before: int, extents: tuple[int, ...], extent: int
) -> IndexMap:
    """The axis of so many elements that is indexed by a sum, less ``before``.

    Places that it does not reach count as negative in `IndexMap.before` and
    `IndexMap.after`.
    """
    terms = {dim: step for dim, step in terms.items() if extents[dim] > 1 and step}
    reach = 1 + sum(step * (extents[dim] - 1) for dim, step in terms.items())
    after = reach - before - extent
    return IndexMap(tuple(terms.items()), before, after)


def copying(access: Access, shape: tuple[int, ...], dtype: Dtype, place: str) -> Node:
    """A node of the elements that are read, row-major."""
    return Node.of(shape, identity_axes(shape), MAP, COPY, (access,), dtype, place)


def identity_axes(shape: tuple[int, ...]) -> tuple[IndexMap, ...]:
    """The axes of a tensor that is read as it is."""
    return tuple(
        IndexMap.of(i) if extent > 1 else ONE for i, extent in enumerate(shape)
    )
