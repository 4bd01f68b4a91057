"""`jit`: a function on NumPy arrays is traced by its first call, and compiled."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.compiler.compile import compile
from morello.compiler.kernel import Kernel
from morello.compiler.target_choice import chosen_target
from morello.errors import MorelloError
from morello.tracing.builder import Builder, Traced
from morello.tracing.tracer import ONE, Tracer, as_input, pointwise

Shape = tuple[int, ...]


def trace(function: Callable[..., Any], *shapes: Any) -> Traced:
    """The graph of a function for arguments of some shapes.

    Args:
        function: on arrays of f32, with NumPy's functions and those of `morello.nn`.
        shapes: of each argument: a tuple, or an array of the shape.

    Raises:
        MorelloError: it does what is not traced; the message has the line.
    """
    given = [tuple(getattr(shape, "shape", shape)) for shape in shapes]
    return _traced(function, given)[0]


def _traced(
    function: Callable[..., Any], shapes: list[Shape]
) -> tuple[Traced, list[Shape], bool]:
    """The graph, the shape of each result, and whether there are several."""
    builder = Builder()
    arguments = [as_input(builder, i, shape) for i, shape in enumerate(shapes)]
    found = function(*arguments)
    several = isinstance(found, tuple | list)
    results = list(found) if several else [found]
    for result in results:
        if not isinstance(result, Tracer):
            raise MorelloError(
                f"{_name(function)} returns {type(result).__name__}, not an array that "
                "depends on its arguments",
                "return one array or a tuple of them",
            )
    outputs = [_output(builder, result) for result in results]
    traced = builder.traced(outputs)
    return traced, [result.shape for result in results], several


def _output(builder: Builder, result: Tracer) -> int:
    """The node that a result is, with its axes in the order of the result's."""
    axes = tuple(d for d in result._dims if d != ONE)
    node = builder.nodes.get(result._value)
    if node is None or builder.settled(node.axes) != builder.settled(axes):
        copied = pointwise(builder, "copy", result)
        return copied._value
    return result._value


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", function))


class Jitted:
    """A function that is compiled for the shapes that it is called with.

    Args:
        function: see `trace`.
        options: of `morello.compile`.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options
        self._compiled: dict[tuple[Shape, ...], _Compiled] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, a new array, or a tuple of several.

        Args:
            args: arrays of f32, in any layout: others than C-contiguous are copied.

        Raises:
            MorelloError: an argument is no array of f32; see `trace`.
        """
        if kwargs:
            bound = inspect.signature(self._function).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        arrays = [self._checked(i, given) for i, given in enumerate(args)]
        return self._for(tuple(a.shape for a in arrays))(arrays)

    def kernel(self, *shapes: Any) -> Kernel:
        """The kernel for arguments of some shapes: to explain, to time, to save."""
        given = tuple(tuple(getattr(shape, "shape", shape)) for shape in shapes)
        return self._for(given).kernel

    def _checked(self, place: int, given: Any) -> np.ndarray[Any, Any]:
        if isinstance(given, np.ma.MaskedArray):
            raise MorelloError(
                f"argument {place} of {_name(self._function)} is a masked array, whose "
                "mask would be ignored",
                "give numpy.ma.filled(array, value)",
            )
        array = np.asarray(given)
        if array.dtype != np.float32:
            raise MorelloError(
                f"argument {place} of {_name(self._function)} has the dtype "
                f"{array.dtype}, not float32",
                "write x.astype(np.float32)",
            )
        return array

    def _for(self, shapes: tuple[Shape, ...]) -> "_Compiled":
        found = self._compiled.get(shapes)
        if found is None:
            found = _Compiled(self._function, list(shapes), self._options)
            self._compiled[shapes] = found
        return found

    def __repr__(self) -> str:
        return f"<morello.jit of {_name(self._function)}>"


class _Compiled:
    """A function for arguments of some shapes."""

    def __init__(
        self, function: Callable[..., Any], shapes: list[Shape], options: dict[str, Any]
    ) -> None:
        self.traced, self.shapes, self.several = _traced(function, shapes)
        limits = chosen_target(options.get("target")).limits
        spec = self.traced.spec(limits)
        self.kernel = compile(spec, **options)
        self._shapes = [spec.shape(i) for i in range(len(spec.tensors))]
        self._out = [self._shapes[out] for out in spec.kind.written]

    def __call__(self, arrays: list[np.ndarray[Any, Any]]) -> Any:
        given = []
        for found, shape in zip(self.traced.inputs, self._shapes, strict=False):
            array = found.array if found.argument < 0 else arrays[found.argument]
            assert array is not None
            given.append(np.ascontiguousarray(array).reshape(shape))
        made = [np.empty(shape, np.float32) for shape in self._out]
        self.kernel(*given, *made)
        results = [
            made[place].reshape(shape)
            for place, shape in zip(self.traced.outputs, self.shapes, strict=True)
        ]
        return tuple(results) if self.several else results[0]


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A function that is compiled when it is called: ``@morello.jit``.

    The first call with arguments of some shapes traces it into a graph, searches the
    best program and compiles it; later calls run that.

    Args:
        function: see `trace`.
        options: of `morello.compile`: ``threads``, ``target``, ``db``, ``time_limit``.
    """
    if function is None:
        return functools.partial(jit, **options)
    if not callable(function):
        raise MorelloError(
            f"morello.jit is given {type(function).__name__}, not a function",
            "write @morello.jit above a function on arrays",
        )
    return Jitted(function, options)
