"""The interface that kernels emit code with: vectors on buffers, logical indices.

A kernel speaks of elements by their logical index; the emitter turns it into the
physical one by the layout of the operand. Index entries are plain integers; for an
unpacked dimension a value that `Emitter.loop` hands to its body; for a packed one the
number of a pack (`Pack`). Nothing here knows of MLIR: `morello.passes.parts.emission`
implements it.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from morello.machine.isa import Isa, Op
from morello.spec import Dtype, TensorSpec
from morello.spec.elements.operations import Operations
from morello.spec.graphs.expression import SizeNumber

Value = Any
"""A scalar, a vector or an index in the code being written."""

Index = tuple[Any, ...]
"""A logical index: an integer, an index value or a `Pack` for each dimension."""

Body = Callable[[Value, tuple[Value, ...]], Sequence[Value]]
"""The body of a loop: from the index and the carried values to the next ones."""

Case = Callable[[], Sequence[Value] | None]
"""Code for one value of an index, and the values that it gives, if any."""


@dataclasses.dataclass(frozen=True)
class Pack:
    """An element of a pack of a dimension, by the number of the pack."""

    number: Value
    """An index value that a loop hands to its body, or an integer."""
    size: int
    """Elements of a pack; of an unpacked dimension so many neighbours count as one."""
    offset: int = 0
    """The number of the element in the pack: the first if left out."""


@dataclasses.dataclass(frozen=True)
class Buffer:
    """An operand of the kernel that is being emitted."""

    value: Any
    """The emitter's handle on the memory."""
    tensor: TensorSpec
    sizes: tuple[int, ...]
    """The operand's logical sizes."""


