"""NumPy's functions of whole arrays that are traced."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.frontends.nodes.tensors import window_of
from morello.spec.index_map import ONE
from morello.tracing import calls  # noqa: F401 (it fills a table)
from morello.tracing.functions import (  # noqa: F401 (they fill the tables)
    arrangements,
    composed,
    indexing,
    products,
    reductions,
)
from morello.tracing.functions.concatenation import (
    append,
    concatenate,
    hstack,
    roll,
    stack,
    take,
    vstack,
)
from morello.tracing.functions.elementwise import function
from morello.tracing.numbers import F32, has_number, is_whole
from morello.tracing.refusals import refusal
from morello.tracing.slicing import axes_of, axis_of, each_of, is_integer, ordered_axes
from morello.tracing.tracer import CHOOSING, FUNCTIONS, UFUNCS, Tracer, whole


def where(condition: Any, x: Any, y: Any) -> Tracer:
    """Chooses between x and y by a condition, an array of numbers where 0 means false
    (`numpy.where`)."""
    for one, other in ((x, y), (y, x)):
        dtype = getattr(other, "dtype", F32)
        if type(one) is int and is_whole(dtype) and not has_number(dtype, one):
            raise refusal(f"np.where of {dtype} and {one}, which it does not have")
    return function("where", condition, x, y)


def clip(a: Any, a_min: Any = None, a_max: Any = None, **bounds: Any) -> Any:
    """Limits elements to a range (`numpy.clip`)."""
    low = bounds.pop("min", a_min)
    high = bounds.pop("max", a_max)
    if bounds:
        raise refusal(f"clip with {', '.join(bounds)} is not traced")
    limited = a if low is None else function("maximum", a, low)
    return limited if high is None else function("minimum", limited, high)


def var(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Tracer:
    """Variance along axes: the mean square deviation from the mean (`numpy.var`)."""
    count = int(
        np.prod([a.shape[place] for place in axes_of(a.ndim, axis)], dtype=object)
    )
    if count <= ddof:
        raise refusal(f"the variance of {count} elements with ddof={ddof}")
    centred = a - a.mean(axis, keepdims=True)
    total = np.square(centred).sum(axis, keepdims=keepdims)
    return total * (1.0 / (count - ddof))  # type: ignore[no-any-return]


def std(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Tracer:
    """Standard deviation along axes: the root of the variance (`numpy.std`)."""
    return function("sqrt", var(a, axis, ddof=ddof, keepdims=keepdims))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:
    """Norm of vectors, or the root of the sum of all squares (`numpy.linalg.norm`)."""
    places = axes_of(x.ndim, axis)
    count = 0 if axis is None and ord is None else len(places)
    if count <= 2 and ord in (None, {1: 2, 2: "fro"}.get(count)):
        return function("sqrt", function("square", x).sum(places, keepdims=keepdims))
    if len(places) == 1 and ord in (1, np.inf, -np.inf):
        name = {1: "sum", np.inf: "max", -np.inf: "min"}[ord]
        return _method(name)(abs(x), places, keepdims=keepdims)
    raise refusal(
        f"the norm ord={ord} along {len(places)} axes is not traced",
        "use None, 1, 2, np.inf or -np.inf along one axis",
    )


def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Range along axes: the maximum minus the minimum (`numpy.ptp`)."""
    return a.max(axis, keepdims) - a.min(axis, keepdims)


def average(
    a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False
) -> Any:
    """Weighted mean (`numpy.average`): weights have the shape of a, or of one axis."""
    if weights is None:
        return a.mean(axis, keepdims)
    if not isinstance(weights, Tracer):
        weights = np.asarray(weights)
    if np.ndim(weights) == a.ndim:
        total = weights.sum(axis=axis, keepdims=keepdims)
    else:
        place = axis_of(a.ndim, axis)
        total = weights.sum()
        weights = weights[(..., *[None] * (a.ndim - 1 - place))]
    return (a * weights).sum(axis, keepdims) / total


def expand_dims(a: Any, axis: Any) -> Tracer:
    """Inserts axes of size one (`numpy.expand_dims`)."""
    rank = a.ndim + len(each_of(axis))
    new = ordered_axes(rank, axis)
    view: Tracer = a[tuple(None if i in new else slice(None) for i in range(rank))]
    return view


def squeeze(a: Any, axis: Any = None) -> Tracer:
    """Removes axes of size one (`numpy.squeeze`)."""
    if axis is None:
        places = tuple(i for i, extent in enumerate(a.shape) if extent == 1)
    else:
        places = axes_of(a.ndim, axis)
    if any(a.shape[place] != 1 for place in places):
        raise refusal(f"squeezing axes {places} of {a.shape}, which are not of size 1")
    view: Tracer = a[tuple(0 if i in places else slice(None) for i in range(a.ndim))]
    return view


