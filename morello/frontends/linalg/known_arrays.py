"""Evaluation in NumPy of a body's values that depend on no data: `KnownArrays`.

Exporters compute indices, masks, counts and tables of angles with integers and
functions that no graph has. Those of indices and constants alone are computed when the
program is read.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morello.frontends.grouping.evaluating import evaluate_part
from morello.frontends.grouping.group_dims import UnfitError
from morello.frontends.grouping.parts import part_of_nodes
from morello.frontends.linalg.bodies import number_of, width_of
from morello.frontends.linalg.types import numpy_type
from morello.frontends.nodes.tensors import Array, Node, Source, Tensors, View
from morello.mlir import ir
from morello.spec.functions import ROWS

MOST = 1 << 24
"""Elements of an array; and the largest integer up to which f32 has every one."""

_F = Callable[..., Any]


def _divided(a: Array, b: Array) -> Array:
    """Integers, towards zero."""
    quotient: Array = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    return quotient


def _remainder(a: Array, b: Array) -> Array:
    remainder: Array = a - b * _divided(a, b)
    return remainder


_FUNCTIONS: dict[str, _F] = {
    **{op: row.exact for row in ROWS.values() for op in row.mlir},
    "arith.addi": np.add,
    "arith.andi": np.bitwise_and,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.divsi": _divided,
    "arith.floordivsi": np.floor_divide,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.muli": np.multiply,
    "arith.ori": np.bitwise_or,
    "arith.remsi": _remainder,
    "arith.select": np.where,
    "arith.subi": np.subtract,
    "arith.xori": np.bitwise_xor,
    "math.absi": np.abs,
}

_CASTS = frozenset(
    f"arith.{name}"
    for name in (
        "extf", "extsi", "extui", "fptosi", "index_cast", "sitofp", "truncf", "trunci",
        "uitofp",
    )
)  # fmt: skip

_PREDICATES: dict[int, _F] = {
    0: np.equal,
    1: np.not_equal,
    2: np.less,
    3: np.less_equal,
    4: np.greater,
    5: np.greater_equal,
}
"""Comparisons of signed integers, by the number of the predicate."""

_UNSIGNED = 4
"""How far the numbers of the orders of unsigned integers are from these."""

_FLOAT_PREDICATES: dict[int, _F] = {
    1: np.equal,
    2: np.greater,
    3: np.greater_equal,
    4: np.less,
    5: np.less_equal,
    13: np.not_equal,
}
"""Comparisons of floats that hold of NaN as NumPy's do, by the number of the
predicate."""


class KnownArrays:
    """The values of a body as arrays over its dimensions.

    Args:
        extents: of the dimensions. An array has each, or 1 where it is the same along
            one.
        outside: a value that is no result in the body, as an array; None for data.
    """

    def __init__(
        self, extents: Sequence[int], outside: Callable[[ir.Value], Array | None]
    ) -> None:
        self._extents = tuple(extents)
        self._outside = outside
        self._known: dict[ir.Value, Array | None] = {}

    def array(self, value: ir.Value) -> Array | None:
        """A value as an array; None if it depends on data, or is not computed here."""
        if value not in self._known:
            with np.errstate(all="ignore"):
                self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: ir.Value) -> Array | None:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return self._outside(value)
        kind = numpy_type(value.type)
        if kind is None or len(owner.results) != 1:
            return None
        match owner.name:
            case "linalg.index":
                dim = int(ir.IntegerAttr(owner.attributes["dim"]).value)
                shape = [1] * len(self._extents)
                shape[dim] = self._extents[dim]
                return np.arange(self._extents[dim], dtype=kind).reshape(shape)
            case "arith.constant":
                if isinstance(value.type.maybe_downcast(), ir.RankedTensorType):
                    return None
                number = number_of(owner.attributes["value"])
                return np.full([1] * len(self._extents), number, kind)
            case "tensor.extract":
                return self._extracted(owner)
        operands = [self.array(operand) for operand in owner.operands]
        known = [operand for operand in operands if operand is not None]
        if not operands or len(known) < len(operands):
            return None
        if math.prod(np.broadcast_shapes(*(a.shape for a in known))) > MOST:
            return None
        function = _function(owner, kind)
        array = None if function is None else function(*known)
        return None if array is None else np.asarray(array).astype(kind)

    def _extracted(self, op: ir.Operation) -> Array | None:
        whole = self._outside(op.operands[0])
        places = [self.array(operand) for operand in list(op.operands)[1:]]
        if whole is None or whole.ndim != len(places):
            return None
        known = [place for place in places if place is not None]
        if len(known) < len(places) or not known:
            return None
        clipped = [
            np.clip(place, 0, size - 1)
            for place, size in zip(known, whole.shape, strict=True)
        ]
        element: Array = whole[tuple(clipped)]
        return element


def _function(op: ir.Operation, kind: np.dtype[Any]) -> _F | None:
    """The NumPy function of an op; None where there is none."""
    if op.name.startswith("arith.cmp"):
        number = int(ir.IntegerAttr(op.attributes["predicate"]).value)
        if op.name == "arith.cmpf":
            return _FLOAT_PREDICATES.get(number)
        width = width_of(op.operands[0].type)
        if number in _PREDICATES:
            return _PREDICATES[number]
        compared = _PREDICATES[number - _UNSIGNED]
        return lambda a, b: compared(_unsigned(a, width), _unsigned(b, width))
    if op.name in _CASTS:
        return lambda a: _cast(op, a, kind)
    if kind == np.bool_ and op.name not in _OF_TRUTHS:
        return None
    return _FUNCTIONS.get(op.name)


_OF_TRUTHS = frozenset({"arith.andi", "arith.ori", "arith.select", "arith.xori"})


def _cast(op: ir.Operation, array: Array, kind: np.dtype[Any]) -> Array:
    width = width_of(op.operands[0].type)
    if op.name in ("arith.extui", "arith.uitofp"):
        return _unsigned(array, width)
    if op.name in ("arith.extsi", "arith.sitofp") and width == 1:
        return -array.astype(np.int64)
    is_truth = op.name == "arith.trunci" and kind == np.bool_
    return array.astype(np.int64) & 1 if is_truth else array


def _unsigned(array: Array, width: int) -> Array:
    """The numbers that the bits of signed integers are without a sign."""
    if width == 1:
        return array
    return array.astype(f"i{width // 8}").view(f"u{width // 8}")


def narrowed(array: Array) -> Array:
    """An array with 1 element along each axis along which all are equal."""
    for axis, extent in enumerate(array.shape):
        first = array.take([0], axis)
        if extent > 1 and (array == first).all():
            array = first
    return array


def constant_of(tensors: Tensors, number: int) -> Array | None:
    """The elements of a tensor that depends on constants alone, else None."""
    tensor = tensors.all[number]
    if math.prod(tensor.shape) > MOST:
        return None
    match tensor:
        case Source():
            return tensor.array
        case View(tensor=viewed):
            whole = constant_of(tensors, viewed)
            return None if whole is None else whole.reshape(tensor.shape)
        case Node(into=None):
            known: dict[int, Array] = {}
            for access in tensor.reads:
                array = constant_of(tensors, access.tensor)
                if array is None:
                    return None
                known[tensors.root(access.tensor)] = np.ravel(array)
            try:
                part = part_of_nodes(tensors, (number,), (number,))
            except UnfitError:
                return None
            evaluate_part(part, known, tensors)
            return known[number].reshape(tensor.shape)
    return None
