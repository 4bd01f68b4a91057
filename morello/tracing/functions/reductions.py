"""Reductions and running sums: a graph's own, and NumPy's that are made of them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from morello.frontends.nodes.tensors import Access
from morello.spec.graphs.expression import Reference
from morello.spec.index_map import renamed
from morello.tracing.functions.elementwise import function, is_nan, not_equal
from morello.tracing.nodes import node, pointwise
from morello.tracing.numbers import BOOL, F32, INT64, UINT64, dtype_by_numpy, summed_in
from morello.tracing.operands import rounded, widened
from morello.tracing.refusals import refusal
from morello.tracing.slicing import axes_of, axis_of
from morello.tracing.tracer import FUNCTIONS, METHODS, Tracer, numbers_of

_MOST_PLACES = 2**24
"""Whole numbers below it are exact in f32."""


_FLOAT = "write x.astype(np.float32)"


def reduced(
    array: Tracer,
    reduction: str,
    axis: Any,
    keepdims: bool,
    other: dict[str, Any] | None = None,
    name: str = "",
) -> Tracer:
    """A reduction along some axes."""
    if other:
        raise refusal(
            f"{name or reduction} with {', '.join(other)} is not traced",
            "leave the option out",
        )
    places = axes_of(array.ndim, axis)
    dtype = array.dtype
    if reduction == "sum" and dtype.kind in "biu":
        dtype = UINT64 if dtype.kind == "u" else INT64
    with_ones = [1 if place in places else n for place, n in enumerate(array.shape)]
    gone = [place for place in places if array.shape[place] > 1]
    result = widened(array).copy()
    if gone:
        names = {place: place for place in range(array.ndim)}
        names |= {place: array.ndim + i for i, place in enumerate(gone)}
        access = array._access
        read = Access(access.tensor, renamed(access.axes, names))
        lost = tuple(array.shape[place] for place in gone)
        shape = tuple(with_ones)
        result = node(
            *(array._recording, shape, reduction, Reference(0), [read], lost),
            dtype=summed_in(array, reduction, math.prod(lost)),
        )
    if not keepdims:
        result = result[
            tuple(0 if i in places else slice(None) for i in range(array.ndim))
        ]
        result._owns_memory = True
    if dtype.kind in "iu" and result.is_integer:
        result.dtype = dtype  # s32 has all of them
    is_exact = reduction in ("max", "min")
    return rounded(result, dtype, name or reduction, is_exact)


def _counted(tracer: Tracer) -> Tracer:
    tracer.dtype = INT64
    return tracer


def _tested(tracer: Tracer) -> Tracer:
    tracer.dtype = BOOL
    return tracer


def any_of(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
    """Whether any element along axes is not 0 (`numpy.any`)."""
    return _tested(not_equal(a, 0.0).max(axis, keepdims))


def all_of(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
    """Whether all elements along axes are not 0 (`numpy.all`)."""
    return _tested(not_equal(a, 0.0).min(axis, keepdims))


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
    """Counts the elements along axes that are not 0 (`numpy.count_nonzero`)."""
    return _counted(not_equal(a, 0.0).sum(axis, keepdims))


def _first(name: str) -> Callable[..., Tracer]:
    def first(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
        if axis is None:
            if keepdims and a.ndim > 1:
                raise refusal(f"arg{name} of all elements with keepdims")
            a, axis = a.reshape(-1), 0
        place = axis_of(a.ndim, axis)
        size = a.shape[place]
        if size > _MOST_PLACES:
            raise refusal(f"arg{name} of {size} elements is not traced")
        best = getattr(a, name)(place, keepdims=True)
        hit = function("where", is_nan(a), 1.0, function("equal", a, best))
        places = np.arange(size, dtype=np.float32)
        places = places.reshape(-1, *[1] * (a.ndim - place - 1))
        candidates = function("where", hit, places, float(size))
        return _counted(candidates.min(place, keepdims=keepdims))

    return first


def _along(a: Tracer, axis: Any) -> tuple[Tracer, int]:
    if axis is None:
        return a.reshape(-1), 0
    return a, axis_of(a.ndim, axis)


def _running(name: str, neutral: float) -> Callable[..., Tracer]:
    """A running sum or product, in steps that double."""

    def running(a: Any, axis: Any = None) -> Tracer:
        sums: Any
        sums, place = _along(a, axis)
        size, step = sums.shape[place], 1
        if sums.is_integer and name == "mul":
            raise refusal(f"a running product of {sums.dtype} is not traced", _FLOAT)
        summed_in(sums, "sum", size)
        before = (slice(None),) * place
        while step < size:
            widths = [(0, 0)] * sums.ndim
            widths[place] = (step, 0)
            moved = sums[(*before, slice(None, size - step))]
            moved = np.pad(moved, widths, constant_values=neutral)
            sums = function(name, sums, moved)
            step *= 2
        whole: Tracer = sums.copy()
        return whole

    return running


def prod(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
    """Product along axes (`numpy.prod`): multiplies halves until one is left."""
    places = axes_of(a.ndim, axis)
    if a.is_integer:
        raise refusal(f"a product of elements of {a.dtype} is not traced", _FLOAT)
    factors = a
    for place in places:
        before = (slice(None),) * place
        while factors.shape[place] > 1:
            half = factors.shape[place] // 2
            first, second, rest = (
                (*before, slice(start, end))
                for start, end in ((0, half), (half, 2 * half), (2 * half, None))
            )
            product = factors[first] * factors[second]
            odd = factors.shape[place] % 2
            factors = (
                np.concatenate([product, factors[rest]], place) if odd else product
            )
    if keepdims:
        return factors.copy()  # type: ignore[no-any-return]
    whole: Tracer = factors[
        tuple(0 if i in places else slice(None) for i in range(a.ndim))
    ]
    return whole


def _without_nan(a: Any, instead: float) -> Tracer:
    return function("where", is_nan(a), instead, a)


def nansum(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
    """Sum along axes that ignores NaN (`numpy.nansum`)."""
    return _without_nan(a, 0.0).sum(axis, keepdims)


def _present(a: Any, axis: Any, keepdims: bool) -> Tracer:
    """Number of elements along axes that are not NaN."""
    return function("equal", a, a).sum(axis, keepdims)


def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Mean along axes that ignores NaN (`numpy.nanmean`)."""
    return nansum(a, axis, keepdims=keepdims) / _present(a, axis, keepdims)


