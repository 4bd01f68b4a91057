"""`jit`: a function on NumPy arrays is traced by its first call, and compiled."""

import contextlib
import dataclasses
import functools
import inspect
import time
import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from morello.compiler.kernel import Kernel
from morello.errors import MorelloError, SearchError
from morello.frontends.model import Model, model_of, whole_model
from morello.frontends.nodes.tensors import Access, Given, Tensors, own_axes
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
from morello.tracing.guards import Guards
from morello.tracing.kinds import DTYPES
from morello.tracing.outside import OpaqueError, Outside, is_plain
from morello.tracing.recording import Recording
from morello.tracing.refusals import noted, trace_of_one_function
from morello.tracing.tracer import Tracer, argument

Array = np.ndarray[Any, np.dtype[Any]]


def trace(function: Callable[..., Any], *shapes: Any, **options: Any) -> Model:
    """The program of a function for arguments of some shapes: one graph where it fits
    in one, and several parts otherwise. Arrays that the function holds are constants.

    Args:
        function: on arrays of f32, with NumPy's functions and those of `morello.nn`.
        shapes: of each argument: a tuple, or an array of the shape; lists, tuples and
            dictionaries of them; what is no array as it is.
        options: arguments by name, likewise.

    Raises:
        MorelloError: it does what is not traced; the message has the line.
    """
    pattern, objects = _shapes(function, shapes, options)
    return TracedFunction(function, pattern, objects).model()


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
        self.name = _name(function)
        self._recording = Recording(self.name.rpartition(".")[2].strip("<>"))
        arguments = [
            argument(self._recording, i, leaf.shape)
            for i, leaf in enumerate(leaves(pattern))
        ]
        run, self.guards = function, Guards(0)
        if guarded:
            roots = [function, *objects]
            outside = Outside(self._recording, len(arguments), roots)
            self.guards = outside.guards
            run, *objects = outside.roots
        self.made: list[Result | Constant] = []
        self._outputs: dict[int, int] = {}
        """By root: the tensor that is a result."""
        args, kwargs = filled(pattern, iter(arguments), iter(objects))
        with trace_of_one_function():
            results = run(*args, **kwargs)
        self.results = pattern_of(results, self._result)
        if not self._outputs:
            given = " and ".join(
                type(each.value).__name__
                for each in self.made
                if isinstance(each, Constant)
            )
            raise MorelloError(
                f"{self.name} returns {given or 'none'}, not an array that depends on "
                "its arguments",
                "return one array or a tuple of them",
            )

    def _result(self, given: Any, place: str) -> Pattern:
        """Notes a result."""
        if isinstance(given, Tracer):
            number = self._output(given)
            self.made.append(Result(number, given.shape, DTYPES[given.kind]))
            return Leaf(given.shape)
        if isinstance(given, np.ndarray | np.number | int | float):
            self.made.append(Constant(given))
            return Leaf(np.shape(given))
        raise MorelloError(
            f"{self.name} returns {type(given).__name__}, not an array that depends "
            "on its arguments",
            "return one array or a tuple of them",
        )

    def _output(self, result: Tracer) -> int:
        """Index of the output that has the elements of a result; equal results share
        one."""
        tensors, tensor = self._recording.tensors, result.stored()
        root = tensors.root(tensor)
        if isinstance(tensors.all[root], Given):
            shape = tensors.all[root].shape
            copy = self._recording.copy(Access(root, own_axes(shape)), shape)
            root, tensor = copy, self._recording.view(copy, result.shape)
        self._outputs.setdefault(root, tensor)
        return list(self._outputs).index(root)

    def program(self, holds: bool) -> tuple[Tensors, list[Given]]:
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
    """Which output."""
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
        """A copy of it."""
        return np.array(self.value)[()]


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", function))


def _compiled_program(tensors: Tensors, options: dict[str, Any]) -> Kernel:
    """The kernel of a program: of one graph if that has a program within the time, else
    of its parts."""
    start, limit = time.perf_counter(), Patience.of(options.get("time_limit"))
    model = whole_model(tensors)
    if model is not None:
        with contextlib.suppress(SearchError):  # its parts have programs
            return model.compile(**options)
    left = limit.after(time.perf_counter() - start)
    return model_of(tensors).compile(**{**options, "time_limit": left})


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
        self._programs: dict[Hashable, Kernel] = {}

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
        variants = self._for(pattern)
        if not kwargs:
            kinds = {type(a) for a in args if any(a is o for o in arrays.objects)}
            self._classes |= {kind for kind in kinds if is_plain(kind)}
            if None not in key:
                self._plain[key] = variants
        return variants(arrays.found, arrays.objects)

    def kernel(self, *shapes: Any, **options: Any) -> Kernel:
        """The kernel for arguments of some shapes: to explain, to time, to save."""
        pattern, objects = _shapes(self._function, shapes, options)
        return self._for(pattern).of(objects)[0].kernel

    def _for(self, pattern: Pattern) -> "_Variants":
        variants = self._variants.get(pattern)
        if variants is None:
            variants = _Variants(self._function, pattern, self._program)
            self._variants[pattern] = variants
        return variants

    def _program(self, tensors: Tensors) -> Kernel:
        key = tuple(tensors.all), tuple(tensors.results)
        if key not in self._programs:
            self._programs[key] = _compiled_program(tensors, self._options)
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
        program: the kernel of a trace.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        pattern: Pattern,
        program: Callable[[Tensors], Kernel],
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
        opaque = self._opaque(objects)
        self._is_opaque = True
        return opaque, []

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
        tensors, given = made.program(holds=False)
        return _Compiled(made, given, self._program(tensors))

    def __call__(self, arrays: Sequence[Any], objects: Sequence[Any]) -> Any:
        compiled, more = self.of(objects)
        return compiled([*arrays, *more] if more else arrays)


class _Compiled:
    """A function that was traced, with the arrays that it holds."""

    def __init__(
        self, made: TracedFunction, given: list[Given], kernel: Kernel
    ) -> None:
        self.kernel = kernel
        self._results, self._made, self._given = made.results, made.made, given

    def __call__(self, arrays: Sequence[Array]) -> Any:
        made = self.kernel(*(_argument(given, arrays) for given in self._given))
        outputs = made if isinstance(made, tuple) else (made,)
        results = [result.of(outputs) for result in self._made]
        if isinstance(self._results, Leaf):
            return results[0]
        return filled(self._results, iter(results))


def _argument(given: Given, arrays: Sequence[Array]) -> Array:
    """An array as the kernel reads it: itself where its layout is that."""
    array = arrays[given.argument] if given.array is None else given.array
    if array.flags.c_contiguous:
        return array
    return np.ascontiguousarray(array)


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
