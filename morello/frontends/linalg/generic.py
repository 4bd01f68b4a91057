"""One `linalg.generic` as nodes: maps, and reductions by sum, maximum or minimum."""

import math
from typing import Any

from morello.frontends.linalg.bodies import (
    BYTE,
    Element,
    body_elements,
    constant,
    integer_cast,
    is_number,
    width_of,
)
from morello.frontends.linalg.indices import SUMS_OF_DIMENSIONS
from morello.frontends.linalg.integers import (
    cast_dtype,
    integer_expression,
    is_in_s32,
    wrapped,
)
from morello.frontends.linalg.known_arrays import KnownArrays
from morello.frontends.linalg.operand_reads import OperandReads, is_used
from morello.frontends.linalg.reductions import (
    MERGE,
    NEUTRAL,
    NEUTRAL_S32,
    OUT,
    is_nothing,
    neutral_of,
    reduced,
    split,
)
from morello.frontends.linalg.types import (
    dtype_of,
    extents_of,
    refuse_dynamic,
    shape_of,
)
from morello.frontends.linalg.values import Foreign, Known, Read, Same
from morello.frontends.nodes.byte_casts import byte_of
from morello.frontends.nodes.simplify import simplified
from morello.frontends.nodes.tensors import Access, Node, identity_axes
from morello.frontends.reasons import ELSEWHERE
from morello.frontends.refusals import OpError
from morello.mlir import ir
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import (
    COPY,
    Call,
    Constant,
    Expression,
    Reference,
    references,
    substituted,
)
from morello.spec.graphs.graph import MAP
from morello.spec.index_map import ONE, IndexMap, dims_of, plain_dims, renamed

_TO_INTEGERS = ("arith.fptosi", "arith.fptoui")


