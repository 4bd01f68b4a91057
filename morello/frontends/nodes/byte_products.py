"""Products of dequantised bytes as products of bytes: `in_bytes`.

``sum((a - p) * (b - q))`` is ``sum(a*b) - p*sum(b) - q*sum(a) + k*p*q``. In s32 each of
these sums is exact for as many terms as 31 bits have room for, and processors multiply
bytes several times as fast as floats. Zeros around an image are bytes less p where it
is copied into a larger one that is filled with p: ``sum(b)`` is of all taps everywhere.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.frontends.grouping.evaluating import evaluate_part
from morello.frontends.grouping.group_dims import UnfitError
from morello.frontends.grouping.groups import is_product
from morello.frontends.grouping.parts import part_of_nodes
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import (
    Access,
    Array,
    Joined,
    Node,
    Source,
    Tensors,
    copying,
    identity_axes,
    through,
    window_of,
)
from morello.spec.elements.dtypes import BYTES, Dtype
from morello.spec.graphs.expression import Call, Constant, Expression, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, plain_dims, renamed

_MOST_EXACT = 1 << 24
"""The largest integer up to which f32 has every one: what zero points add to sums of
more is taken off in s32."""

_MOST_ZERO = 255
"""The largest number that is taken off bytes."""

_MOST_TERMS = (1 << 31) // 255**2
"""Products of differences of bytes whose sum s32 has room for."""


def in_bytes(tensors: Tensors) -> Tensors:
    """Products of which both factors are bytes less numbers, added up in s32."""
    return _InBytes(tensors).run()


@dataclasses.dataclass(frozen=True)
class _Factor:
    """Bytes, less a number, times another, and times what each place that stays has."""

    integers: Access
    zero: int = 0
    scale: float = 1.0
    scales: Access | None = None


class _InBytes(Rewriter):
    def __init__(self, old: Tensors) -> None:
        super().__init__(old)
        self.larger: dict[tuple[Any, ...], int] = {}
        """Images that are filled around, by what they are copies of."""

    def node(self, number: int, node: Node) -> int:
        """A product of bytes, and what its zero points take off, as f32."""
        match node.expression:
            case Call("mul", (Reference(a), Reference(b))) if (
                node.dtype is Dtype.F32
                and node.into is None
                and node.reduction == "sum"
            ):
                reads = node.reads[a], node.reads[b]
                terms = math.prod(node.extents[d] for d in node.reduced)
                has_all = all(node.reduced <= dims_of(read.axes) for read in reads)
                if has_all and terms <= _MOST_TERMS:
                    factors = [self._factor(read, node.reduced) for read in reads]
                    known = [factor for factor in factors if factor is not None]
                    if len(known) == len(factors) and self._are_multiplied(known):
                        exact = self._most(node, known) <= _MOST_EXACT
                        if is_product(node) or (exact and node.reduced):
                            return self._product(node, known, terms)
        return self.add(node)

    def _are_multiplied(self, factors: Sequence[_Factor]) -> bool:
        """Whether bytes are not all constants, and images have filters around 0."""
        constants = [self.new.all[self.new.root(f.integers.tensor)] for f in factors]
        if all(isinstance(g, Source) and g.argument < 0 for g in constants):
            return False
        return not any(
            (other.zero and not _is_plain(factor.integers))
            or not self._has_zero(factor)
            for factor, other in (factors, factors[::-1])
        )

    def _has_zero(self, factor: _Factor) -> bool:
        """Whether the zeros around a factor, if there are any, are bytes of it."""
        dtype = self.new.dtype(factor.integers.tensor)
        is_byte = dtype.lowest <= factor.zero <= dtype.highest
        return is_byte or not any(axis.has_zeros for axis in factor.integers.axes)

    def _factor(self, access: Access, reduced: frozenset[int]) -> _Factor | None:
        """The bytes that a factor has; None where it has others.

        Args:
            reduced: the dimensions of the product that it is added up along.
        """
        stored = self._bytes(access.tensor)
        if stored is not None:
            return _Factor(Access(stored[0], access.axes), stored[1])
        factor = self.read(access)
        if factor is None or factor.reduction != MAP or not factor.dtype.is_float:
            return None
        pairs = [*zip(factor.axes, access.axes, strict=True)]
        parts = self._parts(factor)
        if parts is None:
            stored = self._computed_bytes(access.tensor, factor)
            return stored and _Factor(Access(stored[0], access.axes), stored[1])
        place, zero, scale, by = parts
        if any(part == ONE and axis.has_zeros for part, axis in pairs):
            return None  # of one element, around which zeros are not those of bytes
        dims = {part.dim: axis for part, axis in pairs if part.dim is not None}
        inner = factor.reads[place]
        stored = self._bytes(inner.tensor)
        if stored is None or not float(zero).is_integer() or not _is_plain(inner):
            return None
        zero += stored[1]
        if abs(zero) > _MOST_ZERO:
            return None
        read = Access(stored[0], through(inner.axes, dims))
        if by is None:
            return _Factor(read, int(zero), scale)
        scales = factor.reads[by]
        scales = Access(scales.tensor, through(scales.axes, dims))
        if not _is_plain(scales) or dims_of(scales.axes) & reduced:
            return None
        return _Factor(read, int(zero), scale, scales)

    def _parts(self, factor: Node) -> tuple[int, float, float, int | None] | None:
        """The read of bytes, what is subtracted from them, their scale, and the read of
        scales, if there is one; None of other maps."""
        expression, scale, by = factor.expression, 1.0, None
        match expression:
            case Call("mul", (rest, Constant(number))) if math.isfinite(number):
                expression, scale = rest, number
        match expression:
            case Call("mul", (rest, Reference(scales))):
                expression, by = rest, scales
        match expression:
            case Reference(place):
                return place, 0.0, scale, by
            case Call("sub", (Reference(place), Constant(zero))):
                return place, zero, scale, by
            case Call("add", (Reference(place), Constant(number))):
                return place, -number, scale, by
            case Call("sub", (Reference(place), Reference(other))):
                known = self._number(factor.reads[other])
                return None if known is None else (place, known, scale, by)
        return None

    def _number(self, access: Access) -> float | None:
        """The number that all elements of a constant are."""
        constant = self.new.all[self.new.root(access.tensor)]
        if not isinstance(constant, Source) or constant.array is None:
            return None
        array = constant.array
        return float(array.flat[0]) if (array == array.flat[0]).all() else None

    def _bytes(self, tensor: int) -> tuple[int, int] | None:
        """The tensor of bytes, and the number to subtract, that give the elements of a
        tensor."""
        if self.new.element(tensor) in BYTES:
            return tensor, 0
        constant = self.new.all[tensor]
        if not isinstance(constant, Source) or constant.array is None:
            return None
        if constant.dtype is not Dtype.F32:
            return None
        return self._stored(constant.array, constant.name)

    def _computed_bytes(self, tensor: int, factor: Node) -> tuple[int, int] | None:
        """`_bytes` of a map of one constant, as of bytes without a sign that are stored
        as those with one; None of others."""
        roots = [self.new.root(read.tensor) for read in factor.reads]
        constant = self.new.all[roots[0]] if len(roots) == 1 else None
        if not isinstance(constant, Source) or constant.array is None:
            return None
        number = self.new.root(tensor)
        known = {roots[0]: np.ascontiguousarray(constant.array).reshape(-1)}
        try:
            part = part_of_nodes(self.new, (number,), (number,))
        except UnfitError:
            return None
        evaluate_part(part, known, self.new)
        array = known[number].reshape(factor.shape)
        return self._stored(array, f"{constant.name}_{number}")

    def _stored(self, array: Array, name: str) -> tuple[int, int] | None:
        """A constant as bytes, and a number that is taken off them; None of an array
        that is none."""
        if not (array == np.trunc(array)).all():
            return None
        least, largest = int(array.min()), int(array.max())
        fits = [d for d in BYTES if d.lowest <= least and largest <= d.highest]
        dtype, zero = fits[0] if fits else Dtype.S8, 0
        if not fits:  # bytes that are signed may have factors that are not
            zero = max(int(dtype.lowest) - least, 0) or int(dtype.highest) - largest
            if least + zero < dtype.lowest or largest + zero > dtype.highest:
                return None
        stored = (array + zero).astype(dtype.numpy)
        constant = Source(f"{name}_{dtype}", array.shape, dtype, -1, stored)
        return self.new.add(constant), zero

    def _product(self, node: Node, factors: Sequence[_Factor], terms: int) -> int:
        """The sums of products as f32. They are added up in s32, or as floats where
        these are exact, as under a depthwise filter."""
        factors = [self._surrounded(factor, node) for factor in factors]
        reads = tuple(factor.integers for factor in factors)
        product = Call("mul", (Reference(0), Reference(1)))
        # Inside of a graph of floats, contractions alone are added up in s32.
        dtype = Dtype.S32 if is_product(node) else Dtype.F32
        sums = self.add(
            Node.of(node.extents, node.axes, "sum", product, reads, dtype, node.place)
        )
        node_axes = identity_axes(node.shape)
        place = {
            axis.dim: i for i, axis in enumerate(node.axes) if axis.dim is not None
        }
        total: Expression = Reference(0)
        accesses = [Access(sums, node_axes)]
        for factor, other in (factors, factors[::-1]):
            if factor.zero:
                access = self._sums(node, other.integers)
                axes = renamed(access.axes, place)
                accesses.append(Access(access.tensor, axes))
                number = Constant(float(factor.zero))
                term = Call("mul", (Reference(len(accesses) - 1), number))
                total = Call("sub", (total, term))
        both = terms * math.prod(factor.zero for factor in factors)
        if both:
            total = Call("add", (total, Constant(float(both))))
        if len(accesses) > 1 and self._most(node, factors) > _MOST_EXACT:
            sums = self._map(node, total, accesses, Dtype.S32)
            total, accesses = Reference(0), [Access(sums, node_axes)]
        scale = math.prod(factor.scale for factor in factors)
        if scale != 1:
            total = Call("mul", (total, Constant(scale)))
        for scales in (f.scales for f in factors if f.scales is not None):
            accesses.append(Access(scales.tensor, renamed(scales.axes, place)))
            total = Call("mul", (total, Reference(len(accesses) - 1)))
        if total == Reference(0):
            return self.add(copying(accesses[0], node.shape, Dtype.F32, node.place))
        return self._map(node, total, accesses, Dtype.F32)

    def _map(
        self, node: Node, total: Expression, reads: Sequence[Access], dtype: Dtype
    ) -> int:
        """A map of the elements of a product."""
        axes = identity_axes(node.shape)
        mapped = Node.of(node.shape, axes, MAP, total, tuple(reads), dtype, node.place)
        return self.add(mapped)

    def _most(self, node: Node, factors: Sequence[_Factor]) -> int:
        """The largest sum of products of two bytes and their zero points: of weights
        that are known it is that of their magnitudes."""
        terms = math.prod(node.extents[d] for d in node.reduced)
        sizes = []
        for factor in factors:
            dtype = self.new.dtype(factor.integers.tensor)
            most = max(abs(int(dtype.lowest)), int(dtype.highest))
            sizes.append(most + abs(factor.zero))
        sums = [terms * math.prod(sizes)]
        for factor, other in zip(factors, reversed(sizes), strict=True):
            known, axes = self.new.all[factor.integers.tensor], factor.integers.axes
            array = known.array if isinstance(known, Source) else None
            if array is None or not _is_plain(factor.integers):
                continue
            magnitudes = np.abs(array.astype(np.int64)) + abs(factor.zero)
            gone = tuple(i for i, a in enumerate(axes) if a.dim in node.reduced)
            again = terms // math.prod(array.shape[i] for i in gone)
            sums.append(int(magnitudes.sum(axis=gone).max()) * again * other)
        return min(sums)

    def _surrounded(self, factor: _Factor, node: Node) -> _Factor:
        """A factor around which are bytes that its zero point takes off, if zeros are
        there."""
        read = factor.integers
        if not factor.zero or not any(axis.has_zeros for axis in read.axes):
            return factor
        shape = self.new.all[read.tensor].shape
        around = [(max(a.before, 0), max(a.after, 0)) for a in read.axes]
        starts = tuple(before for before, _ in around)
        whole = tuple(
            before + size + after
            for size, (before, after) in zip(shape, around, strict=True)
        )
        key = read.tensor, starts, whole, factor.zero
        if key not in self.larger:
            dtype = self.new.dtype(read.tensor)
            inside = Access(read.tensor, identity_axes(shape))
            piece = copying(inside, shape, dtype, node.place)
            joined = Joined(whole, dtype, str(factor.zero))
            ones = (1,) * len(shape)
            self.larger[key] = self.new.join(joined, [(piece, starts, ones)])
        axes = tuple(
            axis
            if axis.is_plain or axis == ONE
            else window_of(axis.steps, axis.before - start, node.extents, size)
            for axis, start, size in zip(read.axes, starts, whole, strict=True)
        )
        return dataclasses.replace(factor, integers=Access(self.larger[key], axes))

    def _sums(self, node: Node, factor: Access) -> Access:
        """The sums of bytes along the dimensions of a product, by those that stay."""
        gone = node.reduced
        dims = dims_of(factor.axes)
        stay = [d for d in plain_dims(node.axes) if d in dims and node.extents[d] > 1]
        order = [*stay, *sorted(gone)]
        place = {dim: i for i, dim in enumerate(order)}
        sums = Node.of(
            tuple(node.extents[d] for d in order),
            tuple(map(IndexMap.of, range(len(stay)))) or (ONE,),
            "sum",
            Reference(0),
            (Access(factor.tensor, renamed(factor.axes, place)),),
            Dtype.S32,
            node.place,
        )
        return Access(self.add(sums), tuple(map(IndexMap.of, stay)) or (ONE,))


def _is_plain(access: Access) -> bool:
    """Whether each axis of a tensor is read by itself."""
    return all(axis.is_plain or axis == ONE for axis in access.axes)
