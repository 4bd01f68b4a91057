"""A group of nodes as one Spec: `part_of_nodes`."""

import dataclasses
import itertools
import math

from morello.errors import SpecError
from morello.frontends.grouping.group_dims import (
    Dims,
    Placed,
    UnfitError,
    merge,
    row_major,
)
from morello.frontends.nodes.tensors import (
    Access,
    Given,
    Joined,
    Node,
    PlainCode,
    Tensors,
    View,
)
from morello.spec import Compose, Fill, Kind, Layout, Spec, TensorSpec, argument_tensor
from morello.spec.graphs.cuts import cuts
from morello.spec.graphs.expression import (
    Call,
    Expression,
    Reference,
    substituted,
)
from morello.spec.graphs.graph import MAP, Graph, Output, canonical
from morello.spec.graphs.graph import Node as GraphNode
from morello.spec.graphs.text import MOST_RANK, MOST_VALUES
from morello.spec.index_map import ONE, IndexMap, dims_of, plain_dims, renamed
from morello.spec.named_form import NamedForm, named_form
from morello.spec.tensors.limits import Limits

MOST_OPERANDS = 8
"""Of a Spec op."""

MOST_CUTS = 16
"""The most cuts of a whole program as one graph, some of whose reductions share no
pass: every cut leaves parts that are cut again in nearly as many ways."""


@dataclasses.dataclass(frozen=True)
class Operand:
    """The region of a tensor's memory that an operand of a part occupies."""

    tensor: int
    """A root: its elements are row-major, without gaps."""
    offset: int
    shape: tuple[int, ...]
    """The axes in memory, outermost first."""
    strides: tuple[int, ...]

    @property
    def is_gapless(self) -> bool:
        """Whether its elements are side by side."""
        wanted = row_major(self.shape)
        axes = zip(self.shape, self.strides, wanted, strict=True)
        return all(extent == 1 or own == want for extent, own, want in axes)


