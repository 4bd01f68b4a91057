"""Values of a graph that depend on nothing that it is given, as constants: `folded`.

Models make masks, positions and buckets anew in each call. Eager computes them once,
when the graph is compiled; they are attributes of the graph from then on, and groups
have those that they read within them. Zero points that are 0 when a graph is compiled
are left out: `without_zeros`.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.passes.utils.fuser_utils import fuse_as_graphmodule

from morello.frontends.linalg.known_arrays import MOST
from morello.torch.ops import CREATED, SPLITS, VIEWS

aten: Any = torch.ops.aten


def folded(graph: GraphModule) -> None:
    """Replace values that depend on no argument, in place, where something computes
    them; results of the graph stay new tensors in each call. Concatenations read no
    tensors without elements, as caches are before the first token."""
    for node in graph.graph.find_nodes(op="call_function", target=aten.cat.default):
        _without_empty(node)
    known = _known(graph)
    values = _Values(graph, known)
    for node in known:
        users = [user for user in node.users if user not in known]
        readers = [user for user in users if user.op != "output"]
        value = values.of(node) if readers and _computes(node) else None
        if value is None:
            continue
        name = free_name(graph)
        graph.register_buffer(name, value, persistent=False)
        with graph.graph.inserting_before(node):
            constant = graph.graph.get_attr(name)
        constant.meta["val"] = node.meta["val"]
        for user in readers:
            user.replace_input_with(node, constant)
    graph.graph.eliminate_dead_code()
    graph.recompile()


def _without_empty(node: Node) -> None:
    """Leave out of a concatenation what has no elements; its dtype stays."""
    parts: Any = node.args[0]
    full = [
        part
        for part in parts
        if not any(isinstance(n, int) and n == 0 for n in part.meta["val"].shape)
    ]
    if not full or len(full) == len(parts):
        return
    dtype = node.meta["val"].dtype
    wide = dict.fromkeys(part for part in full if part.meta["val"].dtype is not dtype)
    with node.graph.inserting_before(node):
        for part in wide:
            cast = node.graph.call_function(
                aten._to_copy.default, (part,), {"dtype": dtype}
            )
            cast.meta["val"] = part.meta["val"].to(dtype)
            full = [cast if piece is part else piece for piece in full]
    node.args = (full, *node.args[1:])


def _known(graph: GraphModule) -> dict[Node, None]:
    """The nodes whose values depend on no argument, in order."""
    known: dict[Node, None] = {}
    for node in graph.graph.nodes:
        is_known = all(source in known for source in node.all_input_nodes)
        if is_known and (node.op == "get_attr" or _is_pure(node)):
            known[node] = None
    return known


def _is_pure(node: Node) -> bool:
    """Whether a call gives equal results in each call, and changes nothing."""
    if node.op != "call_function":
        return False
    if not isinstance(node.target, torch._ops.OpOverload):
        return bool(node.all_input_nodes)  # one of several results
    is_random = torch.Tag.nondeterministic_seeded in node.target.tags
    is_empty = "empty" in str(node.target)
    return not (is_random or is_empty or node.is_impure())


def _computes(node: Node) -> bool:
    """Whether more than views of numbers and ranges is behind a value, which front
    ends know better as they are."""
    rest, seen = [node], {node}
    while rest:
        current = rest.pop()
        is_op = isinstance(current.target, torch._ops.OpOverload)
        if is_op and current.target not in CREATED | VIEWS | SPLITS:
            return True
        rest += [source for source in current.all_input_nodes if source not in seen]
        seen.update(current.all_input_nodes)
    return False


class _Values(Interpreter):
    """Computes values of a graph that depend on no argument.

    Args:
        graph: of the values.
        known: its nodes of which they are.
    """

    def __init__(self, graph: GraphModule, known: dict[Node, None]) -> None:
        super().__init__(graph, garbage_collect_values=False)
        self._known = known

    def of(self, node: Node) -> Any:
        """The value of a node; None where that is no tensor of a known, moderate
        size."""
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor) or not all(
            isinstance(size, int) for size in value.shape
        ):
            return None
        if not 0 < value.numel() <= MOST:
            return None
        with unset_fake_temporarily(), torch.no_grad():
            return self._computed(node)

    def _computed(self, node: Node) -> Any:
        rest = [node]
        while rest:
            current = rest[-1]
            missing = [n for n in current.all_input_nodes if n not in self.env]
            if not missing:
                self.env[rest.pop()] = self.run_node(current)
            rest += missing
        return self.env[node]


def free_name(graph: GraphModule) -> str:
    """A name that no attribute of a graph has."""
    number = 0
    while hasattr(graph, f"known{number}"):
        number += 1
    return f"known{number}"


def fused(
    graph: GraphModule, nodes: list[Node], name: str
) -> tuple[GraphModule, list[Node], list[Node]]:
    """Nodes as a graph of their own that returns a tuple, with the constants that they
    read.

    Returns:
        It, the nodes that its arguments are, and the nodes whose values it returns.
    """
    inner, inputs, outputs = fuse_as_graphmodule(
        graph, nodes, name, always_return_tuple=True
    )
    arguments = inner.graph.find_nodes(op="placeholder")
    for node, argument in zip(inputs, arguments, strict=True):
        if node.op != "get_attr":
            continue
        buffer = free_name(inner)
        constant = getattr(graph, str(node.target))
        inner.register_buffer(buffer, constant, persistent=False)
        with inner.graph.inserting_before(argument):
            constant = inner.graph.get_attr(buffer)
        argument.replace_all_uses_with(constant, propagate_meta=True)
        inner.graph.erase_node(argument)
    inner.recompile()
    return inner, [node for node in inputs if node.op != "get_attr"], list(outputs)


_DEQUANTIZED: Any = torch.ops.quantized_decomposed.dequantize_per_channel.default

_ZEROS = 2
"""The index of the argument that holds the zero points."""


def without_zeros(graph: GraphModule, tensors: Mapping[int, Any]) -> tuple[int, ...]:
    """Leave out zero points that are all 0, in place.

    Args:
        graph: of ATen's ops.
        tensors: the values of arguments that seldom change, by their places.

    Returns:
        The places of the arguments that are such zero points.
    """
    inputs = graph.graph.find_nodes(op="placeholder")
    places = {inputs[place]: place for place in tensors}
    zeros = set()
    for node in graph.graph.find_nodes(op="call_function", target=_DEQUANTIZED):
        place = places.get(node.args[_ZEROS])
        if place is not None and _are_zero(tensors[place]):
            zeros.add(place)
            before, after = node.args[:_ZEROS], node.args[_ZEROS + 1 :]
            node.args = (*before, None, *after)
    graph.recompile()
    return tuple(sorted(zeros))


def _are_zero(tensor: Any) -> bool:
    if isinstance(tensor, FakeTensor):
        return False  # nothing is known of it
    with unset_fake_temporarily():
        return not tensor.any()
