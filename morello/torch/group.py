"""A group of nodes: eager until its program is found, then one call of machine code."""

import logging
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx import GraphModule

from morello.errors import MorelloError
from morello.frontends.compiled_model import CompiledModel
from morello.frontends.model import trusted_model
from morello.runtime.address_call import address_call
from morello.runtime.call_table import CallTable
from morello.torch.lowering import linalg_text, lowered
from morello.torch.options import Options
from morello.torch.worker import patience, submit

log = logging.getLogger("morello.torch")


class Group:
    """Some nodes of a graph as a function of tensors.

    Args:
        graph: the nodes as a graph of their own, which is what eager runs.
        inputs: tensors of the shapes and strides of its arguments, without memory.
        options: of the user.
        weights: which of its arguments are parameters and buffers.
    """

    def __init__(
        self,
        graph: GraphModule,
        inputs: Sequence[Any],
        options: Options,
        weights: Sequence[int] = (),
    ) -> None:
        self._weights = tuple(weights)
        self._graph = graph
        self._inputs = tuple(inputs)
        self._options = options
        self._run: Callable[..., Any] = graph.forward
        self.is_compiled = False
        """Whether calls run Morello's program."""
        self.__name__ = "group"
        """As the graph around it prints it."""

    def __call__(self, *tensors: Any) -> Any:
        """A tensor, or a tuple of them, as the nodes give it."""
        return self._run(*tensors)

    def start(self) -> None:
        """Compile it in the background, or now if the user waits."""
        with self._or_eager():
            simple = lowered(self._graph, self._inputs)
            future = submit(lambda: self._compile(simple))
            if self._options.wait:
                future.result()

    def _compile(self, simple: GraphModule) -> None:
        with self._or_eager():
            model = trusted_model(linalg_text(simple), weights=self._weights)
            compiled = model.compile(
                target=self._options.target,
                threads=self._options.threads or torch.get_num_threads(),
                db=self._options.database,
                time_limit=patience(self._options.time_limit),
                tune=self._options.tune,
                progress=lambda what: log.info("searching %s", what),
            )
            self._run = _native(compiled, _results(self._graph), self._weights)
            self.is_compiled = True
            log.info("compiled a group of %s:\n%s", _names(self._graph), model)

    @contextmanager
    def _or_eager(self) -> Iterator[None]:
        """Tell of what is refused; the group then stays as it is."""
        try:
            yield
        except MorelloError as error:
            log.warning("a group of %s stays eager: %s", _names(self._graph), error)
        except Exception as error:  # noqa: BLE001 (tracing and importing raise anything)
            log.warning(
                "a group of %s stays eager, for PyTorch or torch-mlir says: %s",
                _names(self._graph),
                error,
            )


def _names(graph: GraphModule) -> str:
    names = [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
    return ", ".join(dict.fromkeys(names))


def _results(graph: GraphModule) -> tuple[Any, bool]:
    """The tensors that a graph returns, without memory, and whether in a tuple."""
    (output,) = (node for node in graph.graph.nodes if node.op == "output")
    (given,) = output.args
    if isinstance(given, (tuple, list)):
        return [node.meta["val"] for node in given], True
    return [given.meta["val"]], False


class _Weights:
    """What a program reads of weights, computed again when these have changed.

    Args:
        places: which of a group's arguments are weights; none where nothing is computed
            of them.
    """

    def __init__(self, compiled: CompiledModel, places: Sequence[int]) -> None:
        self._compiled = compiled
        self._places = tuple(places)
        self._seen: list[Any] = []
        self._versions: list[int] | None = None
        self._arrays: tuple[Any, ...] = ()
        self.addresses: list[int] = []
        """Of the arrays that the program takes after its arguments."""

    def look(self, tensors: Sequence[Any]) -> None:
        """Compute it anew, unless the weights are those of the call before."""
        given = [tensors[place] for place in self._places]
        versions = [tensor._version for tensor in given]
        if versions == self._versions and all(map(operator.is_, given, self._seen)):
            return
        arrays = {
            place: tensor.detach().contiguous().numpy()
            for place, tensor in zip(self._places, given, strict=True)
        }
        self._arrays = self._compiled.held(arrays)
        self.addresses = [int(array.ctypes.data) for array in self._arrays]
        self._seen, self._versions = given, versions


def _native(
    compiled: CompiledModel, results: tuple[Any, bool], places: Sequence[int]
) -> Callable[..., Any]:
    """A function of a group's tensors that calls its program.

    Args:
        places: which of them are weights.
        results: tensors like its results, and whether they come in a tuple.
    """
    outputs, several = results
    table = CallTable(
        compiled.address,
        compiled.parameters,
        compiled.workspace_bytes,
        compiled.threads,
    )
    run = address_call(table, compiled.workspace_bytes > 0, compiled.threads > 1)
    weights = _Weights(compiled, places if compiled.reads_weights else ())
    weights_of = weights.look
    shapes = [tuple(output.shape) for output in outputs]
    strides = [
        None if output.is_contiguous() else output.stride() for output in outputs
    ]
    empty, address = torch.empty, torch.Tensor.data_ptr

    def call(*tensors: Any) -> Any:
        # Kept until the end: a copy is freed with its last reference.
        own = [t if t.is_contiguous() else t.contiguous() for t in tensors]
        made = [empty(shape) for shape in shapes]
        weights_of(tensors)
        run(*map(address, own), *weights.addresses, *map(address, made))
        for place, wanted in enumerate(strides):
            if wanted is not None:
                whole = torch.empty_strided(shapes[place], wanted)
                made[place] = whole.copy_(made[place])
        return tuple(made) if several else made[0]

    call.compiled = compiled  # type: ignore[attr-defined]
    return call
