"""One `linalg.generic` as nodes: maps, and reductions by sum, maximum or minimum."""

import dataclasses
import math
from typing import Any

import numpy as np

from morello.frontends.linalg.bodies import Element, body_elements, constant, is_number
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
from morello.frontends.linalg.reductions import (
    MERGE,
    NEUTRAL,
    OUT,
    is_nothing,
    neutral_of,
    reduced,
    split,
)
from morello.frontends.linalg.types import (
    dtype_of,
    extents_of,
    index_maps,
    numpy_type,
    refuse_dynamic,
    shape_of,
)
from morello.frontends.linalg.values import Known, Read, Same
from morello.frontends.nodes.simplify import simplified
from morello.frontends.nodes.tensors import (
    Access,
    Array,
    Node,
    View,
    own_axes,
    window_of,
)
from morello.frontends.refusals import OpError
from morello.mlir import ir
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import (
    Call,
    Constant,
    Expression,
    Reference,
    references,
    renumbered,
    substituted,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, plain, plain_dims, renamed


class GenericOp:
    """One op, while it is read."""

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

    def run(self) -> None:
        """Add its nodes.

        Raises:
            OpError: it has no place in a graph.
        """
        refuse_dynamic(self.op)
        self.extents = self._extents()
        self.arrays = KnownArrays(self.extents, self._known_array)
        if 0 in self.extents:  # nothing is added to what the results begin with
            for number, result in enumerate(self.op.results):
                init = self.importer.get(self.op.operands[self.count + number])
                self.importer.known[result] = init
            return
        block = self.op.regions[0].blocks[0]
        if self._is_move(block):
            self._move()
            return
        arguments = [self._argument(i) for i in range(self.count)]
        outs = [Reference(OUT - i) for i in range(len(self.op.results))]
        wanted = [i for i, result in enumerate(self.op.results) if _is_used(result)]
        elements = body_elements(
            block,
            [*arguments, *outs],
            self._outside,
            self._place_along,
            self._extracted,
            self._known_before,
            wanted,
            self.importer.rounds,
        )
        for i, element in zip(wanted, elements, strict=True):
            self._result(i, element)

    def _extents(self) -> tuple[int, ...]:
        extents = extents_of(self.op)
        if extents is None:
            raise OpError(
                "the size of a dimension is the size of no tensor",
                "write it as a generic whose operands have every dimension",
            )
        return extents

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
        if not _is_used(block.arguments[place]):
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
        self, found: Read, place: int
    ) -> tuple[Read | Same, tuple[IndexMap, ...]]:
        """The tensor or number that an operand reads, and the index of each of its
        axes; copies of elements where it is read backwards.

        Raises:
            OpError: it is too long for copies of its elements.
        """
        if not self._is_backwards(place):
            return found, self._index(place, found.shape)
        places = []
        for terms, start in map(linear_index, self.maps[place].results):
            along = np.full([1] * len(self.extents), start)
            for dim, step in terms.items():
                shape = [1] * len(self.extents)
                shape[dim] = self.extents[dim]
                along = along + step * np.arange(shape[dim]).reshape(shape)
            places.append(along)
        read = read_at(self.importer, found, places, self.extents, self.place)
        if read is None:
            raise backwards_error(self.maps[place])
        return read

    def _element(self, found: Read | Same, inner: tuple[IndexMap, ...]) -> Element:
        if isinstance(found, Same):
            return found.number
        through = self.importer.through(found, inner, self.extents, self.place)
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
            for place, own in enumerate(used)
            if any({*own} & {*other} for i, other in enumerate(used) if i != place)
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

    def _is_move(self, block: ir.Block) -> bool:
        """Whether it only reads a tensor by other axes."""
        if self.count != 1 or len(self.op.results) != 1 or len(block.operations) != 1:
            return False
        last = block.operations[0].operation
        is_same = bool(last.operands[0] == block.arguments[0])
        return is_same and bool(self.maps[1].is_permutation)

    def _move(self) -> None:
        result = self.op.results[0]
        shape = shape_of(result)
        source = self.importer.get(self.op.operands[0])
        if isinstance(source, Same):
            self.importer.known[result] = Same(source.number, shape)
            return
        seen, inner = self._seen(source, 0)
        if isinstance(seen, Same):
            self.importer.known[result] = Same(seen.number, shape)
            return
        place = {
            expr.maybe_downcast().position: i
            for i, expr in enumerate(self.maps[1].results)
        }
        moved = renamed(inner, place)
        image = self.importer.through(seen, moved, shape, self.place)
        once = self._once(Access(image.tensor, image.axes), shape)
        self.importer.known[result] = Read(once.tensor, once.axes, shape)

    def _result(self, number: int, element: Element) -> None:
        result = self.op.results[number]
        if is_number(element):
            same = Same(element, shape_of(result))  # type: ignore[arg-type]
            self.importer.known[result] = same
            return
        expression = simplified(constant(element))
        if self._is_cast(expression, number):
            return
        axes = self._index(self.count + number, shape_of(result))
        if not all(axis.is_plain or axis == ONE for axis in axes):
            raise OpError(
                "its result is written at sums of dimensions", SUMS_OF_DIMENSIONS
            )
        kept = plain_dims(axes)
        reduces = any(n > 1 and d not in kept for d, n in enumerate(self.extents))
        init = self.op.operands[self.count + number]
        if reduces:
            output = self._reduction(expression, axes, init, number)
        else:
            expression = self._with_init(expression, init, number)
            output = self._node(MAP, expression, axes, dtype_of(result.type))
        self.importer.known[result] = output

    def _is_cast(self, element: Expression, number: int) -> bool:
        """Whether a result is a tensor that is read, in f32; it is made known so."""
        result = self.op.results[number]
        index_map = self.maps[self.count + number]
        if (
            not isinstance(element, Reference)
            or element.value < 0
            or not index_map.is_permutation
            or dtype_of(result.type) is not Dtype.F32
        ):
            return False
        access = self.reads[element.value]
        place = {
            expr.maybe_downcast().position: i
            for i, expr in enumerate(index_map.results)
        }
        axes = renamed(access.axes, place)
        self.importer.known[result] = Read(access.tensor, axes, shape_of(result))
        return True

    def _node(
        self,
        reduction: str,
        expression: Expression,
        axes: tuple[IndexMap, ...],
        dtype: Any,
    ) -> Read:
        reads = tuple(self.reads)
        node = Node(self.extents, axes, reduction, expression, reads, dtype, self.place)
        return self._added(compact(node))

    def _added(self, node: Node) -> Read:
        """A node, without dimensions along which all of it is the same, as it is read
        by its own axes."""
        used = {d for access in node.reads for d in dims_of(access.axes)}
        gone = {d for d in node.kept - used if node.extents[d] > 1}
        shape = node.shape
        axes = tuple(
            ONE if extent == 1 or axis.dim in gone else IndexMap.of(i)
            for i, (axis, extent) in enumerate(zip(node.axes, shape, strict=True))
        )
        extents = [1 if d in gone else n for d, n in enumerate(node.extents)]
        left = tuple(ONE if axis.dim in gone else axis for axis in node.axes)
        made = dataclasses.replace(node, extents=tuple(extents), axes=left)
        return Read(self.tensors.add(made), axes, shape)

    def _with_init(
        self, expression: Expression, out_value: ir.Value, number: int
    ) -> Expression:
        """A map that may read what its output held."""
        out = OUT - number
        if out not in set(references(expression)):
            return expression
        init = self.importer.get(out_value)
        held = self._element(init, self._index(self.count + number, init.shape))
        made = substituted(
            expression, lambda v: constant(held) if v == out else Reference(v)
        )
        return simplified(made)

    def _reduction(
        self,
        expression: Expression,
        axes: tuple[IndexMap, ...],
        out_value: ir.Value,
        number: int,
    ) -> Known:
        init = self.importer.get(out_value)
        result = self.op.results[number].type.maybe_downcast()
        dtype, shape = dtype_of(result), tuple(result.shape)
        reduction, term = split(expression, OUT - number)
        start = init.number if isinstance(init, Same) else None
        if is_nothing(self.op.regions[0].blocks[0], start):
            init = Same(NEUTRAL[reduction], shape)
            start = init.number
        is_neutral = start == neutral_of(reduction, result)
        if isinstance(term, Constant) and start is not None:
            kept = plain_dims(axes)
            count = math.prod(n for d, n in enumerate(self.extents) if d not in kept)
            return Same(reduced(reduction, term.number, count, start), shape)
        if is_neutral and not dtype.computes_in:
            return self._node(reduction, term, axes, dtype)
        partial = self._node(reduction, term, axes, Dtype.F32)
        own = own_axes(partial.shape)
        reads = [Access(partial.tensor, partial.axes)]
        merged: Expression = Call("copy", (Reference(0),))
        if not is_neutral:
            held: Expression = Reference(1)
            if isinstance(init, Same):
                held = Constant(float(init.number))
            else:
                reads.append(Access(init.tensor, init.axes))
            merged = simplified(Call(MERGE[reduction], (Reference(0), held)))
        if dtype.rounding and reduction == "sum" and self.importer.rounds:
            merged = Call(dtype.rounding, (merged,))
        node = Node(partial.shape, own, MAP, merged, tuple(reads), dtype, self.place)
        return self._added(node)


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


def compact(node: Node) -> Node:
    """A node without reads that its expression lacks."""
    used = sorted(set(references(node.expression)))
    number = {old: new for new, old in enumerate(used)}
    return dataclasses.replace(
        node,
        expression=renumbered(node.expression, number),
        reads=tuple(node.reads[old] for old in used),
    )
