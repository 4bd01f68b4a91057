"""A stand-in for an array that notes what is done with it.

NumPy's functions and operators on a `Tracer` become nodes of a program (`Recording`).
A tracer is an access of a tensor: transposes, slices, windows and broadcasts compute
nothing. What has no place in a program is refused, with the function's name and the
line.
"""

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from morello.frontends.nodes.tensors import Access, own_axes, substituted
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import (
    Call,
    Expression,
    Reference,
    renumbered,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, renamed
from morello.tracing.numbers import (
    BOOL,
    F32,
    INT32,
    REMAINDERS,
    check_numbers,
    computed_in,
    constant_of,
    dtype_by_numpy,
    dtype_of,
    element_type,
    is_narrow,
    is_whole,
    together,
)
from morello.tracing.recording import Recording
from morello.tracing.refusals import called, not_traced, noted, refusal
from morello.tracing.slicing import Cut, axes_of, cuts_of, is_integer

Shape = tuple[int, ...]
Axes = tuple[IndexMap, ...]

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""NumPy's functions of elements, with the tracing ones: `elementwise.py`."""

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's other functions that are traced: `array_functions.py`."""

CHOOSING: set[Any] = set()
"""NumPy's functions whose results have elements of their arguments, or zeros."""

INDEXING: dict[str, Callable[..., Any]] = {}
"""Methods of arrays: lists as indices, assignments, other shapes and casts
(`indexing.py`), and reductions (`reductions.py`)."""

_MOST_ROWS = 8
"""The most rows of an array that a loop of Python may take apart."""


class Tracer(NDArrayOperatorsMixin):
    """An array that is not there yet: how a tensor is read, by the array's own axes.

    Axes of one element, and axes along which all elements are the same, index nothing.
    """

    __array_priority__ = 1000

    def __init__(
        self,
        recording: Recording,
        access: Access,
        shape: Shape,
        owns_memory: bool = False,
        dtype: np.dtype[Any] = F32,
    ) -> None:
        self._recording = recording
        self._access = access
        self._shape = shape
        self.dtype = dtype
        """NumPy's dtype of the array. The tensor has another where a graph computes
        truth values, or whole numbers of 64 bits: float32."""
        self.is_number = False
        """Whether it is a number of Python, which takes the dtype of arrays."""
        self._owns_memory = owns_memory
        """Whether no other array of NumPy would share its memory."""

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def element(self) -> Dtype:
        """The element type of its tensor."""
        return self._recording.tensors.dtype(self._access.tensor)

    @property
    def is_integer(self) -> bool:
        """Whether its tensor has integers, with which graphs of s32 compute."""
        return self.dtype.kind in "iu" and not self.element.is_float

    def __len__(self) -> int:
        if not self._shape:
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
            dtype = dtype_of(ufunc, inputs)
            as_numbers = dtype.kind == "f" and ufunc not in REMAINDERS
            result = known(*(widened(one, as_numbers) for one in inputs))
        except Exception as error:
            noted(error)
            raise
        is_exact = ufunc in CHOOSING
        return rounded(result, dtype, f"np.{ufunc.__name__}", is_exact)

    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any
    ) -> Any:
        module = str(getattr(function, "__module__", "numpy"))
        name = f"{module.replace('numpy', 'np', 1)}.{function.__name__}"
        known = FUNCTIONS.get(function)
        if known is None:
            raise not_traced(name, {f.__name__ for f in FUNCTIONS})
        dtypes = [one.dtype for one in tracers((args, kwargs))]
        if all(dtype == F32 for dtype in dtypes):
            return called(known, name, args, kwargs)
        dtype = dtype_by_numpy(function, args, kwargs) or together(dtypes)
        result = called(known, name, *_wide((args, kwargs), dtype.kind == "f"))
        for one in result if isinstance(result, list) else []:
            one.dtype = dtype  # parts of an array
        is_exact = function in CHOOSING
        is_array = isinstance(result, Tracer)
        return rounded(result, dtype, name, is_exact) if is_array else result

    def _changed(self, ufunc: Any, other: Any) -> "Tracer":
        """`+=` and its kin: another array under the same name.

        Raises:
            MorelloError: it is an argument, or seen otherwise too, where NumPy would
                change both.
        """
        sign = _SIGNS[ufunc]
        if not self._owns_memory:
            raise refusal(
                f"{sign}= on an argument, or on a part of an array, is not traced",
                f"write x = x {sign} …, which makes a new array",
            )
        changed: Tracer = ufunc(self, other)
        if self.dtype == BOOL != changed.dtype:
            raise refusal(f"{sign}= of truth values gives {changed.dtype}")
        if changed.shape != self.shape:
            raise refusal(
                f"{sign}= of an array {self.shape} has the shape {changed.shape}",
                f"write x = x {sign} …, which makes a new array",
            )
        self._access = rounded(changed, self.dtype, f"{sign}=")._access
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
        wanted = axes[0] if len(axes) == 1 and not is_integer(axes[0]) else axes
        is_open = not axes or wanted is None
        order = tuple(range(self.ndim)[::-1] if is_open else wanted)
        if sorted(a % max(self.ndim, 1) for a in order) != list(range(self.ndim)):
            raise refusal(f"{order} is no order of {self.ndim} axes")
        places = {old % self.ndim: new for new, old in enumerate(order)}
        shape = tuple(self._shape[axis] for axis in order)
        return self._seen(renamed(self._access.axes, places), shape)

    def swapaxes(self, axis1: int, axis2: int) -> "Tracer":
        """Two axes the other way round."""
        (a,), (b,) = axes_of(self.ndim, axis1), axes_of(self.ndim, axis2)
        order = [*range(self.ndim)]
        order[a], order[b] = b, a
        return self.transpose(order)

    def _seen(self, axes: Axes, shape: Shape) -> "Tracer":
        """The tensor read along other axes."""
        self._owns_memory = False
        access = Access(self._access.tensor, axes)
        return Tracer(self._recording, access, shape, dtype=self.dtype)

    def through(self, inner: Axes, shape: Shape) -> "Tracer":
        """The array whose elements are those at computed places of this one.

        Args:
            inner: what indexes each axis of this one, by the axes of the new one; an
                axis of one element is not padded.
            shape: of the new one.
        """
        tensor, axes = self._access.tensor, self._access.axes
        padded = {i for i, axis in enumerate(inner) if axis.has_zeros}
        composed = None
        if padded <= dims_of(axes):
            extents = self._recording.shape(tensor)
            composed = substituted(axes, inner, shape, extents)
        if composed is None:
            return self.copied().through(inner, shape)
        return self._seen(composed, shape)

    def copied(self) -> "Tracer":
        """The elements as a tensor of their own."""
        tensor = self._recording.copy(self._access, self._shape)
        return whole(self._recording, tensor, self.dtype)

    def stored(self) -> int:
        """A tensor whose elements are those of the array, in its shape."""
        tensor = self._access.tensor
        extents = self._recording.shape(tensor)
        used = [axis for axis in self._access.axes if axis != ONE]
        plain = [IndexMap.of(i) for i, n in enumerate(self._shape) if n > 1]
        if used != plain or math.prod(extents) != self.size:
            return self._recording.copy(self._access, self._shape)
        return self._recording.view(tensor, self._shape)

    def __getitem__(self, index: Any) -> "Tracer":
        """New axes (``None``), whole axes (``:``, ``...``), slices and integers."""
        parts = index if isinstance(index, tuple) else (index,)
        if any(is_list(part) for part in parts):
            picked: Tracer = INDEXING["pick"](self, parts)
            return picked
        return self._cut(*cuts_of(parts, self._shape))

    def _cut(self, cuts: list[Cut], shape: Shape) -> "Tracer":
        """Array of the elements that slices select; arrays that are reversed are copied
        first."""
        read = dims_of(self._access.axes)
        back = [i for i, cut in enumerate(cuts) if cut.is_backwards and i in read]
        if back:
            tensor = self._recording.reversed(self.stored(), frozenset(back))
            turned = [cut.turned if i in back else cut for i, cut in enumerate(cuts)]
            return whole(self._recording, tensor, self.dtype)._cut(turned, shape)
        return self.through(tuple(cut.index(shape) for cut in cuts), shape)

    def sum(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Sum along axes (`numpy.sum`)."""
        result: Tracer = INDEXING["reduce"](self, "sum", axis, keepdims, other)
        return result

    def max(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Maximum along axes (`numpy.max`)."""
        result: Tracer = INDEXING["reduce"](self, "max", axis, keepdims, other)
        return result

    def min(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Minimum along axes (`numpy.min`)."""
        result: Tracer = INDEXING["reduce"](self, "min", axis, keepdims, other)
        return result

    def mean(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Mean along axes (`numpy.mean`)."""
        numbers = numbers_of(self)
        total = INDEXING["reduce"](numbers, "sum", axis, keepdims, other, "mean")
        share = 1.0
        for place in axes_of(self.ndim, axis):
            share /= self.shape[place]
        mean = pointwise(self._recording, "mul", total, share)
        dtype = dtype_by_numpy(np.mean, (self,), {}) or F32
        return rounded(mean, dtype, "mean")

    def astype(self, dtype: Any, **options: Any) -> "Tracer":
        """Cast to a float, to truth values, or to whole numbers of 32 or 64 bits."""
        wanted = np.dtype(dtype)
        cast: Tracer = INDEXING["cast"](self, wanted) if wanted != self.dtype else self
        return cast.copy()

    def copy(self, order: str = "C") -> "Tracer":
        """Independent copy of the array (`numpy.copy`)."""
        return Tracer(self._recording, self._access, self._shape, True, self.dtype)

    def flatten(self, order: str = "C") -> "Tracer":
        """One axis."""
        return self.reshape(-1, order=order)

    def reshape(self, *shape: Any, order: str = "C") -> "Tracer":
        """Reshape: adds or removes axes of one element; arguments take any shape."""
        extents = shape[0] if len(shape) == 1 and not is_integer(shape[0]) else shape
        if order != "C":
            raise refusal(f"reshape with order={order!r} is not traced")
        view: Tracer = INDEXING["reshape"](self, tuple(map(operator.index, extents)))
        return view


_SIGNS = {np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/"}


def is_list(index: Any) -> bool:
    """Whether it is an index of known places."""
    return isinstance(index, list | np.ndarray) and not isinstance(index, Tracer)


def whole(recording: Recording, tensor: int, dtype: np.dtype[Any] = F32) -> Tracer:
    """A tensor as an array."""
    shape = recording.shape(tensor)
    return Tracer(recording, Access(tensor, own_axes(shape)), shape, dtype=dtype)


def numbers_of(array: Tracer) -> Tracer:
    """An array of the same elements as numbers of f32, as which graphs read them."""
    view = Tracer(array._recording, array._access, array._shape)
    view.is_number = array.is_number
    return view


def widened(operand: Any, as_numbers: bool = False) -> Any:
    """An operand of which a narrow float, and integers if it is asked for, are numbers
    of f32."""
    is_read = isinstance(operand, Tracer) and (
        is_narrow(operand.dtype) or (as_numbers and operand.is_integer)
    )
    return numbers_of(operand) if is_read else operand


def _wide(arguments: Any, as_numbers: bool) -> Any:
    """Arguments with widened arrays."""
    if isinstance(arguments, dict):
        return {name: _wide(one, as_numbers) for name, one in arguments.items()}
    if isinstance(arguments, list | tuple):
        several = list if isinstance(arguments, list) else tuple
        return several(_wide(one, as_numbers) for one in arguments)
    return widened(arguments, as_numbers)


def tracers(arguments: Any) -> Iterator[Tracer]:
    """The traced arrays among arguments."""
    if isinstance(arguments, Tracer):
        yield arguments
    elif isinstance(arguments, dict | list | tuple):
        for one in arguments.values() if isinstance(arguments, dict) else arguments:
            yield from tracers(one)


def rounded(
    result: Tracer, dtype: np.dtype[Any], name: str, is_exact: bool = False
) -> Tracer:
    """An array of NumPy's dtype, of what is computed.

    Args:
        result: computed in f32 or s32.
        dtype: of the array.
        name: of the function, for messages.
        is_exact: whether its elements have that dtype, whatever computes them.

    Raises:
        MorelloError: integers may be too large for what computes them.
    """
    element = result.element
    if result.dtype == dtype or element_type(dtype) is element:
        result.dtype = dtype
        return result
    if is_narrow(dtype):
        narrow = element_type(dtype)
        assert narrow is not None
        read = Call(narrow.rounding, (Reference(0),))
        rounded_tensor = result._recording.computed(
            result._access, result._shape, read, narrow
        )
        array = whole(result._recording, rounded_tensor, dtype)
        array._owns_memory = result._owns_memory
        return array
    has_all = is_exact and dtype.itemsize < INT32.itemsize  # numbers of f32
    if is_whole(dtype) and not has_all:
        raise refusal(
            f"{name} of {dtype} is not traced",
            "write x.astype(np.float32), or x.astype(np.int32) for +, -, *, @, abs, "
            "maximum and minimum",
        )
    result.dtype = dtype
    return result


def traced(recording: Recording, operand: Any) -> Tracer | None:
    """A value of the program; None for a number, which is a constant."""
    if isinstance(operand, Tracer):
        if operand._recording is not recording:
            raise refusal("a value of another function that is traced is used")
        return operand
    if isinstance(operand, int | float | np.integer | np.floating | np.bool_):
        return None
    array = np.asarray(operand)
    check_numbers(operand, array.dtype)
    if array.ndim == 0:
        return None
    _check(array.shape)
    if is_narrow(array.dtype):
        return whole(recording, recording.array(array), array.dtype)
    number = whole(recording, recording.array(np.asarray(array, np.float32)))
    number.dtype = BOOL if array.dtype == BOOL else F32
    return number


def _check(shape: Shape) -> None:
    if any(extent < 1 for extent in shape):
        raise refusal(f"an array of shape {shape} has no elements")


def argument(
    recording: Recording,
    number: int,
    shape: Sequence[int],
    dtype: np.dtype[Any] = F32,
) -> Tracer:
    """A tracer for an argument of the traced function."""
    _check(tuple(shape))
    element = element_type(dtype)
    assert element is not None
    return whole(recording, recording.argument(number, tuple(shape), element), dtype)


def pointwise(recording: Recording, name: str, *operands: Any) -> Tracer:
    """A function of elements; shapes broadcast as NumPy's do."""
    arguments = [traced(recording, one) for one in operands]
    arrays = [a for a in arguments if a is not None]
    rank = max(a.ndim for a in arrays)
    labels = [range(rank - a.ndim, rank) for a in arrays]
    reads, extents = aligned(arrays, labels, name)
    places = itertools.count()
    expression = Call(
        name,
        tuple(
            constant_of(one) if a is None else Reference(next(places))
            for one, a in zip(operands, arguments, strict=True)
        ),
    )
    shape = tuple(extents[place] for place in range(rank))
    dtype = computed_in(name, arrays)
    return node(recording, shape, MAP, expression, reads, dtype=dtype)


def aligned(
    arrays: list[Tracer], labels: Sequence[Sequence[int]], name: str
) -> tuple[list[Access], dict[int, int]]:
    """How arrays are read along dimensions, and the extent of each dimension.

    Args:
        arrays: of one program.
        labels: the dimension of each axis of each array.
        name: of the function that reads them.

    Raises:
        MorelloError: axes of one dimension have different extents.
    """
    extents: dict[int, int] = {}
    reads = []
    for array, dims in zip(arrays, labels, strict=True):
        for dim, extent in zip(dims, array.shape, strict=True):
            if extent > 1 and extents.get(dim, 1) not in (1, extent):
                shapes = " and ".join(str(one.shape) for one in arrays)
                raise refusal(f"the shapes {shapes} do not broadcast in {name}")
            extents[dim] = max(extent, extents.get(dim, 1))
        axes = renamed(array._access.axes, dict(enumerate(dims)))
        reads.append(Access(array._access.tensor, axes))
    return reads, extents


def node(
    recording: Recording,
    shape: Shape,
    reduction: str,
    expression: Expression,
    reads: Sequence[Access],
    gone: Shape = (),
    dtype: Dtype = Dtype.F32,
) -> Tracer:
    """A value that is computed.

    Args:
        shape: of its axes, which are the first dimensions.
        gone: the extents of the dimensions that it reduces, which come after.
        dtype: f32 or s32, in which it is computed.
    """
    used = tuple(dict.fromkeys(reads))
    places = {place: used.index(access) for place, access in enumerate(reads)}
    tensor = recording.node(
        (*shape, *gone),
        own_axes(shape),
        reduction,
        renumbered(expression, places),
        used,
        dtype,
    )
    tracer = whole(recording, tensor, dtype.numpy)
    tracer._owns_memory = True
    return tracer
