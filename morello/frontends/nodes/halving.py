"""Weights of 4 bits that are known beforehand as they are stored: `halved`.

A product whose factor is whole numbers with scales, zero points and offsets, all known
beforehand, reads the numbers themselves, two in a byte, and the scales of their blocks.
Otherwise the factor would be computed beforehand, and be read as f32. Constants are
such numbers by their values; of weights that a program unpacks of bytes the expression
has the limits.
"""

import dataclasses
import math

import numpy as np

from morello.frontends.linalg.known_arrays import narrowed
from morello.frontends.nodes.broadcasts import repeated
from morello.frontends.nodes.byte_casts import limits
from morello.frontends.nodes.prepared import known_beforehand
from morello.frontends.nodes.reshapes import axis_groups
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.simplify import is_whole
from morello.frontends.nodes.tensors import (
    Access,
    Array,
    Node,
    PlainDtype,
    Source,
    Tensors,
    copying,
    identity_axes,
    substituted,
    window_of,
)
from morello.spec.elements.dtypes import Dtype
from morello.spec.functions import ROWS
from morello.spec.graphs.expression import COPY, Call, Constant, Expression, Reference
from morello.spec.graphs.expression import substituted as replaced_references
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, plain_dims
from morello.weights.scaled import in_halves

_MOST_NUMBER, _MOST_BYTE = 15, 255

_SIGNED = 8
"""The number that makes signed integers of 4 bits positive."""

_LEAST_BLOCK = 8
"""Numbers that share a scale: of fewer the scales are as large as the numbers."""

_MOST_ROWS = 4
"""Rows of a product, whose time is that of reading weights: of more, f32 is faster."""


def halved(tensors: Tensors) -> Tensors:
    """Products that read weights of 4 bits as halves of bytes."""
    return _Halving(tensors).run()


@dataclasses.dataclass(frozen=True)
class _Blocks:
    """Numbers of blocks of rows, which weights have."""

    read: Access
    """The tensor that has them, by the dimensions of the product."""
    block: int
    """The rows that share one."""


@dataclasses.dataclass(frozen=True)
class _Weights:
    """``scales * (numbers - zeros) + offsets``, each k x n, or 1 for what it lacks."""

    rows: int
    numbers: Array | Access
    """An array, or an access by the dimensions of the product."""
    zeros: Array
    scales: Array | _Blocks | None
    offsets: Array | _Blocks | None

    @property
    def block(self) -> int:
        """The rows that share scales, zero points and offsets; k where all do."""
        blocks = [self.rows]
        for part in (self.zeros, self.scales, self.offsets):
            if isinstance(part, _Blocks):
                blocks.append(part.block)
            elif part is not None and len(part) > 1:
                changes = (part[1:] != part[:-1]).any(axis=1)
                blocks += [int(row) + 1 for row in np.flatnonzero(changes)]
        return math.gcd(*blocks)