@dataclasses.dataclass(frozen=True)
class Part:
    """A Spec, and the tensors that its operands are."""

    nodes: tuple[int, ...]
    """The tensors that it computes, outputs and intermediate ones."""
    kind: Kind
    sizes: tuple[int, ...]
    operands: tuple[Operand, ...]
    """Inputs, then outputs."""
    forms: tuple[TensorSpec, ...]
    places: tuple[str, ...]
    """Where the program has its nodes."""
    is_laid_out: bool = False
    """Whether its operands lie as its best programs read them."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """The tensor of each input."""
        return self._tensors(written=False)

    @property
    def outputs(self) -> tuple[int, ...]:
        """The tensor of each output."""
        return self._tensors(written=True)

    def _tensors(self, written: bool) -> tuple[int, ...]:
        pairs = zip(self.kind.operands, self.operands, strict=True)
        return tuple(own.tensor for op, own in pairs if op.is_written == written)

    @property
    def crosses(self) -> bool:
        """Whether two reductions, no products, are of rows along other dimensions, and
        neither reads the other: no pass computes both."""
        graph = self.kind.as_graph
        if graph is None:
            return False
        maps = {v for v in graph.node_values if graph.is_map(v)}
        reductions = {*graph.node_values} - maps - {*graph.contractions}
        return any(
            first not in graph.below[second]
            and graph.dims_of(first) - graph.dims_of(second)
            and graph.dims_of(second) - graph.dims_of(first)
            for first, second in itertools.combinations(sorted(reductions), 2)
        )

    def spec(self, limits: Limits) -> Spec:
        """The Spec that it computes."""
        return Spec(self.kind, self.sizes, self.forms, limits)


@dataclasses.dataclass(frozen=True)
class PlainPart:
    """An op that has no Spec: its fallback code, and the tensors that this uses."""

    code: PlainCode
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    """Of its results; -1 for one that nobody reads."""


Step = Part | PlainPart
"""What a model computes at a time."""


@dataclasses.dataclass(frozen=True)
class _Input:
    """A tensor that a group reads from outside, and how."""

    tensor: int
    offset: int
    axes: tuple[IndexMap, ...]
    strides: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class _Drafted:
    """A node of a group: what it reads is an input, or, below 0, a node."""

    reduction: str
    expression: Expression
    placed: Placed
    reduced: set[int]
    offset: int


class _Draft:
    """A group while its dimensions are found."""

    def __init__(self, tensors: Tensors, nodes: tuple[int, ...], shares: bool) -> None:
        self.tensors = tensors
        self.nodes = nodes
        self.dims = Dims()
        self.own: dict[int, dict[int, int]] = {}
        """Of each node: its dimensions as dimensions of the group."""
        for tensor in nodes:
            extents = enumerate(self.node(tensor).extents)
            self.own[tensor] = {i: self.dims.new(n) for i, n in extents if n > 1}
        for tensor in nodes:
            for access in self.node(tensor).reads:
                self._unify(tensor, access)
        if shares:
            self._share()
        self.unit = -1
        """A dimension of size 1 that all values get last; -1 for none."""

    def node(self, tensor: int) -> Node:
        """A node by its number."""
        node = self.tensors.all[tensor]
        assert isinstance(node, Node)
        return node

    def renamed(self, tensor: int, axes: tuple[IndexMap, ...]) -> tuple[IndexMap, ...]:
        """Axes of a node's own dimensions, by those of the group."""
        return renamed(axes, self.own[tensor])

    def _unify(self, reader: int, access: Access) -> None:
        root = self.tensors.root(access.tensor)
        if root not in self.own:
            return
        left: list[int] = []
        for axis in self.renamed(reader, access.axes):
            if axis.dim is not None:
                left.append(axis.dim)
            elif axis != ONE:
                raise UnfitError  # a window over what is computed here
        axes = self.renamed(root, self.node(root).axes)
        self.dims.join(left, plain_dims(axes))

    def _share(self) -> None:
        """Read what is read twice along the same dimensions.

        Raises:
            UnfitError: then it is read along others.
        """
        first: dict[tuple[int, int], tuple[int, ...]] = {}
        for tensor in self.nodes:
            for access in self.node(tensor).reads:
                axes = self.renamed(tensor, access.axes)
                own = plain_dims(axes)
                if all(axis.is_plain or axis == ONE for axis in axes):
                    key = self.tensors.root(access.tensor), len(own)
                    self.dims.join(first.setdefault(key, own), own)

    def input(self, tensor: int, access: Access) -> _Input:
        """The input of a group that a node reads: its tensor, offset, axes, strides."""
        shape = self.tensors.all[access.tensor].shape
        offset = 0
        axes: list[IndexMap] = []
        strides = row_major(shape)
        named = self.renamed(tensor, access.axes)
        for axis, stride in zip(named, strides, strict=True):
            offset += stride * max(0, -axis.before)
            axes.append(_trimmed(axis))
        placed, steps = self.dims.placed(axes, strides)
        root = self.tensors.root(access.tensor)
        return _Input(root, offset, tuple(placed), tuple(steps))

    def output(self, tensor: int) -> tuple[Placed, int]:
        """The axes of a node, and where in memory it begins."""
        node = self.node(tensor)
        strides, offset = row_major(node.shape), 0
        if node.into is not None:
            whole = row_major(node.into.shape)
            offset = sum(a * b for a, b in zip(node.into.starts, whole, strict=True))
            strides = [a * b for a, b in zip(node.into.steps, whole, strict=True)]
        placed = self.dims.placed(self.renamed(tensor, node.axes), strides)
        return Placed(*placed), offset

    def reduced(self, tensor: int) -> set[int]:
        """The parts of the group's dimensions along which a node reduces."""
        own = self.own[tensor]
        parts = [self.dims.leaves(own[d]) for d in self.node(tensor).reduced]
        return {leaf for leaves in parts for leaf in leaves}


def _trimmed(axis: IndexMap) -> IndexMap:
    """The map over the part of an axis that it reaches."""
    before, after = max(0, axis.before), max(0, axis.after)
    return dataclasses.replace(axis, before=before, after=after)


