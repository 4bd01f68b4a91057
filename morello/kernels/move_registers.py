"""Moves between L1 and registers."""

import dataclasses
from collections.abc import Sequence
from itertools import product as every

import numpy as np

from morello.cost.counts import OpCounts, Ops, add, times
from morello.kernels.casts import cast_ops
from morello.kernels.emitter import Buffer, Emitter
from morello.kernels.predicates import (
    in_l1,
    in_registers,
    is_interleaved,
    product,
    within_block,
    within_pack,
)
from morello.kernels.template import Kernel
from morello.kernels.vectors import (
    parts,
    piece_count,
    tail_of,
    vectors_of,
)
from morello.machine.isa import Isa
from morello.spec import Move, Spec, SpecKey, TensorSpec
from morello.spec.frame import Condition, Frame


def _in_rows(tensor: TensorSpec) -> bool:
    """Whether it is in L1 with its last dimension innermost."""
    layout = tensor.layout
    return (
        in_l1(tensor)
        and layout.innermost == layout.rank - 1
        and not is_interleaved(layout)
    )


def _no_wider(memory: TensorSpec, register: TensorSpec) -> bool:
    return memory.dtype.itemsize <= register.dtype.itemsize


def _conditions(frame: Frame, memory: int, isa: Isa) -> tuple[Condition, ...]:
    lanes = isa.lanes(frame.key.tensors[1 - memory].dtype)
    rows = product(frame.sizes[:-1])
    return (
        *within_pack(frame, memory, len(frame.sizes) - 1),
        within_block(rows * vectors_of(frame.sizes[-1], lanes), isa),
    )


@dataclasses.dataclass(frozen=True)
class MoveLoad(Kernel):
    """dst in registers = src in L1; the lanes after a short row become zero."""

    def accepts(self, key: SpecKey) -> bool:
        """src with its last dimension innermost, in a dtype no wider than dst's."""
        if not isinstance(key.kind, Move):
            return False
        src, dst = key.tensors
        return _in_rows(src) and in_registers(dst, self.isa) and _no_wider(src, dst)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Rows stay within a pack; the code stays short."""
        return _conditions(frame, 0, self.isa)

    def op_counts(self, frame: Frame) -> OpCounts:
        """A load and a cast a register, the last of a row masked or in pieces."""
        source, dest = frame.key.dtypes
        lanes = self.isa.lanes(dest)
        n = frame.sizes[-1]
        row: Ops = {"load": n // lanes}
        if source.itemsize == 4:
            row = add(row, {"masked_load": tail_of(n, lanes)})
        else:
            tail = piece_count(n % lanes, lanes)
            row = add(row, {"load": tail, "shuffle": tail})
        row = add(row, times(cast_ops(frame.key.dtypes), vectors_of(n, lanes)))
        return OpCounts.of(times(row, product(frame.sizes[:-1])))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Row by row, register by register."""
        src, dst = operands
        source, dest = src.tensor.dtype, dst.tensor.dtype
        lanes = self.isa.lanes(dest)
        for row in every(*map(range, spec.sizes[:-1])):
            for place, (start, count) in enumerate(parts(spec.sizes[-1], lanes)):
                vector = emitter.load(src, (*row, start), lanes, count)
                vector = emitter.convert(vector, source, dest)
                emitter.store_register(vector, dst, (*row, place))


@dataclasses.dataclass(frozen=True)
class MoveStore(Kernel):
    """dst in L1 = src in registers; a short end of a row is stored in pieces."""

    def accepts(self, key: SpecKey) -> bool:
        """dst with its last dimension innermost, in a dtype no wider than src's."""
        if not isinstance(key.kind, Move):
            return False
        src, dst = key.tensors
        return in_registers(src, self.isa) and _in_rows(dst) and _no_wider(dst, src)

    def conditions(self, frame: Frame) -> tuple[Condition, ...]:
        """Rows stay within a pack; the code stays short."""
        return _conditions(frame, 1, self.isa)

    def op_counts(self, frame: Frame) -> OpCounts:
        """A cast and a store a register; pieces of a tail take a shuffle more."""
        source = frame.key.tensors[0].dtype
        lanes = self.isa.lanes(source)
        n = frame.sizes[-1]
        tail = piece_count(n % lanes, lanes)
        # The first piece is the low end of its register and needs no shuffle.
        row: Ops = {"store": n // lanes + tail, "shuffle": np.maximum(tail - 1, 0)}
        row = add(row, times(cast_ops(frame.key.dtypes), vectors_of(n, lanes)))
        return OpCounts.of(times(row, product(frame.sizes[:-1])))

    def emit(self, emitter: Emitter, spec: Spec, operands: Sequence[Buffer]) -> None:
        """Row by row, register by register."""
        src, dst = operands
        source, dest = src.tensor.dtype, dst.tensor.dtype
        lanes = self.isa.lanes(source)
        for row in every(*map(range, spec.sizes[:-1])):
            for place, (start, count) in enumerate(parts(spec.sizes[-1], lanes)):
                vector = emitter.load_register(src, (*row, place))
                vector = emitter.convert(vector, source, dest)
                emitter.store(vector, dst, (*row, start), count)