class _Halving(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.known_before = known_beforehand(old)

    def node(self, number: int, node: Node) -> int:
        """A product with one factor in halves, where it has such a factor."""
        match node.expression:
            case Call("mul", (Reference(a), Reference(b))) if node.reduction == "sum":
                for left, right in ((a, b), (b, a)):
                    factor = self.old.node(number).reads[right]
                    if self.old.root(factor.tensor) in self.known_before:
                        product = self._product(node, node.reads[left], factor)
                        if product is not None:
                            return self.add(product)
        return self.add(node)

    def _product(self, node: Node, left: Access, factor: Access) -> Node | None:
        """A product that reads weights in halves; None where they are none.

        Args:
            left: the factor that stays.
            factor: the weights, of the old tensors.
        """
        columns, inner = _wide(node, node.axes)[-1:], sorted(node.reduced)
        if (
            len(inner) != 1
            or not columns
            or {*_wide(node, factor.axes)} != {*inner, *columns}
            or not self._are_rows(node, left, inner)
            or node.extents[inner[0]] % 2
        ):
            return None
        dims = inner[0], columns[0]
        weights = _Factor(self.old, node.extents, dims).weights(factor)
        if weights is None or weights.block % 2 or weights.block < _LEAST_BLOCK:
            return None
        is_few = math.prod(node.shape) <= _MOST_ROWS * node.extents[columns[0]]
        if isinstance(weights.numbers, Access) or is_few:
            return self._halved(node, left, weights, dims)
        return None

    def _are_rows(self, node: Node, access: Access, inner: list[int]) -> bool:
        """Whether a factor is the rows of a product of floats in f32."""
        rows = [*_wide(node, node.axes)[:-1], *inner]
        is_plain = all(axis.is_plain or axis == ONE for axis in access.axes)
        is_f32 = node.dtype is Dtype.F32 and _is_float(self.new.element(access.tensor))
        return is_f32 and is_plain and _wide(node, access.axes) == rows

    def _in_f32(self, access: Access, place: str) -> Access:
        """The read of a factor; of a narrow float that of a copy in f32."""
        if self.new.dtype(access.tensor) is Dtype.F32:
            return access
        shape = self.new.all[access.tensor].shape
        read = Access(access.tensor, identity_axes(shape))
        copy = self.add(copying(read, shape, Dtype.F32, place))
        return Access(copy, access.axes)

    def _halved(
        self, node: Node, left: Access, weights: _Weights, dims: tuple[int, int]
    ) -> Node:
        """The product of a factor and some weights.

        Args:
            dims: the inner dimension and that of columns.
        """
        inner, columns = dims
        block, reads = weights.block, [self._in_f32(left, node.place)]

        def read(tensor: int, *axes: IndexMap) -> Expression:
            reads.append(Access(tensor, axes))
            return Reference(len(reads) - 1)

        def beside(name: str, part: Array | _Blocks, dtype: Dtype) -> Expression:
            """An input that has one element for each block, or for all rows."""
            step = part.block if isinstance(part, _Blocks) else block
            if isinstance(part, _Blocks):
                tensor = self._blocks(node, part, dims)
            else:
                rows = part[::block] if len(part) > 1 else part
                count = node.extents[columns]
                wide = np.broadcast_to(rows, (len(rows), count))
                tensor = self._constant(name, wide if len(rows) > 1 else wide[0], dtype)
            if len(self.new.all[tensor].shape) == 1:
                return read(tensor, IndexMap.of(columns))
            axis = IndexMap(((inner, 1),), divisor=step)
            return read(tensor, axis, IndexMap.of(columns))

        axis = IndexMap(((inner, 1),), divisor=2, halves=True)
        halves = self._halves(node, weights.numbers, dims)
        weight = read(halves, axis, IndexMap.of(columns))
        if weights.zeros.size > 1:
            weight = Call("sub", (weight, beside("zeros", weights.zeros, Dtype.U8)))
        elif weights.zeros.any():
            weight = Call("sub", (weight, Constant(float(weights.zeros.item()))))
        if weights.scales is not None:
            scales = beside("scales", weights.scales, Dtype.F32)
            weight = Call("mul", (scales, weight))
        if weights.offsets is not None:
            offsets = beside("offsets", weights.offsets, Dtype.F32)
            weight = Call("add", (weight, offsets))
        expression = Call("mul", (Reference(0), weight))
        return node.changed(expression=expression, reads=tuple(reads))

    def _constant(self, name: str, array: Array, dtype: Dtype) -> int:
        """An array, as a tensor."""
        name = f"{name}{len(self.new.all)}"
        stored = np.ascontiguousarray(array, dtype.numpy)
        return self.new.add(Source(name, stored.shape, dtype, -1, stored))

    def _halves(
        self, node: Node, numbers: Array | Access, dims: tuple[int, int]
    ) -> int:
        """Numbers of 4 bits packed two to a byte: a constant, or a map that packs
        them."""
        if not isinstance(numbers, Access):
            integers = in_halves(numbers.astype(np.uint8))
            return self._constant("halves", integers, Dtype.U8)
        extents = tuple(node.extents[dim] for dim in dims)
        shape = extents[0] // 2, extents[1]
        reads = []
        for half in (0, 1):
            rows = window_of({0: 2}, -half, shape, extents[0])
            along = {dims[0]: rows, dims[1]: IndexMap.of(1)}
            axes = (
                axis if axis.dim is None else along[axis.dim] for axis in numbers.axes
            )
            reads.append(Access(self.known[numbers.tensor], tuple(axes)))
        high = Call("mul", (Reference(1), Constant(float(_MOST_NUMBER + 1))))
        byte = Call(Dtype.U8.rounding, (Call("add", (Reference(0), high)),))
        halves = Node.of(
            shape, identity_axes(shape), MAP, byte, tuple(reads), Dtype.U8, node.place
        )
        return self.add(halves)

    def _blocks(self, node: Node, part: _Blocks, dims: tuple[int, int]) -> int:
        """Numbers of blocks, without gaps."""
        inner, columns = dims
        count = node.extents[inner] // part.block
        shape: tuple[int, ...] = (node.extents[columns],)
        names = {columns: 0}
        if count > 1:
            shape = count, *shape
            names = {inner: 0, columns: 1}
        axes = tuple(
            IndexMap.of(0) if inner in axis.dims else axis.renamed(names)
            for axis in part.read.axes
        )
        tensor = self.known[part.read.tensor]
        dtype = self.new.dtype(tensor)
        reads = (Access(tensor, axes),)
        blocks = Node.of(
            shape, identity_axes(shape), MAP, COPY, reads, dtype, node.place
        )
        return self.add(blocks)


class _Factor:
    """Finds the parts of a factor, which is known beforehand.

    Args:
        tensors: that have it.
        extents: of the dimensions of the product.
        dims: the inner dimension and that of columns.
    """

    def __init__(
        self, tensors: Tensors, extents: tuple[int, ...], dims: tuple[int, int]
    ) -> None:
        self.tensors, self.extents, self.dims = tensors, extents, dims
        self.reads: list[Access] = []

    def weights(self, factor: Access) -> _Weights | None:
        """The parts of a factor; None where it is no such factor."""
        expression = self._written(factor)
        if not isinstance(expression, Call):
            return None
        numbers, zeros, scales, offsets = _parts(expression)
        array = self._array(numbers)
        values = self._numbers(numbers) if array is None else array
        beside = [self._beside(part) for part in (scales, offsets)]
        pairs = zip((scales, offsets), beside, strict=True)
        if any(part is not None and held is None for part, held in pairs):
            return None
        subtracted = np.zeros((1, 1), np.float32)
        if zeros is not None:
            constant = self._array(zeros)
            if constant is None:
                return None
            subtracted = constant
        rows = self.extents[self.dims[0]]
        return _as_weights(rows, values, subtracted, *beside)

    def _written(self, access: Access) -> Expression:
        """The expression of a tensor, by the dimensions of the product, with those of
        the maps that it reads, but for numbers of 4 bits."""
        node = self.tensors.all[access.tensor]
        if (
            isinstance(node, Node)
            and node.reduction == MAP
            and node.into is None
            and node.dtype is Dtype.F32
            and not self._has_4_bits(access.tensor)
        ):
            inner = [ONE] * len(node.extents)
            for axis, source in zip(node.axes, access.axes, strict=True):
                if axis.dim is not None:
                    inner[axis.dim] = source
            leaves: list[Expression] = []
            for read in node.reads:
                shape = self.tensors.all[read.tensor].shape
                axes = substituted(read.axes, tuple(inner), self.extents, shape)
                if axes is None:
                    break
                leaves.append(self._written(Access(read.tensor, axes)))
            else:
                return replaced_references(node.expression, leaves.__getitem__)
        self.reads.append(access)
        return Reference(len(self.reads) - 1)

    def _has_4_bits(self, tensor: int) -> bool:
        """Whether a tensor is known to be whole numbers of 4 bits."""
        root = self.tensors.root(tensor)
        node = self.tensors.all[root]
        if not isinstance(node, Node) or node.reduction != MAP or node.into is not None:
            return False
        if node.expression == COPY:
            return self._has_4_bits(node.reads[0].tensor)
        least, most = limits(node.expression, node.reads, self.tensors)
        return is_whole(node.expression) and least >= 0 and most <= _MOST_NUMBER

    def _numbers(self, expression: Expression) -> Access | None:
        """The read of numbers of 4 bits; None of all else."""
        match expression:
            case Reference(place):
                access = self.reads[place]
                is_plain = all(a.is_plain or a == ONE for a in access.axes)
                if is_plain and self._has_4_bits(access.tensor):
                    return access
        return None

    def _beside(self, expression: Expression | None) -> Array | _Blocks | None:
        """Factors of numbers, or terms beside them; None of all else."""
        if expression is None:
            return None
        array = self._array(expression)
        if array is not None:
            return array
        match expression:
            case Call("copy", (inner,)):
                return self._beside(inner)
            case Reference(place):
                return self._repeated(self.reads[place])
        return None

    def _repeated(self, access: Access) -> _Blocks | None:
        """The read of a tensor that has an element for each block of rows."""
        source = self._source(access)
        if source is None or not _is_float(self.tensors.element(source.tensor)):
            return None
        inner, columns = self.dims
        along = [axis for axis in source.axes if inner in axis.dims]
        is_of_blocks = all(axis.is_plain or axis.is_divided for axis in along)
        if not is_of_blocks or {columns} != dims_of(source.axes) - {inner}:
            return None
        blocks = [axis.divisor for axis in along] or [self.extents[inner]]
        return _Blocks(source, blocks[0]) if len(blocks) == 1 else None

    def _source(self, access: Access) -> Access | None:
        """The read of the tensor whose elements a node only repeats, by the dimensions
        of the product; else the read itself."""
        root = self.tensors.root(access.tensor)
        node = self.tensors.all[root]
        if not isinstance(node, Node):
            return access
        source = repeated(self.tensors, node)
        if source is None:
            return access
        inner = [ONE] * len(node.extents)
        shape = self.tensors.all[access.tensor].shape
        for olds, news in axis_groups(node.shape, shape):
            wide = [node.axes[i].dim for i in olds if node.shape[i] > 1]
            wide_axes = [access.axes[i] for i in news if shape[i] > 1]
            if not wide or len(wide_axes) != 1:
                continue
            first, *rest = wide
            count = math.prod(node.extents[d] for d in rest if d is not None)
            if first is None or (rest and not wide_axes[0].is_plain):
                return None
            terms = wide_axes[0].terms
            inner[first] = IndexMap(terms, divisor=count) if rest else wide_axes[0]
            if {*rest} & dims_of(source.axes):
                return None
        whole = self.tensors.all[source.tensor].shape
        axes = substituted(source.axes, tuple(inner), self.extents, whole)
        return None if axes is None else Access(source.tensor, axes)

    def _array(self, expression: Expression) -> Array | None:
        """The elements of an expression, of rows and columns, 1 along what it lacks;
        None where they are no constants."""
        match expression:
            case Constant(number):
                return np.full((1, 1), number, np.float32)
            case Reference(place):
                return self._elements_of(self.reads[place])
            case Call(function, arguments):
                arrays = [self._array(argument) for argument in arguments]
                known = [array for array in arrays if array is not None]
                if len(known) < len(arrays):
                    return None
                with np.errstate(all="ignore"):
                    return np.asarray(ROWS[function].exact(*known), np.float32)
        return None

    def _elements_of(self, access: Access) -> Array | None:
        """The elements of a constant that is read as it is; None of what is none."""
        source = self.tensors.all[access.tensor]
        if not isinstance(source, Source) or source.array is None:
            return None
        if not all(axis.is_plain or axis == ONE for axis in access.axes):
            return None
        dims = plain_dims(access.axes)
        if not {*dims} <= {*self.dims}:
            return None
        wide = source.array.reshape([self.extents[d] for d in dims])
        if dims == self.dims[::-1]:
            wide = wide.transpose()
        shape = [self.extents[d] if d in dims else 1 for d in self.dims]
        return narrowed(wide.reshape(shape))


def _is_float(element: Dtype | PlainDtype) -> bool:
    """Whether elements are floats that graphs read."""
    return isinstance(element, Dtype) and element.is_float


def _wide(node: Node, axes: tuple[IndexMap, ...]) -> list[int]:
    """The dimensions of more than one element that axes are, in order."""
    return [d for d in plain_dims(axes) if node.extents[d] > 1]


_Expressions = tuple[
    Expression, Expression | None, Expression | None, Expression | None
]


def _parts(expression: Expression) -> _Expressions:
    """The numbers, zero points, scales and offsets of scaled numbers."""
    match expression:
        case Call("add", (Call("mul") as scaled, offsets)):
            numbers, zeros, scales, _ = _parts(scaled)
            return numbers, zeros, scales, offsets
        case Call("mul", (Call("sub", (numbers, zeros)), scales)):
            return numbers, zeros, scales, None
        case Call("mul", (Call("add", (numbers, Constant(number))), scales)):
            return numbers, Constant(-number), scales, None
        case Call("mul", (numbers, scales)):
            return numbers, None, scales, None
        case Call("sub", (numbers, zeros)):
            return numbers, zeros, None, None
        case Call("add", (numbers, Constant(number))):
            return numbers, Constant(-number), None, None
    return expression, None, None, None


def _as_weights(
    rows: int,
    numbers: Array | Access | None,
    zeros: Array,
    scales: Array | _Blocks | None,
    offsets: Array | _Blocks | None,
) -> _Weights | None:
    """Weights whose numbers have 4 bits, and zero points 8; None where they do not."""
    arrays = [part for part in (scales, offsets) if isinstance(part, np.ndarray)]
    if numbers is None or not all(np.isfinite(array).all() for array in arrays):
        return None
    if not isinstance(numbers, Access):
        if min(numbers.shape) == 1:
            return None
        if numbers.min() < 0:
            numbers, zeros = numbers + _SIGNED, zeros + _SIGNED
        if not _are_whole(numbers, _MOST_NUMBER):
            return None
    if not _are_whole(zeros, _MOST_BYTE):
        return None
    return _Weights(rows, numbers, zeros, scales, offsets)


def _are_whole(array: Array, most: int) -> bool:
    """Whether all are integers from 0 to one."""
    is_within = array.min() >= 0 and array.max() <= most
    return bool(is_within and (array == np.floor(array)).all())
