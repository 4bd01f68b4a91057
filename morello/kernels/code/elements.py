"""Element-wise meaning of a kind (`Kind.element`), as code and as operation counts."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from morello.cost.counts import Op as Counted
from morello.cost.counts import Ops, add
from morello.kernels.code.casts import cast_ops
from morello.kernels.emitter import Emitter, Value
from morello.machine.isa import Isa, Op
from morello.spec import Dtype, Kind
from morello.spec.graphs.expression import SizeNumber


class Side(tuple[Any, ...]):
    """Values of one name for several vectors that are computed side by side.

    What waits for a result then has other instructions between: a core that looks a few
    hundred instructions ahead sees a chain of twenty in each of a few vectors, and
    would look at one vector after the other otherwise.
    """

    __slots__ = ()


def of_vector(value: Any, place: int) -> Any:
    """The part of a value that belongs to one of several vectors."""
    return value[place] if isinstance(value, Side) else value


def each(operation: Callable[..., Any], *operands: Any) -> Any:
    """Apply an operation to the values of each vector in turn."""
    counts = {len(value) for value in operands if isinstance(value, Side)}
    if not counts:
        return operation(*operands)
    (count,) = counts
    return Side(operation(*(of_vector(v, i) for v in operands)) for i in range(count))


@dataclasses.dataclass(frozen=True)
class EmittedElements:
    """`Elements` as code: scalars, vectors of ``width`` lanes, or a `Side` of these."""

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

    def of_sizes(self, dtype: Dtype, number: SizeNumber) -> Value:
        """`Elements.of_sizes`."""
        scalar = self.emitter.of_sizes(dtype, number)
        return self.emitter.broadcast(scalar, self.width) if self.width else scalar

    @property
    def has_scale(self) -> bool:
        """`Elements.has_scale`: of whole vectors, where the instruction set has it."""
        isa = self.emitter.isa
        return isa.has(Op.SCALE) and self.width == isa.lanes(Dtype.F32)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The emitter's operation of this name, applied to every vector."""
        return functools.partial(each, getattr(self.emitter, name))


def _counted(instructions: int, chain: int = 0) -> Callable[..., Any]:
    """An operation that takes the time of so many simple instructions, one after the
    other, or has the latency of a shorter chain."""

    def operation(self: "CountedElements", *operands: Any) -> Any:
        latency = chain or instructions
        self._operation({"vector_op": instructions}, {"vector_op": latency})

    return operation


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

    def of_sizes(self, dtype: Dtype, number: SizeNumber) -> Any:
        """`Elements.of_sizes`: computed once a call."""
        self.constants += 1

    def convert(self, value: Any, source: Dtype, dest: Dtype) -> Any:
        """`Elements.convert`."""
        self.ops = add(self.ops, cast_ops((source, dest)))

    def add(self, a: Any, b: Any) -> Any:
        """`Elements.add`."""
        op: Counted = "fma" if self.dtype.is_float else "vector_op"
        self._operation({op: 1}, {op: 1})

    def multiply(self, a: Any, b: Any, c: Any = None) -> Any:
        """`Elements.multiply`."""
        op: Counted = "fma" if self.dtype.is_float else "multiply_add_int"
        self._operation({op: 1}, {op: 1})

    subtract = add
    multiply_add = multiply
    greater = lesser = shift_left = shift_right = _counted(1)
    where_less = where_equal = nearest = _counted(2)
    scale = _counted(3)
    divide = square_root = _counted(10, 5)

    def reinterpret(self, value: Any, dtype: Dtype) -> Any:
        """`Elements.reinterpret`: no instruction."""

    @property
    def has_scale(self) -> bool:
        """`Elements.has_scale`."""
        return self.isa is not None and self.isa.has(Op.SCALE)

    def maximum(self, dtype: Dtype, a: Any, b: Any) -> Any:
        """`Elements.maximum`: of floats it takes five instructions, three of them one
        after the other, two of which are bitwise; or three (`Op.RANGE`)."""
        count, chain = (5, 2) if dtype.is_float else (1, 1)
        if dtype.is_float and self.isa is not None and self.isa.has(Op.RANGE):
            count = 3
        self._operation({"vector_op": count}, {"vector_op": chain})

    minimum = maximum

    def _operation(self, ops: Ops, chain: Ops) -> None:
        self.operations += 1
        self.ops, self.chain = add(self.ops, ops), add(self.chain, chain)
