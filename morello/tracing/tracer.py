"""A stand-in for an array that notes what is done with it.

NumPy's functions and operators on a `Tracer` become nodes of a program (`Recording`):
`calls.py` looks them up in the tables here, which the modules of `functions/` fill. A
tracer is an access of a tensor: transposes, slices, windows and broadcasts compute
nothing. What has no place in a program is refused, with the function's name and the
line.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from morello.frontends.nodes.tensors import Access, identity_axes, substituted
from morello.spec.elements.dtypes import Dtype
from morello.spec.index_map import ONE, IndexMap, dims_of, renamed
from morello.tracing.numbers import F32
from morello.tracing.recording import Recording
from morello.tracing.refusals import not_traced, refusal
from morello.tracing.slicing import Cut, axis_of, cuts_of, is_integer, ordered_axes

Shape = tuple[int, ...]
Axes = tuple[IndexMap, ...]

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""NumPy's functions of elements, with the tracing ones: `elementwise.py`."""

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""NumPy's other functions that are traced: `array_functions.py`."""

CHOOSING: set[Any] = set()
"""NumPy's functions whose results have elements of their arguments, or zeros."""

METHODS: dict[str, Callable[..., "Tracer"]] = {}
"""Methods of arrays that make nodes: what NumPy calls (`calls.py`), lists as indices,
assignments, other shapes and casts (`indexing.py`), and reductions
(`reductions.py`)."""

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
        METHODS["assign"](self, index, value)

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
        return METHODS["ufunc"](ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: Any
    ) -> Any:
        return METHODS["function"](function, args, kwargs)

    def __iadd__(self, other: Any) -> "Tracer":
        return METHODS["change"](self, np.add, other)

    def __isub__(self, other: Any) -> "Tracer":
        return METHODS["change"](self, np.subtract, other)

    def __imul__(self, other: Any) -> "Tracer":
        return METHODS["change"](self, np.multiply, other)

    def __itruediv__(self, other: Any) -> "Tracer":
        return METHODS["change"](self, np.divide, other)

    @property
    def T(self) -> "Tracer":  # noqa: N802 (NumPy's name)
        """The array with its axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> "Tracer":  # noqa: N802 (NumPy's name)
        """The array with its last two axes swapped."""
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> "Tracer":
        """Axes in another order: nothing is computed."""
        wanted = axes[0] if len(axes) == 1 and not is_integer(axes[0]) else axes
        is_open = not axes or wanted is None
        whole = range(self.ndim)[::-1]
        order = ordered_axes(self.ndim, whole if is_open else wanted)
        if len(order) < self.ndim:
            raise refusal(f"{order} is no order of {self.ndim} axes")
        places = {old: new for new, old in enumerate(order)}
        shape = tuple(self._shape[axis] for axis in order)
        return self._seen(renamed(self._access.axes, places), shape)

    def swapaxes(self, axis1: int, axis2: int) -> "Tracer":
        """The array with two axes swapped."""
        a, b = axis_of(self.ndim, axis1), axis_of(self.ndim, axis2)
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
            return METHODS["pick"](self, parts)
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
        return METHODS["reduce"](self, "sum", axis, keepdims, other)

    def max(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Maximum along axes (`numpy.max`)."""
        return METHODS["reduce"](self, "max", axis, keepdims, other)

    def min(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Minimum along axes (`numpy.min`)."""
        return METHODS["reduce"](self, "min", axis, keepdims, other)

    def mean(self, axis: Any = None, keepdims: bool = False, **other: Any) -> "Tracer":
        """Mean along axes (`numpy.mean`)."""
        return METHODS["mean"](self, axis, keepdims, other)

    def astype(self, dtype: Any, **options: Any) -> "Tracer":
        """Cast to a float, to truth values, or to whole numbers of 32 or 64 bits."""
        wanted = np.dtype(dtype)
        cast: Tracer = METHODS["cast"](self, wanted) if wanted != self.dtype else self
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
        return METHODS["reshape"](self, tuple(map(operator.index, extents)))


def is_list(index: Any) -> bool:
    """Whether it is an index of known places."""
    return isinstance(index, list | np.ndarray) and not isinstance(index, Tracer)


def whole(recording: Recording, tensor: int, dtype: np.dtype[Any] = F32) -> Tracer:
    """A tensor as an array."""
    shape = recording.shape(tensor)
    return Tracer(recording, Access(tensor, identity_axes(shape)), shape, dtype=dtype)


def numbers_of(array: Tracer) -> Tracer:
    """An array of the same elements as numbers of f32, as which graphs read them."""
    view = Tracer(array._recording, array._access, array._shape)
    view.is_number = array.is_number
    return view
