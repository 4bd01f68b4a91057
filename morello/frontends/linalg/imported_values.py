"""The values of a function while it is imported: `ImportedValues`.

Who reads an op asks what its operands are, and adds tensors for its results.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from morello.frontends.linalg.signature import UNDECLARED, Signature
from morello.frontends.linalg.types import resources_of
from morello.frontends.linalg.values import (
    Foreign,
    Known,
    MissingError,
    Read,
    Same,
    is_plain,
    unread,
)
from morello.frontends.nodes.tensors import (
    Access,
    Node,
    Plain,
    Source,
    Tensors,
    View,
    copying,
    identity_axes,
    substituted,
)
from morello.frontends.reasons import ELSEWHERE
from morello.frontends.refusals import OpError, Refusal, key_of, place_of, refusal_of
from morello.lazy import cached_property
from morello.mlir import ir
from morello.spec.elements.dtypes import Dtype
from morello.spec.graphs.expression import Call, Reference
from morello.spec.index_map import ONE, IndexMap, plain


class ImportedValues:
    """The values of a function that were read so far: `known`, and their `tensors`.

    Args:
        function: a ``func.func``.
        source: the name of the file, for messages.
        names: the op that the program had at each location, by the location.
        rounds: whether casts to bf16 and f16 round.
        signature: the names and signs of its arguments and results.
    """

    def __init__(
        self,
        function: ir.Operation,
        source: str,
        names: Mapping[str, str],
        rounds: bool = True,
        signature: Signature = UNDECLARED,
    ) -> None:
        self.rounds = rounds
        self.signature = signature
        self.function = function
        self.source = source
        self.names = names
        name = ir.StringAttr(function.attributes["sym_name"]).value
        self.tensors = Tensors(name)
        self.known: dict[ir.Value, Known] = {}
        self.refusals: list[Refusal] = []

    @cached_property
    def resources(self) -> dict[str, str]:
        """The bytes of constants; the bindings give them as text alone."""
        module = self.function
        while module.parent is not None:
            module = module.parent.operation
        return resources_of(str(module))

    def place(self, op: ir.Operation) -> str:
        """The location of an op in the program, as text."""
        return place_of(op.location, self.source)

    def refuse(self, op: ir.Operation, error: OpError) -> None:
        """Note why an op has no place."""
        refusal = refusal_of(op, error, self.source)
        name = self.name(op, error.location)
        self.refusals.append(dataclasses.replace(refusal, op=name))

    def name(self, op: ir.Operation, inside: ir.Location | None = None) -> str:
        """The name that an op had in the program, before rewrites renamed it.

        Args:
            inside: the location of an op in its regions, whose name is meant instead.
        """
        return self.names.get(key_of(inside or op.location), op.name)

    def define(self, value: ir.Value, tensor: int) -> None:
        """Note that an MLIR value is a tensor, unchanged."""
        shape = self.tensors.all[tensor].shape
        self.known[value] = Read(tensor, identity_axes(shape), shape)

    def get(self, value: ir.Value) -> Read | Same:
        """The tensor that a value reads, or its number if all its elements are equal.

        Raises:
            MissingError: it was refused.
            OpError: it has elements that no graph reads.
        """
        imported = self.known.get(value)
        if imported is None:
            raise MissingError
        if isinstance(imported, Foreign):
            raise OpError(f"it reads {imported.what}, which no graph does", ELSEWHERE)
        return imported

    def moved(self, value: ir.Value) -> Read | Same:
        """A value as `get` has it, for ops that only move its elements: these may be of
        any type.

        Raises:
            MissingError: it was refused.
            OpError: it is not in memory.
        """
        imported = self.known.get(value)
        if isinstance(imported, Foreign) and imported.read is not None:
            return imported.read
        return self.get(value)

    def move(self, result: ir.Value, source: ir.Value, read: Read) -> None:
        """Note that a result is a read that has the elements of a source.

        Raises:
            OpError: these are no numbers of a graph, and were copied.
        """
        known = self.known.get(source)
        if isinstance(known, Foreign) and known.read is not None:
            roots = {self.tensors.root(one.tensor) for one in (read, known.read)}
            if len(roots) > 1:  # it was copied, as numbers of f32
                raise OpError(f"it moves {source.type}, which no graph does", ELSEWHERE)
            self.known[result] = Foreign(read, str(result.type), known.is_low)
        else:
            self.known[result] = read

    def integers(self, value: ir.Value, dtype: Dtype, low: bool = False) -> Read:
        """A value of integers, whose tensor has a dtype from now on.

        Args:
            low: whether low bits are enough.

        Raises:
            OpError: it is none, or the program has declared another sign.
        """
        imported = self.known.get(value)
        read = imported.read if isinstance(imported, Foreign) else imported
        is_part = isinstance(imported, Foreign) and imported.is_low and not low
        if is_part or not isinstance(read, Read):
            raise OpError(f"it reads {value.type}, which no graph does", ELSEWHERE)
        read = self._as_integers(read, dtype)
        root = self.tensors.root(read.tensor)
        tensor, element = self.tensors.all[root], self.tensors.element(root)
        is_wider = (
            not isinstance(imported, Foreign)
            and isinstance(element, Dtype)
            and element.is_read_as(dtype)
        )
        if element is not dtype and not is_wider:
            is_other = isinstance(tensor, Source) and element.numpy != dtype.numpy
            if isinstance(element, Dtype) or is_other or element.mlir != dtype.mlir:
                raise OpError(f"it reads {element.mlir} as {dtype}", ELSEWHERE)
            assert isinstance(tensor, Source | Plain)
            self.tensors.all[root] = dataclasses.replace(tensor, dtype=dtype)
        return read

    def _as_integers(self, read: Read, dtype: Dtype) -> Read:
        """A constant that is read as numbers of f32, as integers of the fewest bits
        that graphs read as a dtype; any other read as it is."""
        root = self.tensors.root(read.tensor)
        source, shape = self.tensors.all[root], self.tensors.all[read.tensor].shape
        if not isinstance(source, Source) or source.dtype is not Dtype.F32:
            return read
        array = source.array
        if array is None or not np.array_equal(array, np.trunc(array)):
            return read
        narrow = next(
            candidate
            for candidate in Dtype
            if (candidate is dtype or candidate.is_read_as(dtype))
            and candidate.lowest <= array.min()
            and array.max() <= candidate.highest
        )
        name = f"{source.name}_{narrow}"
        integers = self.constant(name, array.astype(narrow.numpy), narrow)
        if root != read.tensor:
            integers = self.tensors.add(View(integers, shape))
        return dataclasses.replace(read, tensor=integers)

    def constant(
        self, name: str, array: np.ndarray[Any, Any], dtype: Dtype = Dtype.F32
    ) -> int:
        """A constant, each array once."""
        for i, tensor in enumerate(self.tensors.all):
            if isinstance(tensor, Source) and tensor.name == name:
                return i
        return self.tensors.add(Source(name, array.shape, dtype, -1, array))

    def table(self, array: np.ndarray[Any, Any]) -> int:
        """A constant of f32 that the program computes, each once."""
        for i, tensor in enumerate(self.tensors.all):
            if (
                isinstance(tensor, Source)
                and tensor.array is not None
                and tensor.dtype is Dtype.F32
                and tensor.array.shape == array.shape
                and np.array_equal(tensor.array, array)
            ):
                return i
        count = sum(isinstance(t, Source) for t in self.tensors.all)
        return self.tensors.add(
            Source(f"table{count}", array.shape, Dtype.F32, -1, array)
        )

    def materialized(self, read: Read, place: str) -> int:
        """The tensor whose elements, in order, are those of a read."""
        tensor_shape = self.tensors.all[read.tensor].shape
        if read.axes == identity_axes(read.shape) and tensor_shape == read.shape:
            return read.tensor
        if is_plain(read) and math.prod(read.shape) == math.prod(tensor_shape):
            return self.tensors.add(View(read.tensor, read.shape))
        return self.tensors.add(self.copy(read, place))

    def copy(self, read: Read, place: str) -> Node:
        """A node that is another tensor as it is read.

        Raises:
            OpError: no graph has its elements.
        """
        dtype = self.tensors.element(read.tensor)
        if not isinstance(dtype, Dtype):
            raise OpError(f"it copies {dtype.mlir}, which no graph does", ELSEWHERE)
        dtype = dtype if dtype.is_float else Dtype.F32
        node = copying(Access(read.tensor, read.axes), read.shape, dtype, place)
        for axis in sorted(unread(read)):
            # A map has no dimension that nothing has which it reads.
            extent = read.shape[axis]
            nothing = np.full(extent, -0.0, np.float32)
            zeros = Access(self.constant(f"zeros{extent}", nothing), plain(axis))
            expression = Call("add", (node.expression, Reference(len(node.reads))))
            reads = (*node.reads, zeros)
            node = node.changed(expression=expression, reads=reads)
        return node

    def through(
        self,
        source: Read,
        inner: tuple[IndexMap, ...],
        shape: tuple[int, ...],
        place: str,
    ) -> Read:
        """A tensor that is read by other axes, over dimensions of a shape."""
        tensor_shape = self.tensors.all[source.tensor].shape
        axes = substituted(source.axes, inner, shape, tensor_shape)
        if axes is None:
            copied = self.tensors.add(self.copy(source, place))
            return Read(copied, inner, shape)
        return Read(source.tensor, axes, shape)

    def spread(self, same: Same) -> Read:
        """Tensor whose elements are all one number, broadcast when it is read."""
        number = float(same.number)
        one = self.constant(f"number{number}", np.full((1,), number, np.float32))
        return Read(one, (ONE,), same.shape)
