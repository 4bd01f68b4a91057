"""Sorts, the greatest elements, running sums and extremes, and counts by intervals, as
ops that the importer knows."""

from typing import Any

import torch

from morello.torch.larger_ops import scans

aten: Any = torch.ops.aten


def sorted_stably(
    x: Any, *, stable: Any, dim: int = -1, descending: bool = False
) -> Any:
    """A sort in any order of equal elements, for which theirs is kept."""
    del stable
    return aten.sort.default(x, dim, descending)


def sorted_plainly(x: Any, dim: int = -1, descending: bool = False) -> Any:
    """A sort of truth values as integers, and of a number as it is."""
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if x.dtype is not torch.bool:
        return NotImplemented
    values, places = aten.sort.default(x.to(torch.int32), dim, descending)
    return values.to(torch.bool), places


def greatest(
    x: Any, k: int, dim: int = -1, largest: bool = True, is_sorted: bool = True
) -> Any:
    """The greatest or least elements, always in order."""
    del is_sorted
    values, places = aten.sort.default(x, dim, largest)
    if not x.dim():
        return values, places
    return values.narrow(dim, 0, k).clone(), places.narrow(dim, 0, k).clone()


def of_rank(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """The element that so many are not greater than; its place is not read."""
    if not x.dim():
        return x.clone(), x.clone()
    values = torch.sort(x, dim).values.narrow(dim, k - 1, 1)
    values = values.clone() if keepdim else values.squeeze(dim).clone()
    return values, values


def median(x: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
    """The lower of the two in the middle, or NaN where there is one; its place is not
    read."""
    count = x.shape[dim] if x.dim() else 1
    values, _ = of_rank(x, (count + 1) // 2, dim, keepdim)
    if x.is_floating_point():
        most, _ = of_rank(x, count, dim, keepdim)
        values = torch.where(most.isnan(), most, values)
    return values, values


def whole_median(x: Any) -> Any:
    """The median of all elements."""
    return median(x.reshape(-1), 0)[0]


_NARROW_FLOATS = (torch.float32, torch.bfloat16, torch.float16)

_MOST_PLACES = 1 << 24
"""Places that f32 has each of."""


def place_of_extreme(of_axis: Any) -> Any:
    """A rule for the first place of the extreme along an axis, or of NaN, as two
    reductions: plain lowering has one of pairs.

    Args:
        of_axis: gives the extreme.
    """

    def rule(x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        if not x.dim():
            return torch.zeros_like(x, dtype=torch.int64)
        if x.dtype not in _NARROW_FLOATS or (dim is None and keepdim):
            return NotImplemented
        if dim is None:
            x, dim = x.reshape(-1), 0
        count, shape = x.shape[dim], [1] * x.dim()
        if not 0 < count < _MOST_PLACES:
            return NotImplemented
        shape[dim] = count
        places = torch.arange(count, dtype=torch.float32).reshape(shape)
        is_extreme = x.isnan().logical_or(x == of_axis(x, [dim], True))
        place = torch.where(is_extreme, places, float(count)).amin(dim, keepdim)
        return place.to(torch.int64)

    return rule


def extreme_and_place(of_axis: Any) -> Any:
    """A rule for the extreme along an axis and its first place."""
    place_of = place_of_extreme(of_axis)

    def rule(x: Any, dim: int, keepdim: bool = False) -> Any:
        place = place_of(x, dim, keepdim)
        if place is NotImplemented:
            return NotImplemented
        return of_axis(x, [dim], keepdim) if x.dim() else x.clone(), place

    return rule


def running_extreme(is_greatest: bool) -> Any:
    """A rule for the greatest or the least of the first elements, and the last of their
    places. NaN is beyond all.

    Args:
        is_greatest: whether it is for the greatest.
    """

    def rule(x: Any, dim: int) -> tuple[Any, Any]:
        if not x.dim():
            return x.clone(), torch.zeros_like(x, dtype=torch.int64)
        if x.dtype in _NARROW_INTEGERS:
            values, places = rule(x.to(torch.int32), dim)
            return values.to(x.dtype), places
        if x.dtype in _NARROW_FLOATS[1:]:
            values, places = rule(x.float(), dim)
            return values.to(x.dtype), places
        count, shape = x.shape[dim], [1] * x.dim()
        shape[dim] = count
        if x.dtype is torch.int64 or count >= _MOST_PLACES:
            return _in_steps(x, dim, torch.gt if is_greatest else torch.lt)
        values = scans.running_extreme(x, dim, is_greatest)
        is_new = x == values
        if x.is_floating_point():
            is_new = is_new | x.isnan()
        numbers = torch.arange(0, -count, -1, dtype=torch.int32).reshape(shape)
        least = scans.running_extreme(torch.where(is_new, numbers, 0), dim, False)
        return values, -least.to(torch.int64)

    return rule


_NARROW_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16)


def _in_steps(x: Any, dim: int, is_beyond: Any) -> tuple[Any, Any]:
    """Running extremes of integers, and their places: each step doubles the number of
    elements that are compared."""
    count, shape = x.shape[dim], [1] * x.dim()
    shape[dim] = count
    places = torch.arange(count).reshape(shape).expand(x.shape).clone()
    step = 1
    while step < count:
        before, at = (t.narrow(dim, 0, count - step) for t in (x, places))
        later, there = (t.narrow(dim, step, count - step) for t in (x, places))
        takes = is_beyond(before, later)
        pairs = ((x, before, later), (places, at, there))
        x, places = (
            torch.cat([t.narrow(dim, 0, step), torch.where(takes, one, two)], dim)
            for t, one, two in pairs
        )
        step *= 2
    return x, places


def running_sum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """The sums of the first elements, in 64 bits; those of floats are rounded once."""
    return _in_64_bits(aten.cumsum.default, x, dim, dtype)


def running_product(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """The products of the first elements, as `running_sum`."""
    return _in_64_bits(aten.cumprod.default, x, dim, dtype)


def _in_64_bits(op: Any, x: Any, dim: int, dtype: Any) -> Any:
    """A running sum or product of what is cast first, as eager does, and again last."""
    dtype = dtype or (x.dtype if x.is_floating_point() else torch.int64)
    if dtype in (torch.float64, torch.int64, torch.bool):
        return NotImplemented
    x = x.to(dtype)
    if not x.dim():
        return x.clone()
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    return op(x.to(wide), dim).to(dtype)


def intervals(
    values: Any, edges: Any, *, out_int32: bool = False, right: bool = False
) -> Any:
    """How many edges, which go up, are before each value (`bucketize`)."""
    return _before(edges, values, right=right).to(
        torch.int32 if out_int32 else torch.int64
    )


def places_among(
    edges: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """How many edges, which go up along the last axis, are before each value
    (`searchsorted`)."""
    del sorter
    counts = _before(edges, values, right=right or side == "right")
    return counts.to(torch.int32 if out_int32 else torch.int64)


def _before(edges: Any, values: Any, *, right: bool) -> Any:
    """The number of edges below each value, or not above it: by bisection, for all
    values at once."""
    count = edges.shape[-1]
    below = torch.zeros_like(values, dtype=torch.int64)
    step = 1 << (count.bit_length() - 1)
    while step:
        further = below + step
        edge = _edges_at(edges, (further - 1).clamp(max=count - 1))
        is_later = edge > values if right else edge >= values
        goes_on = (further <= count).logical_and(is_later.logical_not())
        below = torch.where(goes_on, further, below)
        step //= 2
    return below


def _edges_at(edges: Any, places: Any) -> Any:
    if edges.dim() > 1:
        return edges.gather(-1, places)
    return edges.index_select(0, places.reshape(-1)).reshape(places.shape)


def counts(x: Any, bins: int = 100, least: float = 0, most: float = 0) -> Any:
    """How many elements lie in each of some equal intervals (`histc`); the last one has
    its end."""
    edges = torch.linspace(least, most, bins + 1, dtype=torch.float32)
    x = x.reshape(-1)
    bin_of = (_before(edges, x, right=True) - 1).clamp(max=bins - 1)
    is_inside = (x >= least).logical_and(x <= most)
    places = torch.where(is_inside, bin_of, bins)
    ones = torch.ones_like(x)
    return x.new_zeros(bins + 1).scatter_add(0, places, ones).narrow(0, 0, bins).clone()
