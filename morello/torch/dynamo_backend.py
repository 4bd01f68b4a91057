"""The backend that ``torch.compile`` calls with an FX graph."""

import copy
import functools
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch.fx import GraphModule, Node
from torch.fx.passes.tools_common import stable_topological_sort

from morello.torch.constants import folded, fused, without_zeros
from morello.torch.graph_breaks import watch
from morello.torch.group import Group, log
from morello.torch.grouped_products import take_grouped_products
from morello.torch.growing import take_attention
from morello.torch.larger_ops import resizing
from morello.torch.larger_ops.complex_pairs import as_pairs
from morello.torch.ops import WEIGHT
from morello.torch.options import Options
from morello.torch.partition import (
    allow_any_strides,
    eager_ops,
    groups_of,
    other_dtypes,
    reads_weights_settled,
    replace_nodes,
    why_eager,
)
from morello.torch.ranged import over_sizes
from morello.torch.shapes import boxed, dynamic_places, marked, per_shape
from morello.torch.shares import telling

Function = Callable[..., Any]


def backend(
    graph: GraphModule,
    inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Function:
    """Compile a graph of PyTorch: groups of ops by Morello, the rest by eager.

    ``torch.compile(model, backend="morello", options={"wait": True})``. Gradients are
    eager's; the forward pass is compiled under training, too.

    Args:
        graph: what Dynamo traced.
        inputs: tensors like its arguments.
        options: see `morello.torch.options.Options`.
        mode: of ``torch.compile``; changes nothing.

    Raises:
        ArgumentError: an option that does not exist.
    """
    del mode
    watch()
    chosen = Options.read(options)

    def forward(traced: GraphModule, examples: Sequence[Any]) -> Function:
        weights = _weights()
        places = dynamic_places(traced)
        if not places:
            held = {place: inputs[place] for place in weights if place < len(inputs)}
            return _compiled(traced, chosen, weights, held)
        if reads_weights_settled(traced, weights):
            take_attention(traced, chosen)
            return _compiled(traced, chosen, weights)
        static = functools.partial(_compiled, options=chosen, weights=weights)
        each = per_shape(traced, places, static, chosen.shapes)
        return marked(over_sizes(traced, chosen, weights, each))

    wrapped = aot_autograd(
        fw_compiler=forward,
        bw_compiler=lambda traced, examples: boxed(traced),
        inference_compiler=forward,
    )
    with resizing.whole():
        run = wrapped(graph, inputs)
    return _with_random_numbers(run, graph, inputs)


_RANDOM = "random_value_"
"""Names of arguments that Dynamo computes by Python's `random` begin so."""


def _with_random_numbers(
    run: Function, graph: GraphModule, inputs: Sequence[Any]
) -> Function:
    """A function that takes random numbers in the dtype that they were traced with:
    Dynamo gives it f64, where it has traced f32."""
    names = [node.name for node in graph.graph.find_nodes(op="placeholder")]
    dtypes = {
        place: value.dtype
        for place, (name, value) in enumerate(zip(names, inputs, strict=True))
        if name.startswith(_RANDOM)
    }
    if not dtypes:
        return run

    def call(*arguments: Any) -> Any:
        numbers = list(arguments)
        for place, dtype in dtypes.items():
            numbers[place] = numbers[place].to(dtype)
        return run(*numbers)

    return call


def _compiled(
    traced: GraphModule,
    options: Options,
    weights: frozenset[int],
    held: Mapping[int, Any] = MappingProxyType({}),
) -> Function:
    """Compile a graph: each group becomes one node.

    Args:
        traced: with static shapes.
        options: of the user.
        weights: which of its arguments are parameters and buffers.
        held: the values of some of these, by their places.
    """
    as_pairs(traced)
    folded(traced)
    whole = GraphModule(traced, copy.deepcopy(traced.graph))
    zeros = without_zeros(traced, held)
    take_grouped_products(traced, options)
    groups = []
    inputs = [node for node in traced.graph.nodes if node.op == "placeholder"]
    weight_nodes = {node for place, node in enumerate(inputs) if place in weights}
    weight_nodes |= {
        view for node in weight_nodes for view in node.users if view.target is _PAIRS
    }
    for node in weight_nodes:
        node.meta[WEIGHT] = True
    for number, nodes in enumerate(groups_of(traced)):
        group = _replaced(traced, nodes, f"group{number}", options, weight_nodes)
        groups.append(group)
    for reason in why_eager(traced):
        log.warning("ops stay eager: %s", reason)
    left = eager_ops(traced)
    if left:
        log.info("ops that no group takes: %s", ", ".join(left))
    others = other_dtypes(traced)
    if others:
        log.warning(
            "ops of %s stay eager, and groups have float32, bfloat16 and float16: call "
            "model.float(), model.bfloat16() or model.half()",
            ", ".join(others),
        )
    # Calls of groups were put last; each belongs before its first reader.
    stable_topological_sort(traced)
    traced.graph.lint()
    for graph in (traced, whole):
        allow_any_strides(graph)
    for group in groups:
        group.start()
    is_told = left and log.isEnabledFor(logging.INFO)
    run = boxed(telling(traced, groups) if is_told else traced)
    return _guarded(run, whole, zeros)


_PAIRS = torch.ops.aten.view_as_real.default
"""The view of complex weights that groups read."""


def _guarded(run: Function, whole: GraphModule, zeros: tuple[int, ...]) -> Function:
    """A function of a list that runs a graph if some arguments are not all 0."""
    if not zeros:
        return run
    eager = boxed(whole)

    def call(arguments: list[Any]) -> Any:
        is_other = any(arguments[place].any() for place in zeros)
        return (eager if is_other else run)(arguments)

    return marked(call)


def _weights() -> frozenset[int]:
    """The positions of the compiled graph's parameters and buffers."""
    context = TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    return frozenset(() if metadata is None else metadata.static_input_indices)


def _replaced(
    traced: GraphModule,
    nodes: list[Node],
    name: str,
    options: Options,
    weights: Collection[Node],
) -> Group:
    """Replace nodes of a graph by a call of a new group."""
    inner, inputs, _ = fused(traced, nodes, name)
    places = [place for place, node in enumerate(inputs) if node in weights]
    guarded = [i for i, node in enumerate(inputs) if node.op == "placeholder"]
    values = [node.meta["val"] for node in inputs]
    group = Group(inner, values, options, places, guarded)
    group.__name__, group.__module__ = name, __name__
    replace_nodes(traced, nodes, group)
    return group
