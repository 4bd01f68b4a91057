"""Parts of a product: q, k and v of attention are often columns of one.

Eager computes one product and takes views of it. A graph of Morello reads tensors from
their beginning on, so here the product becomes one for each part, of some of the
columns: rows of the weights as they lie, which are a tensor that begins later. Nothing
is computed twice.
"""

import dataclasses
import math
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

aten: Any = torch.ops.aten

PARTS = frozenset(
    (aten.select.int, aten.slice.Tensor, aten.split.Tensor, operator.getitem)
)
"""Ops that take a part of a tensor."""

_PRODUCTS = (aten.addmm.default, aten.mm.default)
_TRANSPOSED = (aten.t.default,)


@dataclasses.dataclass(frozen=True)
class _Part:
    """A view of some columns of a product.

    Args:
        product: the node of the product, rows x columns.
        weights: the node that it multiplies by, transposed: columns x inner.
        first, count: of the columns.
        sizes: of the view.
        order: its dimensions, that of the longest stride first.
    """

    product: Node
    weights: Node
    first: int
    count: int
    sizes: tuple[int, ...]
    order: tuple[int, ...]


def is_part(node: Node, views: frozenset[Any]) -> bool:
    """Whether a node is a part of a product that can be a product of its own.

    Args:
        node: of an op of `PARTS`; of ``split`` the nodes that take a tensor of it.
        views: ops that compute nothing.
    """
    if node.target is aten.split.Tensor:
        return all(_part(user, views) is not None for user in node.users)
    return _part(node, views) is not None


def _part(node: Node, views: frozenset[Any]) -> _Part | None:
    chain = [node]
    while isinstance(base := chain[-1].args[0], Node) and base.target in views | PARTS:
        chain.append(base)
    if not isinstance(base, Node) or base.target not in _PRODUCTS:
        return None
    transposed = base.args[-1]
    if not (isinstance(transposed, Node) and transposed.target in _TRANSPOSED):
        return None
    weights = transposed.args[0]
    assert isinstance(weights, Node)
    rows, columns = base.meta["val"].shape
    view: Any = torch.empty((rows, columns), device="meta")
    for step in reversed(chain):
        view = step.target(view, *step.args[1:], **step.kwargs)
    if not isinstance(view, torch.Tensor):
        return None
    return _columns(base, weights, view, rows, columns)


def _columns(
    product: Node, weights: Node, view: torch.Tensor, rows: int, columns: int
) -> _Part | None:
    """The part that a view is, if it has every row and neighbouring columns."""
    first = view.storage_offset()
    long = [
        (stride, size)
        for stride, size in zip(view.stride(), view.shape, strict=True)
        if size > 1
    ]
    across = [(stride, size) for stride, size in long if stride < columns]
    down = [
        (stride // columns, size)
        for stride, size in long
        if stride >= columns and stride % columns == 0
    ]
    count = math.prod(size for _, size in across)
    whole = len(across) + len(down) == len(long) and first + count <= columns
    if not whole or not _is_dense(across, count) or not _is_dense(down, rows):
        return None
    order = sorted(range(view.ndim), key=lambda d: -view.stride()[d])
    return _Part(product, weights, first, count, tuple(view.shape), tuple(order))


def _is_dense(dims: Sequence[tuple[int, int]], count: int) -> bool:
    """Whether dimensions of a stride and a size run through ``0`` to ``count - 1``."""
    expected = 1
    for stride, size in sorted(dims):
        if stride != expected:
            return False
        expected *= size
    return expected == count


def split_products(graph: GraphModule, views: frozenset[Any]) -> None:
    """Make each part of a product a product of its own, in place.

    Args:
        graph: of a group.
        views: ops that compute nothing.
    """
    for node in list(graph.graph.nodes):
        if node.target in PARTS - {aten.split.Tensor}:
            part = _part(node, views)
            if part is not None:
                _own_product(graph, node, part)
    graph.graph.eliminate_dead_code()
    graph.recompile()


def _own_product(graph: GraphModule, node: Node, part: _Part) -> None:
    end = part.first + part.count
    *bias, lhs, _ = part.product.args
    call = graph.graph.call_function
    with graph.graph.inserting_before(node):
        rows = call(aten.slice.Tensor, (part.weights, 0, part.first, end))
        transposed = call(aten.t.default, (rows,))
        if bias:
            own = call(aten.slice.Tensor, (bias[0], 0, part.first, end))
            made = call(aten.addmm.default, (own, lhs, transposed))
        else:
            made = call(aten.mm.default, (lhs, transposed))
        sizes = [part.sizes[dim] for dim in part.order]
        viewed = call(aten.view.default, (made, sizes))
        back = [part.order.index(dim) for dim in range(len(sizes))]
        found = call(aten.permute.default, (viewed, back))
    found.meta = node.meta
    node.replace_all_uses_with(found)


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of a lowered group: rows of an argument of the group.

    Args:
        place: of the group's argument.
        offset: bytes from its beginning.
        like: a tensor of the shape, without memory.
    """

    place: int
    offset: int
    like: Any


def settled_slices(graph: GraphModule, inputs: Sequence[Any]) -> list[Argument]:
    """Make rows of an argument an argument of its own, in place.

    Args:
        graph: of a group, decomposed.
        inputs: tensors like its arguments, row-major.

    Returns:
        The arguments that it has now.
    """
    given = [node for node in graph.graph.nodes if node.op == "placeholder"]
    found = [Argument(i, 0, like) for i, like in enumerate(inputs)]
    last = given[-1] if given else None
    for node in list(graph.graph.nodes):
        if node.target is not aten.slice.Tensor or node.args[0] not in given:
            continue
        place = given.index(node.args[0])
        base = inputs[place]
        view = aten.slice.Tensor(torch.empty(base.shape, device="meta"), *node.args[1:])
        if not view.is_contiguous():
            continue
        offset = view.storage_offset() * base.element_size()
        with graph.graph.inserting_after(last):
            last = graph.graph.placeholder(f"rows{len(found)}")
        last.meta = node.meta
        node.replace_all_uses_with(last)
        found.append(Argument(place, offset, node.meta["val"]))
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return found
