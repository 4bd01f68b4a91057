"""A group of nodes: eager until its program is found, then one call of machine code."""

import functools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.tools_common import stable_topological_sort

from morello.compiler.kernel import Kernel
from morello.errors import MorelloError
from morello.frontends.linalg.signature import Declared, Signature
from morello.frontends.model import Model, trusted_model
from morello.frontends.refusals import ModelError
from morello.frontends.stored_kernels import stored_kernel
from morello.torch.constants import fused
from morello.torch.graph_names import graph_name
from morello.torch.lowering import linalg_bytecode, lowered, refused_nodes, told
from morello.torch.native_call import NativeCall, with_eager_strides
from morello.torch.options import Options
from morello.torch.partition import (
    allow_any_strides,
    groups_without,
    replace_nodes,
)
from morello.torch.places import are_known_outside, with_test
from morello.torch.worker import patience, submit

log = logging.getLogger("morello.torch")

_Divided = tuple[list[Node], GraphModule, Model, list[int]]
"""A part of a group: its nodes, these as a graph and as a model, and the positions of
the arguments that are weights."""


class Group:
    """Some nodes of a graph as a function of tensors.

    Args:
        graph: the nodes as a graph of their own, which is what eager runs.
        inputs: tensors of the shapes and strides of its arguments, without memory.
        options: of the user.
        weights: which of its arguments are parameters and buffers.
        guarded: which of them have the strides of ``inputs`` in every call, as Dynamo
            checks.
    """

    def __init__(
        self,
        graph: GraphModule,
        inputs: Sequence[Any],
        options: Options,
        weights: Sequence[int] = (),
        guarded: Sequence[int] = (),
    ) -> None:
        self._guarded = [i for i in guarded if inputs[i].is_contiguous()]
        self._weights = tuple(weights)
        self._eager = graph
        tested = with_test(graph)
        self._is_tested = tested is not None
        """Whether the last result of its program is whether to run eager instead."""
        self._graph = graph if tested is None else tested
        allow_any_strides(graph)
        self._inputs = tuple(inputs)
        self._options = options
        self._run: Callable[..., Any] = graph.forward
        self.native: NativeCall | None = None
        """Morello's program, where calls run it alone."""
        self.is_settled = False
        """Whether nothing more is compiled."""
        self.is_compiled = False
        """Whether calls run programs of Morello."""
        self.__name__ = "group"
        """The name by which the graph around it prints it."""

    def __call__(self, *tensors: Any) -> Any:
        """Run the group: a tensor, or a tuple of tensors, as its nodes return it."""
        return self._run(*tensors)

    def start(self) -> None:
        """Compile it in the background, or now if the user waits."""
        simple = None
        with self._or_eager():
            if are_known_outside(self._eager):
                self.is_settled = True
                return
            name = graph_name(self._graph, self._inputs, self._weights, self._options)
            kernel = stored_program(name, self._graph, self._options)
            if kernel is not None:
                self._take(kernel)
                return
            simple = lowered(self._graph, self._inputs)
        if simple is None:
            self.is_settled = True
            return
        future = submit(functools.partial(self._compile, simple, name))
        if self._options.wait:
            future.result()

    def _compile(self, simple: GraphModule, name: str | None) -> None:
        with self._or_eager():
            try:
                model = read_model(simple, self._weights, self._options)
            except ModelError as error:
                parts = self._parts_without(simple, refused_nodes(simple, error))
                if not parts:
                    raise MorelloError(told(simple, error)) from error
                self._divide(simple, parts, told(simple, error))
            else:
                self._take(compiled_model(model, simple, self._options, name))
        self.is_settled = True

    def _take(self, compiled: Kernel) -> None:
        """Call a program from now on, and nothing else."""
        results = results_of(self._graph)
        self.native = NativeCall(
            compiled, results, self._weights, self._guarded, freeze=self._options.freeze
        )
        self._serve(self.native)
        self.is_settled = True

    def _serve(self, run: Callable[..., Any]) -> None:
        """Call this from now on; eager where it would raise an error."""
        self._run = self._tested(run) if self._is_tested else run
        self.is_compiled = True

    def _tested(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A function of a group's tensors that leaves places outside to eager."""
        eager, (_, is_several) = self._eager.forward, results_of(self._eager)

        def call(*tensors: Any) -> Any:
            *results, is_outside = run(*tensors)
            if is_outside:
                return eager(*tensors)
            return tuple(results) if is_several else results[0]

        return call

    def _parts_without(
        self, simple: GraphModule, refused: list[Node]
    ) -> list[_Divided]:
        """The parts of a lowered graph without refused nodes, and without those that
        are refused then."""
        arguments = [n for n in simple.graph.nodes if n.op == "placeholder"]
        weights = {arguments[place] for place in self._weights}
        every = set(refused)
        parts: list[_Divided] = []
        more = every
        while more:
            more, parts = set(), []
            for nodes in groups_without(simple, every):
                inner, inputs, _ = fused(simple, nodes, "part")
                places = [i for i, node in enumerate(inputs) if node in weights]
                try:
                    model = read_model(inner, places, self._options)
                    parts.append((nodes, inner, model, places))
                except ModelError as error:
                    more.update(refused_nodes(simple, error))
            more -= every
            every |= more
        return parts

    def _divide(self, simple: GraphModule, parts: list[_Divided], reason: str) -> None:
        """Run parts of a lowered graph by programs, and the rest of it by eager."""
        eager = [n for n in simple.graph.nodes if n.op == "call_function"]
        for number, (nodes, inner, model, places) in enumerate(parts):
            compiled = compiled_model(model, inner, self._options)
            freeze = self._options.freeze
            native = NativeCall(compiled, results_of(inner), places, freeze=freeze)
            replace_nodes(simple, nodes, _named(native, f"part{number}"))
            eager = [node for node in eager if node not in nodes]
        stable_topological_sort(simple)
        simple.graph.lint()
        simple.recompile()
        self._serve(_around(simple.forward, results_of(self._graph)))
        names = ", ".join(dict.fromkeys(str(node.target) for node in eager))
        log.warning(
            "a group of %s is divided, %s stays eager: %s",
            _names(self._graph),
            names,
            reason,
        )

    @contextmanager
    def _or_eager(self) -> Iterator[None]:
        """Tell of what is refused; the group then stays as it is."""
        try:
            yield
        except MorelloError as error:
            log.warning("a group of %s stays eager: %s", _names(self._graph), error)
        except Exception as error:  # tracing raises anything
            log.warning(
                "a group of %s stays eager, for PyTorch does not trace it in smaller "
                "ops (%s); write it in other ops",
                _names(self._graph),
                type(error).__name__,
            )
            log.debug("what PyTorch says of it", exc_info=error)


def read_model(
    simple: GraphModule,
    weights: Sequence[int],
    options: Options,
    constants: Mapping[int, Any] = MappingProxyType({}),
) -> Model:
    """A lowered graph as a model.

    Args:
        weights: which of its arguments are parameters and buffers.
        options: of the user.
        constants: arrays of those that are the same in each call.

    Raises:
        ModelError: the nodes that have no Spec.
    """
    return trusted_model(
        linalg_bytecode(simple),
        weights=weights,
        rounds=False,
        signature=_signature(simple),
        constants=constants,
        flushing=options.flushes,
        copies=options.packs,
    )


def _signature(graph: GraphModule) -> Signature:
    """The signs of a graph's arguments and results, which their types lack."""
    taken = graph.graph.find_nodes(op="placeholder")
    results, _ = results_of(graph)
    arguments, signs = (
        tuple(Declared(is_unsigned=value.dtype is torch.uint8) for value in values)
        for values in ([node.meta["val"] for node in taken], results)
    )
    return Signature(arguments, signs)


def threads_of(options: Options) -> int:
    """The most threads that a program may use."""
    return torch.get_num_threads() if options.threads is None else options.threads


def stored_program(
    name: str | None, graph: GraphModule, options: Options, threads: int | None = None
) -> Kernel | None:
    """The program that a process before has made of a graph; None if there is none.

    Args:
        name: under which it was kept.
        graph: what the log says that it computes.
        options: of the user.
        threads: the most that it uses, if those of the user are not.
    """
    if name is None:
        return None
    entry = stored_kernel(
        name,
        target=options.target,
        threads=threads or threads_of(options),
        db=options.database,
        tune=options.tune,
    )
    if entry is None:
        return None
    kernel, text = entry
    log.info("compiled a group of %s before:\n%s", _names(graph), text)
    return kernel


def compiled_model(
    model: Model, simple: GraphModule, options: Options, keep: str | None = None
) -> Kernel:
    """The program of a model.

    Args:
        simple: the lowered graph that it is.
        options: of the user.
        keep: as `Model.compile` takes it.

    Raises:
        SearchError, CompileError: there is none.
    """
    compiled = model.compile(
        target=options.target,
        threads=threads_of(options),
        db=options.database,
        time_limit=patience(options.time_limit),
        tune=options.tune,
        pack=True if options.packs else options.pack,
        progress=lambda what: log.info("searching %s", what),
        keep=keep,
        jobs=options.jobs,
        partition=options.partition,
        winograd=options.winograd,
    )
    log.info("compiled a group of %s:\n%s", _names(simple), model)
    copies = 0 if compiled.held is None else compiled.held.copied_bytes
    if copies:
        log.info("its copies of weights in panels take %.2f MB", copies / 1e6)
    return compiled


def _names(graph: GraphModule) -> str:
    names = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
    return ", ".join(dict.fromkeys(names))


def results_of(graph: GraphModule) -> tuple[Any, bool]:
    """The tensors that a graph returns, without memory, and whether in a tuple."""
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    (value,) = output.args
    if isinstance(value, (tuple, list)):
        return [node.meta["val"] for node in value], True
    return [value.meta["val"]], False


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, as a graph prints it."""

    def run(*tensors: Any) -> Any:
        return function(*tensors)

    run.__name__, run.__module__ = name, __name__
    return run


def _around(
    forward: Callable[..., Any], results: tuple[Any, bool]
) -> Callable[..., Any]:
    """A function of a group's tensors that runs its lowered graph."""
    outputs, several = results
    as_eager = with_eager_strides(outputs)

    def call(*tensors: Any) -> Any:
        results = forward(
            *(t if t.is_contiguous() else t.contiguous() for t in tensors)
        )
        returned = list(results) if isinstance(results, (tuple, list)) else [results]
        as_eager(returned)
        return tuple(returned) if several else returned[0]

    return call
