"""Lookups at places outside of a tensor, where eager raises an error.

Machine code takes the nearest place there. One more result of a group is therefore
whether a place is outside; where one is, eager runs.
"""

import copy
import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.fx import Graph, GraphModule, Node

aten = torch.ops.aten


@dataclasses.dataclass(frozen=True)
class Lookup:
    """Places that an op looks up, and those that are within."""

    places: Node
    least: int
    end: int
    ignored: int | None = None
    """A place that is not looked up."""
    is_counted: bool = False
    """Whether places are a mask, and those count that are true: as many are read."""

    @property
    def is_within(self) -> bool:
        """Whether none can be outside."""
        size = math.prod(_shape(self.places))
        end = size + 1 if self.is_counted else _end_of(self.places)
        return end is not None and self.least <= 0 and end <= self.end


def _end_of(places: Any) -> int | None:
    """A number that places are less than, where none is negative either, whatever the
    data are: as of places that a sort gives, or that are clamped."""
    value = places.meta.get("val") if isinstance(places, Node) else None
    if not isinstance(value, torch.Tensor) or value.is_floating_point():
        return None
    if value.dtype is torch.bool:
        return 2
    if places.target is operator.getitem and places.args[1] == 1:
        places = places.args[0]
        return _count_of(places) if places.target in _SECOND else None
    end = _ENDS.get(places.target)
    return None if end is None else end(places)


def _count_of(places: Node) -> int | None:
    """The elements of the axis along which an op finds elements."""
    index = 2 if places.target is aten.topk.default else 1
    shape = _shape(places.all_input_nodes[0])
    dim = (*places.args[index:], places.kwargs.get("dim"))[0]
    if places.target in _FIRST and dim is None:
        return int(math.prod(shape))
    dim = -1 if dim is None else dim
    assert isinstance(dim, int)
    return int(shape[dim]) if shape else 1


def _clamped(places: Node) -> int | None:
    least, most = (*places.args[1:], None)[:2]
    if isinstance(least, int) and isinstance(most, int) and 0 <= least <= most:
        return most + 1
    return None


def _remainder(places: Node) -> int | None:
    divisor = places.args[1]
    return divisor if isinstance(divisor, int) and divisor > 0 else None


def _quotient(places: Node) -> int | None:
    end, divisor = _end_of(places.args[0]), places.args[1]
    if end is None or not isinstance(divisor, int) or divisor <= 0:
        return None
    return (end - 1) // divisor + 1


def _counted(places: Node) -> int | None:
    least, end = (0, *places.args)[-2:]
    return end if isinstance(end, int) and least == 0 and end >= 0 else None


def _put(places: Node) -> int | None:
    before, values = _end_of(places.args[0]), _end_of(places.args[2])
    return None if before is None or values is None else max(before, values)


_FIRST = (aten.argmax.default, aten.argmin.default)
"""Ops that give places along an axis."""

_SECOND = (
    *(aten.max.dim, aten.min.dim),
    *(aten.sort.default, aten.sort.stable, aten.topk.default),
)
"""Ops whose second result gives them."""

_MOVES = (
    *(aten._to_copy.default, aten.alias.default, aten.clone.default),
    *(aten.detach.default, aten.expand.default, aten.flip.default),
    *(aten.gather.default, aten.index.Tensor, aten.index_select.default),
    *(aten.permute.default, aten.repeat.default, aten.roll.default),
    *(aten.select.int, aten.slice.Tensor, aten.t.default, aten.transpose.int),
    *(aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims),
    *(aten.unsqueeze.default, aten.view.default, aten._unsafe_view.default),
)
"""Ops that give some of the places that they read first."""

_EMPTY = (aten.empty.memory_format, aten.empty_like.default, aten.new_empty.default)
"""Ops whose elements may be any."""

_ENDS: dict[Any, Callable[[Node], int | None]] = {
    **dict.fromkeys(_FIRST, _count_of),
    **dict.fromkeys(_MOVES, lambda node: _end_of(node.args[0])),
    **dict.fromkeys((aten.arange.default, aten.arange.start), _counted),
    **dict.fromkeys(_EMPTY, lambda node: 0),
    aten.clamp.default: _clamped,
    aten.div.Tensor_mode: _quotient,
    aten.floor_divide.default: _quotient,
    aten.index_put.default: _put,
    aten.remainder.Scalar: _remainder,
}


