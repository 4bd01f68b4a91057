"""Element-wise meaning of a kind (`Kind.element`), as code and as operation counts."""

import dataclasses
from collections.abc import Callable
from typing import Any

from morello.cost.counts import Op as Counted
from morello.cost.counts import Ops, add
from morello.kernels.code.casts import cast_ops
from morello.kernels.emitter import Emitter, Value
from morello.machine.isa import Isa, Op
from morello.spec import Dtype, Kind


@dataclasses.dataclass(frozen=True)
class EmittedElements:
    """`Elements` as code: scalars, or vectors of ``width`` lanes."""

    emitter: Emitter
    reads: Callable[[int, int], Value] | None = None
    """From an operand and a step to the element; None where values are given."""
    width: int = 0
    """Lanes; 0 for a scalar."""
    steps: int = 1

    def read(self, operand: int, step: int = 0) -> Value:
        """`Elements.read`."""
        assert self.reads is not None
        return self.reads(operand, step)

    def constant(self, dtype: Dtype, number: float | int) -> Value:
        """`Elements.constant`."""
        return self.emitter.constant(dtype, number, self.width)

    def convert(self, value: Value, source: Dtype, dest: Dtype) -> Value:
        """`Elements.convert`."""
        return self.emitter.convert(value, source, dest)

    def add(self, a: Value, b: Value) -> Value:
        """`Elements.add`."""
        return self.emitter.add(a, b)

    def subtract(self, a: Value, b: Value) -> Value:
        """`Elements.subtract`."""
        return self.emitter.subtract(a, b)

    def multiply(self, a: Value, b: Value) -> Value:
        """`Elements.multiply`."""
        return self.emitter.multiply(a, b)

    def divide(self, a: Value, b: Value) -> Value:
        """`Elements.divide`."""
        return self.emitter.divide(a, b)

    def square_root(self, a: Value) -> Value:
        """`Elements.square_root`."""
        return self.emitter.square_root(a)

    def multiply_add(self, a: Value, b: Value, c: Value) -> Value:
        """`Elements.multiply_add`."""
        return self.emitter.multiply_add(a, b, c)

    def greater(self, a: Value, b: Value) -> Value:
        """`Elements.greater`."""
        return self.emitter.greater(a, b)

    def lesser(self, a: Value, b: Value) -> Value:
        """`Elements.lesser`."""
        return self.emitter.lesser(a, b)

    def where_less(self, a: Value, b: Value, x: Value, y: Value) -> Value:
        """`Elements.where_less`."""
        return self.emitter.where_less(a, b, x, y)

    def where_equal(self, a: Value, b: Value, x: Value, y: Value) -> Value:
        """`Elements.where_equal`."""
        return self.emitter.where_equal(a, b, x, y)

    def reinterpret(self, value: Value, dtype: Dtype) -> Value:
        """`Elements.reinterpret`."""
        return self.emitter.reinterpret(value, dtype)

    def shift_left(self, value: Value, count: int) -> Value:
        """`Elements.shift_left`."""
        return self.emitter.shift_left(value, count)

    def shift_right(self, value: Value, count: int) -> Value:
        """`Elements.shift_right`."""
        return self.emitter.shift_right(value, count)

    @property
    def has_scale(self) -> bool:
        """`Elements.has_scale`: of whole vectors, where the instruction set has it."""
        isa = self.emitter.isa
        return isa.has(Op.SCALE) and self.width == isa.lanes(Dtype.F32)

    def scale(self, value: Value, count: Value) -> Value:
        """`Elements.scale`."""
        return self.emitter.scale(value, count)

    def maximum(self, dtype: Dtype, a: Value, b: Value) -> Value:
        """`Elements.maximum`."""
        return self.emitter.maximum(dtype, a, b)

    def minimum(self, dtype: Dtype, a: Value, b: Value) -> Value:
        """`Elements.minimum`."""
        return self.emitter.minimum(dtype, a, b)


