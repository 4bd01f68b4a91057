"""Constant weights of 4 bits as they are stored: `halved`.

A product whose factor is whole numbers with scales and zero points, all constants,
reads the numbers themselves, two in a byte, and the scales of their blocks. Otherwise
the factor would be computed beforehand, and be read as f32.
"""

import dataclasses
import math

import numpy as np

from morello.frontends.linalg.known_arrays import narrowed
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import Access, Array, Given, Node, Tensors
from morello.spec.elements.dtypes import Dtype
from morello.spec.functions import ROWS
from morello.spec.graphs.expression import Call, Constant, Expression, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, plain_dims
from morello.weights.scaled import in_halves

_MOST_NUMBER, _MOST_BYTE = 15, 255

_SIGNED = 8
"""The number that makes signed integers of 4 bits positive."""

_LEAST_BLOCK = 8
"""Numbers that share a scale: of fewer the scales are as large as the numbers."""

_MOST_ROWS = 4
"""Rows of a product, whose time is that of reading weights: of more, f32 is faster."""


def halved(tensors: Tensors) -> Tensors:
    """Products that read constant weights of 4 bits as halves of bytes."""
    return _Halving(tensors).run()


@dataclasses.dataclass(frozen=True)
class _Weights:
    """``scales * (numbers - zeros)``, each k x n, or 1 along what it lacks."""

    numbers: Array
    zeros: Array
    scales: Array | None

    @property
    def block(self) -> int:
        """The rows that share scales and zero points; k where all do."""
        rows = len(self.numbers)
        beside = [a for a in (self.zeros, self.scales) if a is not None]
        changes = [
            place
            for array in beside
            if len(array) > 1
            for place in np.flatnonzero((array[1:] != array[:-1]).any(axis=1)) + 1
        ]
        return math.gcd(*map(int, changes)) if changes else rows


