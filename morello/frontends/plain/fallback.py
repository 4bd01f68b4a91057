"""Fallback code for ops that no graph computes: `Fallback`."""

import dataclasses
import math

from morello.frontends.linalg.imported_values import ImportedValues
from morello.frontends.linalg.types import (
    constant_value,
    refuse_dynamic,
    shape_of,
    stored_array,
)
from morello.frontends.linalg.values import Foreign, MissingError, Read, Same, is_plain
from morello.frontends.nodes.tensors import Plain, PlainDtype, Source, identity_axes
from morello.frontends.plain.outlining import (
    copying,
    element_of,
    is_step_of,
    outlined,
    tensors_or_read,
)
from morello.frontends.plain.work import is_linear
from morello.frontends.refusals import OpError
from morello.mlir import ir, maker
from morello.spec.elements.dtypes import Dtype

SUMS_OF_ROWS = "rows that are looked up are added up as they are read"


def _is_sum_of_rows(op: ir.Operation) -> bool:
    """Whether an op adds up f32 along other axes than the last one."""
    names = [inner.name for inner in op.regions[0].blocks[0].operations]
    loops = [str(each) for each in ir.ArrayAttr(op.attributes["iterator_types"])]
    kinds = {value.type.maybe_downcast().element_type for value in op.operands}
    return (
        names == ["arith.addf", "linalg.yield"]
        and any("reduction" in loop for loop in loops)
        and "parallel" in loops[-1]
        and all(isinstance(kind.maybe_downcast(), ir.F32Type) for kind in kinds)
    )


