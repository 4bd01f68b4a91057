"""Complex numbers of a graph as pairs of floats: `as_pairs`.

Rotations of queries and keys are often written as complex products. A tensor of
complex64 is one of f32 with an axis of two more, the last; ops that are known here are
rewritten so, and what reads complex numbers elsewhere reads those of eager.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.compile_utils import fx_graph_cse
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from morello.torch.constants import free_name

aten: Any = torch.ops.aten


def as_pairs(graph: GraphModule) -> None:
    """Compute floats that are made of complex numbers by pairs, in place."""
    if not any(map(_is_complex, graph.graph.nodes)):
        return
    graph.graph = fx_graph_cse(graph.graph)
    pairs = _Pairs(graph)
    for node in list(graph.graph.nodes):
        if _is_complex(node):
            continue
        rule = _TO_FLOATS.get(node.target)
        source = pairs.of(node.args[0]) if rule and _is_complex(node.args[0]) else None
        if rule is None or source is None:
            continue
        with graph.graph.inserting_before(node):
            floats = _in_order_of(node.meta["val"], rule(source))
            node.replace_all_uses_with(floats)
    for node in graph.graph.nodes:
        node.meta.pop(_PARTS, None)
    graph.graph.eliminate_dead_code()
    graph.recompile()


def _in_order_of(wanted: torch.Tensor, floats: Node) -> Node:
    """Floats that lie in memory as eager's do."""
    if floats.meta["val"].stride() == wanted.stride():
        return floats
    dims = sorted(range(wanted.dim()), key=wanted.stride().__getitem__, reverse=True)
    turned = _contiguous(_call(aten.permute.default, floats, dims))
    back = [dims.index(dim) for dim in range(len(dims))]
    return _call(aten.permute.default, turned, back)


def _is_complex(value: Any) -> bool:
    if not isinstance(value, Node):
        return isinstance(value, complex)
    dtype = getattr(value.meta.get("val"), "dtype", None)
    return dtype is not None and dtype.is_complex


class _Pairs:
    """The pairs of a graph's complex values.

    Args:
        graph: gets nodes for them.
    """

    def __init__(self, graph: GraphModule) -> None:
        self._graph = graph
        self._known: dict[Node, Node | None] = {}

    def of(self, node: Any) -> Node | None:
        """The pairs of a complex value; None where no rule gives them."""
        rest = [node]
        while rest:
            current = rest[-1]
            sources = current.all_input_nodes if current.target in _RULES else []
            missing = [s for s in sources if _is_complex(s) and s not in self._known]
            rest += missing
            if not missing:
                self._known[rest.pop()] = self._pairs_of(current)
        return self._known[node]

    def _pairs_of(self, node: Node) -> Node | None:
        if node.meta["val"].dtype is not torch.complex64:
            return None
        rule = _RULES.get(node.target)
        if rule is None:
            return self._read(node)
        if any(_is_complex(s) and self._known[s] is None for s in node.all_input_nodes):
            return None
        with self._graph.graph.inserting_before(node):
            args = map_arg(node.args, lambda s: self._known.get(s, s))
            return rule(node, *args)

    def _read(self, node: Node) -> Node | None:
        """The pairs of a constant, an argument, or a result of eager, in place."""
        value = node.meta["val"]
        if value.is_conj() or value.is_neg():
            return None
        with self._graph.graph.inserting_after(node):
            if node.op != "get_attr":
                return _call(aten.view_as_real.default, node)
            with unset_fake_temporarily():
                held = torch.view_as_real(getattr(self._graph, str(node.target)))
            name = free_name(self._graph)
            self._graph.register_buffer(name, held, persistent=False)
            pairs = self._graph.graph.get_attr(name)
        pairs.meta["val"] = torch.view_as_real(value)
        return pairs


def _call(op: Any, *args: Any) -> Node:
    """A call of an op on nodes, where their graph inserts."""
    nodes: list[Node] = []
    map_arg(args, nodes.append)
    call = nodes[0].graph.call_function(op, args)
    call.meta["val"] = op(*map_arg(args, lambda node: node.meta["val"]))
    return call


def _part(pairs: Node, place: int) -> Node:
    return _call(aten.select.int, pairs, -1, place)


