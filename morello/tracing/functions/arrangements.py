"""NumPy's functions that repeat, pick and combine elements, made of others."""

import functools
from typing import Any

import numpy as np

from morello.spec.index_map import ONE, IndexMap
from morello.tracing.functions.concatenation import concatenate
from morello.tracing.functions.elementwise import function, recording_of
from morello.tracing.operands import traced
from morello.tracing.refusals import refusal
from morello.tracing.slicing import axis_of, each_of
from morello.tracing.tracer import FUNCTIONS, Tracer


def _array(like: Any, operand: Any) -> Tracer:
    tracer = traced(recording_of(*like), operand)
    if tracer is None:
        raise refusal("a number stands where an array should")
    return tracer


def broadcast_to(array: Any, shape: Any) -> Tracer:
    """Broadcasts an array to a shape, as a new array (`numpy.broadcast_to`)."""
    extents = tuple(each_of(shape))
    if np.broadcast_shapes(array.shape, extents) != extents:
        raise refusal(f"{array.shape} cannot be broadcast to {extents}")
    more = len(extents) - array.ndim
    inner = [
        IndexMap.of(axis + more) if n > 1 else ONE for axis, n in enumerate(array.shape)
    ]
    wide: Tracer = array.through(tuple(inner), extents)
    return wide


def tile(A: Any, reps: Any) -> Tracer:  # noqa: N803 (NumPy's name)
    """Repeats an array along its axes (`numpy.tile`)."""
    times = each_of(reps)
    rank = max(A.ndim, len(times))
    times = [1] * (rank - len(times)) + times
    extents = [1] * (rank - A.ndim) + [*A.shape]
    apart = A.reshape([n for extent in extents for n in (1, extent)])
    both = [n for pair in zip(times, extents, strict=True) for n in pair]
    whole = broadcast_to(apart, both)
    return whole.reshape([t * n for t, n in zip(times, extents, strict=True)])


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tracer:
    """Repeats each element the same number of times (`numpy.repeat`)."""
    if not isinstance(repeats, int | np.integer):
        raise refusal(
            "np.repeat of elements a different number of times", "use np.take"
        )
    if axis is None:
        a, axis = a.reshape(-1), 0
    place = axis_of(a.ndim, axis)
    shape = [*a.shape]
    apart = a.reshape([*shape[: place + 1], 1, *shape[place + 1 :]])
    wide = broadcast_to(apart, [*shape[: place + 1], repeats, *shape[place + 1 :]])
    shape[place] *= repeats
    return wide.reshape(shape)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tracer:
    """Diagonal of two axes, as a new array (`numpy.diagonal`)."""
    turned = np.moveaxis(a, (axis1, axis2), (-2, -1))
    *rest, rows, columns = turned.shape
    start = offset if offset >= 0 else -offset * columns
    count = min(rows + min(offset, 0), columns - max(offset, 0))
    if count < 1:
        raise refusal(f"the diagonal {offset} of {rows} by {columns} is empty")
    end = start + (count - 1) * (columns + 1) + 1
    flat = turned.reshape((*rest, rows * columns))
    elements: Tracer = flat[..., start : end : columns + 1]
    return elements


def diag(v: Any, k: int = 0) -> Tracer:
    """Diagonal of a matrix, or matrix with a vector on its diagonal (`numpy.diag`)."""
    if v.ndim == 2:
        return diagonal(v, k)
    size = v.shape[0] + abs(k)
    row = np.pad(v, (max(k, 0), max(-k, 0))) if k else v
    return function("where", np.eye(size, k=k, dtype=np.float32), row[None], 0.0)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tracer:
    """Sum of a diagonal (`numpy.trace`)."""
    return diagonal(a, offset, axis1, axis2).sum(-1)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Convolution of two vectors (`numpy.convolve`)."""
    left, right = _array((a, v), a), _array((a, v), v)
    if left.shape[0] < right.shape[0]:
        left, right = right, left
    return _slid(left, np.flip(right), mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Cross-correlation of two vectors (`numpy.correlate`)."""
    left, right = _array((a, v), a), _array((a, v), v)
    if left.shape[0] < right.shape[0]:
        raise refusal("np.correlate by more elements than there are", "exchange them")
    return _slid(left, right, mode)


