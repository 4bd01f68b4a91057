"""Graphs of dynamic shapes: `per_shape`.

When a model is called with a second shape, Dynamo traces it with sizes that are
symbols, and groups have sizes that are numbers. Such a graph is traced again for each
shape that calls have, with the sizes that it has there.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx._lazy_graph_module import _LazyGraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from morello.torch.group import log
from morello.torch.lowering import TRACING

Function = Callable[..., Any]


def dynamic_places(graph: GraphModule) -> list[int]:
    """The positions of arguments that are sizes, or tensors of unknown sizes."""
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return [place for place, node in enumerate(placeholders) if _is_dynamic(node)]


def _is_dynamic(node: Node) -> bool:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return any(not isinstance(n, int) for n in (*value.shape, *value.stride()))
    return isinstance(value, torch.SymInt)


def boxed(function: Function) -> Function:
    """A function of a list, which it empties so that arguments are freed early; marked
    as such for PyTorch. Graphs are compiled now: lazy ones would look whether they are
    in each call, and then call themselves as modules."""
    if isinstance(function, GraphModule):
        _LazyGraphModule.force_recompile(function)
        function = function.forward

    def run(arguments: list[Any]) -> Any:
        results = function(*arguments)
        arguments.clear()
        return results

    return marked(run)


def marked(run: Function) -> Function:
    """The function, as one that takes a list of arguments and empties it."""
    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def per_shape(
    graph: GraphModule,
    places: Sequence[int],
    compiled: Callable[[GraphModule], Function],
    most: int,
) -> Function:
    """A function of a list that runs the graph as compiled for the shapes in it.

    Args:
        graph: with dynamic shapes.
        places: of the arguments that have them.
        compiled: makes such a function of a graph with static shapes; the list is
            emptied by the call.
        most: shapes that are compiled; calls with others are eager's.
    """
    known: dict[tuple[Any, ...], Function] = {}
    lock = threading.Lock()

    eager = boxed(graph)

    def compiled_for(arguments: list[Any]) -> Function:
        if len(known) >= most:
            if len(known) == most:
                log.warning(
                    "a graph has been called with more than %d shapes, and those after "
                    "them stay eager: pad inputs to few shapes, or set the option "
                    "'shapes'",
                    most,
                )
                known[()] = eager  # said once
            return eager
        try:
            return compiled(static_graph(graph, arguments))
        except Exception as error:  # noqa: BLE001 (tracing raises anything)
            log.warning("a graph stays eager, for it has no static shapes: %s", error)
            return eager

    def run(arguments: list[Any]) -> Any:
        forms = tuple(_form(arguments[place]) for place in places)
        function = known.get(forms)
        if function is None:
            with lock:
                function = known.get(forms) or compiled_for(arguments)
                if len(known) < most:
                    known[forms] = function
        return function(arguments)

    return run


def _form(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.stride()
    return value


def static_graph(graph: Function, arguments: Sequence[Any]) -> GraphModule:
    """The graph specialised to arguments of these shapes."""
    with TRACING, torch.inference_mode(False), torch.no_grad():
        static: GraphModule = make_fx(graph, tracing_mode="fake")(*arguments)
    for node in list(static.graph.nodes):
        # Tracing adds these to the results of norms, also to those that nobody reads.
        if node.target is torch.ops.aten.detach.default:
            node.replace_all_uses_with(node.args[0])
            static.graph.erase_node(node)
    static.graph.eliminate_dead_code()
    static.recompile()
    return static
