"""Graphs whose batch is dynamic: `over_sizes`, one program for every size of it.

A graph with one symbol, one dimension of some of its arguments, is traced at a few
sizes. Where it is the same at each but for what groups compute, and groups are programs
of any size (`morello.frontends.ranged`), calls of all sizes run these.
"""

import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.fx.passes.tools_common import stable_topological_sort

from morello.compiler.kernel import Kernel
from morello.errors import MorelloError
from morello.frontends.ranged import probe_sizes, ranged
from morello.torch.constants import fused
from morello.torch.graph_names import name_of_sizes
from morello.torch.group import (
    compiled_model,
    log,
    read_model,
    results_of,
    stored_program,
)
from morello.torch.lowering import lowered
from morello.torch.native_call import NativeCall, SizedCall
from morello.torch.options import Options
from morello.torch.partition import groups_of, is_free, is_of_integers, replace_nodes
from morello.torch.places import LOOKED_UP
from morello.torch.shapes import boxed, static_graph
from morello.torch.worker import submit

Function = Callable[..., Any]

aten: Any = torch.ops.aten


@dataclasses.dataclass(frozen=True)
class _Batch:
    """The one symbol of a graph.

    Args:
        symbol: as PyTorch has it.
        sizes: those that one program takes.
        place: of an argument that has it.
        dim: of this argument.
    """

    symbol: Any
    sizes: range
    place: int
    dim: int

    def of(self, arguments: list[Any]) -> int:
        """The size that a call says."""
        argument = arguments[self.place]
        return int(
            argument.shape[self.dim] if isinstance(argument, torch.Tensor) else argument
        )

    def settled(self, value: Any, size: int) -> Any:
        """A number of the graph at a size."""
        if not isinstance(value, torch.SymInt):
            return value
        return int(value.node.expr.subs(self.symbol, size))


def _batch(graph: GraphModule, most: int) -> _Batch | str:
    """The symbol of a graph that is a batch, or the reason why it has none."""
    values = [n.meta["val"] for n in graph.graph.find_nodes(op="placeholder")]
    places: dict[Any, tuple[int, int]] = {}
    symbols: set[Any] = set()
    for place, value in enumerate(values):
        is_tensor = isinstance(value, torch.Tensor)
        for dim, size in enumerate(value.shape if is_tensor else (value,)):
            if _is_open(size):
                places.setdefault(size.node.expr, (place, dim))
        for stride in value.stride() if is_tensor else ():
            if _is_open(stride):
                symbols |= stride.node.expr.free_symbols
    if len(places) != 1:
        return (
            f"{len(places)} sizes are dynamic, and a program takes one: mark that of "
            "the batch, torch._dynamo.mark_dynamic(x, 0), in place of dynamic=True"
        )
    ((symbol, (place, dim)),) = places.items()
    if not symbol.is_Symbol or symbols - {symbol}:
        return f"the size {symbol} is computed, or rows are any distance apart"
    value = values[place]
    size = value.shape[dim] if isinstance(value, torch.Tensor) else value
    bounds = size.node.shape_env.var_to_range[symbol]
    least = 2 if bounds.lower < 2 else int(bounds.lower)
    greatest = most if bounds.upper > most else int(bounds.upper)
    if least >= greatest:
        return f"no two sizes are from {least} to {greatest}"
    return _Batch(symbol, range(least, greatest + 1), place, dim)


def _is_open(value: Any) -> bool:
    return isinstance(value, torch.SymInt)


def over_sizes(
    graph: GraphModule, options: Options, weights: frozenset[int], each: Function
) -> Function:
    """A function of a list that runs the graph by one program for all sizes.

    Args:
        graph: with dynamic shapes.
        options: of the user.
        weights: which of its arguments are parameters and buffers.
        each: such a function that compiles it for each shape: for what no program of
            all sizes computes.
    """
    if not options.batch:
        return each
    batch = _batch(graph, options.batch)
    if isinstance(batch, str):
        log.info("a graph is compiled for each shape: %s", batch)
        return each
    sized = _Sized(graph, batch, options, each)
    try:
        sized.start(weights)
    except MorelloError as error:
        sized.give_up(error)
    return sized


