"""A reduction that is carried in vectors from element to element."""

import dataclasses
from typing import Any

from morello.cost.counts import Ops
from morello.kernels.code.elements import CountedElements
from morello.kernels.emitter import Emitter, Value
from morello.machine.isa import Isa, Op
from morello.spec import Dtype, Fill
from morello.spec.frame import Ints
from morello.spec.graphs.expression import Call, Expression, paired
from morello.spec.graphs.graph import NEUTRAL, Graph


@dataclasses.dataclass(frozen=True)
class Running:
    """A sum, or a maximum or minimum as IEEE 754 has it, of f32 or s32."""

    emitter: Emitter
    value: int
    """The value of the graph that it is."""
    reduction: str
    number: Dtype
    """The dtype that it is computed in."""
    accumulates: bool
    """Whether what its output holds takes part."""
    has_negative_zeros: bool = True
    """Whether an element may be -0."""

    @classmethod
    def of(cls, emitter: Emitter, graph: Graph, value: int, number: Dtype) -> "Running":
        """The reduction that a node of a graph is."""
        node, adds = graph.node(value), graph.modes.get(value, False)
        zeros = _may_be_negative_zero(node.expression)
        return cls(emitter, value, node.reduction, number, adds, zeros)

    @staticmethod
    def counted(
        reduction: str, isa: Isa, number: Dtype, along: bool
    ) -> CountedElements:
        """Instructions an element, and those of them that wait for one another.

        Args:
            reduction: its name.
            isa: what vectors are computed in.
            number: the dtype that it is computed in.
            along: whether it goes along vectors, several of them side by side.
        """
        counted = CountedElements(number, isa=isa)
        if along and _has_numbers(reduction, isa, number):
            both: Ops = {"vector_op": 2}  # a choice, and half of a check of two for NaN
            return dataclasses.replace(counted, ops=both, chain={"vector_op": 1})
        paired(counted, reduction, number, None, None)
        return counted

    @staticmethod
    def carried(reduction: str, isa: Isa, number: Dtype, chains: Ints) -> Ints:
        """The vectors that go along a row: one of each chain, and where NaN are kept
        apart one for the NaN of two of them."""
        apart = _has_numbers(reduction, isa, number)
        return chains + apart * -(-chains // 2)

    @property
    def has_numbers(self) -> bool:
        """Whether `take_number` is there, so that NaN are kept apart."""
        return _has_numbers(self.reduction, self.emitter.isa, self.number)

    def take_number(self, held: Value, element: Value) -> Value:
        """Combine a vector with the maximum or minimum so far, ignoring NaN."""
        if self.reduction == "max":
            return self.emitter.greater_number(held, element)
        return self.emitter.lesser_number(held, element)

    def start(self, lanes: int = 0) -> Value:
        """Before the first element: the neutral element. It is -0 of sums that are
        added to, which may be -0, and of those that cannot be: adding -0 is no
        operation. Others begin at +0."""
        number = Fill(1, NEUTRAL[self.reduction]).number(self.number)
        begins_below = self.accumulates or not self.has_negative_zeros
        if self.reduction == "sum" and self.number.is_float and begins_below:
            number = -0.0
        return self.emitter.constant(self.number, number, lanes)

    def take(self, held: Value, element: Value, count: Value, lanes: int) -> Value:
        """One vector more, of which the first ``count`` lanes are elements."""
        return self.pair(held, self.filled(element, count, lanes))

    def filled(self, element: Value, count: Value, lanes: int) -> Value:
        """A vector of which the lanes after the first ``count`` change nothing."""
        if isinstance(count, int) and count == lanes:
            return element
        return self.emitter.first_lanes(element, self.start(lanes), count)

    def joined(self, vectors: list[Value]) -> Value:
        """One vector of several."""
        while len(vectors) > 1:
            pairs = [
                self.pair(a, b)
                for a, b in zip(vectors[::2], vectors[1::2], strict=False)
            ]
            vectors = pairs + vectors[len(vectors) & ~1 :]
        return vectors[0]

    def pair(self, a: Any, b: Any) -> Any:
        """Combine two running values, scalars or vectors."""
        return paired(self.emitter, self.reduction, self.number, a, b)


def _has_numbers(reduction: str, isa: Isa, number: Dtype) -> bool:
    return reduction != "sum" and number.is_float and isa.has(Op.RANGE)


def _may_be_negative_zero(expression: Expression) -> bool:
    match expression:
        case Call("abs" | "exp" | "square"):
            return False
        case Call("mul", (first, second)):
            return first != second
    return True
