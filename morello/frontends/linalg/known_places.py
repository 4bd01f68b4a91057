"""Tensors that are read at places that are known beforehand.

Where the places along an axis go up evenly the tensor is read so. Where they do not (a
border that is repeated, rows that are picked) its runs are joined: each of them goes up
evenly. Places that are each repeated as often (an image at twice its size) are an axis
more, along which nothing is read.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from morello.frontends.linalg.imported_values import ImportedValues
from morello.frontends.linalg.known_arrays import MOST, constant_of, narrowed
from morello.frontends.linalg.values import Read, Same
from morello.frontends.nodes.tensors import (
    Array,
    Joined,
    Node,
    Tensors,
    View,
    identity_axes,
    window_of,
)
from morello.spec.elements.dtypes import Dtype
from morello.spec.index_map import ONE, IndexMap

MOST_RUNS = 16
"""The most runs of places along an axis: each is a part by itself."""


def read_constant(tensors: Tensors, read: Read) -> Array | None:
    """The elements of a read, where they are constants and read without padding."""
    whole = constant_of(tensors, read.tensor)
    if whole is None or math.prod(read.shape) > MOST:
        return None
    index = []
    for window in read.axes:
        points = {}
        for dim in window.dims:
            shape = [1] * len(read.shape)
            shape[dim] = read.shape[dim]
            points[dim] = np.arange(read.shape[dim]).reshape(shape)
        first = np.full([1] * len(read.shape), -window.before)
        index.append(first + window.at(points))
    if any(
        place.min() < 0 or place.max() >= size
        for place, size in zip(index, whole.shape, strict=True)
    ):
        return None
    elements = whole[tuple(index)] if index else whole
    return np.broadcast_to(elements, read.shape)


def read_at(
    importer: ImportedValues,
    source: Read,
    places: Sequence[Array],
    extents: tuple[int, ...],
    place: str,
) -> tuple[Read | Same, tuple[IndexMap, ...]] | None:
    """A tensor to read, and the dimensions along which: what is at some places.

    Args:
        importer: gets the tensors that are made.
        source: of which there are elements.
        places: along each of its axes, over the dimensions of an op.
        extents: of these dimensions.
        place: of the op in the program.

    Returns:
        None where no graph reads so.
    """
    inner: list[IndexMap] = []
    used: set[int] = set()
    rows = [
        narrowed(np.clip(along, 0, size - 1))
        for along, size in zip(places, source.shape, strict=True)
    ]
    source, rows = _collapsed(importer, source, rows, place)
    for axis, clipped in enumerate(rows):
        dims = [d for d, extent in enumerate(clipped.shape) if extent > 1]
        if len(dims) > 1 or used & {*dims}:
            return None
        row = clipped.reshape(-1)
        if not dims:
            start = int(row[0])
            inner.append(IndexMap((), -start, start + 1 - source.shape[axis]))
            continue
        used |= {*dims}
        even = _step(row)
        if even is None:
            changed = _picked(importer, source, axis, row, place)
            if changed is None:
                return None
            source, even, row = changed, 1, np.arange(len(row))
        terms = {dims[0]: even}
        inner.append(window_of(terms, -int(row[0]), extents, source.shape[axis]))
    return source, tuple(inner)


def _collapsed(
    importer: ImportedValues, source: Read, rows: list[Array], place: str
) -> tuple[Read, list[Array]]:
    """Merges neighbouring axes of a tensor that are read along the same dimensions, as
    those of a tensor that was divided into groups are; returns it and its indices."""
    for axis in range(1, len(rows)):
        before, here = rows[axis - 1], rows[axis]
        if before.size == 1 or before.shape != here.shape:
            continue
        shape = list(source.shape)
        size = shape.pop(axis)
        shape[axis - 1] *= size
        whole = importer.materialized(source, place)
        view = importer.tensors.add(View(whole, tuple(shape)))
        collapsed = Read(view, identity_axes(tuple(shape)), tuple(shape))
        rows = [*rows[: axis - 1], before * size + here, *rows[axis + 1 :]]
        return _collapsed(importer, collapsed, rows, place)
    return source, rows


def _step(row: Array) -> int | None:
    """From each place to the next; None where that differs, or is backwards."""
    steps = np.diff(row)
    if len(steps) and (steps != steps[0]).any():
        return None
    step = int(steps[0]) if len(steps) else 0
    return step if step >= 0 else None


def _picked(
    importer: ImportedValues, source: Read, axis: int, row: Array, place: str
) -> Read | None:
    """A tensor whose elements along an axis are those of another at some places."""
    size, count = source.shape[axis], len(row)
    if count % size == 0 and (row == np.arange(count) // (count // size)).all():
        return _repeated(importer, source, axis, count // size, place)
    runs = _runs(row)
    dtype = importer.tensors.element(source.tensor)
    if len(runs) > MOST_RUNS or not isinstance(dtype, Dtype):
        return None
    dtype = dtype if dtype.is_float else Dtype.F32  # of the copies
    shape = (*source.shape[:axis], count, *source.shape[axis + 1 :])

    def pieces() -> Iterator[tuple[Node, tuple[int, ...], tuple[int, ...]]]:
        for start, length in runs:
            picked_shape = (*shape[:axis], length, *shape[axis + 1 :])
            inner = list(identity_axes(picked_shape))
            first = int(row[start])
            step = int(row[start + 1]) - first if length > 1 else 0
            inner[axis] = window_of({axis: step}, -first, picked_shape, size)
            read = importer.through(source, tuple(inner), picked_shape, place)
            starts = tuple(start if i == axis else 0 for i in range(len(shape)))
            yield importer.copy(read, place), starts, (1,) * len(shape)

    joined = importer.tensors.join(Joined(shape, dtype), pieces())
    return Read(joined, identity_axes(shape), shape)


def _repeated(
    importer: ImportedValues, source: Read, axis: int, times: int, place: str
) -> Read:
    """A tensor whose elements along an axis come so many times each."""
    wide = (*source.shape[: axis + 1], times, *source.shape[axis + 1 :])
    inner = tuple(
        IndexMap.of(i if i <= axis else i + 1) if extent > 1 else ONE
        for i, extent in enumerate(source.shape)
    )
    whole = importer.materialized(importer.through(source, inner, wide, place), place)
    count = source.shape[axis] * times
    shape = (*source.shape[:axis], count, *source.shape[axis + 1 :])
    view = importer.tensors.add(View(whole, shape))
    return Read(view, identity_axes(shape), shape)


def _runs(row: Array) -> list[tuple[int, int]]:
    """Splits indices into ascending runs of one step: the start and length of each."""
    runs = []
    start = 0
    while start < len(row):
        end = start + 1
        if end < len(row) and row[end] >= row[start]:
            step = row[end] - row[start]
            while end < len(row) and row[end] - row[end - 1] == step:
                end += 1
        runs.append((start, end - start))
        start = end
    return runs
