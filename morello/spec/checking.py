"""Checks of kernels: inputs for exact comparison, and bounds on what rounding loses."""

import numpy as np

from morello.spec.elements.dtypes import Dtype
from morello.spec.functions.running_errors import UNIT_ROUNDOFF
from morello.spec.graphs.evaluate import bounded
from morello.spec.graphs.expression import Reference
from morello.spec.kind import Array, Kind

EXACT_BOUND = 4
"""Random inputs are integers in [-4, 4]: every f32 partial sum of up to 2^20 products
of two is exact, whatever its order, so kernels can be compared bit for bit."""

_UNDERFLOW = 2.0**-150
"""The absolute error of one rounding below the normal numbers is at most this."""

_LARGEST = float(np.finfo(np.float32).max)

_WORD = 4


def rounded_terms(kind: Kind, sizes: tuple[int, ...]) -> int:
    """The terms of the longest sum that an element of a float output is, and what it is
    added to; 0 where nothing is rounded."""
    graph = kind.as_graph
    if graph is None:
        terms = _terms(sizes, kind.reductions)
        return terms + kind.accumulates if terms else 0
    sums = (node for node in graph.nodes if node.reduction == "sum")
    return max((_terms(sizes, node.reduced) for node in sums), default=0)


def _terms(sizes: tuple[int, ...], reduced: tuple[int, ...]) -> int:
    terms = 1 if reduced else 0
    for dim in reduced:
        terms *= sizes[dim]
    return terms


def is_exact(kind: Kind, sizes: tuple[int, ...]) -> bool:
    """Whether results on `random_inputs` are the definition's, bit for bit: nothing is
    summed, or so few small integers that none is rounded."""
    terms = rounded_terms(kind, sizes)
    if kind.as_graph is None:
        return terms * EXACT_BOUND**2 <= 1 / UNIT_ROUNDOFF
    return not terms or (_is_sum(kind) and terms * EXACT_BOUND <= 1 / UNIT_ROUNDOFF)


def _is_sum(kind: Kind) -> bool:
    """Whether a kind is the plain sum of one input."""
    graph = kind.as_graph
    if graph is None or len(graph.nodes) > 1:
        return False
    (node,) = graph.nodes
    return node.reduction == "sum" and isinstance(node.expression, Reference)


def reference(
    kind: Kind, sizes: tuple[int, ...], arrays: tuple[Array, ...]
) -> tuple[tuple[Array, Array], ...]:
    """Each output in f64, and how far from it a right one in f32 may be: what any
    order of summation may lose.

    Args:
        kind: a graph, or a product of two matrices.
        sizes: of each dimension.
        arrays: as for `Kind.evaluate`, in f64.
    """
    if kind.as_graph is not None:  # by a running error analysis
        return bounded(kind.as_graph, sizes, arrays, kind.flushing)
    terms = rounded_terms(kind, sizes)
    growth = terms * UNIT_ROUNDOFF / (1 - terms * UNIT_ROUNDOFF)
    with np.errstate(all="ignore"):
        number, size = _product(arrays), _product(tuple(map(np.abs, arrays)))
        # A sum that may leave the range of f32 on its way has no bound.
        bound = growth * size + terms * _UNDERFLOW
        return ((number, np.where(size > _LARGEST, np.inf, bound)),)


def _product(arrays: tuple[Array, ...]) -> Array:
    """The product of two arrays in f64, and what it is added to."""
    lhs, rhs, *initial = arrays
    return sum(initial, np.matmul(lhs, rhs))


def random_inputs(
    kind: Kind,
    rng: np.random.Generator,
    dtypes: tuple[Dtype, ...],
    shapes: tuple[tuple[int, ...], ...],
) -> tuple[Array, ...]:
    """Arrays for every operand that is read, in order, for exact comparison: small
    integers where there are sums; numbers around 0, of deviation 1, of other graphs;
    any bits of what is copied, and of integers that are not rounded."""
    out = dtypes[kind.written[0]]

    def array(dtype: Dtype, shape: tuple[int, ...]) -> Array:
        if kind.as_graph is None:
            narrow = not out.is_float and dtype.itemsize < _WORD
            if kind.moves_data or narrow:
                return bit_patterns(rng, dtype, shape)
        elif not dtype.is_float:
            return bit_patterns(rng, dtype, shape)
        elif not _is_sum(kind):
            return rng.standard_normal(shape, np.float32).astype(dtype.numpy)
        return small_integers(rng, dtype, shape)

    return tuple(
        array(dtype, shape)
        for operand, dtype, shape in zip(kind.operands, dtypes, shapes, strict=True)
        if operand.is_read
    )


def small_integers(
    rng: np.random.Generator, dtype: Dtype, shape: tuple[int, ...]
) -> Array:
    """Integers in [-4, 4] (in [0, 8] for unsigned dtypes), as ``dtype``."""
    low = -EXACT_BOUND if dtype.is_float or dtype.is_signed else 0
    values = rng.integers(low, low + 2 * EXACT_BOUND, shape, np.int8, endpoint=True)
    if dtype.byte:
        return dtype.stored(values.astype(np.int64))
    return values.astype(dtype.numpy)


def bit_patterns(
    rng: np.random.Generator, dtype: Dtype, shape: tuple[int, ...]
) -> Array:
    """Arbitrary bit patterns of ``dtype``, NaN payloads included.

    Of bytes in 16 bits those that stand for a byte.
    """
    if dtype.byte:
        return rng.integers(0, 256, shape, np.uint16)
    if dtype.part_of:
        low = int(dtype.lowest)
        return rng.integers(low, -low, shape, dtype.numpy)
    count = int(np.prod(shape)) * dtype.itemsize
    raw = rng.integers(0, 256, count, np.uint8)
    return raw.view(dtype.numpy).reshape(shape)
