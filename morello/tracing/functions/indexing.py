"""Elements by lists of places, assignments to elements, other shapes and dtypes."""

import math
from typing import Any

import numpy as np

from morello.spec.elements.dtypes import Dtype
from morello.spec.index_map import ONE, plain
from morello.tracing.nodes import pointwise
from morello.tracing.numbers import BOOL, F32, INT64, is_narrow
from morello.tracing.operands import rounded, traced
from morello.tracing.refusals import refusal
from morello.tracing.slicing import is_integer
from morello.tracing.tracer import METHODS, Tracer, is_list, numbers_of, whole


def picked(array: Any, parts: tuple[Any, ...]) -> Any:
    """Elements at known places along one axis, or along several at once."""
    lists = [
        (axis, np.asarray(part)) for axis, part in enumerate(parts) if is_list(part)
    ]
    # Not `None in parts`, which compares the elements of arrays.
    is_wide = any(part is None or part is Ellipsis for part in parts)
    if is_wide or any(a.dtype == bool for _, a in lists):
        raise refusal(
            "an index of lists beside None or ..., or of booleans, is not traced",
            "use np.take along an axis, or np.where",
        )
    if len(lists) == 1:
        axis, places = lists[0]
        rest = tuple(slice(None) if i == axis else p for i, p in enumerate(parts))
        if any(is_integer(part) for part in rest):
            raise refusal("an index of lists and integers is not traced")
        return np.take(array[rest], places, axis)
    if len(lists) < len(parts) or any(a.ndim != 1 for _, a in lists):
        raise refusal("an index of lists and slices is not traced", "use np.take")
    columns = np.broadcast_arrays(*(a for _, a in lists))
    each = [array[tuple(map(int, place))] for place in zip(*columns, strict=True)]
    return np.stack(each)


def assign(array: Tracer, index: Any, value: Any) -> Tracer:
    """The array in which a block of elements is written.

    Raises:
        MorelloError: it is no block, or of an argument.
    """
    if not array._owns_memory:
        raise refusal(
            "an assignment to elements of an argument, or of a part of an array, "
            "is not traced",
            "write x = x.copy() before it",
        )
    places = np.arange(array.size).reshape(array.shape)
    part = np.asarray(places[index])
    widths = _around(places, part)
    if widths is None:
        raise refusal(
            f"an assignment to the elements {index!r} is not traced",
            "assign to slices without steps, or use np.where(condition, a, b)",
        )
    extents = [n - sum(w) for n, w in zip(array.shape, widths, strict=True)]
    inside = np.pad(np.ones(extents, np.float32), widths)
    written: Any = value
    if isinstance(value, Tracer) or np.ndim(value):
        values = traced(array._recording, value)
        assert values is not None
        wide = np.broadcast_to(values, part.shape)
        written = np.pad(wide.reshape(extents), widths)
    changed = pointwise(array._recording, "where", inside, written, array)
    array._access = rounded(changed, array.dtype, "an assignment")._access
    return array


def _around(places: Any, part: Any) -> list[tuple[int, int]] | None:
    """How many elements are before and after a part along each axis; None where it is
    no block.

    Args:
        places: of all elements, row-major.
        part: of some.
    """
    if not part.size:
        return None
    corners = [np.unravel_index(p, places.shape) for p in (part.min(), part.max())]
    block = tuple(slice(a, b + 1) for a, b in zip(*corners, strict=True))
    if not np.array_equal(places[block].ravel(), part.ravel()):
        return None
    return [
        (int(cut.start), int(n - cut.stop))
        for cut, n in zip(block, places.shape, strict=True)
    ]


def reshaped(array: Tracer, shape: tuple[int, ...]) -> Tracer:
    """An array in another shape: a view of its tensor, or of a copy."""
    known = 1
    for extent in shape:
        known *= extent if extent != -1 else 1
    if shape.count(-1) == 1 and known and array.size % known == 0:
        shape = tuple(array.size // known if n == -1 else n for n in shape)
    if min(shape, default=1) < 1 or math.prod(shape) != array.size:
        raise refusal(f"{array.shape} cannot be reshaped to {shape}")
    wide = [place for place, extent in enumerate(shape) if extent > 1]
    if [shape[place] for place in wide] == [n for n in array.shape if n > 1]:
        rest = iter(plain(*wide))
        inner = tuple(next(rest) if n > 1 else ONE for n in array.shape)
        return array.through(inner, shape)
    array._owns_memory = False
    tensor = array._recording.view(array.stored(), shape)
    return whole(array._recording, tensor, array.dtype)


def cast(array: Any, dtype: np.dtype[Any]) -> Any:
    """Elements of an array as another dtype.

    Raises:
        MorelloError: graphs have no such cast.
    """
    if is_narrow(dtype) or dtype == F32:
        return rounded(numbers_of(array), dtype, "astype")
    if dtype == BOOL:
        return np.not_equal(array, 0.0)
    is_whole = array.dtype.kind in "biu"
    if dtype == INT64:
        known = (array if is_whole else np.trunc(array)).copy()
        known.dtype = dtype
        return known
    if dtype != Dtype.S32.numpy or not is_whole:
        raise refusal(
            f"astype({dtype}) of {array.dtype} is not traced",
            "use float32; integers can become int32, and all become bool or int64",
        )
    if array.element.is_float:
        raise refusal(
            f"astype(int32) of {array.dtype} that is computed is not traced",
            "cast to int64, or to float32",
        )
    tensor = array._recording.copy(array._access, array._shape, Dtype.S32)
    return whole(array._recording, tensor, dtype)


METHODS |= {"assign": assign, "cast": cast, "pick": picked, "reshape": reshaped}
