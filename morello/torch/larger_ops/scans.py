"""Running extremes, for which torch-mlir has no scan.

Rules compute running sums and products in 64 bits. Those in 32 bits stand for the least
and the greatest elements (`standing`) from the importer until they are linalg
(`with_extremes`).
"""

import copy
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import decompose

from morello.frontends.plain.scans import EXTREME
from morello.mlir import all_ops, dialect, ir

aten: Any = torch.ops.aten

_NARROW = 32

_GREATER_OR_EQUAL, _LESS_OR_EQUAL, _UNORDERED = 3, 5, 14
"""Comparisons of floats."""

_STANDING = {
    aten.cummax.default: aten.cumprod.default,
    aten.cummin.default: aten.cumsum.default,
}


def running_extreme(x: Any, dim: int, is_greatest: bool) -> Any:
    """The greatest or the least of the first elements, of f32 or s32; of equal ones the
    last, and NaN from the first on."""
    if not x.is_floating_point() and is_greatest:  # torch-mlir has no such products
        return ~running_extreme(~x, dim, is_greatest=False)
    with decompose({}):  # its own rule calls this
        return (torch.cummax if is_greatest else torch.cummin)(x, dim).values


def standing(graph: GraphModule) -> GraphModule:
    """A graph for the importer, whose running extremes are sums and products."""
    if not any(
        graph.graph.find_nodes(op="call_function", target=op) for op in _STANDING
    ):
        return graph
    result = GraphModule(graph, copy.deepcopy(graph.graph))
    for extreme, op in _STANDING.items():
        for node in result.graph.find_nodes(op="call_function", target=extreme):
            source, dim = node.args
            dtype = source.meta["val"].dtype
            options = {} if dtype.is_floating_point else {"dtype": dtype}
            # Numbers of nodes are their places: what nobody reads stays, as a view.
            for unread in [node, *(user for user in node.users if user.args[1])]:
                unread.meta = dict(source.meta)
                unread.target, unread.args = aten.detach.default, (source,)
            for values in list(node.users):
                values.target, values.kwargs = op, options
                values.args = source, dim
    return result


def with_extremes(operation: ir.Operation) -> None:
    """Make scans in 32 bits those of extremes, in place."""
    for op in all_ops(operation, "tm_tensor.scan"):
        block = op.regions[0].blocks[0]
        before, element = block.arguments
        ops = [inner.operation for inner in block.operations]
        if element.type.maybe_downcast().width != _NARROW:
            continue
        with op.location, ir.InsertionPoint(ops[-1]):
            result = _extreme(before, element, ops[0].name.startswith("arith.mul"))
        ops[-1].operands[0] = result
        op.attributes[EXTREME] = ir.UnitAttr.get(op.context)
        for inner in reversed(ops[:-1]):
            inner.erase()


def _extreme(before: ir.Value, element: ir.Value, is_greatest: bool) -> ir.Value:
    arith = dialect("arith")
    if isinstance(element.type.maybe_downcast(), ir.IntegerType):
        return arith.MinSIOp(before, element).result
    order = _GREATER_OR_EQUAL if is_greatest else _LESS_OR_EQUAL
    is_nan = arith.CmpFOp(_UNORDERED, element, element).result
    is_beyond = arith.CmpFOp(order, element, before).result
    takes = arith.OrIOp(is_nan, is_beyond).result
    return arith.SelectOp(takes, element, before).result
