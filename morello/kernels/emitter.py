"""What a kernel can write: vector code on buffers, with logical indices.

A kernel speaks of elements by their logical index; the emitter turns it into the
physical one by the layout of the operand. Index entries are plain integers or, for an
unpacked dimension, a value that `Emitter.loop` hands to its body. Nothing here knows of
MLIR: `morello.passes.emission` implements it.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from morello.spec import Dtype, TensorSpec

Value = Any
"""A scalar, a vector or an index in the code being written."""

Index = tuple[Any, ...]
"""A logical index: an integer or an index value for each dimension."""

Body = Callable[[Value, tuple[Value, ...]], Sequence[Value]]
"""The body of a loop: from the index and the carried values to the next ones."""


@dataclasses.dataclass(frozen=True)
class Buffer:
    """An operand of the kernel that is being emitted."""

    value: Any
    """The emitter's handle on the memory."""
    tensor: TensorSpec
    sizes: tuple[int, ...]
    """The operand's logical sizes."""


class Emitter(ABC):
    """Writes code at one place of a program.

    Vectors lie along the innermost physical dimension of a buffer; a kernel must not
    let one leave the pack that it starts in. No alignment is assumed beyond that of an
    element, and no byte outside of the elements named is touched.
    """

    @abstractmethod
    def load(
        self,
        buffer: Buffer,
        index: Index,
        width: int,
        count: int | None = None,
        rest: Value | None = None,
    ) -> Value:
        """A vector of ``width`` elements from ``index`` on.

        Where ``count`` is less than the width, only so many are read, and the lanes
        after them are those of ``rest`` (zero if None).
        """

    @abstractmethod
    def store(
        self, vector: Value, buffer: Buffer, index: Index, count: int | None = None
    ) -> None:
        """Write the first ``count`` lanes of a vector (all if None)."""

    @abstractmethod
    def load_element(self, buffer: Buffer, index: Index) -> Value:
        """One element, as a scalar."""

    @abstractmethod
    def store_element(self, scalar: Value, buffer: Buffer, index: Index) -> None:
        """Write one element."""

    @abstractmethod
    def load_register(self, buffer: Buffer, index: tuple[int, ...]) -> Value:
        """A register of an operand in VRF; the last index counts vectors."""

    @abstractmethod
    def store_register(
        self, vector: Value, buffer: Buffer, index: tuple[int, ...]
    ) -> None:
        """Write a register of an operand in VRF."""

    @abstractmethod
    def constant(self, dtype: Dtype, number: float | int, width: int = 0) -> Value:
        """A number as a scalar (``width`` 0), or in every lane of a vector."""

    @abstractmethod
    def broadcast(self, scalar: Value, width: int) -> Value:
        """A scalar in every lane of a vector."""

    @abstractmethod
    def convert(self, value: Value, source: Dtype, dest: Dtype) -> Value:
        """A scalar, or a vector lane by lane, cast as `Move` defines it."""

    @abstractmethod
    def multiply_add(self, a: Value, b: Value, c: Value) -> Value:
        """``a * b + c``: rounded once for floats, wrapping for integers."""

    @abstractmethod
    def maximum(self, dtype: Dtype, a: Value, b: Value) -> Value:
        """The greater of two scalars or, lane by lane, vectors (IEEE ``maximum``)."""

    @abstractmethod
    def reduce_maximum(self, dtype: Dtype, vector: Value) -> Value:
        """The greatest lane of a vector, as a scalar."""

    @abstractmethod
    def shuffle(self, a: Value, b: Value, lanes: Sequence[int]) -> Value:
        """Lanes of two vectors of one width, those of ``b`` numbered after ``a``'s."""

    @abstractmethod
    def offset(self, index: Value, by: int) -> Value:
        """An index moved by a constant."""

    @abstractmethod
    def loop(
        self, start: int, end: int, step: int, carried: Sequence[Value], body: Body
    ) -> tuple[Value, ...]:
        """Run ``body`` from start, by step, to below end; the last values carried."""