def nanvar(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    """Variance along axes that ignores NaN (`numpy.nanvar`)."""
    centred = function("where", is_nan(a), 0.0, a - nanmean(a, axis, keepdims=True))
    total = np.square(centred).sum(axis, keepdims=keepdims)
    return total / (_present(a, axis, keepdims) - ddof)


def nanstd(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False
) -> Tracer:
    """Standard deviation along axes that ignores NaN (`numpy.nanstd`)."""
    return function("sqrt", nanvar(a, axis, ddof=ddof, keepdims=keepdims))


def _nan_extreme(name: str, neutral: float) -> Callable[..., Tracer]:
    def extreme(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
        extreme_of_rest = getattr(_without_nan(a, neutral), name)(axis, keepdims)
        return function("where", _present(a, axis, keepdims), extreme_of_rest, np.nan)

    return extreme


def mean(array: Tracer, axis: Any, keepdims: bool, other: dict[str, Any]) -> Tracer:
    """Mean along axes (`numpy.mean`)."""
    numbers = numbers_of(array)
    total = reduced(numbers, "sum", axis, keepdims, other, "mean")
    share = 1.0
    for place in axes_of(array.ndim, axis):
        share /= array.shape[place]
    result = pointwise(array._recording, "mul", total, share)
    dtype = dtype_by_numpy(np.mean, (array,), {}) or F32
    return rounded(result, dtype, "mean")


METHODS["reduce"] = reduced
METHODS["mean"] = mean

FUNCTIONS |= {
    np.all: all_of,
    np.any: any_of,
    np.argmax: _first("max"),
    np.argmin: _first("min"),
    np.count_nonzero: count_nonzero,
    np.cumprod: _running("mul", 1.0),
    np.cumsum: _running("add", -0.0),
    np.nanmax: _nan_extreme("max", -np.inf),
    np.nanmean: nanmean,
    np.nanmin: _nan_extreme("min", np.inf),
    np.nanstd: nanstd,
    np.nansum: nansum,
    np.nanvar: nanvar,
    np.prod: prod,
}
