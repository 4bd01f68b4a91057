"""Graphs on arrays: the definition in f32, and in f64 with a bound on its rounding.

The bound is that of a running error analysis (`morello.spec.functions.running_errors`):
each value has an array of what its elements may be off by.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from morello.spec.elements.arrays import ArrayElements
from morello.spec.elements.dtypes import Dtype
from morello.spec.functions.running_errors import (
    UNDERFLOW,
    UNIT_ROUNDOFF,
    Bounded,
    bounded_call,
)
from morello.spec.graphs.expression import (
    Call,
    Constant,
    Expression,
    Reference,
    SizeNumber,
    computed,
)
from morello.spec.graphs.graph import MAP, Graph, Node
from morello.spec.graphs.loops import LOWEST, can_rescale, weight
from morello.spec.index_map import IndexMap

Array = np.ndarray[Any, np.dtype[Any]]
_Number = TypeVar("_Number")

_HALF = 16
"""The numbers that half a byte may be."""

DENORMAL = 2.0**-126
"""The least normal number of f32 and bf16: those below may count as zero."""


def evaluate(
    graph: Graph,
    sizes: tuple[int, ...],
    arrays: Sequence[Array],
    number: Dtype = Dtype.F32,
    whole: frozenset[int] = frozenset(),
) -> tuple[Array, ...]:
    """The outputs by the definition: maps in f32, operation by operation; sums in f64,
    rounded once; all of integers modulo 2^32.

    A sum that is added to, and is relative to a maximum that is added to, holds what it
    was relative to the old one: that is rescaled (`morello/spec/graphs/loops.py`).

    Args:
        sizes: of each dimension.
        arrays: the inputs, then what the outputs that accumulate hold.
        number: the dtype of all of them, f32 or s32.
        whole: the nodes that are computed in s32 among others in f32.
    """
    graph, arrays = _of_numbers(graph, arrays, number)
    values: dict[int, Array] = dict(enumerate(arrays[: len(graph.inputs)]))
    held = _held(graph, arrays)
    for value in graph.node_values:
        node = graph.node(value)
        with np.errstate(all="ignore"):
            for maximum, factor in _relative_to(graph, value):
                grown = factor * (_guarded(held[maximum]) - _guarded(values[maximum]))
                axes = graph.axes(maximum)
                scale = _spread(np.exp(grown), axes, node.axes, sizes)
                held[value] = held[value] * scale
            dtype = Dtype.S32 if value in whole else number
            result = _reduced(graph, node, sizes, values, held.get(value), dtype)
            values[value] = result.astype(dtype.numpy).astype(number.numpy)
    return tuple(values[out.value] for out in graph.outputs)


def _of_numbers(
    graph: Graph, arrays: Sequence[Array], number: Dtype = Dtype.F32
) -> tuple[Graph, Sequence[Array]]:
    """The graph, and arrays that have a place for each number of what lies in the
    halves of bytes, and numbers of f32 for long integers in a graph of floats."""
    inputs, values = list(graph.inputs), list(arrays)
    if number.is_float:
        values = [a.astype(np.float32) if a.dtype == np.int32 else a for a in values]
    for value, axes in enumerate(graph.inputs):
        for place, axis in enumerate(axes):
            if axis.halves:
                numbers = values[value]
                pair = np.stack([numbers % _HALF, numbers // _HALF], axis=place + 1)
                count = numbers.shape[place] * axis.divisor
                shape = (*numbers.shape[:place], count, *numbers.shape[place + 1 :])
                values[value] = pair.reshape(shape)
                halved = list(inputs[value])
                halved[place] = dataclasses.replace(axis, divisor=1, halves=False)
                inputs[value] = tuple(halved)
    return dataclasses.replace(graph, inputs=tuple(inputs)), values


def _held(graph: Graph, arrays: Sequence[_Number]) -> dict[int, _Number]:
    """The contents of the outputs that accumulate."""
    adding = [out.value for out in graph.outputs if out.accumulates]
    return dict(zip(adding, arrays[len(graph.inputs) :], strict=True))


def _relative_to(graph: Graph, value: int) -> list[tuple[int, int]]:
    """The maxima that a sum is relative to, all of which are added to, each with the
    weight of its terms."""
    if not graph.modes.get(value):
        return []
    pairs = []
    for maximum in sorted(graph.below[value]):
        if graph.modes.get(maximum) and can_rescale(graph, maximum):
            exponent = weight(graph, graph.node(value).expression, maximum)
            pairs.append((maximum, exponent or 0))
    return pairs


def _guarded(array: Array) -> Array:
    """In f64, at least the lowest finite number of f32."""
    return np.maximum(array.astype(np.float64), LOWEST)


def _reduced(
    graph: Graph,
    node: Node,
    sizes: tuple[int, ...],
    values: dict[int, Array],
    held: Array | None,
    number: Dtype,
) -> Array:
    dims = (*node.axes, *node.reduced)
    along = tuple(range(len(node.axes), len(dims)))
    wide = np.float64 if number.is_float else np.int64
    if node.reduction == "sum":
        product = _factors(node.expression)
        if product:
            terms = [(values[v].astype(wide), graph.axes(v)) for v in product]
            total = _contracted(terms, node, sizes)
        else:
            mesh = _mesh(graph, node.expression, dims, sizes, values, number)
            total = np.add.reduce(mesh, axis=along, dtype=wide, initial=wide(-0.0))
        return np.asarray(total + (0 if held is None else held.astype(wide)))
    mesh = _mesh(graph, node.expression, dims, sizes, values, number)
    if node.reduction == MAP:
        return mesh
    if held is not None:
        mesh = mesh.reshape(*held.shape, -1)
        mesh, along = np.concatenate([mesh, held[..., None]], axis=-1), (-1,)
    if not number.is_float:
        best = np.max if node.reduction == "max" else np.min
        return np.asarray(best(mesh, axis=along))
    if node.reduction == "min":
        return -_greatest(-mesh, along)
    return _greatest(mesh, along)


def _greatest(array: Array, along: tuple[int, ...]) -> Array:
    """IEEE 754 ``maximum``: +0 is greater than -0."""
    best: Array = np.max(array, axis=along)
    positive = np.any((array == 0) & ~np.signbit(array), axis=along)
    return np.where((best == 0) & positive, np.float32(0), best)


def _factors(expression: Expression) -> tuple[int, ...]:
    """The values of a product of two, which need no mesh; empty for all else."""
    match expression:
        case Call("mul", (Reference(a), Reference(b))):
            return a, b
    return ()


def _contracted(
    terms: list[tuple[Array, tuple[IndexMap, ...]]], node: Node, sizes: tuple[int, ...]
) -> Array:
    operands: list[Any] = []
    for array, axes in terms:
        view, dims = _view(array, axes, sizes)
        operands += [view, dims]
    product_array: Array = np.einsum(*operands, list(node.axes), optimize=True)
    shape = tuple(sizes[d] for d in node.axes)
    return np.broadcast_to(product_array, shape)


def _view(
    array: Array, axes: tuple[IndexMap, ...], sizes: tuple[int, ...]
) -> tuple[Array, list[int]]:
    """A value with one axis for each dimension of the graph that it has."""
    array = _repeated(_padded(array, axes), axes, sizes)
    dims: list[int] = []
    shape: list[int] = []
    strides: list[int] = []
    for axis, stride in zip(axes, array.strides, strict=True):
        for dim, step in axis.terms:
            dims.append(dim)
            shape.append(sizes[dim])
            strides.append(stride * step)
    return as_strided(array, shape, strides, writeable=False), dims


def _repeated(
    array: Array, axes: tuple[IndexMap, ...], sizes: tuple[int, ...]
) -> Array:
    """Each element as often as a divided axis reads it."""
    for place, axis in enumerate(axes):
        if axis.is_divided:
            points = {dim: np.arange(sizes[dim]) for dim in axis.dims}
            array = array.take(axis.at(points), axis=place)
    return array


def _padded(array: Array, axes: tuple[IndexMap, ...]) -> Array:
    """An array from the first place that is reached on, with zeros around it."""
    if not any(axis.is_padded for axis in axes):
        return array
    around = [(max(axis.before, 0), max(axis.after, 0)) for axis in axes]
    reached = tuple(slice(max(-axis.before, 0), None) for axis in axes)
    return np.pad(array, around)[reached]


def _spread(
    array: Array,
    axes: tuple[IndexMap, ...],
    dims: Sequence[int],
    sizes: tuple[int, ...],
) -> Array:
    """Transpose and broadcast an array to some dimensions of the graph."""
    view, view_dims = _view(array, axes, sizes)
    order = [view_dims.index(d) for d in dims if d in view_dims]
    shape = [sizes[d] if d in view_dims else 1 for d in dims]
    return view.transpose(order).reshape(shape)


def _mesh(
    graph: Graph,
    expression: Expression,
    dims: Sequence[int],
    sizes: tuple[int, ...],
    values: dict[int, Array],
    number: Dtype,
) -> Array:
    """An expression over some dimensions, in f32 or s32."""
    elements = computed(
        expression,
        ArrayElements(()),
        lambda v: _spread(values[v], graph.axes(v), dims, sizes),
        number,
    )
    return np.broadcast_to(elements, tuple(sizes[d] for d in dims))


def bounded(
    graph: Graph,
    sizes: tuple[int, ...],
    arrays: Sequence[Array],
    flushes: bool = False,
) -> tuple[tuple[Array, Array], ...]:
    """Each output in f64, and how far from it a right one in f32 may be.

    Args:
        sizes: of each dimension.
        arrays: as for `evaluate`, in f64.
        flushes: whether products may take denormals for zero.
    """
    graph, arrays = _of_numbers(graph, arrays)
    exact = [Bounded(array, np.zeros(array.shape)) for array in arrays]
    values = dict(enumerate(exact[: len(graph.inputs)]))
    held = _held(graph, exact)
    for value in graph.node_values:
        with np.errstate(all="ignore"):
            for maximum, factor in _relative_to(graph, value):
                grown = _scale(held[maximum], values[maximum], factor)
                axes, node_axes = graph.axes(maximum), graph.node(value).axes
                scale = Bounded(
                    _spread(grown.number, axes, node_axes, sizes),
                    _spread(grown.error, axes, node_axes, sizes),
                )
                held[value] = bounded_call("mul", held[value], scale)
            least = DENORMAL if flushes and value in graph.contractions else 0.0
            adds = held.get(value)
            values[value] = _bounded(graph, value, sizes, values, adds, least)
    bounds = (values[out.value] for out in graph.outputs)
    return tuple((value.number, value.error) for value in bounds)


def _scale(old: Bounded, new: Bounded, factor: int) -> Bounded:
    """Factor that rescales a sum when the maximum that it is relative to grows."""
    old, new = (Bounded(_guarded(m.number), m.error) for m in (old, new))
    less = bounded_call("sub", old, new)
    times = Bounded(np.asarray(float(factor)), np.zeros(()))
    return bounded_call("exp", bounded_call("mul", times, less))


def _bounded(
    graph: Graph,
    value: int,
    sizes: tuple[int, ...],
    values: dict[int, Bounded],
    held: Bounded | None,
    least: float,
) -> Bounded:
    node = graph.node(value)
    dims = (*node.axes, *node.reduced)
    along = tuple(range(len(node.axes), len(dims)))
    terms = math.prod(sizes[dim] for dim in node.reduced)
    product = _factors(node.expression)
    if node.reduction == "sum" and product:
        result = _bounded_product(graph, node, product, sizes, values, least)
    else:
        mesh = _bounded_mesh(graph, node.expression, dims, sizes, values)
        if node.reduction == "sum":
            size = np.sum(np.abs(mesh.number) + mesh.error, axis=along)
            rounded = _growth(terms) * size
            error = np.sum(mesh.error, axis=along) + rounded
            result = Bounded(np.sum(mesh.number, axis=along), error)
        elif node.reduction == MAP:
            return mesh
        else:
            best = np.max if node.reduction == "max" else np.min
            number = best(mesh.number, axis=along)
            result = Bounded(number, np.max(mesh.error, axis=along))
    if held is None:
        return result
    if node.reduction == "sum":
        total = result.number + held.number
        size = np.abs(result.number) + np.abs(held.number)
        error = result.error + held.error + least
        return Bounded(total, error + _growth(terms + 1) * size)
    pair = np.maximum if node.reduction == "max" else np.minimum
    return Bounded(pair(result.number, held.number), result.error)


def _growth(terms: int) -> float:
    """Bound on the rounding error of a sum of so many terms, in any order, relative to
    the sum of their magnitudes."""
    return terms * UNIT_ROUNDOFF / (1 - min(terms * UNIT_ROUNDOFF, 0.5))


def _bounded_product(
    graph: Graph,
    node: Node,
    factors: tuple[int, ...],
    sizes: tuple[int, ...],
    values: dict[int, Bounded],
    least: float,
) -> Bounded:
    """A product of two values.

    Args:
        least: factors and sums below it may count as zero.
    """

    def contracted(
        part: Callable[[Bounded], Array], other: Callable[[Any], Any]
    ) -> Any:
        a, b = (values[v] for v in factors)
        axes = [graph.axes(v) for v in factors]
        return _contracted([(part(a), axes[0]), (other(b), axes[1])], node, sizes)

    def number(value: Bounded) -> Array:
        return value.number

    def size(value: Bounded) -> Array:
        return np.abs(value.number) + value.error

    def error(value: Bounded) -> Array:
        return value.error

    def one(value: Bounded) -> Array:
        return np.ones_like(value.number)

    terms = math.prod(sizes[dim] for dim in node.reduced)
    rounded = (_growth(terms + 1) * contracted(size, size)) + terms * UNDERFLOW
    if least:
        lost = contracted(one, size) + contracted(size, one)
        rounded = rounded + least * (lost + 2 * terms)
    return Bounded(
        contracted(number, number),
        contracted(error, size) + contracted(size, error) + rounded,
    )


def _bounded_mesh(
    graph: Graph,
    expression: Expression,
    dims: Sequence[int],
    sizes: tuple[int, ...],
    values: dict[int, Bounded],
) -> Bounded:
    def spread(value: int, array: Array) -> Array:
        return _spread(array, graph.axes(value), dims, sizes)

    def visit(tree: Expression) -> Bounded:
        if isinstance(tree, Constant):
            number = np.float64(np.float32(tree.number))
            return Bounded(np.asarray(number), np.zeros(()))
        if isinstance(tree, Reference):
            known = values[tree.value]
            return Bounded(
                spread(tree.value, known.number), spread(tree.value, known.error)
            )
        if isinstance(tree, SizeNumber):
            return Bounded(ArrayElements(()).of_sizes(Dtype.F32, tree), np.zeros(()))
        arguments = [visit(argument) for argument in tree.arguments]
        return bounded_call(tree.function, *arguments)

    bounded_value = visit(expression)
    shape = tuple(sizes[d] for d in dims)
    return Bounded(
        np.broadcast_to(bounded_value.number, shape),
        np.broadcast_to(bounded_value.error, shape),
    )
