"""A stand-in for an array of f32 that notes what is done with it.

NumPy's functions and operators on a `Tracer` become nodes of a graph (`Builder`). An
axis of one element has no dimension there, so that it broadcasts. What has no place in
a graph is refused, with the function's name and the line.
"""

import operator
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from morello.errors import MorelloError
from morello.spec.graphs.expression import Call, Constant, Expression, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.operand import Window
from morello.tracing.builder import Builder, Input

ONE = -1
"""The dimension of an axis of one element."""

Dims = tuple[Any, ...]
"""The dimension of each axis, `ONE`, or a `Window`."""

_UNARY = {
    np.abs: "abs",
    np.exp: "exp",
    np.log: "log",
    np.negative: "neg",
    np.sqrt: "sqrt",
    np.square: "square",
    np.tanh: "tanh",
}
_BINARY = {
    np.add: "add",
    np.divide: "div",
    np.equal: "equal",
    np.less: "less",
    np.less_equal: "less_equal",
    np.maximum: "maximum",
    np.minimum: "minimum",
    np.multiply: "mul",
    np.subtract: "sub",
}
_SWAPPED = {np.greater: "less", np.greater_equal: "less_equal"}
"""With the arguments the other way round."""


def refusal(what: str, remedy: str = "") -> MorelloError:
    """An error at the line of the function that is being traced."""
    own = Path(__file__).parent.parent
    numpy = Path(np.__file__).parent
    frame = sys._getframe(1)
    while frame is not None and any(
        Path(frame.f_code.co_filename).is_relative_to(root) for root in (own, numpy)
    ):
        frame = frame.f_back  # type: ignore[assignment]
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}: " if frame else ""
    return MorelloError(f"{place}{what}", remedy)


