"""A group of nodes as one Spec: `part_of_nodes`."""

import dataclasses

from morello.errors import SpecError
from morello.frontends.group_dims import Dims, UnfitError, merged
from morello.frontends.tensors import ONE, Node, Tensors
from morello.spec import Compose, Layout, Spec, argument_tensor
from morello.spec.graphs.expression import Call, Constant, Expression, Reference
from morello.spec.graphs.graph import MAP, Graph, Output, canonical
from morello.spec.graphs.graph import Node as GraphNode
from morello.spec.graphs.text import MOST_RANK, MOST_VALUES, print_graph
from morello.spec.limits import Limits
from morello.spec.operand import Axis, Window

MOST_OPERANDS = 8
"""Of a Spec op."""


@dataclasses.dataclass(frozen=True)
class Part:
    """A Spec, and the tensors that its operands are."""

    nodes: tuple[int, ...]
    """The tensors that it computes, outputs and intermediate ones."""
    kind: Compose
    sizes: tuple[int, ...]
    inputs: tuple[int, ...]
    """The tensor of each input, a root."""
    outputs: tuple[int, ...]
    forms: tuple[object, ...]
    places: tuple[str, ...]
    """Where the program has its nodes."""

    def spec(self, limits: Limits) -> Spec:
        """What it computes."""
        return Spec(self.kind, self.sizes, self.forms, limits)  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True, order=True)
class _Input:
    """A tensor that a group reads from outside, and by which axes."""

    tensor: int
    axes: tuple[Axis, ...]