def _joined(real: Node, imaginary: Node) -> Node:
    return _call(aten.stack.default, [real, imaginary], -1)


def _contiguous(node: Node) -> Node:
    if node.meta["val"].is_contiguous():
        return node
    copy = _call(aten.clone.default, node)
    copy.kwargs = {"memory_format": torch.contiguous_format}
    copy.meta["val"] = copy.meta["val"].contiguous()
    return copy


def _viewed(_: Node, pairs: Node, shape: Any) -> Node:
    return _call(aten.view.default, _contiguous(pairs), [*shape, 2])


def _permuted(_: Node, pairs: Node, dims: Any) -> Node:
    rank = len(dims)
    return _call(aten.permute.default, pairs, [*(d % rank for d in dims), rank])


def _turned(node: Node, pairs: Node) -> Node:
    rank = node.meta["val"].dim()
    return _call(aten.transpose.int, pairs, 0, 1) if rank == 2 else pairs


def _along(count: int) -> Callable[..., Node]:
    """A rule for an op whose arguments after the first are axes, so many of them."""

    def rule(node: Node, pairs: Any, *args: Any) -> Node:
        rank = node.all_input_nodes[0].meta["val"].dim()
        rank += node.target in (aten.stack.default, aten.unsqueeze.default)
        dims = [_counted(dim, rank) for dim in args[:count]]
        return _call(node.target, pairs, *(dims or [0] * count), *args[count:])

    return rule


def _counted(dims: Any, rank: int) -> Any:
    """Axes from the first."""
    if isinstance(dims, int):
        return dims % max(rank, 1)
    return [dim % max(rank, 1) for dim in dims]


def _as_it_is(node: Node, pairs: Any, *args: Any) -> Node:
    return _call(node.target, pairs, *args)


def _product(node: Node, one: Any, other: Any) -> Node | None:
    first, second = (_is_complex(factor) for factor in node.args)
    if any(isinstance(factor, complex) for factor in node.args):
        return None
    if not (first and second):
        pairs, real = (one, other) if first else (other, one)
        return _call(aten.mul.Tensor, pairs, _with_axis(real))
    if one.meta["val"].numel() < other.meta["val"].numel():
        one, other = other, one
    count = node.meta["val"].shape[-1:].numel()
    row = _sums_of_neighbours(_row(one, count), _once(other, count))
    return _call(aten.view.default, row, [*node.meta["val"].shape, 2])


def _row(pairs: Node, count: int) -> Node:
    """A number of pairs as a row of floats."""
    shape = list(pairs.meta["val"].shape)
    if shape[:-1] and shape[-2] != count:
        shape[-2] = count
        pairs = _call(aten.expand.default, pairs, shape)
    return _call(aten.view.default, _contiguous(pairs), [*shape[:-2], 2 * count])


def _sums_of_neighbours(row: Node, parts: Node) -> Node:
    """Products of pairs side by side: sums of the float before each, itself and the one
    after it by their parts, without the one of another pair. So vectors are read as
    they lie."""
    with unset_fake_temporarily():
        is_second = torch.arange(row.meta["val"].shape[-1]) % 2 == 1
        others = torch.stack([~is_second, is_second & ~is_second, is_second])
    windows = _call(aten.unfold.default, _between_zeros(row), -1, 3, 1)
    windows = _call(aten.transpose.int, windows, -1, -2)
    terms = _call(aten.mul.Tensor, windows, parts)
    terms = _call(aten.masked_fill.Scalar, terms, _constant(row, others), 0.0)
    return _call(aten.sum.dim_IntList, terms, [-2])


def _once(pairs: Node, count: int) -> Node:
    """The parts of pairs in products of so many, after the pairs, for all products."""
    known = pairs.meta.setdefault(_PARTS, {})
    if count not in known:
        with pairs.graph.inserting_before(pairs.next):
            known[count] = _parts(_row(pairs, count))
    node: Node = known[count]
    return node


_PARTS = "parts in products"
"""The name under which pairs have theirs while a graph is rewritten."""


