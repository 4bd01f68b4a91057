"""The factors of a product with scaled integers: sums of blocks, copies, broadcasts."""

import dataclasses
from collections.abc import Sequence

from morello.cost.counts import Ops, add, times
from morello.kernels.code.horizontal_sum import horizontal_sums, horizontal_sums_ops
from morello.kernels.emitter import Buffer, Value
from morello.kernels.gemv.scaled_code import ScaledCode, ScaledColumns
from morello.machine.isa import Isa
from morello.spec import Dtype
from morello.spec.frame import Ints
from morello.spec.tensors.layout import ceil_div

_SEPARATE_ROWS = 4
"""Rows of factors that are read where they lie. More of them, at a distance of a power
of two, would push each other out of L1: these are copied, those of a place together."""


def factors_ops(isa: Isa, m: Ints, k: Ints, sums: Ints) -> Ops:
    """The operations of `Factors.prepared`.

    Args:
        isa: the instructions that there are.
        m: rows.
        k: factors of a row.
        sums: blocks of a row that are summed; 0 if none is.
    """
    vectors = (k // isa.lanes(Dtype.F32) + sums) * (sums > 0)
    ends = add(horizontal_sums_ops(1, isa), {"shuffle": 1, "store": 1})
    summed = add({"load": vectors, "vector_op": vectors}, times(ends, sums))
    copied = m * k * (m > _SEPARATE_ROWS)
    return add(times(summed, m), {"load": copied, "store": copied})


@dataclasses.dataclass(frozen=True)
class Factors(ScaledCode):
    """Reads the factors of a product."""

    block_sums: Buffer | None = None
    """For each row and block, the sum of its factors, where offsets are multiplied by
    it."""
    copied: Buffer | None = None
    """The factors in f32, those of a place along k together, where there are many
    rows."""

    def prepared(self, has_sums: bool) -> "Factors":
        """Write the code that sums each block, if asked for, and copies many rows."""
        factors, k = self, self.length * self.step
        if has_sums:
            blocks = ceil_div(k, self.each * self.step)
            sums = self.scratch(self.rows, blocks)
            for row in range(self.rows):
                self._sum_blocks(row, sums)
            factors = dataclasses.replace(factors, block_sums=sums)
        if self.rows > _SEPARATE_ROWS:
            copied = self.scratch(k, self.rows)
            self._copy(copied)
            factors = dataclasses.replace(factors, copied=copied)
        return factors

    @property
    def length(self) -> int:
        """Places along k."""
        return self.spec.sizes[self.product.inner] // self.step

    @property
    def each(self) -> int:
        """Places along k of a block."""
        block = self.product.block
        return self.length if block is None else min(block // self.step, self.length)

    def vector(self, row: int, inner: Value) -> Value:
        """A factor in every lane."""
        if self.copied is None:
            element = self._element(row, inner)
        else:
            element = self.emitter.load_element(self.copied, (inner, row))
        return self.emitter.broadcast(element, self.lanes)

    def of_block(self, row: int, number: Value) -> Value | None:
        """The sum of a block of a row, in every lane; None where there are no sums."""
        if self.block_sums is None:
            return None
        element = self.emitter.load_element(self.block_sums, (row, number))
        return self.emitter.broadcast(element, self.lanes)

    @property
    def _buffer(self) -> Buffer:
        return self.operands[self.product.factors]

    def _element(self, row: int, inner: Value) -> Value:
        """A factor in f32, from where it lies."""
        emitter, buffer = self.emitter, self._buffer
        index = self.index(self.product.factors, row, inner, 0)
        element = emitter.load_element(buffer, index)
        return emitter.convert(element, buffer.tensor.dtype, Dtype.F32)

    def _copy(self, copied: Buffer) -> None:
        """Bring the factors of each place together."""
        emitter = self.emitter

        def place(inner: Value, _: Sequence[Value]) -> list[Value]:
            for row in range(self.rows):
                emitter.store_element(self._element(row, inner), copied, (inner, row))
            return []

        emitter.loop(0, self.length * self.step, 1, (), place)

    def _sum_blocks(self, row: int, sums: Buffer) -> None:
        """Store the sum of each block of a row."""
        emitter, each = self.emitter, self.each * self.step
        blocks, rest = divmod(self.length * self.step, each)

        def one(number: Value, length: int) -> list[Value]:
            total = self._sum(row, emitter.linear([(number, each)]), length)
            emitter.store_element(total, sums, (row, number))
            return []

        if blocks > 1:
            emitter.loop(0, blocks, 1, (), lambda number, _: one(number, each))
        else:
            one(0, each)
        if rest:
            one(blocks, rest)

    def _sum(self, row: int, first: Value, length: int) -> Value:
        """The sum of some neighbours of a row."""
        emitter, buffer, lanes = self.emitter, self._buffer, self.lanes

        def vector(at: Value, count: int, total: Value) -> Value:
            inner = emitter.linear([(first, 1), (at, 1)])
            index = self.index(self.product.factors, row, inner, 0)
            loaded = emitter.load(buffer, index, lanes, count)
            wide = emitter.convert(loaded, buffer.tensor.dtype, Dtype.F32)
            return emitter.add(total, wide)

        def whole_vector(at: Value, carried: Sequence[Value]) -> list[Value]:
            return [vector(at, lanes, carried[0])]

        whole = length // lanes * lanes
        total: Value = emitter.constant(Dtype.F32, 0, lanes)
        if whole:
            (total,) = emitter.loop(0, whole, lanes, (total,), whole_vector)
        if length > whole:
            total = vector(whole, length - whole, total)
        (total,) = horizontal_sums(emitter, [total])
        return emitter.extract(total, 0)


@dataclasses.dataclass(frozen=True)
class FactorColumns(ScaledColumns):
    """Writes the code of some columns, for which factors have been prepared."""

    factors: Factors

    @property
    def length(self) -> int:
        """Places along k."""
        return self.factors.length

    @property
    def blocks(self) -> tuple[int, int, int]:
        """The blocks that share scales."""
        each = self.factors.each
        return self.length // each, each, self.length % each
