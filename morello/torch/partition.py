"""Partitioning of an FX graph of ATen ops into groups.

A node may be in a group if its op is one of `ops.py` and its tensors are on the CPU,
dense, of dtypes that the op is taken of, and of static shape. `groups_of` is the entry
point. Views that are read outside of a group are taken there, where they cost nothing
and alias what eager's do.
"""

import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from morello.torch.constants import fused
from morello.torch.ops import (
    COMPUTED,
    CREATED,
    FLOATS,
    INTEGERS,
    KNOWN,
    READ,
    SPLITS,
    VIEWS,
    dtypes_of,
    refused,
)


def is_of_integers(node: Node) -> bool:
    """Whether an op computes of places and masks alone, and of numbers."""
    data = [source for source in node.all_input_nodes if not _is_number(source)]
    dtypes = {getattr(source.meta.get("val"), "dtype", None) for source in data}
    is_of_any = data or not node.all_input_nodes
    return bool(is_of_any) and not is_free(node) and dtypes.issubset(INTEGERS)


def _is_number(node: Node) -> bool:
    """Whether a node is a tensor of one number of the program."""
    if node.target not in CREATED or node.meta["val"].numel() != 1:
        return False
    return all(_is_number(source) for source in node.all_input_nodes)


def why_not(node: Node) -> str:
    """Why an op is in no group; empty if it may be in one."""
    if node.target not in KNOWN:
        return "unknown"
    if not _reads_first(node):
        count = READ[node.target]
        allowed = "first result" if count == 1 else f"first {count} results"
        return f"more than its {allowed} is read"
    values = list(_tensors(node))
    if not all(is_plain(value) for value in values):
        dtypes = {getattr(value, "dtype", None) for value in values}
        names = [str(d) for d in dtypes.difference((None, *FLOATS, *INTEGERS))]
        return f"of {', '.join(names) or 'another device or layout, or no elements'}"
    first, others = dtypes_of(node.target)
    if values[0].dtype not in first:
        return f"of {values[0].dtype}"
    odd = {value.dtype for value in values}.difference(others)
    if odd:
        return f"of {odd.pop()}"
    return refused(node)


def is_take(node: Node) -> bool:
    """Whether a node takes one of several results."""
    return node.target is operator.getitem


def _reads_first(node: Node) -> bool:
    """Whether of several results the first ones alone are read that may be."""
    count = READ.get(node.target)
    return count is None or all(
        is_take(user) and isinstance(user.args[1], int) and user.args[1] < count
        for user in node.users
    )


def _tensors(node: Node) -> Iterator[Any]:
    """The values of a node's arguments and results."""
    for other in (*node.all_input_nodes, node):
        value = other.meta.get("val")
        if other.target in READ:
            yield from value[: READ[other.target]]
        elif isinstance(value, (tuple, list)):
            yield from value
        else:
            yield value


def is_plain(value: Any) -> bool:
    """Whether a value is a tensor that a group may read or write."""
    return (
        isinstance(value, torch.Tensor)
        and value.dtype in FLOATS + INTEGERS
        and value.device.type == "cpu"
        and value.layout is torch.strided
        and all(isinstance(size, int) and size > 0 for size in value.shape)
    )


def other_dtypes(graph: GraphModule) -> list[str]:
    """Names of the float dtypes that alone keep ops out of groups."""
    names: set[str] = set()
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.target in COMPUTED:
            values = [v for v in _tensors(node) if isinstance(v, torch.Tensor)]
            floats = {v.dtype for v in values if v.dtype.is_floating_point}
            names |= {str(d).partition(".")[2] for d in floats.difference(FLOATS)}
    return sorted(names)


_FAST_PATHS = frozenset(
    (
        torch.ops.aten._native_multi_head_attention.default,
        torch.ops.aten._transformer_encoder_layer_fwd.default,
    )
)
"""Ops that whole modules of PyTorch are, where they are not trained."""


def why_eager(graph: GraphModule) -> list[str]:
    """Reasons for which ops are in no group, of those that a user can change."""
    nodes = [node for node in graph.graph.nodes if node.op == "call_function"]
    reasons = []
    if any(node.target in _FAST_PATHS for node in nodes):
        reasons.append(
            "a layer of torch.nn is one op of PyTorch here: "
            "torch.backends.mha.set_fastpath_enabled(False) makes it ops that groups "
            "take"
        )
    computed = [node for node in nodes if node.target in COMPUTED]
    values = [v for node in computed for v in _tensors(node) if hasattr(v, "shape")]
    if any(free_unbacked_symbols(size) for value in values for size in value.shape):
        reasons.append(
            "shapes depend on data, and groups have sizes: compute what they depend on "
            "outside of the model"
        )
    return reasons


def eager_ops(graph: GraphModule) -> list[str]:
    """The ops that no group takes, by name, and why those that groups know are left."""
    names = set()
    for node in graph.graph.nodes:
        if not is_free(node):
            reason = why_not(node)
            is_known = node.target in KNOWN and reason
            names.add(f"{node.target} ({reason})" if is_known else str(node.target))
    return sorted(names)


def reads_weights_settled(graph: GraphModule, weights: Collection[int]) -> bool:
    """Whether a graph with dynamic shapes has weights, and all that read them have
    settled ones: as where a cache of keys grows, and tokens come one by one. Groups of
    these are compiled once, and the rest is eager's, but for attention (`growing`).

    Args:
        weights: which of its arguments are parameters and buffers.
    """
    inputs = graph.graph.find_nodes(op="placeholder")
    reading = {inputs[place] for place in weights if place < len(inputs)}
    is_read = False
    for node in graph.graph.nodes:
        if node.op == "call_function" and not reading.isdisjoint(node.all_input_nodes):
            if is_free(node):
                reading.add(node)  # a view
            elif why_not(node):
                return False
            else:
                is_read = True
    return is_read


