"""Least squares under linear inequalities, by the method of Lawson and Hanson.

"Solving Least Squares Problems", chapter 23: a problem with inequalities becomes the
search for the shortest vector under inequalities, and that becomes least squares
without negative unknowns, which an active set solves.
"""

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

_TOLERANCE = 1e-10


def constrained_least_squares(a: Matrix, b: Matrix, g: Matrix, h: Matrix) -> Matrix:
    """The x with g x >= h that makes \\|a x - b\\| least.

    Args:
        a: rows x columns, of full column rank.
        b: rows.
        g: inequalities x columns; some x fulfils all of them.
        h: inequalities; those that are -inf are none.

    Returns:
        columns.
    """
    q, r = np.linalg.qr(a)
    there = np.isfinite(h)
    g, h = g[there], h[there]
    # With z = r x - q' b the norm is that of z but for a constant.
    aim = q.T @ b
    turned = np.linalg.solve(r.T, g.T).T
    return np.asarray(np.linalg.solve(r, _shortest(turned, h - turned @ aim) + aim))


def non_negative_least_squares(a: Matrix, b: Matrix) -> Matrix:
    """Solve a x = b for x >= 0 in the least-squares sense.

    Args:
        a: rows x columns.
        b: rows.

    Returns:
        columns.
    """
    x = np.zeros(a.shape[1])
    free = np.zeros(len(x), bool)
    scale = _TOLERANCE * max(1.0, float(np.abs(a.T @ b).max(initial=0.0)))
    for _ in range(6 * len(x)):
        gain = a.T @ (b - a @ x)
        gain[free] = -np.inf
        if not np.any(gain > scale):
            break
        free[int(np.argmax(gain))] = True
        while free.any():
            wanted = np.zeros_like(x)
            wanted[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
            out = free & (wanted <= 0)
            if not out.any():
                x = wanted
                break
            steps = x[out] / (x[out] - wanted[out])
            x = x + float(steps.min()) * (wanted - x)
            free &= x > _TOLERANCE * float(np.abs(x).max(initial=1.0))
            x[~free] = 0.0
    return x


def _shortest(g: Matrix, h: Matrix) -> Matrix:
    """The z with g z >= h whose norm is least."""
    if not np.any(h > 0):
        return np.zeros(g.shape[1])
    norms = np.linalg.norm(g, axis=1)
    e = np.vstack([(g / norms[:, None]).T, h / norms])
    f = np.zeros(len(e))
    f[-1] = 1.0
    rest = e @ non_negative_least_squares(e, f) - f
    return np.asarray(-rest[:-1] / rest[-1])