class _Draft:
    """A group while its dimensions are found."""

    def __init__(self, tensors: Tensors, nodes: tuple[int, ...], shares: bool) -> None:
        self.tensors = tensors
        self.nodes = nodes
        self.dims = Dims()
        self.own: dict[int, dict[int, int]] = {}
        """Of each node: its dimensions as dimensions of the group."""
        for tensor in nodes:
            node = self._node(tensor)
            self.own[tensor] = {
                i: self.dims.new(n) for i, n in enumerate(node.extents) if n > 1
            }
        for tensor in nodes:
            for access in self._node(tensor).reads:
                self._unify(tensor, access.tensor, access.axes)
        if shares:
            self._share()

    def _share(self) -> None:
        """Read what is read twice along the same dimensions.

        Raises:
            UnfitError: then it is read along others.
        """
        first: dict[tuple[int, int], list[int]] = {}
        for tensor in self.nodes:
            for access in self._node(tensor).reads:
                axes = self._renamed(tensor, access.axes)
                plain = [a for a in axes if isinstance(a, int)]
                if all(isinstance(a, int) or a == ONE for a in axes):
                    key = self.tensors.root(access.tensor), len(plain)
                    self.dims.join(first.setdefault(key, plain), plain)
        for tensor in self.nodes:
            self.axes(tensor, self._node(tensor).axes)
            for access in self._node(tensor).reads:
                self.axes(tensor, access.axes)

    def _node(self, tensor: int) -> Node:
        found = self.tensors.all[tensor]
        assert isinstance(found, Node)
        return found

    def _renamed(self, tensor: int, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        own = self.own[tensor]
        return tuple(
            own[axis]
            if isinstance(axis, int)
            else Window(
                tuple((own[d], s) for d, s in axis.terms), axis.before, axis.after
            )
            for axis in axes
        )

    def _unify(self, reader: int, tensor: int, axes: tuple[Axis, ...]) -> None:
        root = self.tensors.root(tensor)
        if root not in self.own:
            return
        left: list[int] = []
        for axis in self._renamed(reader, axes):
            if isinstance(axis, int):
                left.append(axis)
            elif axis.terms or axis.before or axis.after:
                raise UnfitError  # a window over what is computed here
        right = [
            a for a in self._renamed(root, self._node(root).axes) if isinstance(a, int)
        ]
        self.dims.join(left, right)

    def axes(self, tensor: int, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """Axes of a node's own dimensions, by the leaves of the group's."""
        return self.dims.axes(self._renamed(tensor, axes))

    def reduced(self, tensor: int) -> frozenset[int]:
        """What a node reduces, by the leaves of the group's."""
        own = self.own[tensor]
        found = [self.dims.leaves(own[d]) for d in self._node(tensor).reduced]
        return frozenset(leaf for leaves in found for leaf in leaves)


def part_of_nodes(
    tensors: Tensors, nodes: tuple[int, ...], outputs: tuple[int, ...]
) -> Part:
    """Some nodes as one graph.

    Args:
        nodes: ascending.
        outputs: those that are read outside, or are results.

    Raises:
        UnfitError: they are no graph that a Spec op has.
    """
    try:
        return _part(tensors, nodes, outputs, _Draft(tensors, nodes, shares=True))
    except UnfitError:
        return _part(tensors, nodes, outputs, _Draft(tensors, nodes, shares=False))


def _part(
    tensors: Tensors, nodes: tuple[int, ...], outputs: tuple[int, ...], draft: _Draft
) -> Part:
    inputs: dict[_Input, int] = {}
    drafted: list[tuple[tuple[Axis, ...], str, Expression, frozenset[int]]] = []
    value: dict[int, int] = {}
    for tensor in nodes:
        node = tensors.all[tensor]
        assert isinstance(node, Node)
        leaves: dict[int, Expression] = {}
        for place, access in enumerate(node.reads):
            root = tensors.root(access.tensor)
            if root in value:
                leaves[place] = Reference(-1 - value[root])
                continue
            found = _Input(root, draft.axes(tensor, access.axes))
            number = inputs.setdefault(found, len(inputs))
            leaves[place] = Reference(number)
        value[tensor] = len(drafted)
        drafted.append(
            (
                draft.axes(tensor, node.axes),
                node.reduction,
                _with_leaves(node.expression, leaves),
                draft.reduced(tensor),
            )
        )
    return _finished(tensors, draft, inputs, drafted, value, nodes, outputs)


def _with_leaves(expression: Expression, leaves: dict[int, Expression]) -> Expression:
    if isinstance(expression, Reference):
        return leaves[expression.value]
    if isinstance(expression, Call):
        arguments = tuple(_with_leaves(a, leaves) for a in expression.arguments)
        return Call(expression.function, arguments)
    return expression


def _finished(
    tensors: Tensors,
    draft: _Draft,
    inputs: dict[_Input, int],
    drafted: list[tuple[tuple[Axis, ...], str, Expression, frozenset[int]]],
    value: dict[int, int],
    nodes: tuple[int, ...],
    outputs: tuple[int, ...],
) -> Part:
    given = list(inputs)
    every = [i.axes for i in given] + [axes for axes, _, _, _ in drafted]
    reduced = [dims for _, _, _, dims in drafted]
    sizes = dict(enumerate(draft.dims.sizes))
    merged(every, reduced, sizes)
    if any(not axes for axes in every):  # a value has one dimension at least
        unit = len(sizes)
        sizes[unit] = 1
        every = [(*axes, unit) for axes in every]
    count = len(given)
    made = []
    for (_, reduction, expression, _), axes, gone in zip(
        drafted, every[count:], reduced, strict=True
    ):
        numbered = _numbered(expression, count)
        made.append(
            GraphNode(axes, reduction if gone else MAP, numbered, tuple(sorted(gone)))
        )
    wanted = [Output(count + value[out]) for out in outputs]
    graph = Graph(tuple(every[:count]), tuple(made), tuple(sorted(wanted)))
    return _checked(tensors, graph, sizes, given, value, nodes)


def _numbered(expression: Expression, count: int) -> Expression:
    if isinstance(expression, Reference) and expression.value < 0:
        return Reference(count - 1 - expression.value)
    if isinstance(expression, Call):
        arguments = tuple(_numbered(a, count) for a in expression.arguments)
        return Call(expression.function, arguments)
    return expression


def _checked(
    tensors: Tensors,
    graph: Graph,
    sizes: dict[int, int],
    given: list[_Input],
    value: dict[int, int],
    nodes: tuple[int, ...],
) -> Part:
    part = canonical(graph)
    found = part.graph
    if (
        found.count > MOST_VALUES
        or found.rank > MOST_RANK
        or len(found.inputs) + len(found.outputs) > MOST_OPERANDS
    ):
        raise UnfitError
    if not found.inputs and any(
        isinstance(n.expression, Constant) for n in found.nodes
    ):
        raise UnfitError
    by_value = {len(given) + number: tensor for tensor, number in value.items()}
    tensor_of = [*(i.tensor for i in given)]
    reads = tuple(tensor_of[v] for v in part.values[: len(found.inputs)])
    writes = tuple(by_value[part.values[o.value]] for o in found.outputs)
    try:
        kind = Compose(print_graph(found))
        dtypes = [tensors.dtype(t) for t in (*reads, *writes)]
        forms = tuple(
            argument_tensor(dtype, Layout.row_major(operand.rank))
            for dtype, operand in zip(dtypes, kind.operands, strict=True)
        )
        kind.check_dtypes(tuple(dtypes))
    except SpecError as error:
        raise UnfitError from error
    places = tuple(
        dict.fromkeys(
            node.place for n in nodes if isinstance(node := tensors.all[n], Node)
        )
    )
    own = tuple(sizes[dim] for dim in part.dims)
    return Part(nodes, kind, own, reads, writes, forms, places)
