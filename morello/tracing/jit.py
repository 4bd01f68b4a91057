"""`jit`: a function on NumPy arrays is traced by its first call, and compiled."""

import contextlib
import functools
import inspect
import time
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from morello.compiler.kernel import Kernel
from morello.errors import MorelloError, SearchError
from morello.frontends.model import Model, model_of
from morello.search import Patience
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
from morello.tracing.guards import Guards
from morello.tracing.outside import OpaqueError, Outside, is_plain
from morello.tracing.programs import tensors_of
from morello.tracing.refusals import noted, trace_of_one_function
from morello.tracing.renewal import ONE
from morello.tracing.results import Constant, Result, result_of
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
    pattern, objects = _shapes(function, shapes, options)
    return TracedFunction(function, pattern, objects).traced


def _shapes(
    function: Callable[..., Any], shapes: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Pattern, list[Any]]:
    """The pattern of arguments that are given by shapes, and what may change."""
    args, kwargs = _ordered(_of(function), shapes, options)
    objects: list[Any] = []
    given = tuple(shape_pattern(each, objects) for each in args)
    named = shape_pattern(kwargs, objects)
    return Several(tuple, None, (Several(tuple, None, given), named)), objects


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
        builder = Builder()
        arguments = [
            as_input(builder, i, leaf.shape) for i, leaf in enumerate(leaves(pattern))
        ]
        run, self.guards = function, Guards(0)
        if guarded:
            outside = Outside(builder, len(arguments), [function, *objects])
            self.guards = outside.guards
            run, *objects = outside.roots
        found: list[Tracer] = []
        made: list[Result | Constant] = []

        def pick(given: Any, place: str) -> Pattern:
            if not isinstance(given, Tracer):
                if isinstance(given, np.ndarray | np.number | int | float):
                    made.append(Constant(given))
                    return Leaf(np.shape(given))
                raise MorelloError(
                    f"{_name(function)} returns {type(given).__name__}, not an array "
                    "that depends on its arguments",
                    "return one array or a tuple of them",
                )
            result, own = result_of(given)
            made.append(result)
            found.extend(own)
            return Leaf(given.shape)

        self._name = _name(function)
        args, kwargs = filled(pattern, iter(arguments), iter(objects))
        with trace_of_one_function():
            results = run(*args, **kwargs)
        self.results = pattern_of(results, pick)
        if not found:
            given = (
                " and ".join(
                    type(each.value).__name__
                    for each in made
                    if isinstance(each, Constant)
                )
                or "none"
            )
            raise MorelloError(
                f"{_name(function)} returns {given}, not an array that depends on its "
                "arguments",
                "return one array or a tuple of them",
            )
        self.made = made
        self.builder = builder
        self.outputs = [_output(builder, value) for value in found]

    @property
    def traced(self) -> Traced:
        """The graph of all outputs.

        Raises:
            MorelloError: it is larger than graphs may be, or several.
        """
        return self.builder.traced(self.outputs)

    def model(self) -> tuple[Model, list[Input]]:
        """The parts that compute all outputs, each once, and what they are given."""
        wanted = list(dict.fromkeys(self.outputs))
        tensors, given = tensors_of(self.builder, wanted, _symbol(self._name))
        return model_of(tensors), given


def _output(builder: Builder, result: Tracer) -> int:
    """The node that a result is, with its axes in the order of the result's."""
    dims = tuple(builder.root(d) for d in result._dims if d != ONE)
    is_node = result._value in builder.nodes
    if not is_node or builder.node_dims(result._value) != dims:
        copied = pointwise(builder, "copy", result)
        return copied._value
    return result._value


def _symbol(name: str) -> str:
    """A name of a function that has no `<lambda>` in it."""
    return name.rpartition(".")[2].strip("<>")


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", function))


