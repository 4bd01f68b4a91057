"""`jit`: a function on NumPy arrays is traced by its first call, and compiled."""

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.compiler.compile import compile
from morello.compiler.kernel import Kernel
from morello.compiler.target_choice import chosen_target
from morello.errors import MorelloError, SearchError
from morello.tracing import array_functions  # noqa: F401 (fills the tables of functions)
from morello.tracing.arguments import (
    Arrays,
    Leaf,
    Pattern,
    Several,
    filled,
    is_traced,
    leaves,
    pattern_of,
    shape_pattern,
)
from morello.tracing.builder import Builder, Input, Traced
from morello.tracing.renewal import ONE
from morello.tracing.results import result_of
from morello.tracing.tracer import Tracer, as_input, pointwise


def trace(function: Callable[..., Any], *shapes: Any, **options: Any) -> Traced:
    """The graph of a function for arguments of some shapes.

    Args:
        function: on arrays of f32, with NumPy's functions and those of `morello.nn`.
        shapes: of each argument: a tuple, or an array of the shape; lists, tuples and
            dictionaries of them; what is no array as it is.
        options: arguments by name, likewise.

    Raises:
        MorelloError: it does what is not traced; the message has the line.
    """
    return traced_function(function, *shapes, **options).traced


def traced_function(
    function: Callable[..., Any], *shapes: Any, **options: Any
) -> "TracedFunction":
    """As `trace`, with the form of the results."""
    return TracedFunction(function, _shapes(function, shapes, options))


def _shapes(
    function: Callable[..., Any], shapes: tuple[Any, ...], options: dict[str, Any]
) -> Pattern:
    args, kwargs = _ordered(_of(function), shapes, options)
    given = Several(tuple, None, tuple(map(shape_pattern, args)))
    return Several(tuple, None, (given, shape_pattern(kwargs)))


def _of(function: Callable[..., Any]) -> Callable[..., Any]:
    return function._function if isinstance(function, Jitted) else function


def _ordered(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by their place, and what can be given by its name alone."""
    if not kwargs:
        return args, kwargs
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


class TracedFunction:
    """What a function does with arguments of a pattern."""

    def __init__(self, function: Callable[..., Any], pattern: Pattern) -> None:
        builder = Builder()
        arguments = [
            as_input(builder, i, leaf.shape) for i, leaf in enumerate(leaves(pattern))
        ]
        found: list[Tracer] = []

        def pick(given: Any, place: str) -> Pattern:
            if not isinstance(given, Tracer):
                raise MorelloError(
                    f"{_name(function)} returns {type(given).__name__}, not an array "
                    "that depends on its arguments",
                    "return one array or a tuple of them",
                )
            found.append(given)
            return Leaf(given.shape)

        args, kwargs = filled(pattern, iter(arguments))
        results = function(*args, **kwargs)
        self.results = pattern_of(results, pick)
        if not found:
            raise MorelloError(f"{_name(function)} returns no array")
        made = [result_of(result) for result in found]
        self.made = [result for result, _ in made]
        values = [value for _, own in made for value in own]
        self._builder = builder
        self._outputs = [_output(builder, value) for value in values]
        self.traced = builder.traced(self._outputs)

    def apart(self) -> list[Traced]:
        """A graph for each output."""
        return [self._builder.traced([output]) for output in self._outputs]


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
        self._compiled: dict[Pattern, _Compiled] = {}
        self._plain: dict[tuple[Any, ...], _Compiled] = {}
        """By the shapes of arguments that are arrays of f32 alone: a short way."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The method of an object, which is part of the function."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, a new array, or several as the function has them.

        Args:
            args: arrays of f32 in any layout: others than C-contiguous are copied;
                Python's numbers with a point, which are arrays without axes; lists,
                tuples and dictionaries of them. All else is part of the function,
                which is traced and compiled again where it differs.

        Raises:
            MorelloError: an argument is no array of f32; see `trace`.
        """
        shapes = tuple(
            a.shape if type(a) is np.ndarray and a.dtype is _F32 else None for a in args
        )
        known = None if kwargs else self._plain.get(shapes)
        if known is not None:
            return known(args)
        if is_traced(args) or is_traced(kwargs):
            return self._function(*args, **kwargs)
        arrays = Arrays(_name(self._function))
        pattern = pattern_of(_ordered(self._function, args, kwargs), arrays)
        found = self._for(pattern)
        if not kwargs and None not in shapes:
            self._plain[shapes] = found
        return found(arrays.found)

    def kernel(self, *shapes: Any, **options: Any) -> Kernel:
        """The kernel for arguments of some shapes: to explain, to time, to save."""
        return self._for(_shapes(self._function, shapes, options)).kernel

    def _for(self, pattern: Pattern) -> "_Compiled":
        found = self._compiled.get(pattern)
        if found is None:
            found = _Compiled(self._function, pattern, self._options)
            self._compiled[pattern] = found
        return found

    def __repr__(self) -> str:
        return f"<morello.jit of {_name(self._function)}>"


_F32 = np.dtype(np.float32)


class _Compiled:
    """A function for arguments of a pattern: one kernel, or one for each output where
    no program computes all of them."""

    def __init__(
        self, function: Callable[..., Any], pattern: Pattern, options: dict[str, Any]
    ) -> None:
        made = TracedFunction(function, pattern)
        self._name, self._results, self._made = _name(function), made.results, made.made
        try:
            self._graphs = [_Graph(made.traced, options)]
        except SearchError:
            apart = made.apart()
            if len(apart) < 2:
                raise
            self._graphs = [_Graph(each, options) for each in apart]

    @property
    def kernel(self) -> Kernel:
        """Where it is one.

        Raises:
            MorelloError: it is several.
        """
        if len(self._graphs) > 1:
            raise MorelloError(
                f"{self._name} is {len(self._graphs)} kernels, since no program "
                "computes all of its results",
                "trace a function for each result",
            )
        return self._graphs[0].kernel

    def __call__(self, arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
        outputs = (out for graph in self._graphs for out in graph(arrays))
        results = [result.of(outputs) for result in self._made]
        if isinstance(self._results, Leaf):
            return results[0]
        return filled(self._results, iter(results))


class _Graph:
    """A graph as a kernel of arrays."""

    def __init__(self, traced: Traced, options: dict[str, Any]) -> None:
        limits = chosen_target(options.get("target")).limits
        spec = traced.spec(limits)
        self.kernel = compile(spec, **options)
        shapes = [spec.shape(i) for i in range(len(spec.tensors))]
        self._inputs = [*zip(traced.inputs, shapes, strict=False)]
        self._out = [shapes[out] for out in spec.kind.written]
        self._outputs = traced.outputs

    def __call__(
        self, arrays: Sequence[np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        given = [_argument(found, arrays, shape) for found, shape in self._inputs]
        made = [np.empty(shape, np.float32) for shape in self._out]
        self.kernel(*given, *made)
        return [made[place] for place in self._outputs]


def _argument(
    found: Input, arrays: Sequence[np.ndarray[Any, Any]], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """What the kernel reads: the array itself, if it lies as it has to."""
    array = found.viewed(arrays)
    if array.shape == shape and array.flags.c_contiguous:
        return array
    return np.ascontiguousarray(array).reshape(shape)


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