def is_free(node: Node) -> bool:
    """Whether a node is no op that computes: a view, constants, one of several results,
    a call of a group."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return True
    return node.target in VIEWS | SPLITS | CREATED and not refused(node)


def groups_of(
    graph: GraphModule, is_left: Callable[[Node], bool] = lambda node: False
) -> list[list[Node]]:
    """The nodes of each group, in order; views that readers outside need are copied.

    Groups that compute nothing are left out: eager does that as well.

    Args:
        is_left: whether no group takes a node, though one may.
    """

    def is_taken(node: Node) -> bool:
        source = node.args[0] if is_take(node) else node
        is_known = isinstance(source, Node) and not why_not(source)
        return is_known and not is_left(source)

    return [
        _without_outer_views(graph, nodes)
        for nodes in _partitions(graph, is_taken)
        if any(node.target in COMPUTED for node in nodes)
    ]


def _partitions(
    graph: GraphModule, is_taken: Callable[[Node], bool]
) -> list[list[Node]]:
    """The largest groups of calls that may be in one, the nodes of each in order."""

    class Support(OperatorSupportBase):
        def is_node_supported(self, submodules: Any, node: Node) -> bool:
            return node.op == "call_function" and is_taken(node)

    partitioner = CapabilityBasedPartitioner(
        graph, Support(), allows_single_node_partition=True
    )
    order = {node: place for place, node in enumerate(graph.graph.nodes)}
    return [
        sorted(partition.nodes, key=order.__getitem__)
        for partition in partitioner.propose_partitions()
    ]


def _without_outer_views(graph: GraphModule, nodes: list[Node]) -> list[Node]:
    """The nodes, of which views have no readers outside: these read copies, but of
    views that are all that is read of a value, and lie as it does."""
    group = dict.fromkeys(nodes)
    whole = _whole_views(group)
    outside: dict[Node, Node] = {}

    def copy(node: Node) -> Node:
        if node not in group or not _is_view(node):
            return node
        if node not in outside:
            sources = {source: copy(source) for source in node.all_input_nodes}
            with graph.graph.inserting_after(node):
                outside[node] = graph.graph.node_copy(node, sources.__getitem__)
        return outside[node]

    for node in nodes:
        if not _is_view(node) or node in whole:
            continue
        for user in list(node.users):
            if user not in group and user not in outside.values():
                user.replace_input_with(node, copy(node))
    for node in reversed(nodes):
        if _is_view(node) and not node.users:
            del group[node]
            graph.graph.erase_node(node)
    return list(group)


def _whole_views(group: Mapping[Node, None]) -> set[Node]:
    """The views of a group that may be its results in place of what they are views of:
    readers outside read one of all elements in order, and nothing that aliases it."""
    read: dict[Node, list[Node]] = {}
    for node in group:
        if not group.keys() >= node.users.keys():
            read.setdefault(_viewed(node), []).append(node)
    return {
        views[0]
        for value, views in read.items()
        if len(views) == 1 and value in group and _lies_as(views[0], value)
    }


def _viewed(node: Node) -> Node:
    """The node of which a node is a view, or the node itself."""
    while _is_view(node):
        node = node.all_input_nodes[0]
    return node


def _lies_as(view: Node, value: Node) -> bool:
    """Whether a view has all elements of a value, in order and without gaps."""
    tensors = view.meta["val"], value.meta["val"]
    if not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
        return False
    has_all = tensors[0].numel() == tensors[1].numel()
    return has_all and all(tensor.is_contiguous() for tensor in tensors)


def _is_view(node: Node) -> bool:
    if is_take(node):
        return isinstance(node.args[0], Node) and node.args[0].target in SPLITS
    return node.target in VIEWS | SPLITS


def groups_without(graph: GraphModule, refused: Collection[Node]) -> list[list[Node]]:
    """The nodes of each group of a lowered graph that has no refused node."""

    def is_taken(node: Node) -> bool:
        return node not in refused and not (is_take(node) and node.args[0] in refused)

    return [nodes for nodes in _partitions(graph, is_taken) if _crosses_plainly(nodes)]


def _crosses_plainly(nodes: list[Node]) -> bool:
    """Whether a group computes something, and reads and gives what one may."""
    group = {*nodes}
    read = {i for node in nodes for i in node.all_input_nodes} - group
    returned = {node for node in nodes if {*node.users} - group}
    return any(not _is_view(node) for node in nodes) and all(
        is_plain(node.meta.get("val")) for node in read | returned
    )


def allow_any_strides(graph: GraphModule) -> None:
    """Make views reshapes, in place: real tensors may have other strides than fake
    ones, as of a batch norm of what is transposed, and of places of the program."""
    aten = torch.ops.aten
    for view in (aten.view.default, aten._unsafe_view.default):
        for node in graph.graph.find_nodes(op="call_function", target=view):
            node.target = aten.reshape.default
    graph.recompile()


def replace_nodes(
    graph: GraphModule, nodes: list[Node], function: Callable[..., Any]
) -> None:
    """Put a call of a function that returns a tuple in the place of nodes.

    Args:
        graph: has them; the call is put last, and sorting is left to the caller.
        nodes: in order.
        function: of what they read from outside, in the order of `fused`.
    """
    _, inputs, outputs = fused(graph, nodes, "replaced")
    called = graph.graph.call_function(function, tuple(inputs))
    for place, output in enumerate(outputs):
        taken = graph.graph.call_function(operator.getitem, (called, place))
        output.replace_all_uses_with(taken, propagate_meta=True)
    for node in reversed(nodes):
        graph.graph.erase_node(node)