class GenericOp(OperandReads):
    """One op, while it is read."""

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
        try:
            self._in_f32(block)
        except OpError:
            if not is_in_s32(block):
                raise
            self._in_s32(block)

    def _in_f32(self, block: ir.Block) -> None:
        """Maps and reductions of floats, of truth values, and of places.

        Raises:
            OpError: it has no place in a graph.
        """
        outer: dict[ir.Value, Element] = {}
        for place, argument in enumerate(block.arguments):
            if place >= self.count:
                outer[argument] = Reference(OUT - place + self.count)
            elif isinstance(self.importer.known.get(self.op.operands[place]), Foreign):
                outer |= self._casts(place, argument)
            else:
                outer[argument] = self._argument(place)
        wanted = [i for i, result in enumerate(self.op.results) if is_used(result)]
        elements = body_elements(
            block,
            outer,
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

    def _casts(self, place: int, argument: ir.Value) -> dict[ir.Value, Element]:
        """The casts of an operand of narrow integers, as elements that are read.

        Raises:
            OpError: it is used otherwise.
        """
        read = self.importer.integers(self.op.operands[place], cast_dtype(argument))
        number = self._element(*self._seen(read, place))
        casts = [use.owner.operation for use in argument.uses]
        return {cast.results[0]: integer_cast(cast, number) for cast in casts}

    def _in_s32(self, block: ir.Block) -> None:
        """A map or a reduction that computes in s32.

        Raises:
            OpError: it has a function that s32 lacks, another start, or windows.
        """
        self.reads.clear()
        result, out_value = self.op.results[0], self.op.operands[self.count]
        expression = integer_expression(block, self._whole_number, self._outer_number)
        axes = self._index(self.count, shape_of(result))
        free_dims = plain_dims(axes)
        reduction = MAP
        if any(n > 1 and d not in free_dims for d, n in enumerate(self.extents)):
            reduction, expression = split(expression, OUT)
            init = self.importer.get(out_value)
            if not isinstance(init, Same) or init.number != NEUTRAL_S32[reduction]:
                raise OpError("it reduces from another start", "merge it afterwards")
        accesses = [*axes, *(axis for read in self.reads for axis in read.axes)]
        if OUT in set(references(expression)) or not all(
            axis.is_plain or axis == ONE for axis in accesses
        ):
            raise OpError(
                "integers are read along windows, or where they are written",
                "write it as a product of matrices, or a map",
            )
        is_low = width_of(result.type) > 8 * Dtype.S32.itemsize
        read = self._alias(expression, self.count) if reduction == MAP else None
        if read is None or self.tensors.dtype(read.tensor) is not Dtype.S32:
            read = self._node(reduction, expression, axes, Dtype.S32)
        self.importer.known[result] = Foreign(read, str(result.type), is_low)

    def _outer_number(self, value: ir.Value) -> Expression:
        """A number from outside of the body.

        Raises:
            OpError: it is not known.
        """
        known = self.importer.get(value)
        if not isinstance(known, Same):
            raise OpError("it reads an integer that is data", ELSEWHERE)
        return Constant(float(wrapped(int(known.number))))

    def _whole_number(self, argument: ir.BlockArgument, dtype: Dtype) -> Expression:
        """An argument of the body as a number of s32.

        Raises:
            OpError: it has no such elements.
        """
        place = argument.arg_number
        if place >= self.count:
            return Reference(OUT)
        value = self.op.operands[place]
        known = self.importer.known.get(value)
        if isinstance(known, Same) and dtype is Dtype.S32:
            return Constant(float(wrapped(int(known.number))))
        read = self.importer.integers(value, dtype, low=width_of(value.type) > 32)
        return constant(self._element(*self._seen(read, place)))

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
        source = self.importer.moved(self.op.operands[0])
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
        read = Read(once.tensor, once.axes, shape)
        self.importer.move(result, self.op.operands[0], read)

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
        free_dims = plain_dims(axes)
        reduces = any(n > 1 and d not in free_dims for d, n in enumerate(self.extents))
        init = self.op.operands[self.count + number]
        if reduces:
            output = self._reduction(expression, axes, init, number)
        else:
            expression = self._with_init(expression, init, number)
            if self._is_rounded(number):
                self._byte(result, expression, axes)
                return
            output = self._node(MAP, expression, axes, dtype_of(result.type))
        self.importer.known[result] = output

    def _is_rounded(self, number: int) -> bool:
        """Whether a result is a float that was cast to a byte."""
        block = self.op.regions[0].blocks[0]
        last = block.operations[len(block.operations) - 1].operation
        value = last.operands[number]
        return str(value.type) == BYTE and value.owner.name in _TO_INTEGERS

    def _byte(
        self, result: ir.Value, expression: Expression, axes: tuple[IndexMap, ...]
    ) -> None:
        """A result of floats that were cast to bytes.

        Raises:
            OpError: they may be outside of the limits of bytes.
        """
        byte = byte_of(expression, self.reads, self.tensors)
        if byte is None:
            raise OpError("a cast to bytes is of other numbers, too", ELSEWHERE)
        dtype, rounded = byte
        node = self._node(MAP, simplified(rounded), axes, dtype)
        self.importer.known[result] = Foreign(node, str(result.type))

    def _is_cast(self, element: Expression, number: int) -> bool:
        """Whether a result is a tensor that is read, in f32; it is made known so."""
        result = self.op.results[number]
        if dtype_of(result.type) is not Dtype.F32:
            return False
        read = self._alias(element, self.count + number)
        if read is not None:
            self.importer.known[result] = read
        return read is not None

    def _alias(self, element: Expression, place: int) -> Read | None:
        """The tensor that an output is, by other axes; None where it is computed."""
        index_map = self.maps[place]
        if (
            not isinstance(element, Reference)
            or element.value < 0
            or not index_map.is_permutation
        ):
            return None
        access = self.reads[element.value]
        axis_of = {
            expr.maybe_downcast().position: i
            for i, expr in enumerate(index_map.results)
        }
        axes = renamed(access.axes, axis_of)
        return Read(access.tensor, axes, shape_of(self.op.operands[place]))

    def _node(
        self,
        reduction: str,
        expression: Expression,
        axes: tuple[IndexMap, ...],
        dtype: Any,
    ) -> Read:
        reads = tuple(self.reads)
        node = Node.of(
            self.extents, axes, reduction, expression, reads, dtype, self.place
        )
        return self._added(node.compact().distinct())

    def _added(self, node: Node) -> Read:
        """Add a node without the dimensions along which it is constant; return a read
        of it."""
        used = {d for access in node.reads for d in dims_of(access.axes)}
        gone = {d for d in node.unreduced - used if node.extents[d] > 1}
        shape = node.shape
        axes = tuple(
            ONE if extent == 1 or axis.dim in gone else IndexMap.of(i)
            for i, (axis, extent) in enumerate(zip(node.axes, shape, strict=True))
        )
        extents = [1 if d in gone else n for d, n in enumerate(node.extents)]
        left = tuple(ONE if axis.dim in gone else axis for axis in node.axes)
        narrowed = node.changed(extents=tuple(extents), axes=left)
        return Read(self.tensors.add(narrowed), axes, shape)

    def _with_init(
        self, expression: Expression, out_value: ir.Value, number: int
    ) -> Expression:
        """A map that may read what its output held."""
        out = OUT - number
        if out not in set(references(expression)):
            return expression
        init = self.importer.get(out_value)
        held = self._element(init, self._index(self.count + number, init.shape))
        with_init = substituted(
            expression, lambda v: constant(held) if v == out else Reference(v)
        )
        return simplified(with_init)

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
        if reduction == "sum" and self._reads_integers():
            raise OpError(
                f"integers are added up to {result}", "cast them to floats first"
            )
        start = init.number if isinstance(init, Same) else None
        if is_nothing(self.op.regions[0].blocks[0], start):
            init = Same(NEUTRAL[reduction], shape)
            start = init.number
        is_neutral = start == neutral_of(reduction, result)
        if isinstance(term, Constant) and start is not None:
            free_dims = plain_dims(axes)
            count = math.prod(
                n for d, n in enumerate(self.extents) if d not in free_dims
            )
            return Same(reduced(reduction, term.number, count, start), shape)
        if is_neutral and not dtype.computes_in:
            return self._node(reduction, term, axes, dtype)
        partial = self._node(reduction, term, axes, Dtype.F32)
        plain = identity_axes(partial.shape)
        reads = [Access(partial.tensor, partial.axes)]
        merged: Expression = COPY
        if not is_neutral:
            held: Expression = Reference(1)
            if isinstance(init, Same):
                held = Constant(float(init.number))
            else:
                reads.append(Access(init.tensor, init.axes))
            merged = simplified(Call(MERGE[reduction], (Reference(0), held)))
        if dtype.rounding and reduction == "sum" and self.importer.rounds:
            merged = Call(dtype.rounding, (merged,))
        node = Node.of(
            partial.shape, plain, MAP, merged, tuple(reads), dtype, self.place
        )
        return self._added(node)

    def _reads_integers(self) -> bool:
        """Whether the result is of integers that are made of others in memory, whose
        sum may be too large for f32."""
        kind = self.op.results[0].type.maybe_downcast().element_type
        return isinstance(kind.maybe_downcast(), ir.IntegerType) and any(
            not self.tensors.dtype(read.tensor).is_float for read in self.reads
        )