class Fallback:
    """The tensors of an importer that no graph computes, or reads.

    Args:
        importer: whose they are.
        takes_all: whether heavy ops are left to it, too.
    """

    def __init__(self, importer: ImportedValues, takes_all: bool) -> None:
        self.importer = importer
        self.takes_all = takes_all
        self._constants: dict[ir.Value, int] = {}
        """In the elements of their types, as plain code reads them."""

    def takes(self, op: ir.Operation) -> bool:
        """Whether an op is left to it.

        Raises:
            OpError: a shape is dynamic.
        """
        return self.takes_all or is_linear(op)

    def adds_rows(self, op: ir.Operation) -> bool:
        """Whether an op adds up rows that plain code looks up for it alone, as bags of
        embeddings do: in its loops they are not written first."""
        if op.name != "linalg.generic" or len(op.operands) != 2:
            return False
        value = op.operands[0]
        if not is_step_of(value, op) or not _is_sum_of_rows(op):
            return False
        looks_up = any(
            inner.name == "tensor.extract"
            for inner in value.owner.regions[0].blocks[0].operations
        )
        known = self.importer.known[value]
        is_whole = looks_up and isinstance(known, Read) and is_plain(known)
        return is_whole and isinstance(known, Read) and self._is_plain(known.tensor)

    def lower(self, op: ir.Operation, error: OpError) -> None:
        """The results of an op as plain tensors.

        Raises:
            OpError: upstream does not lower it, either.
            MissingError: it reads what was refused.
        """
        results = tensors_or_read(op)
        kinds = [result.type.maybe_downcast() for result in results]
        if not all(isinstance(kind, ir.RankedTensorType) for kind in kinds):
            refuse_dynamic(op)
            for result in results:
                self.importer.known[result] = Foreign(None, str(result.type))
            return
        elements = [element_of(kind) for kind in kinds]
        if None in elements or any(0 in kind.shape for kind in kinds):
            raise error
        place = self.importer.place(op)
        name = self.importer.name(op)
        code, operands = outlined(op, self.stored, self._is_plain, error, name, place)
        for number, (result, element) in enumerate(zip(results, elements, strict=True)):
            assert element is not None
            shape = tuple(kinds[number].shape)
            plain = Plain(code, number, operands, shape, element)
            self.define(result, self.importer.tensors.add(plain), element)

    def stored(self, value: ir.Value) -> int | None:
        """The tensor in memory that has the elements of a value, in its own type.

        Returns:
            None: there is none, and whoever reads the value computes it.

        Raises:
            MissingError: it was refused.
        """
        known = self.importer.known[value]
        if known is None:
            raise MissingError
        if isinstance(known, Foreign):
            read = None if known.is_low else known.read
            return None if read is None else self._whole(read)
        kind = value.type.maybe_downcast()
        if isinstance(known, Same) or not isinstance(kind, ir.RankedTensorType):
            return None
        dtype = element_of(kind)
        if not isinstance(dtype, Dtype):
            return self._stored_constant(value)
        return self._in_memory(
            known, dtype, self.importer.place(self.importer.function)
        )

    def _is_plain(self, tensor: int) -> bool:
        return isinstance(self.importer.tensors.all[tensor], Plain)

    def _whole(self, read: Read) -> int | None:
        """The row-major tensor that is read, if that is in its order."""
        tensor_shape = self.importer.tensors.all[read.tensor].shape
        if is_plain(read) and math.prod(read.shape) == math.prod(tensor_shape):
            place = self.importer.place(self.importer.function)
            return self.importer.materialized(read, place)
        return None

    def _in_memory(self, read: Read, dtype: Dtype, place: str) -> int:
        """The row-major tensor of a dtype whose elements are those of a read."""
        tensor = self.importer.materialized(read, place)
        if self.importer.tensors.dtype(tensor) is dtype:
            return tensor
        row_major = Read(tensor, identity_axes(read.shape), read.shape)
        copied = self.importer.copy(row_major, place)
        return self.importer.tensors.add(dataclasses.replace(copied, dtype=dtype))

    def _stored_constant(self, value: ir.Value) -> int | None:
        """A constant of elements that no graph has, as an array that is given."""
        if value in self._constants:
            return self._constants[value]
        op, element = maker(value, "arith.constant"), element_of(value.type)
        if op is None or element is None:
            return None
        attribute = constant_value(op)
        array = stored_array(
            attribute, value.type, self.importer.resources, element.numpy
        )
        shape = shape_of(value)
        count = sum(isinstance(t, Source) for t in self.importer.tensors.all)
        constant = Source(f"constant{count}", shape, element, -1, array)
        tensor = self.importer.tensors.add(constant)
        self._constants[value] = tensor
        return tensor

    def define_constant(self, value: ir.Value) -> None:
        """A constant is an array of the elements of its type."""
        tensor = self._stored_constant(value)
        assert tensor is not None, value.type
        self.define(value, tensor, self.importer.tensors.element(tensor))

    def element(self, kind: ir.Type) -> Dtype | PlainDtype | None:
        """The elements of an argument or a result that only plain code takes."""
        kind = kind.maybe_downcast()
        if not isinstance(kind, ir.RankedTensorType):
            return None
        if not kind.has_static_shape or 0 in kind.shape:
            return None
        return element_of(kind)

    def define(self, value: ir.Value, tensor: int, element: Dtype | PlainDtype) -> None:
        """A value is a tensor in memory, which graphs read if they have its dtype."""
        if isinstance(element, Dtype):
            self.importer.define(value, tensor)
        else:
            shape = self.importer.tensors.all[tensor].shape
            read = Read(tensor, identity_axes(shape), shape)
            self.importer.known[value] = Foreign(read, str(value.type))

    def returns(self, op: ir.Operation, value: ir.Value) -> bool:
        """Return a value whose dtype no graph has; whether it has one."""
        element = self.element(value.type)
        if not isinstance(element, PlainDtype):
            return False
        number = len(self.importer.tensors.results)
        element = self.importer.signature.result(number).element(element)
        error = OpError(
            f"the result is {value.type}, which no graph has", "leave it out"
        )
        known = self.importer.known[value]
        if not isinstance(known, Foreign) or self.stored(value) is None:
            self.lower(value.owner, error)
        tensor = self.stored(value)
        assert tensor is not None
        root = self.importer.tensors.root(tensor)
        taken = {self.importer.tensors.root(t) for t in self.importer.tensors.results}
        whole, dtype = (
            self.importer.tensors.all[root],
            self.importer.tensors.element(root),
        )
        has_sign = isinstance(dtype, Dtype)
        is_other = has_sign and dtype.numpy != element.numpy
        if root in taken or isinstance(whole, Source) or is_other:
            place = self.importer.place(op)
            code = copying(value.type, error, place)
            shape = shape_of(value)
            tensor = self.importer.tensors.add(
                Plain(code, 0, (tensor,), shape, element)
            )
        elif isinstance(whole, Plain) and not has_sign:
            self.importer.tensors.all[root] = dataclasses.replace(whole, dtype=element)
        self.importer.tensors.results.append(tensor)
        return True