def _shape(node: Any) -> Any:
    return node.meta["val"].shape


def _along(node: Node) -> Iterator[Lookup]:
    table, dim, places = node.args[:3]
    assert isinstance(dim, int)
    assert isinstance(places, Node)
    yield Lookup(places, 0, _shape(table)[dim] if _shape(table) else 1)


def _rows(node: Node) -> Iterator[Lookup]:
    table, places = node.args[:2]
    assert isinstance(places, Node)
    yield Lookup(places, 0, _shape(table)[0])


def _elements(node: Node) -> Iterator[Lookup]:
    whole, places = node.args
    assert isinstance(places, Node)
    size = math.prod(_shape(whole))
    yield Lookup(places, -size, size)


def _indices(node: Node) -> Iterator[Lookup]:
    table, indices = node.args[:2]
    assert isinstance(indices, list | tuple)
    for size, places in zip(_shape(table), indices, strict=False):
        if isinstance(places, Node):
            yield Lookup(places, -size, size)


def _masked(node: Node) -> Iterator[Lookup]:
    _, mask, source = node.args
    assert isinstance(mask, Node)
    copies = math.prod(_shape(node)) // max(math.prod(_shape(mask)), 1)
    most = math.prod(_shape(source)) // max(copies, 1)
    yield Lookup(mask, 0, most + 1, is_counted=True)


def _classes(node: Node) -> Iterator[Lookup]:
    scores, places, _, _, ignored = node.args
    assert isinstance(places, Node)
    assert isinstance(ignored, int)
    yield Lookup(places, 0, _shape(scores)[-1], ignored)


_LOOKUPS: dict[Any, Callable[[Node], Iterator[Lookup]]] = {
    aten._embedding_bag.default: _rows,
    aten._embedding_bag_forward_only.default: _rows,
    aten.embedding.default: _rows,
    aten.gather.default: _along,
    aten.index.Tensor: _indices,
    aten.index_add.default: _along,
    aten.index_copy.default: _along,
    aten.index_fill.int_Scalar: _along,
    aten.index_put.default: _indices,
    aten.index_select.default: _along,
    aten.masked_scatter.default: _masked,
    aten.nll_loss_forward.default: _classes,
    aten.scatter.src: _along,
    aten.scatter.value: _along,
    aten.scatter_add.default: _along,
    aten.scatter_reduce.two: _along,
    aten.take.default: _elements,
}


LOOKED_UP = frozenset(_LOOKUPS)
"""The ops that look places up."""


def lookups_of(node: Node) -> tuple[Lookup, ...]:
    """Lookups by index that an op does, if any, which may be outside."""
    find = _LOOKUPS.get(node.target)
    lookups = () if find is None else tuple(find(node))
    return tuple(lookup for lookup in lookups if not lookup.is_within)


def is_of_floats(places: Node, known: Collection[Any]) -> bool:
    """Whether known ops compute places of floats: a check would compute these twice.
    Those of constants are checked once."""
    if _is_known(places):
        return False
    rest, seen = [places], {places}
    while rest:
        node = rest.pop()
        if node.target not in known and node.target is not operator.getitem:
            continue
        for source in node.all_input_nodes:
            value = source.meta.get("val")
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                return True
            if source not in seen:
                seen.add(source)
                rest.append(source)
    return False


def _is_known(places: Node) -> bool:
    """Whether places depend on no data."""
    return not any(node.op == "placeholder" for node in _needed([places]))


def are_known_outside(graph: GraphModule) -> bool:
    """Whether a lookup at places that depend on no data is outside."""
    known = [lookup for lookup in _lookups(graph) if _is_known(lookup.places)]
    tests = GraphModule(graph, _tests_alone(graph, known))
    with unset_fake_temporarily():  # of the trace around this
        return any(bool(test) for test in tests())


