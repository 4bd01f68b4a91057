"""Products of dequantised bytes as products of bytes: `in_bytes`.

``sum((a - p) * (b - q))`` is ``sum(a*b) - p*sum(b) - q*sum(a) + k*p*q``. In s32 all of
it is exact for as many terms as 31 bits have room for, and processors multiply bytes
several times as fast as floats.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from morello.frontends.grouping.groups import is_product
from morello.frontends.nodes.rewriting import Rewriter
from morello.frontends.nodes.tensors import (
    Access,
    Given,
    Node,
    Tensors,
    copying,
    own_axes,
    through,
)
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import Call, Constant, Expression, Reference
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, plain_dims, renamed

BYTES = (Dtype.S8, Dtype.U8)

_MOST_TERMS = (1 << 31) // 255**2
"""Products of differences of bytes whose sum s32 has room for."""


def in_bytes(tensors: Tensors) -> Tensors:
    """Products of which both factors are bytes less numbers, added up in s32."""
    return _InBytes(tensors).run()


@dataclasses.dataclass(frozen=True)
class _Factor:
    """Bytes, and the number that is subtracted from them."""

    integers: Access
    zero: int


class _InBytes(Rewriter):
    def node(self, number: int, node: Node) -> int:
        """A product of bytes, and what its zero points take off, as f32."""
        match node.expression:
            case Call("mul", (Reference(a), Reference(b))) if (
                node.dtype is Dtype.F32 and node.into is None and is_product(node)
            ):
                reads = node.reads[a], node.reads[b]
                terms = math.prod(node.extents[d] for d in node.reduced)
                has_all = all(node.reduced <= dims_of(read.axes) for read in reads)
                if has_all and terms <= _MOST_TERMS:
                    factors = [self._factor(node, read) for read in reads]
                    known = [factor for factor in factors if factor is not None]
                    if len(known) == len(factors) and self._reads_memory(known):
                        return self._as_floats(node, self._product(node, known, terms))
        return self.add(node)

    def _reads_memory(self, factors: Sequence[_Factor]) -> bool:
        """Whether bytes are not all constants."""
        given = [self.new.all[self.new.root(f.integers.tensor)] for f in factors]
        return not all(isinstance(g, Given) and g.argument < 0 for g in given)

    def _factor(self, node: Node, access: Access) -> _Factor | None:
        """The bytes that a factor has; None where it has others."""
        if not all(axis.is_plain or axis == ONE for axis in access.axes):
            return None
        tensor = self._bytes(access.tensor)
        if tensor is not None:
            return _Factor(Access(tensor, access.axes), 0)
        factor = self.read(access)
        if factor is None or factor.reduction != MAP or not factor.dtype.is_float:
            return None
        match factor.expression:
            case Call("sub", (Reference(place), Constant(zero))):
                pass
            case Call("add", (Reference(place), Constant(number))):
                zero = -number
            case Call("sub", (Reference(place), Reference(other))):
                known = self._number(factor.reads[other])
                if known is None:
                    return None
                zero = known
            case _:
                return None
        pairs = zip(factor.axes, access.axes, strict=True)
        dims = {own.dim: axis for own, axis in pairs if own.dim is not None}
        inner = factor.reads[place]
        tensor = self._bytes(inner.tensor)
        if tensor is None or not float(zero).is_integer() or abs(zero) > 255:
            return None
        if not all(axis.is_plain or axis == ONE for axis in inner.axes):
            return None
        return _Factor(Access(tensor, through(inner.axes, dims)), int(zero))

    def _number(self, access: Access) -> float | None:
        """The number that all elements of a constant are."""
        given = self.new.all[self.new.root(access.tensor)]
        if not isinstance(given, Given) or given.array is None:
            return None
        array = given.array
        return float(array.flat[0]) if (array == array.flat[0]).all() else None

    def _bytes(self, tensor: int) -> int | None:
        """The tensor of bytes that has the elements of another; None of others."""
        if self.new.element(tensor) in BYTES:
            return tensor
        given = self.new.all[tensor]
        if not isinstance(given, Given) or given.array is None:
            return None
        array = given.array
        if given.dtype is not Dtype.F32 or not (array == np.trunc(array)).all():
            return None
        limits = array.min(), array.max()
        for dtype in BYTES:
            if dtype.lowest <= limits[0] and limits[1] <= dtype.highest:
                name = f"{given.name}_{dtype}"
                stored = array.astype(dtype.numpy)
                made = Given(name, given.shape, dtype, -1, stored)
                return self.new.add(made)
        return None

    def _product(self, node: Node, factors: Sequence[_Factor], terms: int) -> int:
        """The sums of products, in s32."""
        reads = tuple(factor.integers for factor in factors)
        product = Call("mul", (Reference(0), Reference(1)))
        sums = self.add(
            Node.of(
                node.extents, node.axes, "sum", product, reads, Dtype.S32, node.place
            )
        )
        own = own_axes(node.shape)
        place = {
            axis.dim: i for i, axis in enumerate(node.axes) if axis.dim is not None
        }
        total: Expression = Reference(0)
        accesses = [Access(sums, own)]
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
        if len(accesses) == 1:
            return sums
        return self.add(
            Node.of(node.shape, own, MAP, total, tuple(accesses), Dtype.S32, node.place)
        )

    def _sums(self, node: Node, factor: Access) -> Access:
        """The sums of bytes along the dimensions of a product, by those that stay."""
        dims = dims_of(factor.axes)
        kept = [d for d in plain_dims(node.axes) if d in dims and node.extents[d] > 1]
        order = [*kept, *sorted(node.reduced)]
        place = {dim: i for i, dim in enumerate(order)}
        extents = tuple(node.extents[d] for d in order)
        axes = tuple(map(IndexMap.of, range(len(kept)))) or (ONE,)
        read = Access(factor.tensor, renamed(factor.axes, place))
        sums = Node.of(
            extents, axes, "sum", Reference(0), (read,), Dtype.S32, node.place
        )
        return Access(self.add(sums), tuple(map(IndexMap.of, kept)) or (ONE,))

    def _as_floats(self, node: Node, total: int) -> int:
        """A tensor of s32 as f32."""
        read = Access(total, own_axes(node.shape))
        return self.add(copying(read, node.shape, Dtype.F32, node.place))