class Tracer(NDArrayOperatorsMixin):
    """An array that is not there yet: ``value`` of a graph, with a shape."""

    __array_priority__ = 1000

    def __init__(self, builder: Builder, value: int, dims: Dims) -> None:
        self._builder = builder
        self._value = value
        self._dims = dims

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        sizes = self._builder.sizes
        return tuple(
            1
            if d == ONE
            else d.extent(tuple(sizes))
            if isinstance(d, Window)
            else sizes[d]
            for d in self._dims
        )

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._dims)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=object))

    @property
    def dtype(self) -> np.dtype[Any]:
        """f32."""
        return np.dtype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Tracer(shape={self.shape})"

    def __bool__(self) -> bool:
        raise refusal(
            "the value of an array is not known while a function is traced",
            "decide by shapes, or outside of the function",
        )

    __float__ = __int__ = __index__ = __bool__

    def __iter__(self) -> Any:
        raise refusal("iterating over an array is not traced", "use whole arrays")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise refusal("an array is not there yet while a function is traced")

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any
    ) -> Any:
        if method != "__call__" or any(v is not None for v in kwargs.values()):
            raise refusal(
                f"np.{ufunc.__name__}.{method} with "
                f"{', '.join(kwargs) or 'no options'} is not traced"
            )
        if ufunc is np.matmul:
            return matmul(self._builder, *inputs)
        if ufunc in _SWAPPED:
            return pointwise(self._builder, _SWAPPED[ufunc], *inputs[::-1])
        if ufunc is np.power and isinstance(inputs[1], int | float):
            return self._power(inputs[1])
        name = _UNARY.get(ufunc) or _BINARY.get(ufunc)
        if name is None:
            every = (*_UNARY, *_BINARY, *_SWAPPED, np.matmul)
            known = sorted(f.__name__ for f in every)
            raise refusal(
                f"np.{ufunc.__name__} is not traced", f"use {', '.join(known)}"
            )
        return pointwise(self._builder, name, *inputs)

    def _power(self, exponent: float) -> "Tracer":
        if exponent == 2:
            return pointwise(self._builder, "square", self)
        if exponent == 0.5:
            return pointwise(self._builder, "sqrt", self)
        if exponent == -0.5:
            return pointwise(self._builder, "rsqrt", self)
        raise refusal(f"the power {exponent} is not traced", "use 2, 0.5 or -0.5")

    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any
    ) -> Any:
        known = FUNCTIONS.get(function)
        if known is None:
            names = sorted(f.__name__ for f in FUNCTIONS)
            raise refusal(
                f"np.{function.__name__} is not traced",
                f"use operators, {', '.join(names)}",
            )
        return known(*args, **kwargs)

    def __matmul__(self, other: Any) -> "Tracer":
        return matmul(self._builder, self, other)

    def __rmatmul__(self, other: Any) -> "Tracer":
        return matmul(self._builder, other, self)

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
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = tuple(order or range(self.ndim)[::-1])
        if sorted(a % self.ndim for a in order) != list(range(self.ndim)):
            raise refusal(f"{order} is no order of {self.ndim} axes")
        dims = tuple(self._dims[axis] for axis in order)
        return Tracer(self._builder, self._value, dims)

    def swapaxes(self, a: int, b: int) -> "Tracer":
        """Two axes the other way round."""
        dims = list(self._dims)
        dims[a], dims[b] = dims[b], dims[a]
        return Tracer(self._builder, self._value, tuple(dims))

    def __getitem__(self, index: Any) -> "Tracer":
        """New axes (``None``) and whole axes (``:``, ``...``)."""
        parts = index if isinstance(index, tuple) else (index,)
        given = sum(part is not None and part is not Ellipsis for part in parts)
        dims: list[Any] = []
        rest = list(self._dims)
        for part in parts:
            if part is None:
                dims.append(ONE)
            elif part is Ellipsis:
                for _ in range(self.ndim - given):
                    dims.append(rest.pop(0))
            elif part == slice(None) and rest:
                dims.append(rest.pop(0))
            else:
                raise refusal(f"the index {part!r} is not traced", "use None, : or ...")
        return Tracer(self._builder, self._value, (*dims, *rest))

    def sum(self, axis: Any = None, keepdims: bool = False) -> "Tracer":
        """As `numpy.sum`."""
        return reduced(self, "sum", axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> "Tracer":
        """As `numpy.max`."""
        return reduced(self, "max", axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> "Tracer":
        """As `numpy.min`."""
        return reduced(self, "min", axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> "Tracer":
        """As `numpy.mean`."""
        total = reduced(self, "sum", axis, keepdims)
        share = 1.0
        for place in _axes(self, axis):
            share /= self.shape[place]
        return pointwise(self._builder, "mul", total, share)

    def astype(self, dtype: Any, **options: Any) -> "Tracer":
        """f32 alone."""
        if np.dtype(dtype) != np.float32:
            raise refusal(f"the dtype {np.dtype(dtype)} is not traced", "use float32")
        return self

    def reshape(self, *shape: Any) -> "Tracer":
        """The same shape, or axes of one element added or left out."""
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        kept = [d for d in self._dims if d != ONE]
        extents = [e for e, d in zip(self.shape, self._dims, strict=True) if d != ONE]
        wanted = [extent for extent in given if extent != 1]
        if wanted != extents:
            raise refusal(
                f"reshaping {self.shape} to {tuple(given)} is not traced",
                "reshape arguments and results outside of the function",
            )
        rest = iter(kept)
        dims = tuple(ONE if extent == 1 else next(rest) for extent in given)
        return Tracer(self._builder, self._value, dims)


def traced(builder: Builder, given: Any) -> Tracer | None:
    """A value of the graph; None for a number, which is a constant."""
    if isinstance(given, Tracer):
        if given._builder is not builder:
            raise refusal("a value of another function that is traced is used")
        return given
    if isinstance(given, int | float | np.integer | np.floating):
        return None
    array = np.asarray(given)
    if array.dtype.kind not in "fiub":
        raise refusal(f"an array of dtype {array.dtype} is not traced")
    if array.ndim == 0:
        return None
    return as_input(builder, -1, array.shape, np.asarray(array, np.float32))


def as_input(
    builder: Builder,
    argument: int,
    shape: Sequence[int],
    array: Any = None,
) -> Tracer:
    """An input of the graph that has a shape."""
    if any(extent < 1 for extent in shape):
        raise refusal(f"an array of shape {tuple(shape)} has no elements")
    dims = tuple(ONE if n == 1 else builder.dimension(n) for n in shape)
    if all(d == ONE for d in dims):  # a value has one dimension at least
        dims = (*dims[:-1], builder.dimension(1)) if dims else dims
    axes = tuple(d for d in dims if d != ONE)
    kept = tuple(place for place, d in enumerate(dims) if d != ONE)
    value = builder.input(Input(argument, axes, kept, array))
    return Tracer(builder, value, dims)


def pointwise(builder: Builder, name: str, *given: Any) -> Tracer:
    """A function of elements; shapes broadcast as NumPy's do."""
    arguments = [traced(builder, one) for one in given]
    arrays = [a for a in arguments if a is not None]
    rank = max(a.ndim for a in arrays)
    dims: list[Any] = [ONE] * rank
    for array in arrays:
        for place, dim in enumerate(array._dims, rank - array.ndim):
            dims[place] = _joined(builder, dims[place], dim, arrays, name)
    expression = Call(
        name,
        tuple(
            Constant(float(one)) if a is None else Reference(a._value)
            for one, a in zip(given, arguments, strict=True)
        ),
    )
    return _node(builder, tuple(dims), MAP, expression)


def _joined(builder: Builder, a: Any, b: Any, arrays: list[Tracer], name: str) -> Any:
    """The dimension of an axis that two arrays have."""
    if b == ONE or a == b:
        return a
    if a == ONE:
        return b
    if isinstance(a, Window) or isinstance(b, Window):
        raise refusal(f"{name} of an array that is read through a window")
    if builder.sizes[a] != builder.sizes[b]:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise refusal(f"the shapes {shapes} do not broadcast in {name}")
    builder.unify(a, b)
    return builder.root(a)


def _node(
    builder: Builder, dims: Dims, reduction: str, expression: Expression
) -> Tracer:
    axes = tuple(d for d in dims if d != ONE)
    if len({builder.root(d) for d in axes}) < len(axes):
        raise refusal(
            "an array is used along two of its axes at once",
            "give it twice, as two arguments",
        )
    value = builder.node(axes, reduction, expression)
    return Tracer(builder, value, dims)


def _axes(array: Tracer, axis: Any) -> tuple[int, ...]:
    given = range(array.ndim) if axis is None else axis
    places = (given,) if isinstance(given, int) else tuple(given)
    for place in places:
        if not -array.ndim <= place < array.ndim:
            raise refusal(f"axis {place} of an array of {array.ndim} axes")
    return tuple(sorted({place % array.ndim for place in places}))


def reduced(array: Tracer, reduction: str, axis: Any, keepdims: bool) -> Tracer:
    """A reduction along some axes."""
    places = _axes(array, axis)
    kept = [ONE if place in places else dim for place, dim in enumerate(array._dims)]
    gone = [array._dims[p] for p in places if array._dims[p] != ONE]
    if not gone:
        found = array
    else:
        reference = Reference(array._value)
        found = _node(array._builder, tuple(kept), reduction, reference)
    dims = tuple(d for place, d in enumerate(kept) if keepdims or place not in places)
    return Tracer(array._builder, found._value, dims)


def matmul(builder: Builder, lhs: Any, rhs: Any) -> Tracer:
    """As `numpy.matmul`: the last two axes, the others broadcast."""
    a, b = traced(builder, lhs), traced(builder, rhs)
    if a is None or b is None:
        raise refusal("a matrix product of a number")
    left = a if a.ndim > 1 else a[None, :]
    right = b if b.ndim > 1 else b[:, None]
    batch = max(left.ndim, right.ndim) - 2
    letters = "abcdefgh"[:batch]
    text = (
        f"{letters[batch - left.ndim + 2 :]}ik,{letters[batch - right.ndim + 2 :]}kj"
        f"->{letters}ij"
    )
    found = einsum(text, left, right)
    rows, columns = found._dims[-2:]
    dims = (*found._dims[:-2], *[rows] * (a.ndim > 1), *[columns] * (b.ndim > 1))
    return Tracer(builder, found._value, dims)


def einsum(text: str, *given: Any) -> Tracer:
    """As `numpy.einsum`, with an arrow and letters alone, of any number of arrays."""
    builder = next(one._builder for one in given if isinstance(one, Tracer))
    left, arrow, wanted = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if (
        not arrow
        or len(terms) != len(given)
        or not (left + wanted).replace(",", "").isalpha()
    ):
        raise refusal(
            f"einsum('{text}') is not traced", "write letters, and -> with the result"
        )
    arrays = [_array(builder, one) for one in given]
    dims: dict[str, Any] = {}
    for place, (term, array) in enumerate(zip(terms, arrays, strict=True)):
        if len(term) != array.ndim or len(set(term)) < len(term):
            raise refusal(f"einsum('{text}'): '{term}' for an array of {array.shape}")
        fresh = _apart(builder, array, term, dims, wanted)
        arrays[place] = fresh
        for letter, dim in zip(term, fresh._dims, strict=True):
            dims[letter] = _joined(builder, dims.get(letter, ONE), dim, arrays, text)
    if set(wanted) - set(dims):
        raise refusal(f"einsum('{text}'): the result has a letter of no array")
    out = tuple(dims[letter] for letter in wanted)
    expression: Expression = Reference(arrays[0]._value)
    for array in arrays[1:]:
        expression = Call("mul", (expression, Reference(array._value)))
    gone = [d for letter, d in dims.items() if letter not in wanted and d != ONE]
    return _node(builder, out, "sum" if gone else MAP, expression)


def _array(builder: Builder, given: Any) -> Tracer:
    found = traced(builder, given)
    if found is None:
        raise refusal("a number stands where an array should")
    return found


def _apart(
    builder: Builder, array: Tracer, term: str, dims: dict[str, Any], wanted: str
) -> Tracer:
    """The same input by itself, where it was read along other axes before."""
    known = {
        builder.root(d): letter
        for letter, d in dims.items()
        if isinstance(d, int) and d >= 0
    }
    clash = any(
        isinstance(d, int) and d >= 0 and known.get(builder.root(d), letter) != letter
        for letter, d in zip(term, array._dims, strict=True)
    )
    if not clash:
        return array
    found = builder.inputs.get(array._value)
    if found is None:
        raise refusal(
            "an array that is computed is read along two of its axes at once",
            "give it twice, as two arguments",
        )
    shape = [builder.sizes[axis] for axis in found.axes if isinstance(axis, int)]
    again = tuple(builder.dimension(extent) for extent in shape)
    value = builder.input(Input(found.argument, again, found.kept, found.array))
    place = dict(zip(found.axes, again, strict=True))
    own = tuple(d if d == ONE else place[d] for d in array._dims)
    return Tracer(builder, value, own)


def where(condition: Any, a: Any, b: Any) -> Tracer:
    """As `numpy.where`: a condition is an array of numbers, of which 0 is false."""
    given = (condition, a, b)
    builder = next(one._builder for one in given if isinstance(one, Tracer))
    return pointwise(builder, "where", *given)


def _method(name: str) -> Callable[..., Tracer]:
    def call(array: Tracer, *args: Any, **kwargs: Any) -> Tracer:
        found: Tracer = getattr(array, name)(*args, **kwargs)
        return found

    return call


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.einsum: einsum,
    np.dot: operator.matmul,
    np.expand_dims: lambda array, axis: array[
        (*[slice(None)] * (axis % (array.ndim + 1)), None)
    ],
    np.max: _method("max"),
    np.mean: _method("mean"),
    np.min: _method("min"),
    np.reshape: _method("reshape"),
    np.sum: _method("sum"),
    np.swapaxes: _method("swapaxes"),
    np.transpose: _method("transpose"),
    np.where: where,
}
"""NumPy's functions that are traced, beside operators and functions of elements."""
