"""`jit`: a function on NumPy arrays is traced by its first call, and compiled."""

import contextlib
import functools
import inspect
import time
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from morello.compiler.kernel import Kernel
from morello.errors import MorelloError, SearchError
from morello.frontends.model import Model, model_of, whole_model
from morello.frontends.nodes.tensors import Source, Tensors
from morello.frontends.ranged import probe_sizes, ranged
from morello.frontends.refusals import ModelError
from morello.search import Patience
from morello.tracing.arguments import (
    Arrays,
    Leaf,
    Pattern,
    Several,
    filled,
    function_name,
    is_traced,
    pattern_of,
    shape_pattern,
)
from morello.tracing.functions import array_functions  # noqa: F401 (fills the tables)
from morello.tracing.guards import Guards
from morello.tracing.outside import OpaqueError, is_plain
from morello.tracing.refusals import noted
from morello.tracing.sizes import CallSize, is_longer, of_every_size
from morello.tracing.traced import TracedFunction, TraceRequest

Array = np.ndarray[Any, np.dtype[Any]]


def trace(function: Callable[..., Any], *shapes: Any, **options: Any) -> Model:
    """The program of a function for arguments of some shapes: one graph where it fits
    in one, and several parts otherwise. Arrays that the function holds are constants.

    Args:
        function: on arrays, with NumPy's functions and those of `morello.nn`.
        shapes: of each argument: a tuple, or an array of the shape; lists, tuples and
            dictionaries of them; what is no array as it is.
        options: arguments by name, likewise.

    Raises:
        MorelloError: it does what is not traced; the message has the line.
    """
    _check_function(function, "trace")
    pattern, objects = _shapes(function, shapes, options)
    return TracedFunction(function, pattern, objects).model()


def _check_function(function: Any, name: str) -> None:
    if not callable(function):
        raise MorelloError(
            f"morello.{name} is given {type(function).__name__}, not a function",
            "give a function on arrays",
        )


def _shapes(
    function: Callable[..., Any], shapes: tuple[Any, ...], options: dict[str, Any]
) -> tuple[Pattern, list[Any]]:
    """The pattern of arguments that are given by shapes, and what may change."""
    args, kwargs = _ordered(_of(function), shapes, options)
    objects: list[Any] = []
    positional = tuple(shape_pattern(each, objects) for each in args)
    named = shape_pattern(kwargs, objects)
    return Several(tuple, None, (Several(tuple, None, positional), named)), objects


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


Reading = Callable[[Callable[[Tensors], Model]], Model]
"""Gives the model of a program, as a function reads its tensors."""


class _NoWholeError(MorelloError):
    """A program is not one graph."""


def _whole(tensors: Tensors) -> Model:
    model = whole_model(tensors)
    if model is None:
        raise _NoWholeError(f"{tensors.name} is not one graph")
    return model


def _compiled_program(read: Reading, options: dict[str, Any]) -> Kernel:
    """The kernel of a program: of one graph if that has a program within the time, else
    of its parts."""
    start, limit = time.perf_counter(), Patience.of(options.get("time_limit"))
    # Its parts have programs, and may take any size where one graph does not.
    with contextlib.suppress(SearchError, ModelError, _NoWholeError):
        return read(_whole).compile(**options)
    left = limit.after(time.perf_counter() - start)
    return read(model_of).compile(**{**options, "time_limit": left})