@dataclasses.dataclass
class CountedElements:
    """`Elements` as numbers: how often each operation is carried out."""

    dtype: Dtype
    """The dtype of what is computed."""
    steps: int = 1
    isa: Isa | None = None
    """The instruction set of vectors; None of scalars."""
    reads: int = 0
    constants: int = 0
    operations: int = 0
    """Operations on scalars; a cast is part of the load before it."""
    ops: Ops = dataclasses.field(default_factory=dict)
    """The instructions on vectors."""
    chain: Ops = dataclasses.field(default_factory=dict)
    """The longest chain of instructions that depend on one another."""

    @classmethod
    def of(
        cls,
        kind: Kind,
        dtypes: tuple[Dtype, ...],
        steps: int = 1,
        isa: Isa | None = None,
    ) -> "CountedElements":
        """The operations of `Kind.element`."""
        counted = cls(dtypes[-1], steps, isa)
        kind.element(counted, dtypes)
        return counted

    def read(self, operand: int, step: int = 0) -> Any:
        """`Elements.read`."""
        self.reads += 1

    def constant(self, dtype: Dtype, number: float | int) -> Any:
        """`Elements.constant`."""
        self.constants += 1

    def convert(self, value: Any, source: Dtype, dest: Dtype) -> Any:
        """`Elements.convert`."""
        self.ops = add(self.ops, cast_ops((source, dest)))

    def add(self, a: Any, b: Any) -> Any:
        """`Elements.add`."""
        op: Counted = "fma" if self.dtype.is_float else "vector_op"
        self._operation({op: 1}, {op: 1})

    def subtract(self, a: Any, b: Any) -> Any:
        """`Elements.subtract`."""
        self.add(a, b)

    def multiply(self, a: Any, b: Any) -> Any:
        """`Elements.multiply`."""
        self.multiply_add(a, b, None)

    def divide(self, a: Any, b: Any) -> Any:
        """`Elements.divide`: a port takes as long as for ten simple operations."""
        self._operation({"vector_op": 10}, {"vector_op": 10})

    def square_root(self, a: Any) -> Any:
        """`Elements.square_root`: as a division."""
        self.divide(a, a)

    def greater(self, a: Any, b: Any) -> Any:
        """`Elements.greater`."""
        self._operation({"vector_op": 1}, {"vector_op": 1})

    def lesser(self, a: Any, b: Any) -> Any:
        """`Elements.lesser`."""
        self._operation({"vector_op": 1}, {"vector_op": 1})

    def where_less(self, a: Any, b: Any, x: Any, y: Any) -> Any:
        """`Elements.where_less`: a comparison and a choice."""
        self._operation({"vector_op": 2}, {"vector_op": 2})

    def where_equal(self, a: Any, b: Any, x: Any, y: Any) -> Any:
        """`Elements.where_equal`: a comparison and a choice."""
        self.where_less(a, b, x, y)

    def reinterpret(self, value: Any, dtype: Dtype) -> Any:
        """`Elements.reinterpret`: no instruction."""

    def shift_left(self, value: Any, count: int) -> Any:
        """`Elements.shift_left`."""
        self._operation({"vector_op": 1}, {"vector_op": 1})

    def shift_right(self, value: Any, count: int) -> Any:
        """`Elements.shift_right`."""
        self._operation({"vector_op": 1}, {"vector_op": 1})

    @property
    def has_scale(self) -> bool:
        """`Elements.has_scale`."""
        return self.isa is not None and self.isa.has(Op.SCALE)

    def scale(self, value: Any, count: Any) -> Any:
        """`Elements.scale`: a comparison, and what a port takes as long for as for two
        simple operations."""
        self._operation({"vector_op": 3}, {"vector_op": 3})

    def multiply_add(self, a: Any, b: Any, c: Any) -> Any:
        """`Elements.multiply_add`."""
        op: Counted = "fma" if self.dtype.is_float else "multiply_add_int"
        self._operation({op: 1}, {op: 1})

    def maximum(self, dtype: Dtype, a: Any, b: Any) -> Any:
        """`Elements.maximum`: of floats it takes five instructions, three of them one
        after the other, two of which are bitwise; or three (`Op.RANGE`)."""
        count, chain = (5, 2) if dtype.is_float else (1, 1)
        if dtype.is_float and self.isa is not None and self.isa.has(Op.RANGE):
            count = 3
        self._operation({"vector_op": count}, {"vector_op": chain})

    def minimum(self, dtype: Dtype, a: Any, b: Any) -> Any:
        """`Elements.minimum`: as the maximum."""
        self.maximum(dtype, a, b)

    def _operation(self, ops: Ops, chain: Ops) -> None:
        self.operations += 1
        self.ops, self.chain = add(self.ops, ops), add(self.chain, chain)
