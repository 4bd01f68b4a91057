"""Attention to a cache that grows: one program for every number of keys.

Where tokens come one by one, a step reads more keys in each call, and nothing else has
a size that is not settled. Such ops of a graph become calls of `Attention`.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from morello.errors import MorelloError
from morello.frontends.ranged import probe_sizes
from morello.torch.group import log
from morello.torch.native_call import SizedCall
from morello.torch.options import Options
from morello.torch.partition import is_take
from morello.torch.ranged import program_of_sizes
from morello.torch.shapes import static_graph
from morello.torch.worker import submit

_ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default

Places = tuple[tuple[int, int], ...]
"""Arguments that have a size that each call says, each with the dimension."""


@dataclasses.dataclass(eq=False, kw_only=True)
class OfAnySize:
    """An op that a program of many sizes computes: eager's until it is compiled.

    Args:
        op: of ATen, or another one of PyTorch.
        inputs: its tensors.
        args: of the op, and ``kwargs``.
        places: where the size is.
        sizes: the numbers that the program takes.
        options: of the user.
    """

    op: Any
    inputs: tuple[Node, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    places: Places
    sizes: range
    options: Options
    run: Callable[..., Any] | None = None

    what: ClassVar[str]
    """The op, as the log has it."""
    size: ClassVar[str]
    """The name of the size."""
    call: ClassVar[type[SizedCall]] = SizedCall

    @classmethod
    def of(cls, node: Node, places: Places, sizes: range, options: Options) -> Self:
        """The program of the op that a node calls."""
        inputs, kwargs = tuple(node.all_input_nodes), dict(node.kwargs)
        return cls(
            op=node.target,
            inputs=inputs,
            args=node.args,
            kwargs=kwargs,
            places=places,
            sizes=sizes,
            options=options,
        )

    def eager(self, *tensors: Any) -> Any:
        """The op's own results."""
        values = dict(zip(self.inputs, tensors, strict=True))
        args = map_arg(self.args, values.__getitem__)
        return self.op(*args, **map_arg(self.kwargs, values.__getitem__))

    def computed(self, *tensors: Any) -> Any:
        """The computation of the program, of tensors like `examples`."""
        return self.eager(*tensors)

    def start(self) -> None:
        """Compile it in the background, or now if the user waits."""
        try:
            traced = [self._at(size) for size in probe_sizes(self.sizes)]
            graphs, inputs = zip(*traced, strict=True)
            compiled = program_of_sizes(
                graphs, inputs, self.sizes, self.size, self.options, call=self.call
            )
        except Exception as error:  # noqa: BLE001 (tracing raises anything)
            log.warning("%s stays eager: %s", self.what, error)
            return

        def work() -> None:
            try:
                self.run = compiled()
            except MorelloError as error:
                log.warning("%s stays eager: %s", self.what, error)

        future = submit(work)
        if self.options.wait:
            future.result()

    def examples(self, size: int) -> list[Any]:
        """Tensors like those of which the program computes, at one size."""
        tensors = []
        for place, node in enumerate(self.inputs):
            value = node.meta["val"]
            shape = [*value.shape]
            for dim in (dim for argument, dim in self.places if argument == place):
                shape[dim] = size
            tensors.append(torch.empty(shape, dtype=value.dtype))
        return tensors

    def _at(self, size: int) -> tuple[GraphModule, list[Any]]:
        """The op at one size, and tensors like its arguments."""
        graph = static_graph(self.computed, self.examples(size))
        taken = graph.graph.find_nodes(op="placeholder")
        return graph, [node.meta["val"] for node in taken]


class Attention(OfAnySize):
    """Attention to any number of keys."""

    __name__ = "attention"
    what = "attention to a cache that grows"
    size = "the number of keys"

    def __call__(self, *tensors: Any) -> Any:
        """A tuple with the result."""
        if self.run is not None:
            count, *others = (tensors[place].shape[dim] for place, dim in self.places)
            if count in self.sizes and all(other == count for other in others):
                return self.run(*tensors)
        return self.eager(*tensors)

    def eager(self, *tensors: Any) -> Any:
        """The first result, in a tuple."""
        return super().eager(*tensors)[:1]


def take_attention(graph: GraphModule, options: Options) -> None:
    """Make attention to a cache that grows calls of programs, in place; ops that differ
    in nothing but their tensors share one."""
    if not options.batch:
        return
    ops = []
    for node in graph.graph.find_nodes(op="call_function", target=_ATTENTION):
        places = _places(node)
        if places:
            form = repr((map_arg(node.args, _form), map_arg(node.kwargs, _form)))
            sizes = range(2, options.batch + 1)
            ops.append((node, form, Attention.of(node, places, sizes, options)))
    call_programs(graph, ops)


def call_programs(
    graph: GraphModule, ops: Iterable[tuple[Node, Any, OfAnySize]]
) -> None:
    """Make ops calls of their programs, in place, and compile these; those of one form
    share the first one's.

    Args:
        ops: each with its form and its program.
    """
    programs: dict[Any, OfAnySize] = {}
    for node, form, program in ops:
        shared = programs.setdefault(form, program)
        with graph.graph.inserting_before(node):
            call = graph.graph.call_function(shared, tuple(node.all_input_nodes))
        node.replace_all_uses_with(call, propagate_meta=True)
        graph.graph.erase_node(node)
    for program in programs.values():
        program.start()


def _places(node: Node) -> Places:
    """Places of the number of keys in an op; none if it has other open sizes."""
    if not all(is_take(user) and user.args[1] == 0 for user in node.users):
        return ()
    if any(node.args[3:5]) or not isinstance(node.args[0], Node):
        return ()  # with dropout; of each query to keys before it
    query, result = node.args[0].meta["val"], node.meta["val"][0]
    if any(map(_is_open, (*query.shape, *result.shape))):
        return ()
    if not result.is_contiguous():
        return ()
    values = [other.meta["val"] for other in node.all_input_nodes]
    places = tuple(
        (place, dim)
        for place, value in enumerate(values)
        for dim, size in enumerate(value.shape)
        if _is_open(size)
    )
    is_one_each = len({place for place, _ in places}) == len(places)
    return places if is_one_each else ()


def _is_open(size: Any) -> bool:
    return isinstance(size, torch.SymInt)


def _form(node: Node) -> Any:
    """The dtype and the settled sizes of an argument."""
    value = node.meta["val"]
    return value.dtype, [None if _is_open(size) else size for size in value.shape]