class Jitted:
    """A function that is compiled for the shapes that it is called with.

    Args:
        function: see `trace`.
        options: of `morello.compile`.
        size: that each call says; None where shapes are settled.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        size: CallSize | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options
        self._size = size
        self._variants: dict[Pattern, _Variants] = {}
        self._plain: dict[tuple[Any, ...], _Variants] = {}
        """Variants by shapes, dtypes and classes of arguments: a short way."""
        self._classes: set[type] = set()
        """The classes of objects that were arguments."""
        self._programs: dict[Hashable, Kernel] = {}
        self._ranged: list[tuple[Tensors, Kernel]] = []
        """Kernels of every size, and their programs at the greatest."""

    __morello_jit__ = True

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The method of an object, which is part of the function."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, a new array, or several as the function has them.

        Args:
            args: arrays in any layout: others than C-contiguous are copied;
                Python's numbers with a point, which are arrays without axes; lists,
                tuples and dictionaries of them. All else is part of the function,
                which is traced and compiled again where it differs.

        Raises:
            MorelloError: no graph reads an argument's dtype; see `trace`.
        """
        key = tuple(
            (a.shape if a.dtype is _F32 else (a.dtype, a.shape))
            if type(a) is np.ndarray
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
        collected = Arrays(function_name(self._function))
        pattern = pattern_of(_ordered(self._function, args, kwargs), collected)
        variants = self._for(pattern)
        if not kwargs:
            kinds = {type(a) for a in args if any(a is o for o in collected.objects)}
            self._classes |= {kind for kind in kinds if is_plain(kind)}
            if None not in key:
                self._plain[key] = variants
        return variants(collected.arrays, collected.objects)

    def kernel(self, *shapes: Any, **options: Any) -> Kernel:
        """The kernel for arguments of some shapes: to explain, to time, to save."""
        pattern, objects = _shapes(self._function, shapes, options)
        return self._for(pattern).of(objects)[0].kernel

    def _for(self, pattern: Pattern) -> "_Variants":
        variants = self._variants.get(pattern)
        if variants is None:
            if self._size is not None:
                self._size.said(pattern)
            variants = _Variants(self._function, pattern, self._program)
            self._variants[pattern] = variants
        return variants

    def _program(self, tensors: Tensors, traced: TraceRequest) -> Kernel:
        if self._size is not None:
            kernel = self._of_every_size(tensors, traced, self._size)
            if kernel is not None:
                return kernel
        key = tuple(tensors.all), tuple(tensors.results)
        if key not in self._programs:
            self._programs[key] = _compiled_program(
                lambda model: model(tensors), self._options
            )
        return self._programs[key]

    def _of_every_size(
        self, tensors: Tensors, traced: TraceRequest, size: CallSize
    ) -> Kernel | None:
        """The kernel of every size; None where the function does something else at
        that of a call.

        Args:
            tensors: what it does in this call.
            traced: the same, and what it is traced with.

        Raises:
            ModelError: it depends on the size in another way than by how long arrays
                are.
        """
        size_args, greatest = size.said(traced.pattern), size.sizes[-1]
        for longer, kernel in self._ranged:
            if is_longer(tensors, size_args, longer, greatest):
                return kernel
        probes = {n: traced.at(size, n) for n in probe_sizes(size.sizes)}
        most = of_every_size(probes, size.sizes[0])

        def read(model: Callable[[Tensors], Model]) -> Model:
            return ranged(lambda n: model(probes[n]), size.sizes, size.name)

        if not all(is_longer(p, n, most, greatest) for n, p in probes.items()):
            read(model_of)  # which says more
            raise MorelloError(
                f"{size.function} computes something else where {size.name} is "
                f"{greatest} than at {', '.join(map(str, [*probes][1:]))}",
                f"write it for any {size.name}, or leave 'sizes' out",
            )
        if not is_longer(tensors, size_args, most, greatest):
            return None
        kernel = _compiled_program(read, self._options)
        self._ranged.append((most, kernel))
        return kernel

    def __repr__(self) -> str:
        return f"<morello.jit of {function_name(self._function)}>"


_F32, _BOOL = np.dtype(np.float32), np.dtype(bool)


_MOST_VARIANTS = 16
"""The most variants of a function for one pattern of arguments: beyond these the
oldest is forgotten."""


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
        program: Callable[[Tensors, TraceRequest], Kernel],
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
        trace = arrays = None
        with contextlib.suppress(OpaqueError, Exception):  # of the user's function
            request = self._request(objects, guarded=True)
            trace = request.trace()
            arrays = trace.guards.arrays(roots)
        if trace is not None and arrays is not None:
            compiled = self._compiled(trace, request)
            self._known.insert(0, (trace.guards, compiled))
            del self._known[_MOST_VARIANTS:]
            return compiled, arrays
        # A stand-in was not enough. If the function is wrong, it says so again.
        opaque = self._opaque(objects)
        self._is_opaque = True
        return opaque, []

    def _opaque(self, objects: Sequence[Any]) -> "_Compiled":
        request = self._request(objects, guarded=False)
        try:
            trace = request.trace()
        except MorelloError as error:
            noted(error)  # of a function around this one, which is being traced
            raise
        return self._compiled(trace, request)

    def _request(self, objects: Sequence[Any], guarded: bool) -> TraceRequest:
        return TraceRequest(self._function, self._pattern, objects, guarded)

    def _compiled(self, trace: TracedFunction, request: TraceRequest) -> "_Compiled":
        tensors, sources = trace.program(holds=False)
        return _Compiled(trace, sources, self._program(tensors, request))

    def __call__(self, arrays: Sequence[Any], objects: Sequence[Any]) -> Any:
        compiled, more = self.of(objects)
        return compiled([*arrays, *more] if more else arrays)


class _Compiled:
    """A function that was traced, with the arrays that it holds."""

    def __init__(
        self, traced: TracedFunction, sources: list[Source], kernel: Kernel
    ) -> None:
        self.kernel = kernel
        self._results, self._returned, self._sources = (
            traced.results,
            traced.returned,
            sources,
        )

    def __call__(self, arrays: Sequence[Array]) -> Any:
        returned = self.kernel(*(_argument(source, arrays) for source in self._sources))
        outputs = returned if isinstance(returned, tuple) else (returned,)
        results = [result.of(outputs) for result in self._returned]
        if isinstance(self._results, Leaf):
            return results[0]
        return filled(self._results, iter(results))


def _argument(source: Source, arrays: Sequence[Array]) -> Array:
    """An array as the kernel reads it: itself where its layout is that."""
    array = arrays[source.argument] if source.array is None else source.array
    if array.dtype is _BOOL:
        array = array.view(np.uint8)
    if array.flags.c_contiguous:
        return array
    return np.ascontiguousarray(array)


def jit(
    function: Callable[..., Any] | None = None,
    *,
    sizes: Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """Make a function of arrays one that is compiled when it is called:
    ``@morello.jit``.

    The first call with arguments of some shapes and dtypes traces the function into a
    graph, searches the best program and compiles it; later calls run that. Arguments
    are arrays of f32, f16, bf16, integers of 8 to 32 bits and truth values, and
    numbers; results are new arrays of NumPy's dtypes, float32 for float64.

    Args:
        function: on arrays, as `trace` takes it. Arguments that are neither arrays
            nor numbers with a point are part of it: others are compiled anew.
        sizes: the parameters of which each call says a size, by one kernel: the
            first with a range, others with its name, each after the sizes of the
            dimensions outside of it: ``{"x": "8xrows=1..512", "y": "rows"}``.
        options: of `morello.compile` (``threads``, ``target``, ``db``,
            ``time_limit``), and ``jobs`` and ``partition`` of `Model.compile`.

    Raises:
        ArgumentError: ``sizes`` names no parameter, or says two sizes.
        MorelloError: it is no function; in a call, what is not traced, with its line.
    """
    if function is None:
        return functools.partial(jit, sizes=sizes, **options)
    _check_function(function, "jit")
    size = CallSize.of(function, sizes) if sizes else None
    return Jitted(function, options, size)