def _parts(row: Node) -> Node:
    """The parts that the float before each of a factor's, itself and the one after it
    have in a product by it: one map of constants and neighbours."""
    size = row.meta["val"].shape[-1]
    with unset_fake_temporarily():
        places = torch.arange(3).unsqueeze(1)
        is_first = torch.arange(size) % 2 == 0
        is_itself = (places == 0) | ((places == 1) & is_first)
        is_before = (places < 2).expand(3, size).contiguous()
    wide = _between_zeros(row)
    before, itself, after = (
        _call(aten.unsqueeze.default, near, -2)
        for near in (
            _call(aten.slice.Tensor, wide, -1, 0, size),
            row,
            _call(aten.slice.Tensor, wide, -1, 2, size + 2),
        )
    )
    others = _call(
        aten.where.self,
        _constant(row, is_before),
        before,
        _call(aten.neg.default, after),
    )
    return _call(aten.where.self, _constant(row, is_itself), itself, others)


def _constant(like: Node, value: torch.Tensor) -> Node:
    """A constant of the graph of a node, where this inserts."""
    graph = like.graph
    module = graph.owning_module
    assert module is not None
    name = free_name(module)
    module.register_buffer(name, value, persistent=False)
    constant = graph.get_attr(name)
    constant.meta["val"] = like.meta["val"].new_empty(value.shape, dtype=value.dtype)
    return constant


def _between_zeros(row: Node) -> Node:
    return _call(aten.constant_pad_nd.default, row, [1, 1])


def _with_axis(real: Any) -> Any:
    """Real factors with a last axis of 1, so that each multiplies both numbers of a
    pair."""
    return _call(aten.unsqueeze.default, real, -1) if isinstance(real, Node) else real


def _sum(node: Node, one: Any, other: Any) -> Node | None:
    is_of_pairs = all(isinstance(t, Node) and _is_complex(t) for t in node.args)
    return None if node.kwargs or not is_of_pairs else _call(node.target, one, other)


def _quotient(node: Node, pairs: Any, divisor: Any) -> Node | None:
    if _is_complex(node.args[1]):
        return None
    return _call(aten.div.Tensor, pairs, _with_axis(divisor))


def _conjugate(_: Node, pairs: Node) -> Node:
    return _joined(_part(pairs, 0), _call(aten.neg.default, _part(pairs, 1)))


def _of_parts(_: Node, real: Node, imaginary: Node) -> Node | None:
    shapes = {part.meta["val"].shape for part in (real, imaginary)}
    return _joined(real, imaginary) if len(shapes) == 1 else None


def _polar(_: Node, length: Node, angle: Node) -> Node:
    cos, sin = (_call(op, angle) for op in (aten.cos.default, aten.sin.default))
    return _joined(*(_call(aten.mul.Tensor, length, part) for part in (cos, sin)))


_RULES: dict[Any, Callable[..., Node | None]] = {
    aten.view_as_complex.default: lambda _, x: x,
    aten.complex.default: _of_parts,
    aten.polar.default: _polar,
    aten.view.default: _viewed,
    aten._unsafe_view.default: _viewed,
    aten.expand.default: lambda _, pairs, shape: _call(
        aten.expand.default, pairs, [*shape, 2]
    ),
    aten.permute.default: _permuted,
    aten.t.default: _turned,
    aten.transpose.int: _along(2),
    **dict.fromkeys(
        (
            *(aten.cat.default, aten.index_select.default, aten.select.int),
            *(aten.slice.Tensor, aten.squeeze.dim, aten.squeeze.dims),
            *(aten.stack.default, aten.unsqueeze.default),
        ),
        _along(1),
    ),
    aten.clone.default: _as_it_is,
    aten.index.Tensor: _as_it_is,
    aten.neg.default: _as_it_is,
    aten.mul.Tensor: _product,
    aten.add.Tensor: _sum,
    aten.sub.Tensor: _sum,
    aten.div.Tensor: _quotient,
    aten._conj.default: _conjugate,
    aten._conj_physical.default: _conjugate,
}
"""The pairs of the result of an op, by those of what it reads."""

_TO_FLOATS: dict[Any, Callable[[Node], Node]] = {
    aten.view_as_real.default: lambda pairs: pairs,
    aten.abs.default: lambda pairs: _call(
        aten.hypot.default, _part(pairs, 0), _part(pairs, 1)
    ),
}
"""Floats that are made of pairs."""
