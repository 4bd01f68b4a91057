"""A stand-in for an array of f32 that notes what is done with it.

NumPy's functions and operators on a `Tracer` become nodes of a graph (`Builder`). An
axis of one element has no dimension there, so that it broadcasts. What has no place in
a graph is refused, with the function's name and the line.
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from morello.lazy import cached_property
from morello.spec.graphs.expression import (
    NAN,
    Call,
    Constant,
    Expression,
    Reference,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import plain
from morello.tracing.builder import Builder, Input
from morello.tracing.kinds import DTYPES, kind_of
from morello.tracing.refusals import called, not_traced, noted, refusal
from morello.tracing.renewal import ONE, Cut, OutOfReachError, fresh, renewed
from morello.tracing.views import View

Dims = tuple[int, ...]
"""The dimension of each axis, or `ONE`."""

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""What each of NumPy's functions of elements becomes: `elementwise.py`."""

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's other functions that are traced: `array_functions.py`."""

INDEXING: dict[str, Callable[..., Any]] = {}
"""Lists as indices, assignments, and other shapes: `indexing.py`, `reshapes.py`."""

_MOST_ROWS = 8
"""Of an array that a loop of Python may take apart."""


class Tracer(NDArrayOperatorsMixin):
    """An array that is not there yet: ``value`` of a graph, with a shape."""

    __array_priority__ = 1000

    def __init__(
        self,
        builder: Builder,
        value: int,
        dims: Dims,
        own: bool = False,
        kind: str = "f",
    ) -> None:
        self._builder = builder
        self._value = value
        self._dims = dims
        self.kind = kind
        """Of NumPy's result: ``f`` for float32, ``b`` for truth values, ``i`` for whole
        numbers, which a graph has as float32."""
        self._own = own
        """Whether no other array of NumPy would share its memory."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        sizes = self._builder.sizes
        return tuple(1 if d == ONE else sizes[d] for d in self._dims)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's, of the result."""
        return DTYPES[self.kind]

    def __len__(self) -> int:
        if not self._dims:
            raise refusal("an array without axes has no length")
        return self.shape[0]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """NumPy's class, so that `isinstance` answers as it does for arrays."""
        return np.ndarray

    def __repr__(self) -> str:
        return f"Tracer(shape={self.shape})"

    def __bool__(self) -> bool:
        raise refusal(
            "the value of an array is not known while a function is traced",
            "decide by shapes, or outside of the function; np.where chooses by element",
        )

    __float__ = __int__ = __index__ = __bool__

    def __iter__(self) -> Any:
        if len(self) > _MOST_ROWS:
            raise refusal(
                f"iterating over an array of {len(self)} rows is not traced",
                "use whole arrays",
            )
        return iter([self[i] for i in range(len(self))])

    def __setitem__(self, index: Any, value: Any) -> None:
        INDEXING["assign"](self, index, value)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise refusal(
            "an array is not there yet while a function is traced",
            "use NumPy's functions on it as it is; several results are a tuple",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'Tracer' object has no attribute '{name}'")
        known = getattr(np, name, None)
        if known in FUNCTIONS or known in UFUNCS:

            def method(*args: Any, **kwargs: Any) -> Any:
                return known(self, *args, **kwargs)  # type: ignore[misc]

            return method
        raise not_traced(f"array.{name}", (n for n in vars(Tracer) if n[0] != "_"))

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any
    ) -> Any:
        if ufunc is np.multiply and method == "outer":
            return FUNCTIONS[np.outer](*inputs, flat=False)
        if method != "__call__" or any(v is not None for v in kwargs.values()):
            options = ", ".join(kwargs) or "no options"
            raise refusal(
                f"np.{ufunc.__name__}.{method} with {options} is not traced"
                if method != "__call__"
                else f"np.{ufunc.__name__} with {options} is not traced",
                "call the function itself, and let it make a new array",
            )
        known = UFUNCS.get(ufunc)
        if known is None:
            raise not_traced(f"np.{ufunc.__name__}", {f.__name__ for f in UFUNCS})
        try:
            found = known(*inputs)
        except Exception as error:
            noted(error)
            raise
        found.kind = kind_of(ufunc, inputs)
        return found

    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any
    ) -> Any:
        module = str(getattr(function, "__module__", "numpy"))
        name = f"{module.replace('numpy', 'np', 1)}.{function.__name__}"
        known = FUNCTIONS.get(function)
        if known is None:
            raise not_traced(name, {f.__name__ for f in FUNCTIONS})
        return called(known, name, args, kwargs)

    def _changed(self, ufunc: Any, other: Any) -> "Tracer":
        """`+=` and its kin: another array under the same name.

        Raises:
            MorelloError: it is an argument, or seen otherwise too, where NumPy would
                change both.
        """
        sign = _SIGNS[ufunc]
        if not self._own:
            raise refusal(
                f"{sign}= on an argument, or on a part of an array, is not traced",
                f"write x = x {sign} …, which makes a new array",
            )
        found: Tracer = ufunc(self, other)
        if found.shape != self.shape:
            raise refusal(
                f"{sign}= of an array {self.shape} has the shape {found.shape}",
                f"write x = x {sign} …, which makes a new array",
            )
        self._value, self._dims = found._value, found._dims
        return self

    def __iadd__(self, other: Any) -> "Tracer":
        return self._changed(np.add, other)

    def __isub__(self, other: Any) -> "Tracer":
        return self._changed(np.subtract, other)

    def __imul__(self, other: Any) -> "Tracer":
        return self._changed(np.multiply, other)

    def __itruediv__(self, other: Any) -> "Tracer":
        return self._changed(np.divide, other)

    @property
    def T(self) -> "Tracer":  # noqa: N802 (NumPy's name)
        """Axes the other way round."""
        return self.transpose()

    @property
    def mT(self) -> "Tracer":  # noqa: N802 (NumPy's name)
        """The last two axes the other way round."""
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> "Tracer":
        """Axes in another order: nothing is computed."""
        given = axes[0] if len(axes) == 1 and not is_integer(axes[0]) else axes
        is_open = not axes or given is None
        order = tuple(range(self.ndim)[::-1] if is_open else given)
        if sorted(a % max(self.ndim, 1) for a in order) != list(range(self.ndim)):
            raise refusal(f"{order} is no order of {self.ndim} axes")
        return self._seen(tuple(self._dims[axis] for axis in order))

    def swapaxes(self, axis1: int, axis2: int) -> "Tracer":
        """Two axes the other way round."""
        (a,), (b,) = axes_of(self, axis1), axes_of(self, axis2)
        dims = list(self._dims)
        dims[a], dims[b] = dims[b], dims[a]
        return self._seen(tuple(dims))

    def _seen(self, dims: Dims) -> "Tracer":
        """View of the value with axes in another order, or with axes of size one."""
        self._own = False
        return Tracer(self._builder, self._value, dims, kind=self.kind)

    def __getitem__(self, index: Any) -> "Tracer":
        """New axes (``None``), whole axes (``:``, ``...``), slices and integers."""
        parts = index if isinstance(index, tuple) else (index,)
        if any(is_list(part) for part in parts):
            picked: Tracer = INDEXING["pick"](self, parts)
            return picked
        given = sum(part is not None and part is not Ellipsis for part in parts)
        if given > self.ndim:
            raise refusal(f"{given} indices of an array of {self.ndim} axes")
        dims: list[Any] = []
        cuts: dict[int, Cut] = {}
        rest = list(zip(self._dims, self.shape, strict=True))
        for part in parts:
            if part is None:
                dims.append(ONE)
            elif part is Ellipsis:
                for _ in range(self.ndim - given):
                    dims.append(rest.pop(0)[0])
            else:
                dims += self._cut(part, *rest.pop(0), cuts)
        dims += [dim for dim, _ in rest]
        if not cuts:
            return self._seen(tuple(dims))
        try:
            value = renewed(self._builder, self._value, cuts)
        except OutOfReachError:
            return self._stored()[index]
        self._own = False
        return Tracer(self._builder, value, tuple(dims), kind=self.kind)

    def _stored(self) -> "Tracer":
        """The array in memory, where it is computed or read through windows.

        Raises:
            MorelloError: it is stored, and cannot be read so.
        """
        found = self._builder.inputs.get(self._value)
        if found is None:
            return stored(self)
        if all(axis.is_plain for axis in found.axes):
            raise refusal(
                "an array that is computed is not traced backwards",
                "turn arguments, or the result",
            )
        return stored(self.copied())

    def copied(self) -> "Tracer":
        """Copy of the elements, as a computed value."""
        dims = tuple(self._builder.root(d) if d != ONE else ONE for d in self._dims)
        return node(self._builder, dims, MAP, Call("copy", (Reference(self._value),)))

    def _cut(self, part: Any, dim: Any, size: int, cuts: dict[int, Cut]) -> list[Any]:
        """The axes that are left of one by an index, which goes to ``cuts``."""
        if is_integer(part):
            place = operator.index(part)
            if not -size <= place < size:
                raise refusal(f"the index {place} of an axis of {size} elements")
            if dim != ONE:
                root = self._builder.root(dim)
                cuts[root] = Cut((), place % size, 1, 1, size)
            return []
        if not isinstance(part, slice):
            shown = part if isinstance(part, slice | str) else type(part).__name__
            raise refusal(
                f"an index of {shown} is not traced",
                "use integers, slices, lists, None or ...; np.where chooses by element",
            )
        start, stop, step = part.indices(size)
        count = len(range(start, stop, step))
        if not count:
            raise refusal(f"the slice {start}:{stop}:{step} of {size} is empty")
        if count == size and (step == 1 or dim == ONE):
            return [dim]
        new = () if count == 1 else (self._builder.dimension(count),)
        cuts[self._builder.root(dim)] = Cut(new, start, step, count, size)
        return [*new] or [ONE]

    def sum(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Sum along axes (`numpy.sum`)."""
        return reduced(self, "sum", axis, keepdims, other)

    def max(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Maximum along axes (`numpy.max`)."""
        return reduced(self, "max", axis, keepdims, other)

    def min(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Minimum along axes (`numpy.min`)."""
        return reduced(self, "min", axis, keepdims, other)

    def mean(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Mean along axes (`numpy.mean`)."""
        total = reduced(self, "sum", axis, keepdims, other, "mean")
        share = 1.0
        for place in axes_of(self, axis):
            share /= self.shape[place]
        return pointwise(self._builder, "mul", total, share)

    def astype(self, dtype: Any, **options: Any) -> "Tracer":
        """f32, whole numbers of 64 bits and truth values."""
        kinds = {held: kind for kind, held in DTYPES.items()}
        kind = kinds.get(np.dtype(dtype))
        if kind is None:
            raise refusal(f"the dtype {np.dtype(dtype)} is not traced", "use float32")
        found: Any = self
        if kind == "b" != self.kind:
            found = np.not_equal(self, 0.0)
        elif kind == "i" and self.kind == "f":
            found = np.trunc(self)
        made: Tracer = found.copy()
        made.kind = kind
        return made

    def copy(self, order: str = "C") -> "Tracer":
        """Independent copy of the array (`numpy.copy`)."""
        return Tracer(self._builder, self._value, self._dims, True, self.kind)

    def flatten(self, order: str = "C") -> "Tracer":
        """One axis."""
        return self.reshape(-1, order=order)

    def reshape(self, *shape: Any, order: str = "C") -> "Tracer":
        """Axes of one element added or left out; of an argument, any other shape."""
        given = shape[0] if len(shape) == 1 and not is_integer(shape[0]) else shape
        if order != "C":
            raise refusal(f"reshape with order={order!r} is not traced")
        found: Tracer = INDEXING["reshape"](self, tuple(map(operator.index, given)))
        return found


_SIGNS = {np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/"}


def is_integer(given: Any) -> bool:
    """Whether it is a whole number."""
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def is_list(index: Any) -> bool:
    """Whether it is an index of known places."""
    return isinstance(index, list | np.ndarray) and not isinstance(index, Tracer)


class Deferred(Tracer):
    """Array computed when something reads it; as a result it may cost nothing."""

    _made: cached_property[Tracer]
    """What it is then, of each subclass."""

    @property
    def _value(self) -> int:  # type: ignore[override]
        return self._made._value

    @property
    def _dims(self) -> Dims:  # type: ignore[override]
        return self._made._dims


def traced(builder: Builder, given: Any) -> Tracer | None:
    """A value of the graph; None for a number, which is a constant."""
    if isinstance(given, Tracer):
        if given._builder is not builder:
            raise refusal("a value of another function that is traced is used")
        return given
    if isinstance(given, int | float | np.integer | np.floating | np.bool_):
        return None
    array = np.asarray(given)
    if array.dtype.kind not in "fiub":
        held = isinstance(given, np.ndarray | np.generic)
        what = f"an array of dtype {array.dtype}" if held else type(given).__name__
        raise refusal(f"{what} is not traced", "use numbers of float32")
    if array.ndim == 0:
        return None
    return as_input(builder, -1, array.shape, np.asarray(array, np.float32))


def as_input(
    builder: Builder,
    argument: int,
    shape: Sequence[int],
    array: Any = None,
    views: tuple[View, ...] = (),
    source: int = -1,
) -> Tracer:
    """An input of the graph that has a shape."""
    if any(extent < 1 for extent in shape):
        raise refusal(f"an array of shape {tuple(shape)} has no elements")
    dims = tuple(ONE if n == 1 else builder.dimension(n) for n in shape)
    axes = plain(*(d for d in dims if d != ONE))
    kept = tuple(place for place, d in enumerate(dims) if d != ONE)
    value = builder.input(Input(argument, axes, kept, len(shape), array, views, source))
    return Tracer(builder, value, dims)


def stored(array: Tracer) -> Tracer:
    """An array that is read as an argument is: what is computed is stored first."""
    builder, made = array._builder, array._builder.nodes.get(array._value)
    if made is None:
        return array
    own = builder.node_dims(array._value)
    shape = [builder.sizes[dim] for dim in own]
    whole = as_input(builder, -1, shape, source=array._value)
    dims = dict(zip(own, whole._dims, strict=True))
    seen = (d if d == ONE else dims[builder.root(d)] for d in array._dims)
    return Tracer(builder, whole._value, tuple(seen))


def pointwise(builder: Builder, name: str, *given: Any) -> Tracer:
    """A function of elements; shapes broadcast as NumPy's do."""
    arguments = [traced(builder, one) for one in given]
    arrays = [a for a in arguments if a is not None]
    rank = max(a.ndim for a in arrays)
    labels = [tuple(range(rank - a.ndim, rank)) for a in arrays]
    arrays, dims = aligned(builder, arrays, labels, name)
    rest = iter(arrays)
    expression = Call(
        name,
        tuple(
            _constant(one) if a is None else Reference(next(rest)._value)
            for one, a in zip(given, arguments, strict=True)
        ),
    )
    out = tuple(dims.get(place, ONE) for place in range(rank))
    return node(builder, out, MAP, expression)


def _constant(number: Any) -> Expression:
    value = float(number)
    if math.isnan(value):
        return NAN
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if np.isinf(rounded) and np.isfinite(value):
        raise refusal(
            f"the number {value:.3g} is too large for float32",
            "use np.finfo(np.float32).max, or np.inf",
        )
    return Constant(value)


def aligned(
    builder: Builder,
    arrays: list[Tracer],
    labels: Sequence[Sequence[Any]],
    name: str,
) -> tuple[list[Tracer], dict[Any, Any]]:
    """Arrays whose axes of one label are along one dimension, and that of each label.

    An array that is along two labels at once becomes another value, with dimensions of
    its own, for the second.
    """
    dims: dict[Any, Any] = {}
    found = []
    for array, own in zip(arrays, labels, strict=True):
        if not _join(builder, array, own, dims, arrays, name):
            value, known = fresh(builder, array._value)
            again = (d if d == ONE else known[builder.root(d)] for d in array._dims)
            array = Tracer(builder, value, tuple(again))
            joined = _join(builder, array, own, dims, arrays, name)
            assert joined
        found.append(array)
    return found, {label: dim for label, dim in dims.items() if dim != ONE}


def _join(
    builder: Builder,
    array: Tracer,
    labels: Sequence[Any],
    dims: dict[Any, Any],
    arrays: list[Tracer],
    name: str,
) -> bool:
    """Make the dimensions of an array those of its labels; False where it would have
    one of them twice."""
    known = {builder.root(d): label for label, d in dims.items() if d != ONE}
    for label, dim in zip(labels, array._dims, strict=True):
        if dim == ONE:
            dims.setdefault(label, ONE)
            continue
        if known.get(builder.root(dim), label) != label:
            return False
        other = dims.get(label, ONE)
        if other != ONE and builder.root(other) != builder.root(dim):
            if builder.sizes[other] != builder.sizes[dim]:
                shapes = " and ".join(str(one.shape) for one in arrays)
                raise refusal(f"the shapes {shapes} do not broadcast in {name}")
            if builder.clash(other, dim):
                return False
            builder.unify(other, dim)
        dims[label] = builder.root(dim)
    return True


def node(
    builder: Builder, dims: Dims, reduction: str, expression: Expression
) -> Tracer:
    """A value that is computed."""
    axes = tuple(d for d in dims if d != ONE)
    return Tracer(builder, builder.node(axes, reduction, expression), dims, own=True)


def axes_of(array: Tracer, axis: Any) -> tuple[int, ...]:
    """Places of axes, from what NumPy takes."""
    given = range(array.ndim) if axis is None else axis
    places = (given,) if is_integer(given) else tuple(given)
    for place in places:
        if not is_integer(place) or not -array.ndim <= place < array.ndim:
            raise refusal(f"axis {place} of an array of {array.ndim} axes")
    return tuple(sorted({int(place) % array.ndim for place in places}))


def reduced(
    array: Tracer,
    reduction: str,
    axis: Any,
    keepdims: bool,
    other: dict[str, Any] | None = None,
    name: str = "",
) -> Tracer:
    """A reduction along some axes."""
    if other:
        raise refusal(
            f"{name or reduction} with {', '.join(other)} is not traced",
            "leave the option out",
        )
    places = axes_of(array, axis)
    kept = [ONE if place in places else dim for place, dim in enumerate(array._dims)]
    gone = [array._dims[p] for p in places if array._dims[p] != ONE]
    found = array
    if gone:
        reference = Reference(array._value)
        found = node(array._builder, tuple(kept), reduction, reference)
    dims = tuple(d for place, d in enumerate(kept) if keepdims or place not in places)
    kind = "i" if reduction == "sum" and array.kind != "f" else array.kind
    return Tracer(array._builder, found._value, dims, True, kind)