def program_of_sizes(
    graphs: Sequence[GraphModule],
    inputs: Sequence[Sequence[Any]],
    sizes: range,
    name: str,
    options: Options,
    weights: Sequence[int] = (),
    guarded: Sequence[int] = (),
    call: type[SizedCall] = SizedCall,
) -> Callable[[], Function]:
    """The compilation of a graph for all sizes, which is lowered at once: its result is
    a function of tensors.

    Args:
        graphs: it at each size of `probe_sizes`.
        inputs: of each.
        sizes: those that calls may say.
        name: of the size, as errors have it.
        options: of the user.
        weights: which of its arguments are parameters and buffers.
        guarded: which of them are checked by Dynamo.
        call: how it is called, where it has the size.

    Raises:
        MorelloError: as `Model.compile`; so does the compilation if there is none.
    """
    results = results_of(graphs[0])

    def called(kernel: Kernel) -> Function:
        is_sized = any(parameter.sizes for parameter in kernel.parameters)
        how = call if is_sized else NativeCall
        return how(kernel, results, weights, guarded, freeze=options.freeze)

    keep = name_of_sizes(graphs, inputs, weights, options, sizes)
    kernel = stored_program(keep, graphs[0], options, threads=1)
    if kernel is not None:
        return functools.partial(called, kernel)
    simple = dict(zip(probe_sizes(sizes), map(lowered, graphs, inputs), strict=True))

    def compiled() -> Function:
        model = ranged(
            lambda size: read_model(simple[size], weights, options), sizes, name
        )
        is_sized = model.tensors.size is not None
        if is_sized and not all(one.is_contiguous() for one in results[0]):
            raise MorelloError("a result is not row-major in eager")
        return called(compiled_model(model, simple[sizes[-1]], options, keep))

    return compiled


@dataclasses.dataclass(eq=False)
class _SizedGroup:
    """A group of a graph at each size at which it was traced.

    Args:
        graphs: its nodes.
        inputs: tensors like its arguments.
        weights: which of these are parameters and buffers.
        guarded: which of them are checked by Dynamo.
    """

    graphs: list[GraphModule]
    inputs: list[list[Any]]
    weights: list[int]
    guarded: list[int]
    run: Function | None = None
    __name__ = "group"

    def __call__(self, *tensors: Any) -> Any:
        """The results of the group, once it is compiled."""
        assert self.run is not None
        return self.run(*tensors)


class _Sized:
    """A graph for all sizes: eager until its groups are compiled."""

    def __init__(
        self, graph: GraphModule, batch: _Batch, options: Options, each: Function
    ) -> None:
        self._graph = graph
        self._batch = batch
        self._options = options
        self._each = each
        self._run = boxed(graph)

    def __call__(self, arguments: list[Any]) -> Any:
        """The results of the graph; the list is emptied."""
        if self._batch.of(arguments) in self._batch.sizes:
            return self._run(arguments)
        return self._each(arguments)

    def give_up(self, error: Exception) -> None:
        """Compile it for each shape from now on."""
        log.warning("a graph is compiled for each shape: %s", error)
        self._run = self._each

    def start(self, weights: frozenset[int]) -> None:
        """Compile it in the background, or now if the user waits.

        Raises:
            MorelloError: it is no program of all sizes.
        """
        probes = probe_sizes(self._batch.sizes)
        traced = [self._at(size) for size in probes]
        divided = [_divided(graph, weights) for graph in traced]
        if len({len(groups) for groups in divided}) > 1:
            raise MorelloError("its groups depend on the size")
        groups = [
            dataclasses.replace(
                first[0],
                graphs=[g.graphs[0] for g in first],
                inputs=[g.inputs[0] for g in first],
            )
            for first in zip(*divided, strict=True)
        ]
        self._take_sizes(traced)
        compilations = [
            program_of_sizes(
                group.graphs,
                group.inputs,
                self._batch.sizes,
                "the batch",
                self._options,
                group.weights,
                group.guarded,
            )
            for group in groups
        ]
        whole = traced[0]
        for old, new in zip(divided[0], groups, strict=True):
            for node in whole.graph.nodes:
                if node.target is old:
                    node.target = new
        whole.recompile()

        def work() -> None:
            try:
                for group, compiled in zip(groups, compilations, strict=True):
                    group.run = compiled()
            except MorelloError as error:
                self.give_up(error)
            else:
                self._run = boxed(whole)

        future = submit(work)
        if self._options.wait:
            future.result()

    def _at(self, size: int) -> GraphModule:
        """The graph at one size.

        Raises:
            MorelloError: PyTorch does not trace it there.
        """
        nodes = self._graph.graph.find_nodes(op="placeholder")
        values = [node.meta["val"] for node in nodes]
        examples = [_example(value, self._batch, size) for value in values]
        try:
            graph = static_graph(self._graph, examples)
        except Exception as error:  # tracing raises anything
            raise MorelloError(f"PyTorch does not trace it at {size}") from error
        _read_masks_as_numbers(graph)
        return graph

    def _take_sizes(self, traced: list[GraphModule]) -> None:
        """Let the first graph compute what eager's ops between groups take: numbers
        that are multiples of the size, and what is added to them.

        Raises:
            MorelloError: an op depends on the size in another way.
        """
        every = [list(graph.graph.nodes) for graph in traced]
        whole = traced[0].graph
        places = whole.find_nodes(op="placeholder")
        size = places[self._batch.place]
        if isinstance(size.meta.get("val"), torch.Tensor):
            with whole.inserting_after(places[-1]):
                axis = size, self._batch.dim
                size = whole.call_function(torch.ops.aten.sym_size.int, axis)
        for nodes in itertools.zip_longest(*every):
            calls = [
                node and _call(node, graph)
                for node, graph in zip(nodes, traced, strict=True)
            ]
            if any(call != calls[0] for call in calls):
                raise MorelloError(
                    f"{calls[0]}, which no group takes, depends on the size"
                )
            with whole.inserting_before(nodes[0]):
                both = [(node.args, node.kwargs) for node in nodes]
                args, kwargs = self._arguments(both, size, nodes[0])
            nodes[0].args, nodes[0].kwargs = args, kwargs
        if size not in places and not size.users:
            whole.erase_node(size)

    def _arguments(self, traced: Sequence[Any], size: Node, reader: Node) -> Any:
        """Arguments of an op for every size, of those at each that was traced.

        Raises:
            MorelloError: they are no multiples of the size and a number.
        """
        first = traced[0]
        if isinstance(first, (list, tuple, dict)) and len({*map(len, traced)}) == 1:
            if isinstance(first, dict):
                values = self._arguments(
                    [[*one.values()] for one in traced], size, reader
                )
                return dict(zip(first, values, strict=True))
            each = zip(*traced, strict=True)
            return type(first)([self._arguments(one, size, reader) for one in each])
        if all(_named(one) == _named(first) for one in traced):
            return first
        if all(type(one) is int for one in traced):
            probes = probe_sizes(self._batch.sizes)
            times = (traced[1] - first) // (probes[1] - probes[0])
            more = first - times * probes[0]
            each = zip(traced, probes, strict=True)
            if all(number == times * at + more for number, at in each):
                graph = reader.graph
                number = graph.call_function(operator.mul, (size, times))
                return graph.call_function(operator.add, (number, more))
        raise MorelloError(
            f"{_call(reader, None)}, which no group takes, depends on the size"
        )