class _Halving(Rewriter):
    def node(self, number: int, node: Node) -> int:
        """A product with one factor in halves, where it has such a factor."""
        match node.expression:
            case Call("mul", (Reference(a), Reference(b))) if node.reduction == "sum":
                for left, right in ((a, b), (b, a)):
                    product = self._product(node, left, right)
                    if product is not None:
                        return self.add(product)
        return self.add(node)

    def _product(self, node: Node, left: int, right: int) -> Node | None:
        """A product that reads weights in halves; None where they are none.

        Args:
            left: the place of the factor that stays.
            right: that of the weights.
        """
        access, factor = node.reads[right], self.read(node.reads[right])
        columns, inner = _wide(node, node.axes)[-1:], sorted(node.reduced)
        if (
            factor is None
            or factor.reduction != MAP
            or len(inner) != 1
            or not columns
            or {*_wide(node, access.axes)} != {*inner, *columns}
            or not self._are_rows(node, node.reads[left], inner)
            or node.extents[inner[0]] % 2
            or math.prod(node.shape) > _MOST_ROWS * node.extents[columns[0]]
        ):
            return None
        weights = self._weights(factor, access, inner[0])
        if weights is None or weights.block % 2 or weights.block < _LEAST_BLOCK:
            return None
        return self._made_of(node, node.reads[left], weights, inner[0], columns[0])

    def _are_rows(self, node: Node, access: Access, inner: list[int]) -> bool:
        """Whether a factor is the rows of a product, in f32 as the result is."""
        dtypes = node.dtype, self.new.element(access.tensor)
        rows = [*_wide(node, node.axes)[:-1], *inner]
        is_plain = all(axis.is_plain or axis == ONE for axis in access.axes)
        is_f32 = dtypes == (Dtype.F32, Dtype.F32)
        return is_f32 and is_plain and _wide(node, access.axes) == rows

    def _weights(self, factor: Node, access: Access, inner: int) -> _Weights | None:
        """The parts of a factor as arrays; None where it is no such factor."""
        numbers, zeros, scales = _parts(factor.expression)
        pairs = zip(factor.axes, access.axes, strict=True)
        dims = [(axis.dim, read.dim) for axis, read in pairs if axis != ONE]
        order = sorted(dims, key=lambda pair: pair[1] != inner)
        arrays: list[Array | None] = []
        for part in (numbers, zeros, scales):
            array = None if part is None else self._array(factor, part)
            if part is not None and array is None:
                return None
            if array is not None:
                places = [place for place, _ in order if place is not None]
                rest = [d for d in range(array.ndim) if d not in places]
                turned = array.transpose(*places, *rest)
                array = turned.reshape(turned.shape[:2])
            arrays.append(array)
        return _as_weights(*arrays)

    def _array(self, node: Node, expression: Expression) -> Array | None:
        """The elements of an expression over a node's dimensions, 1 along those that
        it lacks; None where they are no constants."""
        match expression:
            case Constant(number):
                return np.full([1] * len(node.extents), number, np.float32)
            case Reference(place):
                return self._given(node, node.reads[place])
            case Call(function, arguments):
                arrays = [self._array(node, argument) for argument in arguments]
                known = [array for array in arrays if array is not None]
                if len(known) < len(arrays):
                    return None
                with np.errstate(all="ignore"):
                    return np.asarray(ROWS[function].exact(*known), np.float32)
        return None

    def _given(self, node: Node, access: Access) -> Array | None:
        """The elements of a constant that is read as it is, over a node's dimensions;
        None of what is none."""
        given = self.new.all[access.tensor]
        if not isinstance(given, Given) or given.array is None:
            return None
        if not all(axis.is_plain or axis == ONE for axis in access.axes):
            return None
        dims = plain_dims(access.axes)
        extents = [
            node.extents[d] if d in dims else 1 for d in range(len(node.extents))
        ]
        wide = given.array.reshape([node.extents[d] for d in dims])
        turned = wide.transpose(sorted(range(len(dims)), key=dims.__getitem__))
        return narrowed(turned.reshape(extents))

    def _made_of(
        self, node: Node, left: Access, weights: _Weights, inner: int, columns: int
    ) -> Node:
        """The product of a factor and some weights."""
        block = weights.block
        reads = [left]

        def read(name: str, array: Array, dtype: Dtype, *axes: IndexMap) -> Expression:
            name = f"{name}{len(self.new.all)}"
            stored = np.ascontiguousarray(array, dtype.numpy)
            given = Given(name, stored.shape, dtype, -1, stored)
            reads.append(Access(self.new.add(given), axes))
            return Reference(len(reads) - 1)

        def beside(name: str, array: Array, dtype: Dtype) -> Expression:
            """An input that has one element for each block, or for all rows."""
            own = np.broadcast_to(array, (len(array), len(weights.numbers[0])))
            if len(array) == 1:
                return read(name, own[0], dtype, IndexMap.of(columns))
            axis = IndexMap(((inner, 1),), divisor=block)
            return read(name, own[::block], dtype, axis, IndexMap.of(columns))

        axis = IndexMap(((inner, 1),), divisor=2, halves=True)
        numbers = weights.numbers.astype(np.uint8)
        weight = read(
            "halves", in_halves(numbers), Dtype.U8, axis, IndexMap.of(columns)
        )
        if weights.zeros.size > 1:
            weight = Call("sub", (weight, beside("zeros", weights.zeros, Dtype.U8)))
        elif weights.zeros.any():
            weight = Call("sub", (weight, Constant(float(weights.zeros.item()))))
        if weights.scales is not None:
            scales = beside("scales", weights.scales, Dtype.F32)
            weight = Call("mul", (scales, weight))
        expression = Call("mul", (Reference(0), weight))
        return node.changed(expression=expression, reads=tuple(reads))


def _wide(node: Node, axes: tuple[IndexMap, ...]) -> list[int]:
    """The dimensions of more than one element that axes are, in order."""
    return [d for d in plain_dims(axes) if node.extents[d] > 1]


def _parts(
    expression: Expression,
) -> tuple[Expression, Expression | None, Expression | None]:
    """The numbers, zero points and scales of scaled numbers."""
    match expression:
        case Call("mul", (Call("sub", (numbers, zeros)), scales)):
            return numbers, zeros, scales
        case Call("mul", (Call("add", (numbers, Constant(number))), scales)):
            return numbers, Constant(-number), scales
        case Call("mul", (numbers, scales)):
            return numbers, None, scales
        case Call("sub", (numbers, zeros)):
            return numbers, zeros, None
        case Call("add", (numbers, Constant(number))):
            return numbers, Constant(-number), None
    return expression, None, None


def _as_weights(
    numbers: Array | None, zeros: Array | None, scales: Array | None
) -> _Weights | None:
    """Weights whose numbers have 4 bits, and zero points 8; None where they do not."""
    if numbers is None or min(numbers.shape) == 1:
        return None
    if scales is not None and not np.isfinite(scales).all():
        return None
    if zeros is None:
        zeros = np.zeros((1, 1), np.float32)
    if numbers.min() < 0:
        numbers, zeros = numbers + _SIGNED, zeros + _SIGNED
    if not (_are_whole(numbers, _MOST_NUMBER) and _are_whole(zeros, _MOST_BYTE)):
        return None
    return _Weights(numbers, zeros, scales)


def _are_whole(array: Array, most: int) -> bool:
    """Whether all are integers from 0 to one."""
    is_within = array.min() >= 0 and array.max() <= most
    return bool(is_within and (array == np.floor(array)).all())