class _Program:
    """The kernel of a trace, or of its parts, without the arrays that it reads."""

    def __init__(self, made: TracedFunction, options: dict[str, Any]) -> None:
        self.graph: _Graph | _Parts
        start, limit = time.perf_counter(), Patience.of(options.get("time_limit"))
        if made.builder.is_graph(made.outputs):
            try:
                self.graph = _Graph(made.traced, options)
                return
            except SearchError:
                pass  # its parts have programs
        left = limit.after(time.perf_counter() - start)
        self.graph = _Parts(made, {**options, "time_limit": left})


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
        self._variants: dict[Pattern, _Variants] = {}
        self._plain: dict[tuple[Any, ...], _Variants] = {}
        """By the shapes of arrays of f32 and the classes of objects: a short way."""
        self._classes: set[type] = set()
        """Of objects that were arguments."""
        self._programs: dict[Hashable, _Program] = {}

    __morello_jit__ = True

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
        key = tuple(
            a.shape
            if type(a) is np.ndarray and a.dtype is _F32
            else type(a)
            if type(a) in self._classes
            else None
            for a in args
        )
        known = None if kwargs else self._plain.get(key)
        if known is not None:
            if not self._classes:
                return known(args, ())
            arrays = [a for a in args if type(a) is np.ndarray]
            return known(arrays, [a for a in args if type(a) in self._classes])
        if is_traced(args) or is_traced(kwargs):
            return self._function(*args, **kwargs)
        return self._first(key, args, kwargs)

    def _first(
        self, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call that is not known by its key."""
        arrays = Arrays(_name(self._function))
        pattern = pattern_of(_ordered(self._function, args, kwargs), arrays)
        found = self._for(pattern)
        if not kwargs:
            kinds = {type(a) for a in args if any(a is o for o in arrays.objects)}
            self._classes |= {kind for kind in kinds if is_plain(kind)}
            if None not in key:
                self._plain[key] = found
        return found(arrays.found, arrays.objects)

    def kernel(self, *shapes: Any, **options: Any) -> Kernel:
        """The kernel for arguments of some shapes: to explain, to time, to save."""
        pattern, objects = _shapes(self._function, shapes, options)
        return self._for(pattern).of(objects)[0].kernel

    def _for(self, pattern: Pattern) -> "_Variants":
        found = self._variants.get(pattern)
        if found is None:
            found = _Variants(self._function, pattern, self._program)
            self._variants[pattern] = found
        return found

    def _program(self, made: TracedFunction) -> _Program:
        key = made.builder.key(made.outputs)
        if key not in self._programs:
            self._programs[key] = _Program(made, self._options)
        return self._programs[key]

    def __repr__(self) -> str:
        return f"<morello.jit of {_name(self._function)}>"


_F32 = np.dtype(np.float32)


_MOST_VARIANTS = 16
"""Of a function for one pattern: beyond these the oldest is forgotten."""


class _Variants:
    """A function for arguments of a pattern: a program for each state of what it reads
    besides these, or, where that cannot be noted, a trace in each call.

    Args:
        program: the program of a trace.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        pattern: Pattern,
        program: Callable[[TracedFunction], _Program],
    ) -> None:
        self._function = function
        self._pattern = pattern
        self._program = program
        self._known: list[tuple[Guards, _Compiled]] = []
        self._is_opaque = False

    def of(self, objects: Sequence[Any]) -> tuple["_Compiled", list[Any]]:
        """The function as it is now, and the arrays that it reads besides."""
        if self._is_opaque:
            return self._opaque(objects), []
        roots = [self._function, *objects]
        for guards, compiled in self._known:
            arrays = guards.arrays(roots)
            if arrays is not None:
                return compiled, arrays
        made = arrays = None
        with contextlib.suppress(OpaqueError, Exception):  # of the user's function
            made = self._traced(objects, guarded=True)
            arrays = made.guards.arrays(roots)
        if made is not None and arrays is not None:
            compiled = self._compiled(made)
            self._known.insert(0, (made.guards, compiled))
            del self._known[_MOST_VARIANTS:]
            return compiled, arrays
        # A stand-in was not enough. If the function is wrong, it says so again.
        found = self._opaque(objects)
        self._is_opaque = True
        return found, []

    def _opaque(self, objects: Sequence[Any]) -> "_Compiled":
        try:
            made = self._traced(objects, guarded=False)
        except MorelloError as error:
            noted(error)  # of a function around this one, which is being traced
            raise
        return self._compiled(made)

    def _traced(self, objects: Sequence[Any], guarded: bool) -> TracedFunction:
        return TracedFunction(self._function, self._pattern, objects, guarded)

    def _compiled(self, made: TracedFunction) -> "_Compiled":
        return _Compiled(_name(self._function), made, self._program(made))

    def __call__(self, arrays: Sequence[Any], objects: Sequence[Any]) -> Any:
        compiled, more = self.of(objects)
        return compiled([*arrays, *more] if more else arrays)


class _Compiled:
    """A function that was traced, with the arrays that it holds."""

    def __init__(self, name: str, made: TracedFunction, program: _Program) -> None:
        self._name, self._results, self._made = name, made.results, made.made
        self._graph = program.graph
        self._inputs = program.graph.inputs(made.builder)

    @property
    def kernel(self) -> Kernel:
        """The kernel, or several as one function."""
        return self._graph.kernel

    def __call__(self, arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
        outputs = iter(self._graph(self._inputs, arrays))
        results = [result.of(outputs) for result in self._made]
        if isinstance(self._results, Leaf):
            return results[0]
        return filled(self._results, iter(results))


_Inputs = list[tuple[Input, tuple[int, ...]]]


class _Graph:
    """A graph as a kernel of arrays."""

    def __init__(self, traced: Traced, options: dict[str, Any]) -> None:
        self.kernel = traced.compile(**options)
        spec = self.kernel.spec
        self._shapes = [spec.shape(i) for i in range(len(spec.tensors))]
        self._values = traced.inputs
        self._out = [self._shapes[out] for out in spec.kind.written]
        self._outputs = traced.outputs

    def inputs(self, builder: Builder) -> _Inputs:
        """Inputs of the kernel, each with the shape in which it is read."""
        found = (builder.inputs[value] for value in self._values)
        return [*zip(found, self._shapes, strict=False)]

    def __call__(
        self, inputs: _Inputs, arrays: Sequence[np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        given = [_argument(found, arrays, shape) for found, shape in inputs]
        made = [np.empty(shape, np.float32) for shape in self._out]
        self.kernel(*given, *made)
        return [made[place] for place in self._outputs]


class _Parts:
    """Several graphs as one function of arrays."""

    def __init__(self, made: TracedFunction, options: dict[str, Any]) -> None:
        model, given = made.model()
        self.kernel = model.compile(**options)
        number = {id(found): v for v, found in made.builder.inputs.items()}
        self._values = [number[id(each)] for each in given]
        self._shapes = [p.shape for p in model.parameters[: len(given)]]
        wanted = list(dict.fromkeys(made.outputs))
        self._outputs = [wanted.index(output) for output in made.outputs]

    def inputs(self, builder: Builder) -> _Inputs:
        """Inputs of the kernel, each with the shape in which it is read."""
        found = (builder.inputs[value] for value in self._values)
        return [*zip(found, self._shapes, strict=True)]

    def __call__(
        self, inputs: _Inputs, arrays: Sequence[np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        made = self.kernel(*(_argument(i, arrays, shape) for i, shape in inputs))
        results = made if isinstance(made, tuple) else (made,)
        return [results[place] for place in self._outputs]


def _argument(
    found: Input, arrays: Sequence[np.ndarray[Any, Any]], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Array that the kernel reads: the input itself where shape and layout fit."""
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