def with_test(graph: GraphModule) -> GraphModule | None:
    """A graph with one more result: the truth that a lookup is outside.

    Returns:
        None: there are no lookups at places that are data, or all are within.
    """
    lookups = [each for each in _lookups(graph) if not _is_known(each.places)]
    if not lookups:
        return None
    whole = GraphModule(graph, copy.deepcopy(graph.graph))
    names = {node.name: node for node in whole.graph.nodes}
    (output,) = whole.graph.find_nodes(op="output")
    (results,) = output.args
    results = results if isinstance(results, (tuple, list)) else (results,)
    with whole.graph.inserting_before(output):
        truths = [_test(lookup, names[lookup.places.name]) for lookup in lookups]
        truth = functools.reduce(_either, truths)
    output.args = ((*results, truth),)
    whole.recompile()
    return whole


def _lookups(graph: GraphModule) -> list[Lookup]:
    """The lookups of a graph that may be outside, each once."""
    every = (each for node in graph.graph.nodes for each in lookups_of(node))
    return list(dict.fromkeys(every))


_REPEATS = frozenset(
    {
        *(aten.alias.default, aten.clone.default, aten.detach.default),
        *(aten.expand.default, aten.permute.default, aten.repeat.default),
        *(aten.t.default, aten.transpose.int, aten.unsqueeze.default),
        *(aten.view.default, aten._unsafe_view.default),
        *(aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims),
    }
)
"""Ops that give all places that they read, perhaps several times."""


def _test(lookup: Lookup, places: Node) -> Node:
    """The truth that one of some places is outside, as a node behind them."""
    while places.target in _REPEATS and not lookup.is_counted:
        (places,) = places.all_input_nodes
    if lookup.is_counted:
        count = _call(aten.sum.default, places, dtype=torch.int64, is_one=True)
        return _call(aten.ge.Scalar, count, lookup.end)
    if places.meta["val"].dtype is not torch.int64:
        options = {"dtype": torch.int64}
        places = _call(aten._to_copy.default, places, options=options, **options)
    count = math.prod(_shape(places))  # in a row, which is one loop
    options = {"dtype": torch.int64, "shape": [count]}
    row = _call(aten.reshape.default, places, [count], **options)
    below = _call(aten.lt.Scalar, row, lookup.least)
    truth = _either(below, _call(aten.ge.Scalar, row, lookup.end))
    if lookup.ignored is not None:
        is_read = _call(aten.ne.Scalar, row, lookup.ignored)
        truth = _call(aten.logical_and.default, truth, is_read)
    return _call(aten.any.default, truth, is_one=True)


def _either(one: Node, other: Node) -> Node:
    return _call(aten.logical_or.default, one, other)


def _call(
    op: Any,
    *operands: Any,
    options: Mapping[str, Any] = MappingProxyType({}),
    dtype: torch.dtype = torch.bool,
    is_one: bool = False,
    shape: Sequence[int] | None = None,
) -> Node:
    """A node of a function, where the graph of its first operand inserts.

    Args:
        dtype: of its result, which is of the shape of that operand.
        is_one: whether it is one number instead.
        shape: of its result, if that is another.
    """
    first = operands[0]
    node: Node = first.graph.call_function(op, operands, dict(options))
    if shape is None:
        shape = [] if is_one else _shape(first)
    # Constants are no fake tensors, so that the op itself may not be traced with them.
    with unset_fake_temporarily(), FakeTensorMode():
        node.meta["val"] = torch.empty(shape, dtype=dtype)
    return node


def _tests_alone(graph: GraphModule, lookups: list[Lookup]) -> Graph:
    """The truth of each of some lookups at known places that it is outside."""
    needed = _needed([lookup.places for lookup in lookups])
    alone = Graph()
    copies: dict[Node, Node] = {}
    for node in graph.graph.nodes:
        if node in needed:
            copies[node] = alone.node_copy(node, copies.__getitem__)
    alone.output(tuple(_test(lookup, copies[lookup.places]) for lookup in lookups))
    return alone


def _needed(nodes: list[Node]) -> set[Node]:
    """Some nodes, and those that they depend on."""
    needed: set[Node] = set()
    rest = [*nodes]
    while rest:
        node = rest.pop()
        if node not in needed:
            needed.add(node)
            rest += node.all_input_nodes
    return needed
