"""Scatters at places that are data, as those that the importer knows."""

from collections.abc import Sequence
from typing import Any

import torch

aten: Any = torch.ops.aten


def rows_copied(x: Any, dim: int, places: Any, source: Any) -> Any:
    """A tensor with rows of another at places that are data; the last of those at one
    place."""
    if not _are_compared(x, dim, places):
        indices = [None] * (dim % x.dim()) + [places.reshape(-1)]
        return aten.index_put.default(x, indices, source)
    shape = [1] * x.dim()
    shape[dim] = x.shape[dim]
    rows = torch.arange(x.shape[dim], dtype=torch.float32)
    is_place = rows.unsqueeze(1) == places.float().reshape(-1)
    count = is_place.shape[1]
    if count == 1:
        return torch.where(is_place.reshape(shape), source, x)
    order = torch.arange(count, dtype=torch.float32)
    last = torch.where(is_place, order, -1.0).amax(1)
    written = source.index_select(dim, last.clamp(min=0).to(torch.int64))
    return torch.where((last >= 0).reshape(shape), written, x)


def _are_compared(x: Any, dim: int, places: Any) -> bool:
    """Whether each row is compared with each place, which graphs do: that takes no more
    steps than a copy of the tensor."""
    rows, count = x.shape[dim], places.numel()
    is_few = count == 1 or count * rows <= x.numel()
    return bool(x.dtype.is_floating_point and rows <= _EXACT and is_few)


_EXACT = 1 << 24
"""The largest integer up to which f32, which graphs compare, has every one."""


def rows_put(
    x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False
) -> Any:
    """A tensor with other rows at places, which may count from the last one."""
    axes = [axis for axis, places in enumerate(indices) if places is not None]
    dim, places = axes[0], indices[axes[0]]
    if places.dtype is torch.bool:
        return _masked_put(x, places, values)
    if accumulate:
        return _added(x, indices, values) if x.dtype is torch.bool else NotImplemented
    is_one = len(axes) == 1 and places.dim() == 1
    if not is_one or not _are_compared(x, dim, places):
        return NotImplemented
    shape, places = list(x.shape), places.float()
    shape[dim] = places.numel()
    places = torch.where(places < 0, places + x.shape[dim], places)
    return rows_copied(x, dim, places, values.expand(shape))


def rows_added(x: Any, dim: int, places: Any, source: Any, *, alpha: Any = 1) -> Any:
    """A tensor to rows of which those of another are added."""
    if not x.dim():
        return NotImplemented
    source = source if alpha == 1 else source * alpha
    indices = [None] * (dim % x.dim()) + [places.reshape(-1).long()]
    return _added(x, indices, source)


def _added(x: Any, indices: Sequence[Any], source: Any) -> Any:
    """A tensor to which others are added at places: a sum of truth values is the truth
    of any."""
    if x.dtype is torch.bool:
        return aten.index_put.default(x.long(), indices, source.long(), True).ne(0)
    return aten.index_put.default(x, indices, source, True)


def _in_a_row(
    x: Any, dim: int, places: Any, source: Any = None
) -> tuple[Any, Any, Any]:
    """A tensor as one row, places as those of elements of it, and what is written
    there: torch-mlir would write out the numbers of each place."""
    dim %= x.dim()
    step, flat = 1, torch.zeros([], dtype=torch.int64)
    for axis in reversed(range(x.dim())):
        shape = [1] * x.dim()
        shape[axis] = places.shape[axis]
        along = torch.arange(places.shape[axis]).reshape(shape)
        number = (places if axis == dim else along) * step
        flat = flat + number if axis + 1 < x.dim() else number
        step *= x.shape[axis]
    if isinstance(source, torch.Tensor):
        source = _first(source, places.shape).reshape(-1)
    return x.reshape(-1), flat.reshape(-1), source


def _first(x: Any, shape: Sequence[int]) -> Any:
    """The first elements of a tensor along each axis."""
    for axis, size in enumerate(shape):
        x = x.narrow(axis, 0, size)
    return x


def elements_put(x: Any, dim: int, places: Any, source: Any) -> Any:
    """A tensor with other elements, or a number, at places along an axis."""
    if not x.dim() or not places.dim():
        return NotImplemented
    row, flat, source = _in_a_row(x, dim, places, source)
    if not isinstance(source, torch.Tensor):
        source = torch.full(flat.shape, source, dtype=x.dtype)
    return aten.index_put.default(row, [flat], source).reshape(x.shape)


def elements_added(x: Any, dim: int, places: Any, source: Any) -> Any:
    """A tensor to elements of which those of another are added; rows where a place is
    that of a whole row."""
    if not x.dim() or not places.dim():
        return NotImplemented
    dim, source = dim % x.dim(), _first(source, places.shape)
    others = [axis for axis in range(x.dim()) if axis != dim]
    if any(
        places.stride(axis) or source.shape[axis] != x.shape[axis] for axis in others
    ):
        row, flat, source = _in_a_row(x, dim, places, source)
        return _added(row, [flat], source).reshape(x.shape)
    for axis in reversed(others):
        places = places.select(axis, 0)
    return rows_added(x, dim, places, source)


def means_added(
    x: Any, dim: int, places: Any, source: Any, kind: str, *, include_self: bool = True
) -> Any:
    """The means of a tensor's elements and those that are added to them, or of the
    latter where there are some; other kinds as they are of one row."""
    if not x.dim():
        return NotImplemented
    if kind != "mean":
        if x.dim() < 2 or not places.dim():
            return NotImplemented
        row, flat, source = _in_a_row(x, dim, places, source)
        result = aten.scatter_reduce.two(
            row, 0, flat, source, kind, include_self=include_self
        )
        return result.reshape(x.shape)
    counts = torch.zeros_like(x, dtype=torch.float32)
    counts = counts.scatter_add(
        dim, places, torch.ones_like(source, dtype=torch.float32)
    )
    if include_self:
        return x.scatter_add(dim, places, source) / (counts + 1)
    sums = torch.zeros_like(x).scatter_add(dim, places, source)
    return torch.where(counts > 0, sums / counts.clamp(min=1), x)


def rows_filled(x: Any, dim: int, places: Any, value: Any) -> Any:
    """A tensor with a number in rows."""
    if not x.dim():
        return NotImplemented
    shape, wide = [1] * x.dim(), list(x.shape)
    shape[dim], wide[dim] = -1, places.numel()
    rows = places.reshape(shape).expand(wide)
    return aten.scatter.value(x, dim, rows, value)


def _masked_put(x: Any, mask: Any, value: Any) -> Any:
    """A tensor with a number where a mask of its first axes is true."""
    mask = mask.reshape(*mask.shape, *([1] * (x.dim() - mask.dim())))
    return torch.where(mask, value, x)


def taken(x: Any, places: Any) -> Any:
    """Elements of a tensor by their numbers in row-major order (`take`)."""
    rows = x.reshape(-1)
    places = torch.where(places < 0, places + rows.shape[0], places)
    return rows.index_select(0, places.reshape(-1)).reshape(places.shape)


def numbers_put(x: Any, mask: Any, source: Any) -> Any:
    """A tensor with the first numbers of another where a mask is true, in row-major
    order (`masked_scatter`)."""
    x, mask = torch.broadcast_tensors(x, mask)
    rows, mask, numbers = x.reshape(-1), mask.reshape(-1), source.reshape(-1)
    places = mask.to(torch.int64).cumsum(0) - 1
    places = places.clamp(0, numbers.shape[0] - 1)
    written = numbers.index_select(0, places)
    return torch.where(mask, written, rows).reshape(x.shape)
