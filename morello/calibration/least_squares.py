"""Least squares between bounds, by the active set method of Lawson and Hanson.

Theirs knows the bound 0 alone; here each unknown has a least and a largest value, as in
the method of Stark and Parker.
"""

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
_Places = npt.NDArray[np.bool_]

_TOLERANCE = 1e-10


def bounded_least_squares(a: Matrix, b: Matrix, low: Matrix, high: Matrix) -> Matrix:
    """The x from ``low`` to ``high`` that makes \\|a x - b\\| least.

    Args:
        a: rows x columns, of full column rank.
        b: rows.
        low: columns; finite.
        high: columns, none below ``low``; may be infinite.

    Returns:
        columns.
    """
    x = low.copy()
    free = np.zeros(len(x), bool)
    scale = _TOLERANCE * max(1.0, float(np.abs(a.T @ b).max(initial=0.0)))
    for _ in range(6 * len(x)):
        slope = a.T @ (b - a @ x)
        gain = np.where(x >= high, -slope, slope)
        gain[free | (low >= high)] = -np.inf
        if not np.any(gain > scale):
            break
        free[int(np.argmax(gain))] = True
        x = _settle(a, b, x, free, low, high)
    return x


def _settle(
    a: Matrix, b: Matrix, x: Matrix, free: _Places, low: Matrix, high: Matrix
) -> Matrix:
    """The optimum over the free unknowns; those that leave their bounds are tied there.

    ``free`` is changed in place.
    """
    while free.any():
        wanted = x.copy()
        rest = b - a[:, ~free] @ x[~free]
        wanted[free] = np.linalg.lstsq(a[:, free], rest, rcond=None)[0]
        out = free & ((wanted <= low) | (wanted >= high))
        if not out.any():
            return wanted
        limit = np.where(wanted <= low, low, high)
        way = np.ones_like(x)
        moved = out & (wanted != x)
        way[moved] = (limit[moved] - x[moved]) / (wanted[moved] - x[moved])
        step = float(way[out].min())
        tied = out & (way <= step * (1 + _TOLERANCE))
        x = np.where(free, x + step * (wanted - x), x)
        x[tied] = limit[tied]
        free &= ~tied
    return x