def _example(value: Any, batch: _Batch, size: int) -> Any:
    """An argument like that of a call, whose memory is never touched."""
    if not isinstance(value, torch.Tensor):
        return batch.settled(value, size)
    shape, strides = (
        [batch.settled(n, size) for n in numbers]
        for numbers in (value.shape, value.stride())
    )
    return torch.empty_strided(shape, strides, dtype=value.dtype)


_MASKED = {aten.masked_fill.Scalar: 1, aten.masked_fill.Tensor: 1, aten.where.self: 0}
"""Ops that choose by a mask, with its position."""


def _read_masks_as_numbers(graph: GraphModule) -> None:
    """Let choices of floats compare numbers, which programs of any size read, that
    eager makes of masks."""
    masks: dict[Node, Node] = {}
    for node in list(graph.graph.nodes):
        place = _MASKED.get(node.target)
        if place is None or is_of_integers(node):
            continue
        mask = node.args[place]
        if not _is_mask(mask):
            continue
        if mask not in masks:
            with graph.graph.inserting_before(node):
                numbers = graph.graph.call_function(
                    aten._to_copy.default, (mask,), {"dtype": torch.float32}
                )
                masks[mask] = graph.graph.call_function(aten.ne.Scalar, (numbers, 0))
            masks[mask].meta["val"] = mask.meta["val"]
            numbers.meta["val"] = torch.empty_like(
                mask.meta["val"], dtype=torch.float32
            )
        node.update_arg(place, masks[mask])


def _is_mask(node: Node) -> bool:
    """Whether a node is a mask that eager makes, or a view of one."""
    root = node
    while is_free(root) and len(root.all_input_nodes) == 1:
        (root,) = root.all_input_nodes
    is_bool = node.meta["val"].dtype is torch.bool
    return is_bool and (root.op == "placeholder" or is_of_integers(root))


def _is_left(node: Node) -> bool:
    """Whether an op is eager's in a graph for all sizes: one that looks places up, and
    one of masks and places alone, which plain loops of one size would compute."""
    return node.target in LOOKED_UP or is_of_integers(node)


def _divided(graph: GraphModule, weights: frozenset[int]) -> list[_SizedGroup]:
    """The groups of a graph at one size, which become calls in it."""
    placeholders = graph.graph.find_nodes(op="placeholder")
    weight_nodes = frozenset(
        node for place, node in enumerate(placeholders) if place in weights
    )
    groups = []
    for number, nodes in enumerate(groups_of(graph, _is_left)):
        inner, inputs, _ = fused(graph, nodes, f"group{number}")
        group = _SizedGroup(
            [inner],
            [[node.meta["val"] for node in inputs]],
            [place for place, node in enumerate(inputs) if node in weight_nodes],
            [
                place
                for place, node in enumerate(inputs)
                if node.op == "placeholder" and node.meta["val"].is_contiguous()
            ],
        )
        replace_nodes(graph, nodes, group)
        groups.append(group)
    stable_topological_sort(graph)
    graph.graph.lint()
    return groups


def _call(node: Node, graph: GraphModule | None) -> Any:
    """The call that a node is, or the tensor that it holds, to compare it."""
    if node.op == "get_attr" and graph is not None:
        held = getattr(graph, str(node.target))
        return node.name, held.shape, held.dtype, held.tolist()
    target = "group" if isinstance(node.target, _SizedGroup) else node.target
    return node.name, str(target)


def _named(value: Any) -> Any:
    """Arguments with nodes by their names."""
    return map_arg(value, lambda node: node.name)
