"""Non-negative least squares, by the active set method of Lawson and Hanson."""

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

_TOLERANCE = 1e-10


def nnls(a: Matrix, b: Matrix) -> Matrix:
    """The x >= 0 that makes |a x - b| least.

    Args:
        a: rows x columns, of full column rank.
        b: rows.

    Returns:
        columns.
    """
    columns = a.shape[1]
    x = np.zeros(columns)
    free = np.zeros(columns, bool)
    scale = _TOLERANCE * max(1.0, float(np.abs(a.T @ b).max(initial=0.0)))
    for _ in range(3 * columns):
        gain = np.where(free, -np.inf, a.T @ (b - a @ x))
        if not np.any(gain > scale):
            break
        free[int(np.argmax(gain))] = True
        x = _settle(a, b, x, free)
    return x


def _settle(a: Matrix, b: Matrix, x: Matrix, free: npt.NDArray[np.bool_]) -> Matrix:
    """The optimum over the free variables; those that it makes negative are tied to 0.

    ``free`` is changed in place.
    """
    while True:
        wanted = np.zeros_like(x)
        if not free.any():
            return wanted
        wanted[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
        bad = free & (wanted <= 0)
        if not bad.any():
            return wanted
        step = float(np.min(x[bad] / np.maximum(x[bad] - wanted[bad], 1e-300)))
        x = x + step * (wanted - x)
        free &= x > _TOLERANCE
        x[~free] = 0.0