def part_of_nodes(
    tensors: Tensors, nodes: tuple[int, ...], outputs: tuple[int, ...]
) -> Part:
    """Some nodes as one graph.

    Args:
        nodes: ascending.
        outputs: those that are read outside, or are results.

    Raises:
        UnfitError: they are no graph that a Spec op has, or some compute in f32 and
            others in s32.
    """
    made = [tensors.all[node] for node in nodes]
    if len({n.dtype.is_float for n in made if isinstance(n, Node)}) > 1:
        raise UnfitError
    try:
        return _part(_Draft(tensors, nodes, shares=True), outputs)
    except UnfitError:
        return _part(_Draft(tensors, nodes, shares=False), outputs)


def whole_part(tensors: Tensors) -> Part | None:
    """All nodes as one graph, as they are; None where that is none, or takes too long
    to search."""
    every = enumerate(tensors.all)
    computed = {i: t for i, t in every if not isinstance(t, Given | View)}
    if not all(isinstance(t, Node) for t in computed.values()):
        return None
    outputs = tuple(sorted(tensors.root(result) for result in tensors.results))
    try:
        part = part_of_nodes(tensors, tuple(computed), outputs)
    except UnfitError:
        return None
    graph = part.kind.as_graph
    is_slow = graph is not None and part.crosses and len(cuts(graph)) > MOST_CUTS
    return None if is_slow else part


def _part(draft: _Draft, outputs: tuple[int, ...]) -> Part:
    inputs: dict[_Input, int] = {}
    drafted: list[_Drafted] = []
    value: dict[int, int] = {}
    inner = {
        draft.tensors.root(a.tensor) for n in draft.nodes for a in draft.node(n).reads
    }
    for tensor in draft.nodes:
        node = draft.node(tensor)
        leaves: list[Expression] = []
        roundings: dict[int, str] = {}
        for place, access in enumerate(node.reads):
            root = draft.tensors.root(access.tensor)
            if root in value:
                leaves.append(Reference(-1 - value[root]))
            else:
                operand = draft.input(tensor, access)
                leaves.append(Reference(inputs.setdefault(operand, len(inputs))))
                roundings[place] = draft.tensors.dtype(root).rounding
        value[tensor] = len(drafted)
        expression = _as_stored(node.expression, roundings)
        if tensor in outputs and tensor not in inner:
            expression = _stored(expression, node.dtype.rounding)
        expression = substituted(expression, leaves.__getitem__)
        placed, offset = draft.output(tensor)
        drafted.append(
            _Drafted(node.reduction, expression, placed, draft.reduced(tensor), offset)
        )
    return _finished(draft, list(inputs), drafted, value, outputs)


def _as_stored(expression: Expression, roundings: dict[int, str]) -> Expression:
    """An expression without roundings to a dtype that the operand is stored in.

    Args:
        roundings: the function that rounds to the dtype of each read from memory.
    """
    match expression:
        case Call(function, (Reference(place) as read,)) if (
            roundings.get(place) == function
        ):
            return read
        case Call(function, arguments):
            return Call(function, tuple(_as_stored(a, roundings) for a in arguments))
    return expression


def _stored(expression: Expression, rounding: str) -> Expression:
    """An expression whose value is rounded by ``rounding`` where it is written."""
    match expression:
        case Call(function, (inner,)) if function == rounding:
            return _stored(inner, rounding)
    return expression


