"""Transposes within registers: moves between different innermost dimensions.

Rows are runs of src, columns are runs of dst: rows go in by 8, 4, 2 and 1, and each
such group becomes, for every column, one store (`shuffles.py`).
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

from morello.cost.counts import Access, Lines, OpCounts, Ops, Phase, add, times
from morello.kernels.code.casts import cast_ops
from morello.kernels.code.vectors import piece_count, pieces
from morello.kernels.emitter import Buffer, Emitter, Index, Value
from morello.kernels.moves.shuffles import SIDE, columns_of, shuffle_count
from morello.kernels.predicates import (
    grouped,
    in_l1,
    is_interleaved,
    others,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.spec import Dtype, Move, Spec, SpecKey
from morello.spec.frame import Condition, Frame
from morello.spec.tensors.layout import LINE_BYTES

WORD = 4
"""Bytes of what is transposed: an element of dst, or a group of neighbours."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Transpose(Kernel):
    """dst = src in L1, a block of up to 8 rows of 8 words, transposed.

    A word is an element of 4 bytes in dst; or a pair of neighbours: in dst the rows of
    a panel stand side by side, each with a pair. Pairs of bytes are widened meanwhile.
    """

    of_kind = Move

    group: int
    """Elements of a word: 1 or 2."""

    def accepts(self, key: SpecKey) -> bool:
        """A word has 4 bytes in dst, or less of a pair; src is in plain rows."""
        if not isinstance(key.kind, Move) or not in_l1(*key.tensors):
            return False
        src, dst = key.tensors
        across, down = self._dims(key)
        if src.layout.innermost != across or down == across:
            return False
        if self.group == 1:
            plain = not is_interleaved(dst.layout) and dst.dtype.itemsize == WORD
        else:
            narrow = src.dtype.itemsize <= dst.dtype.itemsize <= WORD // self.group
            plain = narrow and src.layout.pack(across) == 1
        return plain and not is_interleaved(src.layout)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """A block of whole words, in two dimensions, within packs of each operand."""
        across, down = self._dims(frame.key)
        rows, columns = frame.sizes[down], frame.sizes[across]
        most = self.group * SIDE
        whole = Condition(
            columns % self.group == 0, "takes pairs along rows: tile to an even number"
        )
        return (
            Condition(
                (rows <= SIDE) & (columns <= most),
                f"takes a block of at most {SIDE} x {most}: tile it smaller",
            ),
            *((whole,) if self.group > 1 else ()),
            _two_dimensions(frame, across, down),
            *within_pack(frame, 0, across),
            *within_pack(frame, 1, down),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """The slowest of loads of rows, shuffles and casts, and stores of words."""
        across, down = self._dims(frame.key)
        rows, columns = frame.sizes[down], frame.sizes[across]
        source, dest = frame.key.dtypes
        words = columns // self.group
        # A pair of bytes is widened on the way, and cut off again.
        spread = rows + words if self.group * dest.itemsize < WORD else 0
        shuffles = spread + shuffle_count(rows, words)
        ops: Ops = {"shuffle": shuffles, "store": words * piece_count(rows, SIDE)}
        parts = piece_count(columns, self.group * SIDE)
        read: Ops = {"load": parts, "shuffle": np.maximum(parts - 1, 0)}
        if self.isa.loads_masked(source):
            whole = (columns == SIDE) | (columns == SIDE // 2)
            read = {"load": whole * 1, "masked_load": 1 - whole * 1}
        row = add(read, cast_ops((source, dest)))
        return OpCounts.of(add(ops, times(row, rows)))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Group by group of rows."""
        src, dst = operands
        across, down = self._dims(spec.key)

        def at(first: int, row: int, column: int) -> Index:
            index = [0] * len(spec.sizes)
            index[down], index[across] = first + row, column
            return tuple(index)

        for first, rows in pieces(spec.sizes[down]):
            place = functools.partial(at, first)
            block = _Block(emitter, src, dst, place, self.group)
            block.transpose(rows, spec.sizes[across])

    def _dims(self, key: SpecKey) -> tuple[int, int]:
        """The dimension along rows and the one across; the same twice if there is
        none."""
        src, dst = (tensor.layout for tensor in key.tensors)
        if self.group == 1:
            return src.innermost, dst.innermost
        return grouped(dst, self.group) or (0, 0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransposePrefetch(Kernel):
    """dst = src, to memory from anywhere, few columns of src of any length.

    Stores to lines that are not in L1 wait for them, and loads that lie a multiple of
    4 KiB from a store that waits are held up by it. Stores of transposed blocks go to
    as many lines as a block has columns, and loads to as many as it has rows, more than
    hardware prefetchers foresee: so the next lines of both are prefetched meanwhile. At
    the end of the rows these are the lines of src that the next columns lie in.
    """

    of_kind = Move

    columns: tuple[int, ...]
    """How many columns of src it takes, each whole blocks."""
    distance: int
    """Rows of src from what is transposed to what is prefetched."""

    _step = LINE_BYTES // WORD
    """Rows of src that fill a line of dst: what a trip of the loop takes."""

    def accepts(self, key: SpecKey) -> bool:
        """Into memory; different innermost dimensions; nothing packed."""
        if not isinstance(key.kind, Move):
            return False
        src, dst = key.tensors
        return (
            not src.level.is_registers
            and dst.level.is_main
            and src.dtype.itemsize == dst.dtype.itemsize == WORD
            and not (src.layout.is_packed or dst.layout.is_packed)
            and src.layout.innermost != dst.layout.innermost
        )

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Sizes that it takes: few columns; only two dimensions are larger than 1."""
        across, down = (t.layout.innermost for t in frame.key.tensors)
        columns = np.isin(frame.sizes[across], self.columns)
        numbers = " or ".join(map(str, self.columns))
        return (
            Condition(columns, f"takes {numbers} columns: tile it so"),
            _two_dimensions(frame, across, down),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Loads, shuffles and stores; lines of src and of dst, which are prefetched.
        Each row of src is gone to, and each of dst is reached once.
        """
        across, down = (t.layout.innermost for t in frame.key.tensors)
        rows, columns = frame.sizes[down], frame.sizes[across]
        blocks = columns // SIDE
        rest = rows % SIDE
        mixed = rows // SIDE * shuffle_count(SIDE, SIDE) + shuffle_count(rest, SIDE)
        stores = rows // SIDE + piece_count(rest, SIDE)
        read, written = (
            t.lines(frame.operand_sizes(i)) for i, t in enumerate(frame.key.tensors)
        )
        ops: Ops = {
            "load": blocks * rows + read + written,
            "shuffle": blocks * mixed,
            "store": columns * stores,
        }
        lines = (
            Lines(0, read, Access.DEMAND, rows=rows, hidden=False),
            Lines(
                1,
                written,
                Access.STORED,
                starts=columns,
                rows=rows,
                hidden=False,
                prefetched=True,
            ),
        )
        trips = rows // self._step
        return OpCounts((Phase(ops, lines=lines),), kernels=1, loops=1, trips=trips)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Two loops over rows: the second prefetches src for the next columns."""
        rows, step = spec.sizes[operands[1].tensor.layout.innermost], self._step
        strip = _Strip(emitter, spec, *operands)
        whole = rows // step * step
        more = max(rows - self.distance, 0) // step * step

        def followed(row: Value, carried: Sequence[Value]) -> list[Value]:
            ahead = emitter.offset(row, self.distance)
            strip.prefetch_written(ahead)
            strip.prefetch_read(ahead, 0, step)
            strip.transpose(row, step)
            return []

        def last(row: Value, carried: Sequence[Value]) -> list[Value]:
            strip.prefetch_read(emitter.offset(row, -more), strip.columns, step)
            strip.transpose(row, step)
            return []

        for start, end, body in ((0, more, followed), (more, whole, last)):
            if end > start + step:
                emitter.loop(start, end, step, (), body)
            elif end > start:
                body(start, ())
        if rows > whole:
            strip.prefetch_read(whole - more, strip.columns, rows - whole)
            strip.transpose(whole, rows - whole)


def _two_dimensions(frame: Frame, across: int, down: int) -> Condition:
    """Every size is 1 but two."""
    rest = others(frame.sizes, across) // frame.sizes[down]
    return Condition(rest == 1, "takes a block of two dimensions: tile the others to 1")


@dataclasses.dataclass(frozen=True)
class _Strip:
    """All columns of src, a few rows at a time."""

    emitter: Emitter
    spec: Spec
    src: Buffer
    dst: Buffer

    @property
    def columns(self) -> int:
        """Number of columns of src."""
        return self.spec.sizes[self.src.tensor.layout.innermost]

    def prefetch_written(self, row: Value) -> None:
        """The lines of dst that begin in a row of src."""
        for column in range(self.columns):
            self.emitter.prefetch(self.dst, self._at(row, column), to_l1=True)

    def prefetch_read(self, row: Value, column: int, count: int) -> None:
        """The lines of src that ``count`` rows have from a column on."""
        for i in range(count):
            place = self._at(self.emitter.offset(row, i), column)
            self.emitter.prefetch(self.src, place)

    def transpose(self, row: Value, count: int) -> None:
        """``count`` rows from ``row`` on."""
        whole = [(first, SIDE) for first in range(0, count - SIDE + 1, SIDE)]
        rest = [(SIDE * len(whole) + at, n) for at, n in pieces(count % SIDE)]
        for first, rows in (*whole, *rest):
            start = self.emitter.offset(row, first)
            for column in range(0, self.columns, SIDE):
                place = functools.partial(self._beside, start, column)
                _Block(self.emitter, self.src, self.dst, place).transpose(rows, SIDE)

    def _beside(self, row: Value, column: int, i: int, j: int) -> Index:
        return self._at(self.emitter.offset(row, i), column + j)

    def _at(self, row: Value, column: int) -> Index:
        index: list[Value] = [0] * len(self.spec.sizes)
        index[self.dst.tensor.layout.innermost] = row
        index[self.src.tensor.layout.innermost] = column
        return tuple(index)


@dataclasses.dataclass(frozen=True)
class _Block:
    """A block of src and of dst, transposed through registers."""

    emitter: Emitter
    src: Buffer
    dst: Buffer
    at: Callable[[int, int], Index]
    """From a row and a column to the index of the element."""
    group: int = 1

    def transpose(self, rows: int, columns: int) -> None:
        """1, 2, 4 or 8 rows of up to 8 words."""
        words = columns // self.group
        width = SIDE if words > SIDE // 2 else SIDE // 2
        vectors = [self._row(row, width, columns) for row in range(rows)]
        turned = columns_of(self.emitter, vectors, width)
        for word in range(words):
            vector = self._elements(turned[word])
            self.emitter.store(vector, self.dst, self.at(0, self.group * word))

    def _row(self, row: int, width: int, columns: int) -> Value:
        """A row as words."""
        emitter, dtype = self.emitter, self.dst.tensor.dtype
        vector = emitter.load(self.src, self.at(row, 0), self.group * width, columns)
        vector = emitter.convert(vector, self.src.tensor.dtype, dtype)
        if self.group == 1:
            return vector
        if self._is_whole:
            return emitter.reinterpret(vector, Dtype.U32)
        return emitter.convert(
            emitter.reinterpret(vector, Dtype.U16), Dtype.U16, Dtype.U32
        )

    def _elements(self, words: Value) -> Value:
        """The elements of words, one after another."""
        if self.group == 1:
            return words
        if not self._is_whole:
            words = self.emitter.convert(words, Dtype.U32, Dtype.U16)
        return self.emitter.reinterpret(words, self.dst.tensor.dtype)

    @property
    def _is_whole(self) -> bool:
        """Whether a group in dst has the bytes of a word."""
        return self.group * self.dst.tensor.dtype.itemsize == WORD
