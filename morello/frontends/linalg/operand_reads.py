"""Reads of a `linalg.generic`: elements of its operands and of other tensors."""

import numpy as np

from morello.frontends.linalg.bodies import Element
from morello.frontends.linalg.imported_values import ImportedValues
from morello.frontends.linalg.indices import (
    SUMS_OF_DIMENSIONS,
    backwards_error,
    index_map,
    is_backwards,
    linear_index,
)
from morello.frontends.linalg.known_arrays import MOST, KnownArrays, narrowed
from morello.frontends.linalg.known_places import read_at, read_constant
from morello.frontends.linalg.types import index_maps, numpy_type
from morello.frontends.linalg.values import Foreign, Read, Same
from morello.frontends.nodes.tensors import Access, Array, View, window_of
from morello.frontends.refusals import OpError
from morello.mlir import ir
from morello.spec.graphs.expression import Reference
from morello.spec.index_map import ONE, IndexMap, plain


class OperandReads:
    """The operands of an op, as they are read: `reads`, which its expressions number.

    Args:
        importer: the values that were read so far.
        op: a `linalg.generic`.
    """

    def __init__(self, importer: ImportedValues, op: ir.Operation) -> None:
        self.importer = importer
        self.op = op
        self.tensors = importer.tensors
        self.maps = index_maps(op)
        self.count = len(op.operands) - len(op.results)
        self.reads: list[Access] = []
        self.place = importer.place(op)
        self.extents: tuple[int, ...] = ()
        self.arrays = KnownArrays((), self._known_array)

    def _outside(self, value: ir.Value) -> Element:
        outer = self.importer.get(value)
        if outer.shape and isinstance(outer, Read):
            raise OpError(
                "elements are read at places that are data",
                "compute it outside of the program",
            )
        return self._element(outer, ())

    def _place_along(self, dim: int) -> Element:
        """The place along a dimension, as a constant that is read."""
        extent = self.extents[dim]
        array = np.arange(extent, dtype=np.float32)
        tensor = self.importer.constant(f"places{extent}", array)
        return self._access(Access(tensor, (IndexMap.of(dim) if extent > 1 else ONE,)))

    def _known_array(self, value: ir.Value) -> Array | None:
        """A value from outside of the body as an array, where it is a constant."""
        block = self.op.regions[0].blocks[0]
        kind = numpy_type(value.type)
        if kind is None:
            return None
        place = None
        if value.owner == block:
            place = ir.BlockArgument(value).arg_number
            if place >= self.count:
                return None
        outer = self.importer.known.get(
            value if place is None else self.op.operands[place]
        )
        if isinstance(outer, Same):
            shape = outer.shape if place is None else (1,) * len(self.extents)
            return np.full(shape, outer.number, kind)
        if isinstance(outer, Foreign) and not outer.is_low:
            outer = outer.read
        if not isinstance(outer, Read):
            return None
        array = read_constant(self.tensors, outer)
        if array is None or place is None:
            return None if array is None else array.astype(kind)
        exprs = [expr.maybe_downcast() for expr in self.maps[place].results]
        fixed = [isinstance(expr, ir.AffineConstantExpr) for expr in exprs]
        array = array[
            tuple(
                e.value if f else slice(None) for e, f in zip(exprs, fixed, strict=True)
            )
        ]
        dims = [
            expr for expr, is_fixed in zip(exprs, fixed, strict=True) if not is_fixed
        ]
        if not all(isinstance(dim, ir.AffineDimExpr) for dim in dims):
            return None
        order = [dim.position for dim in dims]
        wide = [1] * len(self.extents)
        for dim, extent in zip(order, array.shape, strict=True):
            wide[dim] = extent
        turned = array.transpose(sorted(range(len(order)), key=order.__getitem__))
        return turned.reshape(wide).astype(kind)

    def _known_before(self, value: ir.Value) -> Element | None:
        """A value that depends on no data, as a constant that is read."""
        array = self.arrays.array(value)
        return None if array is None else self._table(array)

    def _table(self, array: Array) -> Element | None:
        """An array over the dimensions; None where f32 lacks its integers."""
        if array.dtype.kind == "i" and (np.abs(array) > MOST).any():
            return None
        array = narrowed(array)
        dims = [d for d, extent in enumerate(array.shape) if extent > 1]
        flat = array.astype(np.float32).reshape([array.shape[d] for d in dims])
        if not dims:
            return float(flat)
        tensor = self.importer.table(flat)
        return self._access(Access(tensor, plain(*dims)))

    def _extracted(self, op: ir.Operation) -> Element:
        """An element of another tensor, at places that are known.

        Raises:
            OpError: they are data, or the tensor is read backwards or here and there.
        """
        if op.operands[0] not in self.importer.known:
            raise OpError(
                "it reads a tensor that is made for each element",
                "make it once, outside",
                op.location,
            )
        source = self.importer.get(op.operands[0])
        if isinstance(source, Same) or not source.shape:
            return self._element(source, ())
        known = self._known_before(op.results[0])
        if known is not None:
            return known
        indices = [self.arrays.array(value) for value in list(op.operands)[1:]]
        places = [place for place in indices if place is not None]
        if len(places) < len(indices):
            raise OpError(
                "elements are read at places that are data",
                "compute it outside of the program",
                op.location,
            )
        axes = read_at(self.importer, source, places, self.extents, self.place)
        if axes is None:
            raise OpError(
                "elements are read at computed places, as where a tensor is reversed "
                "or spread (the filters of a transposed convolution)",
                "compute it outside of the program; instead of a transposed "
                "convolution, repeat the elements of the image, then convolve",
                op.location,
            )
        return self._element(*axes)

    def _argument(self, place: int) -> Element:
        block = self.op.regions[0].blocks[0]
        if not is_used(block.arguments[place]):
            return 0
        operand = self.importer.get(self.op.operands[place])
        if isinstance(operand, Same):
            return operand.number
        return self._element(*self._seen(operand, place))

    def _is_backwards(self, place: int) -> bool:
        return is_backwards(self.maps[place])

    def _index(self, place: int, shape: tuple[int, ...]) -> tuple[IndexMap, ...]:
        """The axes of an operand, by the dimensions of the op.

        Raises:
            OpError: it is read backwards.
        """
        if self._is_backwards(place):
            raise backwards_error(self.maps[place])
        results = self.maps[place].results
        return tuple(
            index_map(result, self.extents, extent)
            for result, extent in zip(results, shape, strict=True)
        )

    def _seen(
        self, operand: Read, place: int
    ) -> tuple[Read | Same, tuple[IndexMap, ...]]:
        """The tensor or number that an operand reads, and the index of each of its
        axes; copies of elements where it is read backwards.

        Raises:
            OpError: it is too long for copies of its elements.
        """
        if not self._is_backwards(place):
            return operand, self._index(place, operand.shape)
        places = []
        for terms, start in map(linear_index, self.maps[place].results):
            along = np.full([1] * len(self.extents), start)
            for dim, step in terms.items():
                shape = [1] * len(self.extents)
                shape[dim] = self.extents[dim]
                along = along + step * np.arange(shape[dim]).reshape(shape)
            places.append(along)
        read = read_at(self.importer, operand, places, self.extents, self.place)
        if read is None:
            raise backwards_error(self.maps[place])
        return read

    def _element(self, operand: Read | Same, inner: tuple[IndexMap, ...]) -> Element:
        if isinstance(operand, Same):
            return operand.number
        through = self.importer.through(operand, inner, self.extents, self.place)
        return self._access(
            self._once(Access(through.tensor, through.axes), self.extents)
        )

    def _once(self, access: Access, extents: tuple[int, ...]) -> Access:
        """An access with each dimension in one axis. A diagonal has one in two: these
        and the axes between them are seen as one.

        Args:
            extents: of the dimensions.

        Raises:
            OpError: there are zeros around it.
        """
        axes, tensors = access.axes, self.importer.tensors
        used = [axis.dims for axis in axes]
        shared = [
            place
            for place, dims in enumerate(used)
            if any({*dims} & {*other} for i, other in enumerate(used) if i != place)
        ]
        if not shared:
            return access
        first, last = shared[0], shared[-1] + 1
        shape = tensors.all[access.tensor].shape
        terms: dict[int, int] = {}
        before, stride = 0, 1
        for window, extent in zip(
            axes[first:last][::-1], shape[first:last][::-1], strict=True
        ):
            if window.is_divided:
                raise OpError(
                    "it reads two axes by one index, one divided", SUMS_OF_DIMENSIONS
                )
            if window.has_zeros:
                raise OpError(
                    "it reads two axes by one index, beyond the edge of the tensor",
                    "write zeros around it in an op of its own",
                )
            before += window.before * stride
            for dim, step in window.terms:
                terms[dim] = terms.get(dim, 0) + step * stride
            stride *= extent
        seen = View(access.tensor, (*shape[:first], stride, *shape[last:]))
        joined = window_of(terms, before, extents, stride)
        return Access(tensors.add(seen), (*axes[:first], joined, *axes[last:]))

    def _access(self, access: Access) -> Element:
        if access not in self.reads:
            self.reads.append(access)
        return Reference(self.reads.index(access))


def is_used(value: ir.Value) -> bool:
    """Whether an op reads a value."""
    return next(iter(value.uses), None) is not None