def moveaxis(a: Any, source: Any, destination: Any) -> Tracer:
    """Moves axes to other positions (`numpy.moveaxis`)."""
    one, other = (ordered_axes(a.ndim, each) for each in (source, destination))
    if len(one) != len(other):
        raise refusal(f"moving the axes {source} to {destination}", "give as many")
    moved = dict(zip(other, one, strict=True))
    rest = iter(i for i in range(a.ndim) if i not in moved.values())
    order = [moved[j] if j in moved else next(rest) for j in range(a.ndim)]
    view: Tracer = a.transpose(order)
    return view


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    """Splits an array in parts whose sizes differ by at most one, the longer ones first
    (`numpy.array_split`)."""
    if is_integer(indices_or_sections) and indices_or_sections > 0:
        place = axis_of(ary.ndim, axis)
        parts = indices_or_sections
        share, longer = divmod(ary.shape[place], parts)
        indices_or_sections = [share * i + min(i, longer) for i in range(1, parts)]
    return split(ary, indices_or_sections, axis)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    """Splits an array in equal parts, or at indices (`numpy.split`)."""
    place = axis_of(ary.ndim, axis)
    size = ary.shape[place]
    if is_integer(indices_or_sections):
        parts = indices_or_sections
        if parts < 1 or size % parts:
            raise refusal(f"splitting {size} elements in {parts} equal parts")
        places = [size // parts * i for i in range(1, parts)]
    else:
        places = [*indices_or_sections]
    ends = zip([0, *places], [*places, size], strict=True)
    before = (slice(None),) * place
    return [ary[(*before, slice(start, end))] for start, end in ends]


def vsplit(ary: Any, indices_or_sections: Any) -> list[Tracer]:
    """Splits an array with rows along them (`numpy.vsplit`)."""
    if ary.ndim < 2:
        raise refusal(f"np.vsplit of an array of {ary.ndim} axes", "use np.hsplit")
    return split(ary, indices_or_sections)


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """Differences of adjacent elements, n times over (`numpy.diff`)."""
    place = axis_of(a.ndim, axis)
    before = (slice(None),) * place
    for _ in range(n):
        a = a[(*before, slice(1, None))] - a[(*before, slice(None, -1))]
    return a


def flip(m: Any, axis: Any = None) -> Tracer:
    """Reverses the order of elements along axes (`numpy.flip`)."""
    places = axes_of(m.ndim, axis)
    back = slice(None, None, -1)
    view: Tracer = m[tuple(back if i in places else slice(None) for i in range(m.ndim))]
    return view


def _triangle(m: Any, mask: Any) -> Tracer:
    return function("where", mask.astype(np.float32), m, 0.0)


def tril(m: Any, k: int = 0) -> Tracer:
    """Lower triangle of matrices, zeros elsewhere (`numpy.tril`)."""
    return _triangle(m, np.tri(*_triangle_of(m), k))


def triu(m: Any, k: int = 0) -> Tracer:
    """Upper triangle of matrices, zeros elsewhere (`numpy.triu`)."""
    return _triangle(m, 1 - np.tri(*_triangle_of(m), k - 1))


def _triangle_of(m: Any) -> tuple[int, int]:
    """Rows and columns: each row of a matrix that a vector is, is the vector."""
    if not m.ndim:
        raise refusal("a triangle of an array without axes", "write m[None, None]")
    rows, columns = m.shape[-2:] if m.ndim > 1 else m.shape * 2
    return rows, columns


def pad(
    array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0
) -> Tracer:
    """Pads an array with one number (`numpy.pad`)."""
    if mode != "constant" or np.ndim(constant_values):
        raise refusal(
            f"np.pad with mode={mode!r} and several numbers is not traced",
            "pad with one number, or outside of the function",
        )
    # NumPy converts the number to the dtype of the array, or raises an error.
    filled = np.pad(np.zeros(1, array.dtype), 1, constant_values=constant_values)
    number = float(filled[0])
    widths = [(int(a), int(b)) for a, b in np.broadcast_to(pad_width, (array.ndim, 2))]
    if min(map(min, widths), default=0) < 0:
        raise refusal(f"np.pad by {pad_width}", "cut elements off by a slice")
    shape = tuple(n + sum(w) for n, w in zip(array.shape, widths, strict=True))
    inner = tuple(
        window_of({i: 1}, before, shape, n) if n > 1 else ONE
        for i, (n, (before, _)) in enumerate(zip(array.shape, widths, strict=True))
    )
    padded: Tracer = array.through(inner, shape)
    grown = any(n == 1 and any(w) for n, w in zip(array.shape, widths, strict=True))
    if not grown and (number, math.copysign(1.0, number)) == (0.0, 1.0):
        return padded
    pairs = zip(array.shape, widths, strict=True)
    inside = np.pad(np.ones([n if any(w) else 1 for n, w in pairs], np.float32), widths)
    return function("where", inside, padded, number)


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Tracer:
    """Windows that slide over an array
    (`numpy.lib.stride_tricks.sliding_window_view`)."""
    lengths = each_of(window_shape)
    places = ordered_axes(x.ndim, range(x.ndim) if axis is None else axis)
    if len(places) != len(lengths):
        raise refusal(f"windows of {window_shape} along the axes {axis} of {x.shape}")
    shape = [*x.shape, *lengths]
    for place, length in zip(places, lengths, strict=True):
        if not 1 <= length <= x.shape[place]:
            raise refusal(
                f"a window of {length} of an axis of {x.shape[place]} elements"
            )
        shape[place] -= length - 1
    taps = {place: x.ndim + i for i, place in enumerate(places)}
    inner = tuple(
        window_of({i: 1, taps[i]: 1} if i in taps else {i: 1}, 0, tuple(shape), n)
        for i, n in enumerate(x.shape)
    )
    windows: Tracer = x.through(inner, tuple(shape))
    return windows


def _filled(a: Tracer, number: Any) -> Tracer:
    """An array of the shape of another, which may be written."""
    array = np.full(a.shape, number, np.float32)
    return whole(a._recording, a._recording.array(array)).copy()


def _method(name: str) -> Callable[..., Tracer]:
    def call(a: Tracer, *args: Any, **kwargs: Any) -> Tracer:
        result: Tracer = getattr(a, name)(*args, **kwargs)
        return result

    return call


FUNCTIONS |= {
    np.amax: _method("max"),
    np.amin: _method("min"),
    np.append: append,
    np.array_split: array_split,
    np.average: average,
    np.clip: clip,
    np.concatenate: concatenate,
    np.copy: _method("copy"),
    np.diff: diff,
    np.dot: products.dot,
    np.einsum: products.einsum,
    np.expand_dims: expand_dims,
    np.flip: flip,
    np.hstack: hstack,
    np.inner: products.inner,
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
    np.linalg.norm: norm,
    np.matrix_transpose: lambda x: x.mT,
    np.max: _method("max"),
    np.mean: _method("mean"),
    np.min: _method("min"),
    np.moveaxis: moveaxis,
    np.ndim: lambda a: a.ndim,
    np.outer: products.outer,
    np.pad: pad,
    np.ptp: ptp,
    np.ravel: lambda a: a.reshape(-1),
    np.reshape: _method("reshape"),
    np.roll: roll,
    np.shape: lambda a: a.shape,
    np.size: lambda a: a.size,
    np.split: split,
    np.squeeze: squeeze,
    np.stack: stack,
    np.std: std,
    np.sum: _method("sum"),
    np.swapaxes: _method("swapaxes"),
    np.take: take,
    np.tensordot: products.tensordot,
    np.transpose: _method("transpose"),
    np.tril: tril,
    np.triu: triu,
    np.var: var,
    np.vdot: lambda a, b: products.dot(a.reshape(-1), b.reshape(-1)),
    np.vstack: vstack,
    np.where: where,
    np.full_like: lambda a, fill_value: _filled(a, fill_value),
    np.ones_like: lambda a: _filled(a, 1.0),
    np.hsplit: lambda ary, n: split(ary, n, 0 if ary.ndim == 1 else 1),
    np.vsplit: vsplit,
    np.zeros_like: lambda a: _filled(a, 0.0),
}

UFUNCS[np.matmul] = products.matmul
UFUNCS[np.vecdot] = lambda a, b: products.einsum("...n,...n->...", a, b)

CHOOSING |= {
    *(np.amax, np.amin, np.append, np.array_split, np.broadcast_to, np.clip),
    *(np.concatenate, np.copy, np.diag, np.diagonal, np.expand_dims, np.flip),
    *(np.full_like, np.hsplit, np.hstack, np.max, np.maximum, np.min, np.minimum),
    *(np.moveaxis, np.ones_like, np.pad, np.ravel, np.repeat, np.reshape, np.roll),
    *(np.select, np.split, np.squeeze, np.stack, np.swapaxes, np.take, np.tile),
    *(np.transpose, np.tril, np.triu, np.vsplit, np.vstack, np.where, np.zeros_like),
    np.lib.stride_tricks.sliding_window_view,
    np.matrix_transpose,
}
