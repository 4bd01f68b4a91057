"""Reading solved tables at the Specs of a frame."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from morello.search.dp.axes import ANY, Axis
from morello.search.dp.table import Costs, Floats, Integers
from morello.spec.frame import Frame


@lru_cache(maxsize=65536)
def positions(axis: Axis, values: Axis) -> tuple[Integers, bool]:
    """The index on ``axis`` of each of ``values``, -1 where it has none; any such."""
    if axis == (ANY,):
        return np.zeros(len(values), np.int64), False
    place = {value: i for i, value in enumerate(axis)}
    found = np.asarray([place.get(value, -1) for value in values], np.int64)
    return found, bool(np.any(found < 0))


def look_up(
    table: Costs, parent: Frame, axes: tuple[Axis, ...], child: Frame
) -> Floats:
    """The costs in ``table`` of the Specs of a hole.

    Args:
        parent: the frame that was expanded; its arrays are the meshes of ``axes``.
        axes: the coordinates of each of its dimensions, then of its limits.
        child: the frame of the hole. Where it has the very array of the parent, the
            positions are known from the axis alone.

    Returns:
        costs that broadcast to the parent's box; infinite where the table has no point.
    """
    known = known_axes(parent, axes)
    costs = _slice(table, _asked(table, child), known, len(axes))
    if costs is not None:
        return costs
    flat: Any = 0
    outside: Any = False
    for axis, value in _asked(table, child):
        place, gap = place_on(axis, value, known.get(id(value)), len(axes))
        if gap is not False:
            outside = outside | gap
            place = np.maximum(place, 0)
        flat = flat * len(axis) + place
    costs = table.dense.reshape(-1).take(flat)
    return costs if outside is False else np.where(outside, np.inf, costs)


Known = Mapping[int, tuple[int, Axis]]
"""The dimension of an array, by its `id`, and its coordinates."""


def known_axes(parent: Frame, axes: tuple[Axis, ...]) -> Known:
    """The arrays of a frame, which are the meshes of ``axes``."""
    return {
        id(array): (dim, axis)
        for dim, (array, axis) in enumerate(zip(_values(parent), axes, strict=True))
    }


def _asked(table: Costs, child: Frame) -> tuple[tuple[Axis, Any], ...]:
    return tuple(zip(table.box.axes, _values(child), strict=True))


def _slice(
    table: Costs,
    places: tuple[tuple[Axis, Any], ...],
    known: Known,
    rank: int,
) -> Floats | None:
    """The costs where every axis is one of the parent's or one number: cut, not sought.

    None where another axis is not, or where the table lacks some points.
    """
    window: list[slice | int] = []
    picked: list[tuple[int, Integers]] = []
    kept: list[int] = []
    for axis, value in places:
        if axis == (ANY,):
            window.append(0)
        elif id(value) in known:
            dim, values = known[id(value)]
            found, gaps = positions(axis, values)
            if values == (ANY,) or gaps or (kept and dim <= kept[-1]):
                return None
            run = slice(int(found[0]), int(found[-1]) + 1)
            if run.stop - run.start > len(found):
                picked.append((len(kept), found - run.start))
            window.append(run)
            kept.append(dim)
        elif np.ndim(value) == 0 and value in axis:
            window.append(axis.index(value))
        else:
            return None
    costs: Floats = table.dense[tuple(window)]
    for place, found in picked:
        costs = costs.take(found, axis=place)
    return costs[tuple(slice(None) if dim in kept else None for dim in range(rank))]


def _values(frame: Frame) -> tuple[Any, ...]:
    return (*frame.sizes, frame.limits.vrf, frame.limits.l1, frame.limits.l2)


@lru_cache(maxsize=65536)
def _mesh(axis: Axis, dim: int, values: Axis, rank: int) -> tuple[Any, Any]:
    """`place_on` of a dimension of the parent itself."""
    found, gaps = positions(axis, values)
    mesh = found.reshape((1,) * dim + (-1,) + (1,) * (rank - dim - 1))
    return mesh, mesh < 0 if gaps else False


def place_on(
    axis: Axis, value: Any, known: tuple[int, Axis] | None, rank: int
) -> tuple[Any, Any]:
    """The positions of values on an axis, and which of them have none.

    Args:
        known: what is known of ``value``, if it is an array of a frame.
        rank: of that frame.

    Returns:
        positions that broadcast to the frame; and which of them mean nothing, since the
        axis lacks the number: False for none.
    """
    if axis == (ANY,):
        return 0, False
    if known is not None and known[1] != (ANY,):
        return _mesh(axis, *known, rank)
    ladder = np.asarray(axis, np.int64)
    place = np.minimum(np.searchsorted(ladder, value), len(axis) - 1)
    gap = ladder[place] != value
    return place, gap if np.any(gap) else False