def _finished(
    draft: _Draft,
    inputs: list[_Input],
    drafted: list[_Drafted],
    value: dict[int, int],
    outputs: tuple[int, ...],
) -> Part:
    read = [Placed(list(i.axes), list(i.strides)) for i in inputs]
    written = [node.placed for node in drafted]
    every = [*read, *written]
    sizes = dict(enumerate(draft.dims.sizes))
    merge(every, [node.reduced for node in drafted], sizes)
    if any(not v.axes or v.strides[-1] != 1 for v in every):
        # A value has one dimension at least, and the last one is side by side.
        unit = len(sizes)
        sizes[unit] = 1
        for placed in every:
            placed.axes.append(IndexMap.of(unit))
            placed.strides.append(1)
    count = len(inputs)

    def numbered(v: int) -> Expression:
        return Reference(v if v >= 0 else count - 1 - v)

    made = tuple(
        GraphNode(
            plain_dims(node.placed.axes),
            node.reduction if node.reduced else MAP,
            _rows_first(substituted(node.expression, numbered), node, every),
            tuple(sorted(node.reduced)),
        )
        for node in drafted
    )
    wanted = tuple(sorted(Output(count + value[out]) for out in outputs))
    graph = Graph(tuple(tuple(v.axes) for v in read), made, wanted)
    part = canonical(graph)
    chosen = (
        *part.values[: len(part.graph.inputs)],
        *(part.values[out.value] for out in part.graph.outputs),
    )
    own = tuple(sizes[dim] for dim in part.dims)
    tensor_of = [i.tensor for i in inputs] + [_memory(draft, n) for n in draft.nodes]
    offsets = [i.offset for i in inputs] + [node.offset for node in drafted]
    kind = _kind(part.graph)
    operands = tuple(
        Operand(tensor_of[v], offsets[v], operand.sizes(own), tuple(every[v].strides))
        for v, operand in zip(chosen, kind.operands, strict=True)
    )
    return _checked(draft, kind, own, operands)


def _rows_first(
    expression: Expression, node: _Drafted, values: list[Placed]
) -> Expression:
    """A product of two values that is summed, that which has rows of the result first:
    front ends have the factors in either order."""
    match expression:
        case Call("mul", (Reference(a), Reference(b))) if node.reduced:
            for dim in plain_dims(node.placed.axes):
                has = [dim in dims_of(values[v].axes) for v in (a, b)]
                if has[0] != has[1]:
                    factors = (a, b) if has[0] else (b, a)
                    return Call("mul", tuple(map(Reference, factors)))
    return expression


def _memory(draft: _Draft, tensor: int) -> int:
    """The tensor in whose memory a node is written."""
    node = draft.node(tensor)
    return tensor if node.into is None else node.into.tensor


def _kind(graph: Graph) -> Compose:
    if (
        graph.count > MOST_VALUES
        or graph.rank > MOST_RANK
        or len(graph.inputs) + len(graph.outputs) > MOST_OPERANDS
    ):
        raise UnfitError
    try:
        return Compose(graph)
    except SpecError as error:
        raise UnfitError from error


def _checked(
    draft: _Draft, kind: Compose, sizes: tuple[int, ...], operands: tuple[Operand, ...]
) -> Part:
    dtypes = tuple(draft.tensors.dtype(o.tensor) for o in operands)
    forms = tuple(
        dataclasses.replace(
            argument_tensor(dtype, Layout.row_major(len(operand.shape))),
            contiguous=operand.is_gapless,
        )
        for dtype, operand in zip(dtypes, operands, strict=True)
    )
    places = tuple(dict.fromkeys(draft.node(n).place for n in draft.nodes))
    named = named_form(kind, sizes, forms)
    if named is not None:
        order = enumerate(named.operands)
        own = tuple(_deeper(operands[v], i, named) for i, v in order)
        return Part(draft.nodes, named.kind, named.sizes, own, named.tensors, places)
    if not kind.has_dtypes(dtypes):
        raise UnfitError
    return Part(draft.nodes, kind, sizes, operands, forms, places)


def _deeper(operand: Operand, index: int, named: NamedForm) -> Operand:
    """An operand with the axes of one element that it has in a named form."""
    shape = named.in_memory(index, operand.shape, 1)
    strides = named.in_memory(index, operand.strides, math.prod(operand.shape))
    return dataclasses.replace(operand, shape=shape, strides=strides)


def fill_part(tensors: Tensors, tensor: int) -> Part:
    """A part that fills a joined tensor before its pieces are written."""
    joined = tensors.all[tensor]
    assert isinstance(joined, Joined)
    count = math.prod(joined.shape)
    form = argument_tensor(joined.dtype, Layout.row_major(1))
    operand = Operand(tensor, 0, (count,), (1,))
    kind = Fill(1, joined.fill)
    return Part((), kind, (count,), (operand,), (form,), ())