class Emitter(Operations, Protocol):
    """Writes code at one place of a program.

    Vectors lie along the innermost physical dimension of a buffer, or along the packs
    that end its layout; a kernel must not let one leave the packs that it starts in.
    Pieces (``count``) lie along the innermost dimension alone. No alignment is assumed
    beyond that of an element, and no byte outside of the elements named is touched.
    """

    @property
    def isa(self) -> Isa:
        """The vector instruction set that code is written for."""

    def load(
        self,
        buffer: Buffer,
        index: Index,
        width: int,
        count: Value | None = None,
        rest: Value | None = None,
    ) -> Value:
        """A vector of ``width`` elements from ``index`` on.

        Where ``count`` is less than the width, only so many are read, and the lanes
        after them are those of ``rest`` (zero if None). It may be an index value where
        `Isa.loads_masked`.
        """

    def store(
        self, vector: Value, buffer: Buffer, index: Index, count: Value | None = None
    ) -> None:
        """Write the first ``count`` lanes of a vector (all if None); an index value
        where `Isa.stores_masked`."""

    def first_lanes(self, a: Value, b: Value, count: Value) -> Value:
        """The first ``count`` lanes of a vector, a number or an index value, and the
        others of a second one."""

    def load_groups(
        self,
        buffer: Buffer,
        index: Index,
        dim: int,
        group: int,
        width: int,
        count: int | None = None,
    ) -> Value:
        """A vector of ``width`` elements: groups of neighbours, one after another.

        For a layout that ends in a pack of ``dim`` and a pack of ``group`` elements of
        another dimension. ``index`` is the first element of the first group; the first
        ``count`` groups are read (all if None), the others are zero.
        """

    def load_group(
        self, buffer: Buffer, index: Index, group: int, count: int, width: int
    ) -> Value:
        """A vector of ``width`` elements: one group of neighbours, again and again.

        Of the ``group`` elements, 8 bytes together or less, ``count`` are read; the
        others are zero.
        """

    def prefetch(self, buffer: Buffer, index: Index, to_l1: bool = False) -> None:
        """Ask for the line of an element to be brought to L2, or L1, and go on."""

    def scratch(self, tensor: TensorSpec, sizes: tuple[int, ...]) -> Buffer:
        """Memory for the kernel's own use, which begins on a line; of unknown bytes."""

    def as_column_major(self, buffer: Buffer) -> Buffer:
        """View a contiguous row-major operand whose last size is 1 as column-major."""

    def load_element(self, buffer: Buffer, index: Index) -> Value:
        """One element, as a scalar."""

    def store_element(self, scalar: Value, buffer: Buffer, index: Index) -> None:
        """Write one element."""

    def load_register(self, buffer: Buffer, index: tuple[int, ...]) -> Value:
        """A register of an operand in VRF; the last index counts vectors."""

    def store_register(
        self, vector: Value, buffer: Buffer, index: tuple[int, ...]
    ) -> None:
        """Write a register of an operand in VRF."""

    def constant(self, dtype: Dtype, number: float | int, width: int = 0) -> Value:
        """A number as a scalar (``width`` 0), or in every lane of a vector."""

    def of_sizes(self, dtype: Dtype, number: SizeNumber) -> Value:
        """A scalar that follows from the sizes of the call, computed once a call."""

    def broadcast(self, scalar: Value, width: int) -> Value:
        """A scalar in every lane of a vector."""

    def split_bf16(self, vector: Value) -> tuple[Value, Value]:
        """The even lanes of a vector of bf16 and the odd ones, each as f32.

        A shift and a mask: cheaper than widening the lanes in their order.
        """

    def half(self, bytes_in_words: Value, place: Value) -> Value:
        """Bytes in 32 bits cut to the low half where the index ``place`` is even, to
        the high one where it is odd."""

    def lookup(self, numbers: Sequence[float], words: Value) -> Value:
        """The floats that the lowest bits of words name, of as many as there are lanes
        (`Op.LOOKUP`)."""

    def lookup_bytes(self, table: Sequence[int], places: Value) -> Value:
        """The bytes of a table of 16 that bytes name (`Op.LOOKUP_BYTES`)."""

    def greater_number(self, a: Value, b: Value) -> Value:
        """The greater of two floats (`Op.RANGE`): a NaN may be lost."""

    def lesser_number(self, a: Value, b: Value) -> Value:
        """The lesser of two floats (`Op.RANGE`): a NaN may be lost."""

    def nan_where_one_is(self, a: Value, b: Value, rest: Value) -> Value:
        """NaN where a float of one of two vectors is NaN, else that of ``rest``."""

    def has_nan(self, vector: Value) -> Value:
        """The index 1 where a lane of a vector of floats is NaN, else 0."""

    def dot(self, op: Op, a: Value, b: Value) -> Value:
        """Neighbouring lanes multiplied and added, as `Op.DOT2` and its like say.

        Of `Op.DOT2` only two pairs of -32768 are too large; they give -2^31.
        """

    def dot_add(self, op: Op, total: Value, a: Value, b: Value) -> Value:
        """Neighbouring lanes multiplied and added to sums, as `Op.DOT4` and its like
        say."""

    def configure_tiles(self, shapes: dict[int, tuple[int, int]]) -> None:
        """Give tiles, by number, rows and bytes in a row: all tiles become zero."""

    def zero_tile(self, tile: int) -> None:
        """Set a tile to zero."""

    def load_tile(self, tile: int, buffer: Buffer, index: Index, dim: int) -> None:
        """Load a tile whose first row begins at an element; each other row is where the
        next element along ``dim``, or the next pack of it, is."""

    def store_tile(self, tile: int, buffer: Buffer, index: Index, dim: int) -> None:
        """Store a tile where `load_tile` would load it from."""

    def dot_tiles(self, op: Op, total: int, a: int, b: int) -> None:
        """Rows of a tile multiplied by columns of another and added to a third, as
        `Op.TILE_DOT_BF16` and its like say."""

    def together(self, vectors: Sequence[Value]) -> Sequence[Value]:
        """Return these vectors, none of which is used before all are computed.

        It is no instruction: it fixes an order of instructions that LLVM would change,
        and that a core's choice of ports depends on.
        """

    def extract(self, vector: Value, lane: int) -> Value:
        """One lane of a vector, as a scalar."""

    def shuffle(self, a: Value, b: Value, lanes: Sequence[int]) -> Value:
        """Lanes of two vectors of one width, those of ``b`` numbered after ``a``'s."""

    def offset(self, index: Value, by: int) -> Value:
        """An index moved by a constant."""

    def linear(self, terms: Sequence[tuple[Value, int]]) -> Value:
        """The sum of indices, each times a positive number."""

    def size(self, number: int = 0) -> Value:
        """The size that a call gives to the dimensions of a range of the Spec."""

    def sum(self, a: Value, b: Value) -> Value:
        """The sum of two indices."""

    def difference(self, a: Value, b: Value) -> Value:
        """An index less another, which is not greater."""

    def ratio(self, a: Value, b: Value) -> Value:
        """An index divided by another, rounded down."""

    def switch(
        self, index: Value, cases: Mapping[int, Case], like: Sequence[Value] = ()
    ) -> tuple[Value, ...]:
        """Run the case of an index: that of its number, or of the next smaller one.

        Args:
            index: it is no smaller than all numbers.
            cases: by number.
            like: values of the types that each gives; () for none.
        """

    def quotient(self, index: Value, by: int) -> Value:
        """An index divided by a positive number, rounded down."""

    def at_most(self, index: Value, limit: int) -> Value:
        """The lesser of an index and a constant."""

    def knows_strides(self, buffer: Buffer) -> bool:
        """Whether all strides of a buffer are known when the code is compiled."""

    def again(self, index: Value) -> Value:
        """Return an equal index, opaque to LLVM, so that elements are loaded again.

        It is no instruction. LLVM would otherwise keep loaded elements, however few
        registers are free for them.
        """

    def loop(
        self,
        start: Value,
        end: Value,
        step: int,
        carried: Sequence[Value],
        body: Body,
        rolled: bool = False,
    ) -> tuple[Value, ...]:
        """Run ``body`` from start, by step, to below end; the last values carried.

        Where it is to stay ``rolled``, LLVM is not told how many trips it has.
        """
