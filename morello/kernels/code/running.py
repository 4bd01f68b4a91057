"""A reduction that is carried in vectors from element to element."""

import dataclasses
from typing import Any

from morello.cost.counts import Ops
from morello.kernels.code.elements import CountedElements
from morello.kernels.emitter import Emitter, Value
from morello.machine.isa import Isa, Op
from morello.spec import Dtype

_F32 = Dtype.F32

_START = {"sum": -0.0, "max": float("-inf"), "min": float("inf")}
"""What changes no element: -0 not even one that is -0."""


@dataclasses.dataclass(frozen=True)
class Running:
    """A sum, or a maximum or minimum as IEEE 754 has it, of f32."""

    emitter: Emitter
    value: int
    """The value of the graph that it is."""
    reduction: str

    @staticmethod
    def counted(reduction: str, isa: Isa, along: bool) -> CountedElements:
        """Instructions an element, and those of them that wait for one another.

        Args:
            reduction: its name.
            isa: what vectors are computed in.
            along: whether it goes along vectors, several of them side by side.
        """
        counted = CountedElements(_F32, isa=isa)
        if along and _has_numbers(reduction, isa):
            both: Ops = {"vector_op": 2}  # a choice, and half of a check of two for NaN
            return dataclasses.replace(counted, ops=both, chain={"vector_op": 1})
        _pair(counted, reduction, None, None)
        return counted

    @property
    def has_numbers(self) -> bool:
        """Whether `take_number` is there, so that NaN are kept apart."""
        return _has_numbers(self.reduction, self.emitter.isa)

    def take_number(self, held: Value, element: Value) -> Value:
        """One vector more, but for NaN."""
        if self.reduction == "max":
            return self.emitter.greater_number(held, element)
        return self.emitter.lesser_number(held, element)

    def start(self, lanes: int) -> Value:
        """Before the first element: the neutral element."""
        return self.emitter.constant(_F32, _START[self.reduction], lanes)

    def take(self, held: Value, element: Value, count: int, lanes: int) -> Value:
        """One vector more, of which the first ``count`` lanes are elements."""
        return self.pair(held, self.filled(element, count, lanes))

    def filled(self, element: Value, count: int, lanes: int) -> Value:
        """A vector of which the lanes after the first ``count`` change nothing."""
        if count == lanes:
            return element
        order = [*range(count), *range(lanes + count, 2 * lanes)]
        return self.emitter.shuffle(element, self.start(lanes), order)

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
        """Two of them as one: scalars or vectors."""
        return _pair(self.emitter, self.reduction, a, b)


def _has_numbers(reduction: str, isa: Isa) -> bool:
    return reduction != "sum" and isa.has(Op.RANGE)


def _pair(elements: Any, reduction: str, a: Any, b: Any) -> Any:
    """Two elements as one, by an emitter or a counter."""
    if reduction == "sum":
        return elements.add(a, b)
    if reduction == "max":
        return elements.maximum(_F32, a, b)
    return elements.minimum(_F32, a, b)