def _slid(a: Any, v: Any, mode: str) -> Any:
    """Sums of products of one array with a shorter one that slides along it."""
    taps = v.shape[0]
    around = {
        "full": (taps - 1, taps - 1),
        "same": (taps // 2, (taps - 1) // 2),
        "valid": (0, 0),
    }
    if mode not in around:
        raise refusal(f"the mode {mode!r}", "write 'full', 'same' or 'valid'")
    if any(around[mode]):
        a = np.pad(a, around[mode])
    return np.lib.stride_tricks.sliding_window_view(a, taps) @ v


def kron(a: Any, b: Any) -> Tracer:
    """Kronecker product of two arrays of the same rank (`numpy.kron`)."""
    left, right = _array((a, b), a), _array((a, b), b)
    if left.ndim != right.ndim:
        raise refusal("np.kron of arrays of different numbers of axes")
    outer = left.reshape([n for extent in left.shape for n in (extent, 1)])
    inner = right.reshape([n for extent in right.shape for n in (1, extent)])
    shape = [i * j for i, j in zip(left.shape, right.shape, strict=True)]
    whole: Tracer = outer * inner
    return whole.reshape(shape)


def cross(a: Any, b: Any, axis: int = -1) -> Any:
    """Cross product of vectors of three elements (`numpy.cross`)."""
    vectors: list[Any] = [_array((a, b), x) for x in (a, b)]
    left, right = (np.moveaxis(x, axis, -1) for x in vectors)
    if left.shape[-1] != 3 or right.shape[-1] != 3:
        raise refusal("np.cross of other vectors than of three")
    (i, j, k), (x, y, z) = ([v[..., n] for n in range(3)] for v in (left, right))
    parts = [j * z - k * y, k * x - i * z, i * y - j * x]
    return np.stack(parts, axis)


def meshgrid(*xi: Any, indexing: str = "xy") -> list[Tracer]:
    """Coordinate grids of several vectors, as new arrays (`numpy.meshgrid`)."""
    vectors = [_array(xi, x).reshape(-1) for x in xi]
    order = [*range(len(vectors))]
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = [vectors[i].shape[0] for i in order]
    places = [order.index(i) for i in range(len(order))]
    return [
        broadcast_to(v.reshape([-1 if p == i else 1 for i in range(len(order))]), shape)
        for v, p in zip(vectors, places, strict=True)
    ]


def dstack(tup: Any) -> Tracer:
    """Concatenates arrays along the third axis (`numpy.dstack`)."""
    parts = [_array(tup, x) for x in tup]
    deep = [x[None, :, None] if x.ndim == 1 else x[:, :, None] for x in parts]
    return concatenate(deep, 2)


def column_stack(tup: Any) -> Tracer:
    """Concatenates vectors and matrices as columns (`numpy.column_stack`)."""
    parts = [_array(tup, x) for x in tup]
    return concatenate([x[:, None] if x.ndim == 1 else x for x in parts], 1)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Rotates an array by quarter turns in the plane of two axes (`numpy.rot90`)."""
    first, second = axes
    for _ in range(k % 4):
        m = np.flip(m, second).swapaxes(first, second)
    return m


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Integral by the trapezoidal rule, of evenly spaced points (`numpy.trapezoid`)."""
    if x is not None:
        raise refusal("np.trapezoid of places x is not traced", "give dx")
    last = np.moveaxis(y, axis, -1)
    return (last[..., 1:] + last[..., :-1]).sum(-1) * (dx / 2)


def gradient(f: Any) -> Any:
    """Gradient of a vector by finite differences (`numpy.gradient`)."""
    if f.ndim != 1 or f.shape[0] < 2:
        raise refusal("np.gradient of other arrays than vectors is not traced")
    parts = [f[1:2] - f[:1], (f[2:] - f[:-2]) * 0.5, f[-1:] - f[-2:-1]]
    return concatenate(parts if f.shape[0] > 2 else parts[::2])


def polyval(p: Any, x: Any) -> Any:
    """Evaluates a polynomial, highest power first (`numpy.polyval`)."""
    value: Any = 0.0
    for coefficient in p:
        value = value * x + coefficient
    return value


def cov(m: Any, *, ddof: int = 1) -> Any:
    """Covariance of variables, each in a row (`numpy.cov`)."""
    centred = _centred(m)
    count = centred.shape[1]
    if count <= ddof:
        raise refusal(f"the covariance of {count} elements with ddof={ddof}")
    return _square(centred @ centred.T * (1.0 / (count - ddof)))


def corrcoef(x: Any) -> Any:
    """Correlation coefficients of variables, each in a row (`numpy.corrcoef`)."""
    centred = _centred(x)
    unit = centred / np.sqrt(np.square(centred).sum(1, keepdims=True))
    return _square(np.clip(unit @ unit.T, -1.0, 1.0))


def _centred(variables: Any) -> Any:
    """Variables, each in a row, less their mean."""
    if not 1 <= variables.ndim <= 2:
        raise refusal(
            f"the covariance of an array of {variables.ndim} axes", "give a matrix"
        )
    rows = variables[None] if variables.ndim == 1 else variables
    return rows - rows.mean(1, keepdims=True)


def _square(matrix: Any) -> Any:
    """A matrix, or its element if it has one row."""
    return matrix[0, 0] if len(matrix) == 1 else matrix


def rollaxis(a: Any, axis: int, start: int = 0) -> Tracer:
    """Moves an axis before another one (`numpy.rollaxis`)."""
    place, end = axis_of(a.ndim, axis), axis_of(a.ndim + 1, start)
    before = end - (start < 0)  # negative ones count from the last axis
    view: Tracer = np.moveaxis(a, place, before - (before > place))
    return view


FUNCTIONS |= {
    np.broadcast_to: broadcast_to,
    np.column_stack: column_stack,
    np.convolve: convolve,
    np.corrcoef: corrcoef,
    np.correlate: correlate,
    np.cov: cov,
    np.cross: cross,
    np.diag: diag,
    np.diagonal: diagonal,
    np.dstack: dstack,
    np.gradient: gradient,
    np.kron: kron,
    np.linalg.multi_dot: lambda arrays: functools.reduce(np.matmul, arrays),
    np.meshgrid: meshgrid,
    np.polyval: polyval,
    np.repeat: repeat,
    np.rollaxis: rollaxis,
    np.rot90: rot90,
    np.tile: tile,
    np.trace: trace,
    np.trapezoid: trapezoid,
}
