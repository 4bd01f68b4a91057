"""The vector kernel of maps: rows of elements, each computed alone in registers.

What is computed of an element is the kind's (`Kind.element`): a copy, a cast, a
constant. `reduce.py` has the vector kernels of reductions.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from itertools import groupby
from itertools import product as every
from typing import Any

import numpy as np

from morello.cost.counts import OpCounts, Ops, add, times
from morello.kernels.code.casts import cast_lanes
from morello.kernels.code.elements import (
    CountedElements,
    EmittedElements,
    Side,
    of_vector,
)
from morello.kernels.code.varying_row import Columns, VaryingRow, varying_counts
from morello.kernels.code.vectors import (
    overlapping,
    overlapping_count,
    parts,
    piece_count,
    tail_of,
    vectors_of,
)
from morello.kernels.emitter import Buffer, Emitter, Value
from morello.kernels.predicates import (
    in_registers,
    is_interleaved,
    others,
    within_block,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.machine.isa import Isa
from morello.spec import Dtype, Form, Kind, Memory, Spec, SpecKey
from morello.spec.frame import Condition, Frame, Ints


@dataclasses.dataclass(frozen=True, kw_only=True)
class VectorMap(Kernel):
    """Each element of the output from those at the same place, in straight-line code.

    Rows lie along one dimension, innermost in every operand. In memory the end of a row
    that is no whole vector is covered by a vector that overlaps the one before, or by
    smaller ones. Beside operands in registers it is loaded with a mask, and stored in
    pieces; in registers the lanes after it become zero, or are computed, too.
    """

    kind: type[Kind]
    """The kind of map."""
    levels: tuple[Memory, ...]
    """The memory of each operand, L1 or VRF; one for all of any number."""
    vectors: int = 0
    """The most vectors of its straight-line code where it has one input, each load of
    which is a stream to a prefetcher; 0 for as many as any code has."""

    def accepts(self, key: SpecKey) -> bool:
        """Any dtypes, if those in registers are the widest; one innermost dimension.

        Operands may be interleaved where there is only one.
        """
        tensors = key.tensors
        levels = self.levels * (len(tensors) if len(self.levels) == 1 else 1)
        if not self._is_map(key) or levels != tuple(t.level for t in tensors):
            return False
        lanes = self._lanes(key.dtypes)
        return (
            len({tensor.layout.innermost for tensor in tensors}) == 1
            and (
                len(tensors) == 1 or not any(is_interleaved(t.layout) for t in tensors)
            )
            and all(
                in_registers(tensor, self.isa) and tensor.vector_width == lanes
                for tensor in tensors
                if tensor.level.is_registers
            )
        )

    def forms(self, key: SpecKey, operand: int) -> tuple[Form, ...]:
        """The layout of the output, where rows of an input lie along another
        dimension."""
        if not self._is_map(key) or self._in_registers:
            return ()
        tensor, out = key.tensors[operand], key.tensors[-1].layout
        if tensor.layout.innermost == out.innermost or is_interleaved(out):
            return ()
        return (Form(tensor.dtype, out),)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """A row stays within one pack; the code stays short; interleaved: one."""
        inner = _inner(frame.key)
        one = tuple(
            Condition(
                frame.sizes[d.dim] == 1,
                f"takes one element of the odd-even dimension d{d.dim}: tile it to 1",
            )
            for tensor in frame.key.tensors
            for d in tensor.layout.dims
            if d.odd_even
        )
        packs = (within_pack(frame, i, inner) for i in range(len(frame.key.tensors)))
        vectors = vectors_of(frame.sizes[inner], self._lanes(frame.key.dtypes))
        return (
            *one,
            *(condition for pack in packs for condition in pack),
            self._within_block(frame.key, others(frame.sizes, inner) * vectors),
        )

    def op_counts(self, frame: Frame) -> OpCounts:
        """Loads, the kind's instructions and stores of each vector."""
        key, inner = frame.key, _inner(frame.key)
        lanes, count = self._lanes(key.dtypes), frame.sizes[inner]
        element = CountedElements.of(key.kind, key.dtypes, isa=self.isa)
        vectors = vectors_of(count, lanes)
        if not self._in_registers:
            vectors = overlapping_count(count, lanes)
        row = times(element.ops, vectors)
        for operand, tensor in zip(key.kind.operands, key.tensors, strict=True):
            if tensor.level.is_registers:
                # A constant is computed for each register, once for all of memory.
                if operand.is_written:
                    row = add(row, {"vector_op": element.constants * vectors})
            elif not self._in_registers:
                row = add(row, {"store" if operand.is_written else "load": vectors})
            elif operand.is_written:
                row = add(row, _stores(tensor.dtype, count, lanes, self.isa))
            else:
                row = add(row, _loads(tensor.dtype, count, lanes, self.isa))
        return OpCounts.of(times(row, others(frame.sizes, inner)))

    def takes_any(self, spec: Spec) -> bool:
        """Any number of rows in memory, and any length of those that are not packed."""
        inner = _inner(spec.key)
        is_packed = any(tensor.layout.is_packed for tensor in spec.tensors)
        is_along = any(inner in one.dims for one in spec.ranges)
        return not (self._in_registers or (is_along and is_packed))

    def varying_counts(self, frame: Frame, varying: frozenset[int]) -> OpCounts:
        """The comparisons of each row."""
        inner = _inner(frame.key)
        if inner not in varying:
            return super().varying_counts(frame, varying)
        rows = others(frame.sizes, inner)
        return varying_counts(frame.sizes[inner], self._lanes(frame.key.dtypes), rows)

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Row by row, vector by vector; of long functions a few vectors in turn. Loops
        are around the code of a dimension whose size a call says."""
        inner = _inner(spec.key)
        varying = [(dim, n) for n, one in enumerate(spec.ranges) for dim in one.dims]
        varying.sort(key=lambda one: one[0] == inner)
        self._emit(emitter, spec, operands, varying, {})

    def _emit(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        varying: list[tuple[int, int]],
        at: dict[int, Value],
    ) -> None:
        """Loops over some dimensions, and in them straight-line code.

        Args:
            varying: those that need a loop, that along rows last, each with the number
                of its range.
            at: the places of those that a loop is around.
        """
        inner, lanes = _inner(spec.key), self._lanes(spec.dtypes)
        write = functools.partial(self._rows, emitter, spec, operands, at)
        if not varying:
            runs = parts if self._in_registers else overlapping
            write(0, runs(spec.sizes[inner], lanes))
            return
        (dim, number), *further = varying
        size, sizes = emitter.size(number), spec.every_size[number]

        def row(columns: Columns, _: Sequence[Value]) -> Sequence[Value]:
            for start, count in columns:
                write(start, overlapping(count, lanes))
            return ()

        def body(place: Value, _: Sequence[Value]) -> list[Value]:
            self._emit(emitter, spec, operands, further, {**at, dim: place})
            return []

        if dim == inner:
            VaryingRow(emitter, size, sizes, lanes).run(row)
        else:
            emitter.loop(0, size, 1, (), body)

    def _rows(
        self,
        emitter: Emitter,
        spec: Spec,
        operands: Sequence[Buffer],
        at: dict[int, Value],
        start: Value,
        runs: list[tuple[int, int]],
    ) -> None:
        """Straight-line code of some vectors of each row.

        Args:
            at: the places of dimensions that a loop is around.
            start: where the vectors of a row begin.
            runs: from there on the place and the length of each.
        """
        inner, lanes = _inner(spec.key), self._lanes(spec.dtypes)
        extents: list[Sequence[Value]] = [range(size) for size in spec.sizes]
        extents[inner] = range(1)
        for dim, place in at.items():
            extents[dim] = (place,)
        vectors = [
            _Vector(
                emitter,
                (*row[:inner], column, *row[inner + 1 :]),
                (*row[:inner], emitter.offset(start, column), *row[inner + 1 :]),
                (*row[:inner], place, *row[inner + 1 :]),
                count,
                lanes if self._in_registers else count,
            )
            for row in every(*extents)
            for place, (column, count) in enumerate(runs)
        ]
        side = self._side_by_side(spec.key)
        for _, alike in groupby(vectors, lambda vector: vector.width):
            for group in _groups(list(alike), inner, side):
                _write(group, spec, operands)

    def _is_map(self, key: SpecKey) -> bool:
        """Whether it computes each element from those at the same place."""
        kind = key.kind
        if not (isinstance(kind, self.kind) and kind.is_map):
            return False
        return len({operand.axes for operand in kind.operands}) == 1

    def _side_by_side(self, key: SpecKey) -> int:
        """Vectors whose instructions are written in turn."""
        element = CountedElements.of(key.kind, key.dtypes, isa=self.isa)
        is_long = element.operations >= _LONG and not self._in_registers
        return self.isa.registers // _REGISTERS if is_long else 1

    def _within_block(self, key: SpecKey, vectors: Ints) -> Condition:
        element = CountedElements.of(key.kind, key.dtypes, isa=self.isa)
        most = _MOST_OPERATIONS // max(element.operations, 1)
        if most < self.isa.block:
            reason = f"takes {most} vectors of so long a function: tile it smaller"
            return Condition(vectors <= most, reason)
        if not self.vectors or len(key.tensors) > _ONE_INPUT:
            return within_block(vectors, self.isa)
        reason = f"takes at most {self.vectors} vectors: tile it smaller"
        return Condition(vectors <= self.vectors, reason)

    @property
    def _in_registers(self) -> bool:
        return any(level.is_registers for level in self.levels)

    def _lanes(self, dtypes: tuple[Dtype, ...]) -> int:
        return cast_lanes(self.isa, *dtypes)


@dataclasses.dataclass(frozen=True)
class _Vector:
    """The elements at one place of all operands, side by side along the row."""

    emitter: Emitter
    place: tuple[Value, ...]
    """The index of the first element, along the row from where all vectors begin."""
    at: tuple[Value, ...]
    """The index of the first element."""
    register: tuple[int, ...]
    """The number of the register, of operands in registers."""
    count: int
    """Elements."""
    width: int
    """Lanes of the vector."""

    def store(self, result: Value, out: Buffer) -> None:
        """Write what was computed."""
        if out.tensor.level.is_registers:
            self.emitter.store_register(result, out, self.register)
        else:
            self.emitter.store(result, out, self.at, self.count)

    def load(self, source: Buffer) -> Value:
        """Read an input."""
        if source.tensor.level.is_registers:
            return self.emitter.load_register(source, self.register)
        return self.emitter.load(source, self.at, self.width, self.count)


def _groups(
    vectors: Sequence[_Vector], inner: int, side: int
) -> Iterator[list[_Vector]]:
    """Vectors that are all read before one of them is written, mostly ``side``.

    One that overlaps the one before is in its group: the output may be in the place of
    an input, and what both compute is read as it was.
    """
    group: list[_Vector] = []
    for vector in vectors:
        overlaps = group and _overlaps(group[-1], vector, inner)
        if len(group) >= side and not overlaps:
            yield group
            group = []
        group.append(vector)
    if group:
        yield group


def _overlaps(one: _Vector, other: _Vector, inner: int) -> bool:
    """Whether two vectors of a row share elements."""
    is_same_row = one.place[:inner] + one.place[inner + 1 :] == (
        other.place[:inner] + other.place[inner + 1 :]
    )
    return is_same_row and other.place[inner] < one.place[inner] + one.count


_ONE_INPUT = 2
"""Operands of a function of one input."""

_MOST_OPERATIONS = 2048
"""Operations in straight-line code, for which LLVM takes tenths of a second."""

_LONG = 8
"""Operations of a function from which on vectors are computed in turn."""

_REGISTERS = 8
"""Registers that each vector of a step may take."""


def _write(vectors: Sequence[_Vector], spec: Spec, operands: Sequence[Buffer]) -> None:
    """Compute the last operand from the others, in vectors of one width."""
    *inputs, out = operands
    emitter, width = vectors[0].emitter, vectors[0].width

    def read(operand: int, step: int) -> Side:
        return Side(vector.load(inputs[operand]) for vector in vectors)

    elements: Any = EmittedElements(emitter, read, width)
    result = spec.kind.element(elements, spec.dtypes)
    for i, vector in enumerate(vectors):
        vector.store(of_vector(result, i), out)


def _inner(key: SpecKey) -> int:
    """The dimension along rows."""
    return key.tensors[0].layout.innermost


def _loads(dtype: Dtype, count: Ints, lanes: int, isa: Isa) -> Ops:
    """Number of loads of a row; its end is one masked load or several smaller ones."""
    whole: Ops = {"load": count // lanes}
    if isa.loads_masked(dtype):
        return add(whole, {"masked_load": tail_of(count, lanes)})
    tail = piece_count(count % lanes, lanes)
    return add(whole, {"load": tail, "shuffle": tail})


def _stores(dtype: Dtype, count: Ints, lanes: int, isa: Isa) -> Ops:
    """Stores of a row: the first piece of the end is the low end of its register, and
    needs no shuffle."""
    if isa.stores_masked(dtype):
        return {"store": vectors_of(count, lanes)}
    tail = piece_count(count % lanes, lanes)
    return {"store": count // lanes + tail, "shuffle": np.maximum(tail - 1, 0)}
