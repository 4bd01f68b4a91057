"""Descriptors that compiled functions read: their words, and where arrays are."""

import ctypes
from typing import Any

import numpy as np

_BYTE = ctypes.c_char

ABSENT = 1 << 30
"""The place of a hole that is not there: it adds nothing."""

ACTION = (
    "code", "points", "rows", "cost", "cost_point", "cost_near", "cost_far", "first",
    "holes",
)  # fmt: skip
"""The words of an action: its decision; the points that it is tried at, and where each
begins in the table; its costs and their steps; its first hole, and how many it has."""

HOLE = (
    "table", "slice", "slices", "most", "at", "at_point", "times", "times_point",
    "fixed", "fixed_point", "near", "near_point", "near_class", "far", "far_point",
    "far_class",
)  # fmt: skip
"""The words of a hole: where its arrays are, and their steps along points and classes;
how many slices its table has, and the one of the greatest limits.
``table`` (`Costs.slices`) and ``times`` hold float64, ``slice`` int64, the others
int32."""

CODE, POINTS, ROWS, COST, COST_POINT, COST_NEAR, COST_FAR, FIRST, HOLES = range(
    len(ACTION)
)
(
    TABLE,
    SLICE,
    SLICES,
    MOST,
    AT,
    AT_POINT,
    TIMES,
    TIMES_POINT,
    FIXED,
    FIXED_POINT,
    NEAR,
    NEAR_POINT,
    NEAR_CLASS,
    FAR,
    FAR_POINT,
    FAR_CLASS,
) = range(len(HOLE))

AXIS = (
    "stride", "extent", "holes", "starts", "main", "rest", "trips", "share", "own",
    "codes",
)  # fmt: skip
"""The words of an axis: how many points are from one of its coordinates to the next;
how many coordinates it has, and the table of the holes; and the arrays of the loops
(`tiling.Plan`)."""

PEEL = ("stride", "extent", "place", "others", "code")
"""The words of a peeled reduction: how many points are from one of its coordinates to
the next, and how many it has; the coordinate of the first part; what all else costs at
each point; its decision."""

STRIDE, EXTENT, BELOW, STARTS, MAIN, REST, TRIPS, SHARE, PRICE, CODES = range(10)
PLACE, OTHERS, PEEL_CODE = 2, 3, 4

LEADING, LEADING_EXCESS, LEADING_TIMES = range(3)
"""The words of a leading hole of an action: its number among the action's holes, and
where the bounds of its table are."""


def address(array: np.ndarray[Any, Any]) -> int:
    """The address of the first element of a C-contiguous array.

    Raises:
        ValueError: the array is not contiguous.
    """
    if not array.flags.c_contiguous:
        raise ValueError("compiled functions read arrays without gaps")
    if array.size and array.flags.writeable:  # four times as fast as `array.ctypes`
        return ctypes.addressof(_BYTE.from_buffer(array))  # type: ignore[arg-type]
    return int(array.ctypes.data)
