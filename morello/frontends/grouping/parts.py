"""A group of nodes as one Spec: `part_of_nodes`."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

from morello.errors import SpecError
from morello.frontends.grouping.draft import Draft, Value
from morello.frontends.grouping.group_dims import UnfitError, row_major
from morello.frontends.nodes.convolution import Convolution
from morello.frontends.nodes.tensors import (
    Joined,
    Node,
    PlainCode,
    Source,
    Tensors,
    View,
)
from morello.spec import Compose, Fill, Kind, Layout, Spec, TensorSpec, argument_tensor
from morello.spec.elements.dtypes import Dtype, computed_in
from morello.spec.graphs.collapsing import come_together, with_unit, without
from morello.spec.graphs.commuting import in_order
from morello.spec.graphs.cuts import cuts
from morello.spec.graphs.expression import Call, Expression, Reference, renumbered
from morello.spec.graphs.graph import MAP, Graph, Output
from morello.spec.graphs.graph import Node as GraphNode
from morello.spec.graphs.text import MOST_RANK, MOST_VALUES
from morello.spec.index_map import IndexMap, plain_dims
from morello.spec.mixes import summed_whole, sums_fit
from morello.spec.named_form import NamedForm, named_form
from morello.spec.size_range import SizeRange
from morello.spec.spec import check_sizes
from morello.spec.tensors.limits import Limits

MOST_OPERANDS = 8
"""The operands of a Spec op."""

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
    sized: tuple[int, ...] = ()
    """The axes whose strides grow with the size that each call says, if they are not
    all those of an array without gaps."""

    @property
    def is_gapless(self) -> bool:
        """Whether its elements are side by side."""
        wanted = row_major(self.shape)
        axes = zip(self.shape, self.strides, wanted, strict=True)
        return all(extent == 1 or stride == want for extent, stride, want in axes)


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
    """The places that its nodes have in the program."""
    is_laid_out: bool = False
    """Whether its operands lie as its best programs read them."""
    ranges: tuple[SizeRange, ...] = ()
    """The dimensions whose size each call says."""

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
        return tuple(op.tensor for row, op in pairs if row.is_written == written)

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

    @property
    def is_turned(self) -> bool:
        """Whether an output lies in another order than the product that it is a map
        of."""
        graph = self.kind.as_graph
        if graph is None:
            return False
        orders = {graph.axes(v) for v in (*graph.contractions, *graph.modes)}
        return len(orders) > 1

    def spec(self, limits: Limits) -> Spec:
        """The Spec that it computes."""
        return Spec(self.kind, self.sizes, self.forms, limits, ranges=self.ranges)


@dataclasses.dataclass(frozen=True)
class PlainPart:
    """An op that has no Spec: its fallback code, and the tensors that this uses."""

    code: PlainCode
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    """The numbers of the tensors of its results; -1 for a result that nobody reads."""


Step = Part | PlainPart
"""One of the pieces that a model computes in order."""


def part_of_nodes(
    tensors: Tensors, nodes: tuple[int, ...], outputs: tuple[int, ...]
) -> Part:
    """Some nodes as one graph.

    Args:
        nodes: ascending.
        outputs: those that are read outside, or are results.

    Raises:
        UnfitError: they are no graph that a Spec op has, or some compute in f32 and
            others, which are no products of bytes before maps, in s32, or sums in f32
            of bytes may be more than s32 has.
    """
    computed = [(i, n) for i in nodes if isinstance(n := tensors.all[i], Node)]
    whole = [i for i, n in computed if not computed_in((n.dtype,)).is_float]
    try:
        part = _part(Draft(tensors, nodes, shares=True), outputs)
    except UnfitError:
        part = _part(Draft(tensors, nodes, shares=False), outputs)
    dtypes = tuple(form.dtype for form in part.forms)
    is_mixed = 0 < len(whole) < len(computed)
    if is_mixed and len(summed_whole(part.kind, dtypes)) != len(whole):
        raise UnfitError
    if not whole and not sums_fit(part.kind, dtypes, part.sizes):
        raise UnfitError
    return part


def whole_part(tensors: Tensors) -> Part | None:
    """All nodes as one graph, as they are; None where that is none, or takes too long
    to search."""
    every = enumerate(tensors.all)
    computed = {i: t for i, t in every if not isinstance(t, Source | View)}
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


def _part(draft: Draft, outputs: tuple[int, ...]) -> Part:
    nodes = {tensor: draft.tensors.node(tensor) for tensor in draft.nodes}
    reads = {n: [draft.read(n, a) for a in node.reads] for n, node in nodes.items()}
    every = dict.fromkeys(read for by_place in reads.values() for read in by_place)
    inputs = [read for read in every if isinstance(read, Value)]
    values = [*inputs, *map(draft.written, nodes)]
    number: dict[int | Value, int] = {read: i for i, read in enumerate(inputs)}
    number |= {tensor: len(inputs) + i for i, tensor in enumerate(nodes)}
    graph_nodes = []
    written = [plain_dims(values[number[out]].axes) for out in outputs]
    convolves = any(Convolution.of(node) for node in nodes.values())
    for tensor, node in nodes.items():
        by_place = dict(enumerate(reads[tensor]))
        dtypes = {
            place: draft.tensors.dtype(read.tensor)
            for place, read in by_place.items()
            if isinstance(read, Value)
        }
        expression = _as_stored(node.expression, dtypes)
        if node.dtype.is_float and tensor in outputs and tensor not in every:
            expression = _stored(expression, node.dtype)
        numbers = {place: number[read] for place, read in by_place.items()}
        expression = renumbered(expression, numbers)
        axes, reduced = plain_dims(values[number[tensor]].axes), draft.reduced(tensor)
        if tensor not in outputs and not convolves:
            axes = _as_written(axes, written)
        reduction = node.reduction if reduced else MAP
        graph_nodes.append(GraphNode(axes, reduction, expression, reduced))
    wanted = tuple(sorted(Output(number[out]) for out in outputs))
    graph = Graph(tuple(v.axes for v in inputs), tuple(graph_nodes), wanted)
    return _finished(draft, graph, values)


def _as_written(
    axes: tuple[int, ...], outputs: list[tuple[int, ...]]
) -> tuple[int, ...]:
    """The axes of a value that is in no memory: in the order of an output that would
    else be written across its vectors."""
    for output in outputs:
        if {*axes} <= {*output} and axes and output[-1] in axes[:-1]:
            return tuple(sorted(axes, key=output.index))
    return axes


def _as_stored(expression: Expression, dtypes: dict[int, Dtype]) -> Expression:
    """An expression without roundings to a dtype that the operand is stored in.

    Args:
        dtypes: of each read from memory.
    """
    match expression:
        case Call(function, (Reference(place) as read,)) if place in dtypes and dtypes[
            place
        ].is_rounded_by(function):
            return read
        case Call(function, arguments):
            return Call(function, tuple(_as_stored(a, dtypes) for a in arguments))
    return expression


def _stored(expression: Expression, dtype: Dtype) -> Expression:
    """An expression whose value is rounded to ``dtype`` where it is written."""
    match expression:
        case Call(function, (inner,)) if dtype.is_rounded_by(function):
            return _stored(inner, dtype)
    return expression


def _finished(draft: Draft, graph: Graph, values: list[Value]) -> Part:
    sizes = dict(enumerate(draft.dims.sizes))
    strides = [value.strides for value in values]
    graph = _merged(graph, strides, sizes)
    if any(not steps or steps[-1] != 1 for steps in strides):
        # A value has one dimension at least, and the last one is side by side: numbers
        # are rows of one element, as what they are made of is a row.
        are_rows = all(not steps or steps[-1] == 1 for steps in strides)
        graph = with_unit(graph, len(sizes), first=are_rows)
        sizes[len(sizes)] = 1
        strides = [
            (_row_stride(graph.axes(v), steps, sizes), *steps)
            if are_rows
            else (*steps, 1)
            for v, steps in enumerate(strides)
        ]
    part = in_order(graph)
    chosen = (
        *part.values[: len(part.graph.inputs)],
        *(part.values[out.value] for out in part.graph.outputs),
    )
    part_sizes = tuple(sizes[dim] for dim in part.dims)
    kind = _kind(part.graph)
    operands = tuple(
        Operand(values[v].tensor, values[v].offset, row.sizes(part_sizes), strides[v])
        for v, row in zip(chosen, kind.operands, strict=True)
    )
    return _checked(draft, kind, part_sizes, operands)


def _row_stride(
    axes: tuple[IndexMap, ...], steps: tuple[int, ...], sizes: dict[int, int]
) -> int:
    """How far apart rows of a value would be that lie side by side.

    Args:
        axes: of the value, the first one of one element.
        steps: the strides of the others.
    """
    if not steps:
        return 1
    return steps[0] * int(axes[1].extent(tuple(sizes[d] for d in range(len(sizes)))))


def _merged(
    graph: Graph, strides: list[tuple[int, ...]], sizes: dict[int, int]
) -> Graph:
    """A graph in which neighbours that are never apart are one dimension.

    Args:
        graph: of a group.
        strides: of each value, in place.
        sizes: of the dimensions, in place.
    """
    while True:
        pair = next(
            (
                (outer, inner)
                for outer, inner in _neighbours(graph)
                if come_together(graph, outer, inner)
                and all(
                    _is_one(graph.axes(value), steps, (outer, inner), sizes)
                    for value, steps in enumerate(strides)
                )
            ),
            None,
        )
        if pair is None:
            return graph
        outer, inner = pair
        sizes[inner] *= sizes[outer]
        for value, steps in enumerate(strides):
            axes = zip(graph.axes(value), steps, strict=True)
            strides[value] = tuple(n for axis, n in axes if axis.dim != outer)
        graph = without(graph, outer)


def _neighbours(graph: Graph) -> list[tuple[int, int]]:
    pairs = {
        (a.dim, b.dim)
        for value in range(graph.count)
        for a, b in itertools.pairwise(graph.axes(value))
        if a.dim is not None and b.dim is not None
    }
    return sorted(pairs)


def _is_one(
    axes: tuple[IndexMap, ...],
    strides: tuple[int, ...],
    pair: tuple[int, int],
    sizes: dict[int, int],
) -> bool:
    """Whether a value has two dimensions side by side and without gaps, or neither."""
    outer, inner = (IndexMap.of(dim) for dim in pair)
    if outer not in axes:
        return True
    place = axes.index(outer)
    return (
        axes[place + 1 : place + 2] == (inner,)
        and strides[place] == strides[place + 1] * sizes[pair[1]]
    )


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
    draft: Draft, kind: Kind, sizes: tuple[int, ...], operands: tuple[Operand, ...]
) -> Part:
    dtypes = tuple(draft.tensors.dtype(o.tensor) for o in operands)
    forms = tuple(
        dataclasses.replace(
            argument_tensor(dtype, Layout.row_major(len(operand.shape))),
            contiguous=operand.is_gapless,
        )
        for dtype, operand in zip(dtypes, operands, strict=True)
    )
    places = tuple(dict.fromkeys(draft.tensors.node(n).place for n in draft.nodes))
    if draft.tensors.flushing:
        kind = kind.as_flushing(dtypes)
    try:
        check_sizes(kind.dims, kind.label, sizes)
        named = named_form(kind, sizes, forms)
        if named is None:
            kind.check_dtypes(dtypes)
    except SpecError as error:
        raise UnfitError from error
    if named is not None:
        order = enumerate(named.operands)
        deeper = tuple(_deeper(operands[v], i, named) for i, v in order)
        return Part(draft.nodes, named.kind, named.sizes, deeper, named.tensors, places)
    return Part(draft.nodes, kind, sizes, operands, forms, places)


def _deeper(operand: Operand, index: int, named: NamedForm) -> Operand:
    """An operand with the axes of one element that it has in a named form."""
    shape = named.in_memory(index, operand.shape, 1)
    strides = named.in_memory(index, operand.strides, math.prod(operand.shape))
    return dataclasses.replace(operand, shape=shape, strides=strides)


def fill_parts(tensors: Tensors, tensor: int) -> Iterator[Part]:
    """Parts that fill a joined tensor before its pieces are written: around the one
    piece that it has, or all of it."""
    joined = tensors.all[tensor]
    assert isinstance(joined, Joined)
    shape, strides = joined.shape, row_major(joined.shape)
    boxes = [(0, shape)]
    if len(joined.pieces) == 1:
        piece = tensors.node(joined.pieces[0])
        if piece.into is not None and max(piece.into.steps) == 1:
            boxes = list(_around(shape, piece.into.starts, piece.shape))
    form = argument_tensor(joined.dtype, Layout.row_major(1))
    for offset, sizes in boxes:
        extents, steps = _neighbours_as_one(sizes, strides)
        operand = Operand(tensor, offset, extents, steps)
        layout = Layout.row_major(len(extents))
        whole = dataclasses.replace(form, layout=layout, contiguous=operand.is_gapless)
        kind = Fill(len(extents), joined.fill)
        yield Part((), kind, extents, (operand,), (whole,), ())


def _around(
    shape: tuple[int, ...], starts: tuple[int, ...], inside: tuple[int, ...]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The boxes around a box of a tensor, each with the offset of its first element."""
    strides, first = row_major(shape), 0
    axes = zip(shape, starts, inside, strict=True)
    for axis, (size, start, count) in enumerate(axes):
        for place, extent in ((0, start), (start + count, size - start - count)):
            if extent:
                sizes = (*inside[:axis], extent, *shape[axis + 1 :])
                yield first + place * strides[axis], sizes
        first += start * strides[axis]


def _neighbours_as_one(
    sizes: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of a box, innermost with neighbours in memory as one axis."""
    extents, steps = [sizes[-1]], [strides[-1]]
    for size, stride in zip(sizes[-2::-1], strides[-2::-1], strict=True):
        if size == 1:
            continue
        if stride == steps[0] * extents[0]:
            extents[0] *= size
        else:
            extents.insert(0, size)
            steps.insert(0, stride)
    return tuple(extents), tuple(steps)
