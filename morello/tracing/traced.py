"""The trace of a function for arguments of some shapes: `TracedFunction`."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.frontends.model import Model, model_of, whole_model
from morello.frontends.nodes.tensors import Access, Source, Tensors, identity_axes
from morello.tracing.arguments import (
    Leaf,
    Pattern,
    filled,
    function_name,
    leaves,
    pattern_of,
)
from morello.tracing.guards import Guards
from morello.tracing.operands import argument
from morello.tracing.outside import Outside
from morello.tracing.recording import Recording
from morello.tracing.refusals import trace_of_one_function
from morello.tracing.sizes import CallSize
from morello.tracing.tracer import Tracer

Array = np.ndarray[Any, np.dtype[Any]]


class TracedFunction:
    """Trace of a function for arguments of one pattern.

    Args:
        objects: its arguments that may change.
        guarded: whether other values that it reads are recorded, and replaced by
            stand-ins.

    Raises:
        OpaqueError: it is guarded, and reads a value that cannot be recorded.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        pattern: Pattern,
        objects: Sequence[Any],
        guarded: bool = False,
    ) -> None:
        self.name = function_name(function)
        self._recording = Recording(self.name.rpartition(".")[2].strip("<>"))
        arguments = [
            argument(self._recording, i, leaf.shape, leaf.dtype)
            for i, leaf in enumerate(leaves(pattern))
        ]
        for leaf, tracer in zip(leaves(pattern), arguments, strict=True):
            tracer.is_number = leaf.is_number
        run, self.guards = function, Guards(0)
        if guarded:
            roots = [function, *objects]
            outside = Outside(self._recording, len(arguments), roots)
            self.guards = outside.guards
            run, *objects = outside.roots
        self.returned: list[Result | Constant] = []
        self._outputs: dict[int, int] = {}
        """By root: the tensor that is a result."""
        args, kwargs = filled(pattern, iter(arguments), iter(objects))
        with trace_of_one_function():
            results = run(*args, **kwargs)
        self.results = pattern_of(results, self._result)
        if not self._outputs:
            constants = " and ".join(
                type(each.value).__name__
                for each in self.returned
                if isinstance(each, Constant)
            )
            raise MorelloError(
                f"{self.name} returns {constants or 'none'}, not an array that depends "
                "on its arguments",
                "return one array or a tuple of them",
            )

    def _result(self, returned: Any, place: str) -> Pattern:
        """Notes a result."""
        if isinstance(returned, Tracer):
            number = self._output(returned)
            self.returned.append(Result(number, returned.shape, returned.dtype))
            return Leaf(returned.shape)
        if isinstance(returned, np.ndarray | np.number | int | float):
            self.returned.append(Constant(returned))
            return Leaf(np.shape(returned))
        raise MorelloError(
            f"{self.name} returns {type(returned).__name__}, not an array that depends "
            "on its arguments",
            "return one array or a tuple of them",
        )

    def _output(self, result: Tracer) -> int:
        """Index of the output that has the elements of a result; equal results share
        one."""
        tensors, tensor = self._recording.tensors, result.stored()
        root = tensors.root(tensor)
        if isinstance(tensors.all[root], Source):
            shape = tensors.all[root].shape
            copy = self._recording.copy(Access(root, identity_axes(shape)), shape)
            root, tensor = copy, self._recording.view(copy, result.shape)
        self._outputs.setdefault(root, tensor)
        return list(self._outputs).index(root)

    def program(self, holds: bool) -> tuple[Tensors, list[Source]]:
        """The tensors of all results, and what its arguments are, in order.

        Args:
            holds: whether arrays that the function holds are constants; otherwise they
                are arguments, after the function's.
        """
        return self._recording.program([*self._outputs.values()], holds)

    def model(self) -> Model:
        """The parts that compute the results, each once, of the function's arguments:
        one part if that can be."""
        tensors, _ = self.program(holds=True)
        return whole_model(tensors) or model_of(tensors)


@dataclasses.dataclass(frozen=True)
class Result:
    """An output in a shape."""

    number: int
    """Number of the output."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def of(self, outputs: Sequence[Array]) -> Array:
        """The array."""
        array = outputs[self.number].reshape(self.shape)
        return array.astype(self.dtype, copy=False)


@dataclasses.dataclass(frozen=True)
class Constant:
    """A result that depends on no argument."""

    value: Any

    def of(self, outputs: Sequence[Array]) -> Any:
        """A copy of the value."""
        return np.array(self.value)[()]


@dataclasses.dataclass(frozen=True)
class TraceRequest:
    """A function, and what it is traced with.

    Args:
        objects: its arguments that may change.
        guarded: see `TracedFunction`.
    """

    function: Callable[..., Any]
    pattern: Pattern
    objects: Sequence[Any]
    guarded: bool

    def trace(self) -> TracedFunction:
        """The trace."""
        return TracedFunction(self.function, self.pattern, self.objects, self.guarded)

    def at(self, size: CallSize, number: int) -> Tensors:
        """The program at another size.

        Raises:
            MorelloError: it is not traced there.
        """
        other = dataclasses.replace(self, pattern=size.at(self.pattern, number))
        try:
            return other.trace().program(holds=False)[0]
        except Exception as error:  # of the user's function
            raise MorelloError(
                f"{size.function}, which is to take any {size.name}, is not traced at "
                f"{number}: {error}",
                f"write it for any {size.name}, or leave 'sizes' out",
            ) from error
